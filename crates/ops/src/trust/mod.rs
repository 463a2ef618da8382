//! Who decided what may be done here: whether the folder in force may act, and what a person
//! granted. Available to people only; nothing in this module is a tool.

mod acting;
pub mod folder;
pub mod grants;
pub mod review;
mod secrets;

pub(crate) use acting::{UsedCatalog, ensure, keep_trusted, may_act, may_call};
pub(crate) use grants::of_grants;
pub(crate) use secrets::{KnownSecrets, KnownSecretsCache, WantedSecret};

//! Operations on commands, one file each.

pub(crate) mod answer;
pub(crate) mod draft;
pub mod get;
pub mod list;
pub mod run;
pub mod typed;
pub(crate) mod view;

pub use view::{BodyView, ContentView, Full, ParameterView, ResponseView, Short};

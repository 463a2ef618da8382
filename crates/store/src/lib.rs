//! Storage of workflows, catalogs, secrets and runs: which directories are used, which one takes
//! precedence, and how files are read and written. This is the only crate that writes the product's
//! data.

mod asks;
mod builtin;
pub mod catalogs;
mod choices;
mod config;
mod directory;
mod documents;
mod edited;
mod file;
mod file_reading;
mod grants;
pub mod health;
mod hosts;
mod identity;
mod index;
mod keys;
mod library;
pub mod limits;
mod listing;
mod locations;
mod lock;
mod parallel;
pub mod person;
mod policy;
pub mod runs;
mod sealed_inputs;
pub mod secrets;
mod settings;
mod sources;
mod stamp;
mod standing;
pub mod token;
mod tree;
mod user;
pub mod workflows;

pub use asks::FolderAsks;
pub use choices::{CachedChoices, ChoiceCache};
pub use config::{
    Approvals, Budgets, Config, ConfigError, ConfigLayer, LeastPresence, LiveConfig, SecretsBackend,
};
pub use directory::Directory;
pub use documents::{Blobs, KeptDocuments};
pub use edited::{EditError, EditedFile};
#[cfg(debug_assertions)]
#[doc(hidden)]
pub use file::file_faults;
pub use file::{FileError, open_log, read_document, write_atomic};
#[doc(hidden)]
pub use file::{FileFault, FileFaults, FilePoint};
pub use grants::{
    FolderGrant, Grant, GrantError, GrantSubject, Grants, ReviewedGrant, SecretGrant, SecretPlace,
};
pub use hosts::PrivateHost;
pub use keys::{ConfigFile, ConfigSetting, KeyError, is_limit};
pub use library::{Library, LibraryEntry, LibraryMatch};
pub use listing::{InvalidCause, InvalidFile, Listing, SourceReport, WorkflowSummary};
pub use locations::{ExplainedLocation, LocationOrigin, Locations, SourceKind};
pub use milepost_engine::consent::WriteRule;
pub use milepost_model::digest::Digest;
pub use policy::{PolicyDecision, PolicyRule, WritePolicy};
pub use sealed_inputs::{SealError, SealedInputs};
pub use settings::{TomlError, TomlPosition, UnknownKey};
pub use sources::{AgentTrust, LocalSource, ReferenceRoot, SourceError, Trust, UserTrust};
pub use standing::{
    AskingFolder, CatalogAsks, Distrust, FolderStanding, UnsafeFolder, catalog_lines,
    catalog_version,
};
pub use user::user;

//! The world of a run: what its requests are made with, wherever it is driven.
//!
//! A run pins versions by their hashes. Whoever drives it uses these and no others; what is not
//! pinned, such as whether a catalog is enabled, is read from the run's own workspace and can only
//! stop the run.

use std::collections::{BTreeMap, BTreeSet};

use milepost_model::digest::Digest;
use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;

/// The layout of [`RunWorld`] that this program writes, and the newest one it can read.
pub const WORLD_VERSION: u32 = 1;

/// What a run is pinned to, beside the text of its workflow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunWorld {
    /// The layout of this record.
    pub version: u32,
    /// The version of the language that its texts are written in.
    pub language: u32,
    /// The configuration file of its workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The workflows that its steps run, and those that these run: the hash of each text by id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflows: BTreeMap<String, String>,
    /// The catalogs that it, or a workflow that it runs, may call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub catalogs: BTreeMap<String, PinnedCatalog>,
}

/// The version of a catalog that a run is pinned to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PinnedCatalog {
    /// The hash of its record, which holds all that a request is made with beside the document.
    pub record: String,
    /// The hash of its document.
    pub document: String,
    /// The environment whose addresses and credentials it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Where its API is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The names of the credentials that it is called with.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub credentials: BTreeSet<String>,
}

impl RunWorld {
    /// The hashes of everything it refers to.
    pub fn hashes(&self) -> impl Iterator<Item = Digest> {
        let catalogs = self.catalogs.values();
        let catalogs = catalogs.flat_map(|catalog| [&catalog.record, &catalog.document]);
        self.workflows.values().chain(catalogs).filter_map(|hash| Digest::parse(hash))
    }

    /// What is different in another one, by name.
    pub fn changes(&self, other: &RunWorld) -> Vec<WorldChange> {
        let mut changes = Vec::new();
        for name in self.catalogs.keys().chain(other.catalogs.keys()).collect::<BTreeSet<_>>() {
            let (before, after) = (self.catalogs.get(name), other.catalogs.get(name));
            let of = |part, before, after| WorldChange { name: name.clone(), part, before, after };
            let url = |pin: Option<&PinnedCatalog>| pin.and_then(|pin| pin.base_url.clone());
            let names = |pin: Option<&PinnedCatalog>| {
                let names: Vec<&str> = pin?.credentials.iter().map(String::as_str).collect();
                (!names.is_empty()).then(|| names.join(", "))
            };
            let document = |pin: Option<&PinnedCatalog>| pin.map(|pin| pin.document.clone());
            changes.push(of(WorldPart::Address, url(before), url(after)));
            changes.push(of(WorldPart::Credentials, names(before), names(after)));
            changes.push(of(WorldPart::Document, document(before), document(after)));
        }
        let texts = self.workflows.keys().chain(other.workflows.keys());
        for name in texts.collect::<BTreeSet<_>>() {
            let text = |world: &RunWorld| world.workflows.get(name).cloned();
            let (before, after, name) = (text(self), text(other), name.clone());
            changes.push(WorldChange { name, part: WorldPart::Workflow, before, after });
        }
        changes.retain(|change| change.before != change.after);
        changes
    }
}

/// Something that is different in another world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldChange {
    /// The catalog, or the workflow.
    pub name: String,
    /// What is different about it.
    pub part: WorldPart,
    /// What it was; nothing where it was not there.
    pub before: Option<String>,
    /// What it is.
    pub after: Option<String>,
}

impl WorldChange {
    /// Whether requests would go elsewhere, or with other credentials, than before.
    pub fn redirects(&self) -> bool {
        let moves = matches!(self.part, WorldPart::Address | WorldPart::Credentials);
        // What was not there before was called by nobody.
        moves && self.before.is_some()
    }
}

named_enum! {
    /// A part of a world.
    WorldPart {
        /// Where the API of a catalog is reached.
        Address = "address",
        /// The names of the credentials of a catalog.
        Credentials = "credentials",
        /// The document of a catalog, by its hash.
        Document = "document",
        /// The text of a workflow that a step runs, by its hash.
        Workflow = "workflow",
    }
}

/// Why a process cannot give a run its world; each variant is another thing to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingWorld {
    /// The folder that the run belongs to is gone.
    #[error("its folder `{path}` is not there")]
    Workspace { path: String },
    /// The text of a workflow that it runs is gone.
    #[error("the text of workflow `{workflow}` that it is pinned to is not there")]
    Workflow { workflow: String },
    /// The record of a catalog is gone, or cannot be read.
    #[error("the record of catalog `{catalog}` that it is pinned to is not there")]
    Record { catalog: String },
    /// The document of a catalog is gone.
    #[error("the document of catalog `{catalog}` that it is pinned to is not there")]
    Document { catalog: String },
    /// A later version of the program started it.
    #[error("it was started by a later version of the program")]
    Newer,
    /// What it needs cannot be read.
    #[error("what it is pinned to cannot be read: {reason}")]
    Unreadable { reason: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(url: &str, credentials: &[&str]) -> RunWorld {
        let pinned = PinnedCatalog {
            base_url: Some(url.to_owned()),
            credentials: credentials.iter().map(|name| (*name).to_owned()).collect(),
            ..PinnedCatalog::default()
        };
        RunWorld { catalogs: BTreeMap::from([("shop".to_owned(), pinned)]), ..RunWorld::default() }
    }

    #[test]
    fn every_address_and_credential_that_changes_is_told() {
        let before = world("https://a.example", &["KEY"]);
        assert!(before.changes(&before).is_empty());
        let changes = before.changes(&world("https://b.example", &["KEY", "OTHER"]));
        let told: Vec<(&str, Option<&str>)> =
            changes.iter().map(|one| (one.part.name(), one.after.as_deref())).collect();
        let expected =
            [("address", Some("https://b.example")), ("credentials", Some("KEY, OTHER"))];
        assert_eq!(told, expected);
        assert!(changes.iter().all(WorldChange::redirects));
        // What was not there before was called by nobody.
        let added = RunWorld::default().changes(&before);
        assert!(!added.is_empty() && !added.iter().any(WorldChange::redirects));
    }
}

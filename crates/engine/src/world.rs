//! The world of a run: everything its requests depend on, regardless of the process that drives it.
//!
//! A run pins versions by their hashes, and every driver uses exactly those versions. Settings that
//! are not pinned, such as whether a catalog is enabled, are read from the run's own workspace and
//! can only stop the run.

use std::collections::{BTreeMap, BTreeSet};

use milepost_model::digest::Digest;
use serde::{Deserialize, Serialize};

use milepost_model::serialized_enum;

/// The layout of [`RunWorld`] that this program writes, and the newest one it can read.
pub const WORLD_VERSION: u32 = 1;

/// What a run is pinned to, besides the source of its workflow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunWorld {
    /// The layout version of this record.
    pub version: u32,
    /// The version of the workflow language that the sources are written in.
    pub language: u32,
    /// The configuration file of the run's workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The hash of each workflow source that the run's steps use, directly or indirectly, by
    /// workflow id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflows: BTreeMap<String, String>,
    /// The catalogs that the run, or a workflow it runs, may call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub catalogs: BTreeMap<String, PinnedCatalog>,
}

/// The version of a catalog that a run is pinned to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PinnedCatalog {
    /// The hash of the catalog's record, which contains everything needed for a request except the
    /// document.
    pub record: String,
    /// The hash of the catalog's document.
    pub document: String,
    /// The environment whose addresses and credentials are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// The base URL of the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The names of the credentials that are sent.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub credentials: BTreeSet<String>,
}

impl RunWorld {
    /// The hashes of everything that the world refers to.
    pub fn hashes(&self) -> impl Iterator<Item = Digest> {
        let catalogs = self.catalogs.values();
        let catalogs = catalogs.flat_map(|catalog| [&catalog.record, &catalog.document]);
        self.workflows.values().chain(catalogs).filter_map(|hash| Digest::parse(hash))
    }

    /// What differs in another world, by name.
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

/// A difference between two worlds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldChange {
    /// The name of a catalog or workflow.
    pub name: String,
    /// The part that differs.
    pub part: WorldPart,
    /// The old value; `None` if it did not exist.
    pub before: Option<String>,
    /// The new value; `None` if it no longer exists.
    pub after: Option<String>,
}

impl WorldChange {
    /// Whether requests would go to a different address or carry different credentials than before.
    pub fn redirects(&self) -> bool {
        let moves = matches!(self.part, WorldPart::Address | WorldPart::Credentials);
        // A new catalog has not been called before.
        moves && self.before.is_some()
    }
}

serialized_enum! {
    WorldPart {
        /// The base URL of a catalog's API.
        Address = "address",
        /// The names of a catalog's credentials.
        Credentials = "credentials",
        /// The hash of a catalog's document.
        Document = "document",
        /// The hash of a workflow that a step runs.
        Workflow = "workflow",
    }
}

/// Why a process cannot provide a run's world; each variant calls for a different remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MissingWorld {
    /// The folder that the run belongs to is gone.
    #[error("its folder `{path}` is missing")]
    Workspace { path: String },
    /// The source of a workflow that the run uses is gone.
    #[error("its pinned source for workflow `{workflow}` is missing")]
    Workflow { workflow: String },
    /// The record of a catalog is gone, or cannot be read.
    #[error("its pinned record for catalog `{catalog}` is missing")]
    Record { catalog: String },
    /// The document of a catalog is gone.
    #[error("its pinned document for catalog `{catalog}` is missing")]
    Document { catalog: String },
    /// A later version of the program started the run.
    #[error("it was started by a later version of the program")]
    Newer,
    /// Something that the run needs cannot be read.
    #[error("its pinned files cannot be read: {reason}")]
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
        // A new catalog has not been called before.
        let added = RunWorld::default().changes(&before);
        assert!(!added.is_empty() && !added.iter().any(WorldChange::redirects));
    }
}

//! The differences between two versions of a document.

use std::collections::BTreeMap;

use milepost_model::id::CatalogId;
use milepost_model::target::CommandId;

use crate::command::{ApiCommand, ApiParameter};
use crate::openapi::Api;
use crate::table::Row;

/// The changes that an import makes to an existing catalog.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CatalogDiff {
    pub added: Vec<Row>,
    pub removed: Vec<Row>,
    /// Commands whose calls or responses have changed.
    pub changed: Vec<CommandChange>,
}

/// How a command differs between the two documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandChange {
    pub name: String,
    /// Method and path.
    pub key: String,
    /// The differences, one sentence each.
    pub details: Vec<String>,
    /// Whether a call that used to work may fail now.
    pub breaking: bool,
}

/// One side of the comparison.
#[derive(Debug, Clone, Copy)]
pub struct DiffSide<'a> {
    pub api: &'a Api,
    /// The rows of the catalog table, with names assigned.
    pub rows: &'a [Row],
}

impl CatalogDiff {
    /// Compares two documents operation by operation.
    pub fn between(group: &CatalogId, old: DiffSide<'_>, new: DiffSide<'_>) -> CatalogDiff {
        let before: BTreeMap<String, &Row> = old.rows.iter().map(|row| (row.key(), row)).collect();
        let after: BTreeMap<String, &Row> = new.rows.iter().map(|row| (row.key(), row)).collect();
        let missing = |side: &BTreeMap<String, &Row>, rows: &[Row]| -> Vec<Row> {
            rows.iter().filter(|row| !side.contains_key(&row.key())).cloned().collect()
        };
        let mut diff = CatalogDiff {
            added: missing(&before, new.rows),
            removed: missing(&after, old.rows),
            changed: Vec::new(),
        };
        if old.api.document().text() == new.api.document().text() {
            return diff;
        }
        let schemes = (old.api.schemes(), new.api.schemes());
        for (key, row) in &after {
            let Some(earlier) = before.get(key) else { continue };
            let one = command(group, old.api, earlier);
            let other = command(group, new.api, row);
            let (Some(one), Some(other)) = (one, other) else { continue };
            let mut changed = change(&one, &other, key);
            for name in other.security.iter().flat_map(|way| &way.schemes).map(|(name, _)| name) {
                if schemes.0.get(name) != schemes.1.get(name) {
                    let changed = changed.get_or_insert_with(|| CommandChange::of(&other, key));
                    changed.details.push(format!("the scheme `{name}` is defined differently"));
                    changed.breaking = true;
                }
            }
            diff.changed.extend(changed);
        }
        diff
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl CommandChange {
    fn of(command: &ApiCommand, key: &str) -> CommandChange {
        let name = command.id.name().to_owned();
        CommandChange { name, key: key.to_owned(), details: Vec::new(), breaking: false }
    }

    fn add(&mut self, breaking: bool, detail: impl Into<String>) {
        self.details.push(detail.into());
        self.breaking |= breaking;
    }
}

fn command(group: &CatalogId, api: &Api, row: &Row) -> Option<ApiCommand> {
    api.command(CommandId::parse(&format!("{group} {}", row.name))?, row)
}

fn change(old: &ApiCommand, new: &ApiCommand, key: &str) -> Option<CommandChange> {
    let mut change = CommandChange::of(new, key);
    parameters(old, new, &mut change);
    body(old, new, &mut change);
    let differences = [
        (old.responses != new.responses, false, "its responses have changed"),
        (old.security != new.security, true, "its authentication has changed"),
        (old.servers != new.servers, true, "its server has changed"),
        (!old.deprecated && new.deprecated, false, "it is now deprecated"),
    ];
    for (_, breaking, detail) in differences.into_iter().filter(|(is_so, ..)| *is_so) {
        change.add(breaking, detail);
    }
    if change.details.is_empty() && old.defs != new.defs {
        change.add(false, "schemas that it references have changed");
    }
    (!change.details.is_empty()).then_some(change)
}

fn parameters(old: &ApiCommand, new: &ApiCommand, change: &mut CommandChange) {
    let same = |one: &ApiParameter, other: &ApiParameter| {
        one.name == other.name && one.location == other.location
    };
    for parameter in &new.parameters {
        let place = parameter.location.name();
        let name = &parameter.name;
        match old.parameters.iter().find(|other| same(other, parameter)) {
            None if parameter.required => {
                change.add(true, format!("now requires `{name}` ({place})"));
            }
            None => change.add(false, format!("now accepts `{name}` ({place})")),
            Some(earlier) if parameter.required && !earlier.required => {
                change.add(true, format!("`{name}` ({place}) is now required"));
            }
            Some(earlier) if parameter.schema != earlier.schema => {
                change.add(true, format!("the schema of `{name}` ({place}) has changed"));
            }
            Some(_) => {}
        }
    }
    for parameter in &old.parameters {
        if !new.parameters.iter().any(|other| same(other, parameter)) {
            let place = parameter.location.name();
            change.add(true, format!("no longer accepts `{}` ({place})", parameter.name));
        }
    }
}

fn body(old: &ApiCommand, new: &ApiCommand, change: &mut CommandChange) {
    match (&old.body, &new.body) {
        (None, Some(body)) if body.required => change.add(true, "now requires a body"),
        (None, Some(_)) => change.add(false, "now accepts a body"),
        (Some(_), None) => change.add(true, "no longer accepts a body"),
        (Some(one), Some(other)) if !one.required && other.required => {
            change.add(true, "its body is now required");
        }
        (Some(one), Some(other)) if one.contents != other.contents => {
            change.add(true, "its body has changed");
        }
        _ => {}
    }
}

//! The PINs that were set one after another. Each is signed with the one before it, so that a PIN
//! that was changed can be told from one that was replaced after `person.json` was deleted.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{PersonError, chain, is_signed};
use crate::file::{self, FileError, WriteOptions};
use crate::{limits, runs};

/// The name of the file.
pub(crate) const FILE: &str = "pins.json";
/// The purpose for which the file's MAC is computed.
const PURPOSE: &str = "pins";

/// A public key that decisions were signed with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PinEntry {
    key: String,
    /// When the PIN was set, in milliseconds since 1970.
    at_ms: u64,
    /// The key before it, with which it was signed; absent if the PIN was set without an old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signed: Option<Succession>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Succession {
    from: String,
    signature: String,
}

impl PinEntry {
    pub(super) fn first(key: String, at_ms: u64) -> PinEntry {
        PinEntry { key, at_ms, signed: None }
    }

    /// A PIN that replaces one that was known; `signature` is over [`succession_text`].
    pub(super) fn after(from: String, signature: String, key: String, at_ms: u64) -> PinEntry {
        PinEntry { key, at_ms, signed: Some(Succession { from, signature }) }
    }

    fn text(&self) -> String {
        let signed = self.signed.as_ref();
        let signed = signed.map(|signed| format!(" {} {}", signed.from, signed.signature));
        format!("{} {}{}\n", self.key, self.at_ms, signed.unwrap_or_default())
    }
}

/// The text with which an old PIN signs the key of a new one.
pub(super) fn succession_text(key: &str) -> String {
    format!("milepost new pin\n{key}")
}

/// The keys of a data directory, in the order in which they were set.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct PinHistory {
    pins: Vec<PinEntry>,
    #[serde(default)]
    mac: String,
}

/// A key together with the keys before it that lead to it through signatures.
pub(super) struct PinLine {
    pub(super) keys: BTreeSet<String>,
    /// When the first of them was set, if that is recorded.
    pub(super) since_ms: Option<u64>,
}

impl PinHistory {
    pub(super) fn path(directory: &Path) -> PathBuf {
        directory.join(FILE)
    }

    /// Reads the file; a missing file is an empty history.
    pub(super) fn read(directory: &Path) -> Result<PinHistory, PersonError> {
        let path = PinHistory::path(directory);
        let bytes = std::fs::read(&path).map_err(|error| FileError::of(&path, error));
        let Some(bytes) = file::if_present(bytes)? else { return Ok(PinHistory::default()) };
        let damaged = || PersonError::Damaged { path: path.clone() };
        let read: PinHistory = serde_json::from_slice(&bytes).map_err(|_| damaged())?;
        let sound = runs::is_coded(directory, PURPOSE, &read.text(), &read.mac).map_err(chain)?;
        if sound { Ok(read) } else { Err(damaged()) }
    }

    /// Adds a key and writes the file. The caller holds the lock.
    pub(super) fn add(mut self, directory: &Path, entry: PinEntry) -> Result<(), PersonError> {
        self.pins.push(entry);
        let excess = self.pins.len().saturating_sub(limits::PINS);
        self.pins.drain(..excess);
        self.mac = runs::coded(directory, PURPOSE, &self.text()).map_err(chain)?;
        let path = PinHistory::path(directory);
        let damaged = |_| PersonError::Damaged { path: path.clone() };
        let bytes = serde_json::to_vec_pretty(&self).map_err(damaged)?;
        Ok(file::write(&path, &bytes, WriteOptions::PRIVATE)?)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pins.is_empty()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.pins.iter().map(|entry| entry.key.as_str())
    }

    /// The keys that lead to this one.
    pub(super) fn line(&self, key: &str) -> PinLine {
        let mut line = PinLine { keys: BTreeSet::from([key.to_owned()]), since_ms: None };
        let mut current = key;
        while let Some(entry) = self.pins.iter().rev().find(|entry| entry.key == current) {
            line.since_ms = Some(entry.at_ms);
            let Some(signed) = &entry.signed else { break };
            if !is_signed(&signed.from, &succession_text(current), &signed.signature) {
                // Whoever forged the signature may have forged the time as well.
                line.since_ms = None;
                break;
            }
            if !line.keys.insert(signed.from.clone()) {
                break;
            }
            current = &signed.from;
        }
        line
    }

    fn text(&self) -> String {
        self.pins.iter().map(PinEntry::text).collect()
    }
}

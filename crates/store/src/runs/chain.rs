//! The journal's key, and the MACs computed with it.
//!
//! Every run, event and message carries a MAC, and an event's MAC covers the previous one. The next
//! reader detects rows that were changed, added, removed or reordered without the key. This does
//! not protect against a process that runs as the same user and reads the key, which is guarded
//! only by the mode of its file.

use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac as _};
use milepost_model::document::hex;
use sha2::Sha256;

use super::error::RunsError;
use super::sealed_rows::RowSeal;
use crate::file::{self, FileError, WriteOptions};
use crate::limits;

const FILE: &str = "chain.key";
const KEY_BYTES: usize = 32;

/// The bytes of a key derived from the journal's key.
pub(crate) type DerivedBytes = [u8; KEY_BYTES];

/// A MAC: the first half of an HMAC-SHA-256.
pub(super) type Mac = [u8; 16];

/// The MAC that precedes the first event of a run.
pub(super) const ORIGIN: Mac = [0; 16];

/// The key, ready for use.
#[derive(Clone)]
pub(super) struct ChainKey {
    keyed: Hmac<Sha256>,
    bytes: [u8; KEY_BYTES],
    rows: RowSeal,
}

impl ChainKey {
    /// The name of the key file.
    pub(super) const NAME: &'static str = FILE;

    /// Reads a directory's key; `None` if there is none.
    pub(super) fn read(directory: &Path) -> Result<Option<ChainKey>, RunsError> {
        let path = directory.join(FILE);
        let bytes = file::if_present(file::read_document(&path, limits::KEY_FILE_BYTES))?;
        let Some(bytes) = bytes else { return Ok(None) };
        if let Some(mode) = file::exposed_mode(&path)? {
            return Err(RunsError::KeyExposed { path, mode });
        }
        let bytes = bytes.try_into().map_err(|_| RunsError::WrongKey { path })?;
        Ok(Some(ChainKey::of(bytes)))
    }

    /// Reads the key in a directory that must have one.
    pub(super) fn need(directory: &Path) -> Result<ChainKey, RunsError> {
        let missing = || RunsError::KeyMissing { path: ChainKey::path(directory) };
        ChainKey::read(directory)?.ok_or_else(missing)
    }

    /// Reads a directory's key, or creates it if there is none. The caller holds the directory's
    /// lock.
    pub(super) fn read_or_make(directory: &Path) -> Result<ChainKey, RunsError> {
        ChainKey::read(directory)?.map_or_else(|| ChainKey::make(directory), Ok)
    }

    /// Creates the key for a directory that has none. It is on disk before it is used.
    fn make(directory: &Path) -> Result<ChainKey, RunsError> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes).map_err(|_| RunsError::NoRandomness)?;
        let key = ChainKey::of(bytes);
        key.write(directory)?;
        Ok(key)
    }

    /// Writes the key to a directory that has none.
    pub(super) fn write(&self, directory: &Path) -> Result<(), FileError> {
        file::write(&directory.join(FILE), &self.bytes, WriteOptions::PRIVATE_NEW)
    }

    /// The path of a directory's key file.
    pub(super) fn path(directory: &Path) -> PathBuf {
        directory.join(FILE)
    }

    fn of(bytes: [u8; KEY_BYTES]) -> ChainKey {
        let keyed = Hmac::new_from_slice(&bytes).expect("HMAC takes keys of any length");
        let keyed: Hmac<Sha256> = keyed;
        let own = |purpose| derived_from(&keyed, purpose);
        let rows = RowSeal::new(&own("the secrets in rows"), &own("the nonces of rows"));
        ChainKey { keyed, bytes, rows }
    }

    /// Encrypts and decrypts the secrets inside rows.
    pub(super) fn rows(&self) -> &RowSeal {
        &self.rows
    }

    fn derived(&self, purpose: &str) -> DerivedBytes {
        derived_from(&self.keyed, purpose)
    }

    /// Starts a message. The purpose keeps the MAC of one kind of row from being valid for another.
    pub(super) fn over(&self, purpose: &str) -> MacInput {
        MacInput(self.keyed.clone()).text(purpose)
    }
}

fn derived_from(keyed: &Hmac<Sha256>, purpose: &str) -> DerivedBytes {
    MacInput(keyed.clone()).text(purpose).0.finalize().into_bytes().into()
}

/// The MAC of a string in hexadecimal, computed with a directory's key. The caller holds the
/// directory's lock.
pub(crate) fn coded(directory: &Path, purpose: &str, text: &str) -> Result<String, RunsError> {
    Ok(hex(&ChainKey::read_or_make(directory)?.over(purpose).text(text).mac()))
}

/// A key for another purpose, derived from a directory's key; `None` if the directory has no key.
pub(crate) fn derived(directory: &Path, purpose: &str) -> Result<Option<DerivedBytes>, RunsError> {
    Ok(ChainKey::read(directory)?.map(|key| key.derived(purpose)))
}

/// Like [`derived`], but creates the directory's key if there is none. The caller holds the
/// directory's lock.
pub(crate) fn derived_or_made(directory: &Path, purpose: &str) -> Result<DerivedBytes, RunsError> {
    Ok(ChainKey::read_or_make(directory)?.derived(purpose))
}

/// Whether a code is the valid MAC of a string.
pub(crate) fn is_coded(
    directory: &Path,
    purpose: &str,
    text: &str,
    code: &str,
) -> Result<bool, RunsError> {
    let key = ChainKey::read(directory)?;
    Ok(key.is_some_and(|key| hex(&key.over(purpose).text(text).mac()) == code))
}

/// A message under construction. Each part is preceded by its length, so that parts cannot run
/// together.
pub(super) struct MacInput(Hmac<Sha256>);

impl MacInput {
    pub(super) fn bytes(mut self, bytes: &[u8]) -> MacInput {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(super) fn text(self, text: &str) -> MacInput {
        self.bytes(text.as_bytes())
    }

    pub(super) fn number(self, number: u64) -> MacInput {
        self.bytes(&number.to_le_bytes())
    }

    /// Adds an optional string. A missing string differs from an empty one.
    pub(super) fn maybe_text(self, text: Option<&str>) -> MacInput {
        match text {
            Some(text) => self.number(1).text(text),
            None => self.number(0),
        }
    }

    pub(super) fn maybe_number(self, number: Option<u64>) -> MacInput {
        match number {
            Some(number) => self.number(1).number(number),
            None => self.number(0),
        }
    }

    pub(super) fn mac(self) -> Mac {
        let whole = self.0.finalize().into_bytes();
        let mut mac = ORIGIN;
        mac.copy_from_slice(&whole[..ORIGIN.len()]);
        mac
    }

    /// Whether a MAC matches the message. The comparison takes constant time.
    pub(super) fn fits(self, mac: &[u8]) -> bool {
        mac.len() == ORIGIN.len() && self.0.verify_truncated_left(mac).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{ChainKey, ORIGIN};

    #[test]
    fn a_mac_fits_its_message_alone() {
        let key = ChainKey::of([7; 32]);
        let message = || key.over("event").bytes(&ORIGIN).text("a").number(1);
        let mac = message().mac();
        assert!(message().fits(&mac));
        assert!(!message().fits(&mac[..15]), "a truncated MAC");
        assert!(!message().fits(&[]), "an empty MAC");
        assert!(!message().number(1).fits(&mac), "a longer message");
        assert!(
            !key.over("inbox").bytes(&ORIGIN).text("a").number(1).fits(&mac),
            "another purpose"
        );
        assert!(!ChainKey::of([8; 32]).over("event").fits(&key.over("event").mac()), "another key");
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let key = ChainKey::of([7; 32]);
        assert_ne!(
            key.over("x").text("ab").text("c").mac(),
            key.over("x").text("a").text("bc").mac()
        );
        assert_ne!(key.over("x").maybe_text(None).mac(), key.over("x").maybe_text(Some("")).mac());
    }
}

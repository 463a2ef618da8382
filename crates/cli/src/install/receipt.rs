//! What an install did to a file, kept with the user's own data so that it can be taken back to
//! the byte. Without it an entry is taken out all the same; what only the receipt knows is whether
//! the file, or the object around the entry, was there before.

use std::path::{Path, PathBuf};

use milepost_store::{Digest, EditedFile, read_document};
use serde::{Deserialize, Serialize};

use super::edit::{Edit, apply};
use crate::limits;

/// What an install did.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Receipt {
    /// The file, for those who look.
    pub(super) path: String,
    /// There was no file.
    pub(super) made_file: bool,
    /// There was no object for entries.
    pub(super) made_parent: bool,
    /// Directories that were not there, the outermost first.
    pub(super) made_directories: Vec<PathBuf>,
    /// What leads back from the text after it, while nobody has changed that.
    pub(super) back: Option<Back>,
}

/// The way back.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Back {
    /// The SHA-256 of the text without the entry and with it.
    pub(super) before: String,
    pub(super) after: String,
    pub(super) edits: Vec<Edit>,
}

impl Back {
    /// The text as it was, if this is the text that was left.
    pub(super) fn restore(&self, text: &str) -> Option<String> {
        let is = |text: &str, digest: &str| Digest::of(text.as_bytes()).to_string() == digest;
        let restored = apply(text, &self.edits).filter(|_| is(text, &self.after))?;
        is(&restored, &self.before).then_some(restored)
    }
}

/// Where the receipt of an entry is.
#[derive(Debug)]
pub(super) struct Drawer {
    file: PathBuf,
}

impl Drawer {
    pub(super) fn of(data: &Path, path: &Path, name: &str) -> Drawer {
        let key = format!("{}\0{name}", path.display());
        let file = format!("{}.json", Digest::of(key.as_bytes()));
        Drawer { file: data.join("clients").join(file) }
    }

    /// The receipt, when there is one that can be read.
    pub(super) fn receipt(&self) -> Option<Receipt> {
        serde_json::from_slice(&read_document(&self.file, limits::RECEIPT_BYTES).ok()?).ok()
    }

    /// Keeps a receipt; whether that worked.
    pub(super) fn keep(&self, receipt: &Receipt) -> bool {
        let Ok(bytes) = serde_json::to_vec(receipt) else { return false };
        let file = EditedFile::open(&self.file, None, limits::RECEIPT_BYTES);
        file.is_ok_and(|file| file.replace(&bytes, true).is_ok())
    }

    /// Throws the receipt away.
    pub(super) fn clear(&self) {
        if let Ok(file) = EditedFile::open(&self.file, None, limits::RECEIPT_BYTES)
            && file.bytes().is_some()
        {
            // One that stays behind belongs to a text that is no more.
            drop(file.remove(&[]));
        }
    }
}

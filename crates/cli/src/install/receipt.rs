//! Records what an install changed in a file, so that it can be undone exactly. An entry can also
//! be removed without a receipt, but only the receipt shows whether the file, or the object around
//! the entry, existed before.

use std::path::{Path, PathBuf};

use milepost_store::{Digest, EditedFile, read_document};
use serde::{Deserialize, Serialize};

use super::edit::{TextEdit, apply};
use crate::limits;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Receipt {
    /// The path of the file, for human readers.
    pub(super) path: String,
    /// Whether the install created the file.
    pub(super) made_file: bool,
    /// Whether the install created the object for entries.
    pub(super) made_parent: bool,
    /// Directories that the install created, outermost first.
    pub(super) made_directories: Vec<PathBuf>,
    /// The edits that undo the change, as long as nobody else has changed the text.
    pub(super) back: Option<UndoEdits>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct UndoEdits {
    /// SHA-256 of the file before the install; `after` is the hash of the file it wrote.
    pub(super) before: String,
    pub(super) after: String,
    pub(super) edits: Vec<TextEdit>,
}

impl UndoEdits {
    /// The original content, if `text` is what the install wrote.
    pub(super) fn restore(&self, text: &str) -> Option<String> {
        let is = |text: &str, digest: &str| Digest::of(text.as_bytes()).to_string() == digest;
        let restored = apply(text, &self.edits).filter(|_| is(text, &self.after))?;
        is(&restored, &self.before).then_some(restored)
    }
}

/// The file that stores the receipt of an entry.
#[derive(Debug)]
pub(super) struct ReceiptFile {
    file: PathBuf,
}

impl ReceiptFile {
    pub(super) fn of(data: &Path, path: &Path, name: &str) -> ReceiptFile {
        let key = format!("{}\0{name}", path.display());
        let file = format!("{}.json", Digest::of(key.as_bytes()));
        ReceiptFile { file: data.join("clients").join(file) }
    }

    /// The receipt, if a readable one exists.
    pub(super) fn receipt(&self) -> Option<Receipt> {
        serde_json::from_slice(&read_document(&self.file, limits::RECEIPT_BYTES).ok()?).ok()
    }

    /// Stores a receipt and returns whether that succeeded.
    pub(super) fn keep(&self, receipt: &Receipt) -> bool {
        let Ok(bytes) = serde_json::to_vec(receipt) else { return false };
        let file = EditedFile::open(&self.file, None, limits::RECEIPT_BYTES);
        file.is_ok_and(|file| file.replace(&bytes, true).is_ok())
    }

    pub(super) fn clear(&self) {
        if let Ok(file) = EditedFile::open(&self.file, None, limits::RECEIPT_BYTES)
            && file.bytes().is_some()
        {
            // Failure is harmless, because a leftover receipt no longer matches any file.
            drop(file.remove(&[]));
        }
    }
}

//! What a person allowed for longer than one question: a folder that may act, a secret that may be
//! sent somewhere, a workflow text that was reviewed.
//!
//! All grants are in one file of the user's data directory, which no project can reach. Nothing is
//! granted by name where a digest can be had. With a PIN, a grant counts only if the person signed
//! it. Without one, a program that runs as the user can change the file, as it can change anything
//! else that belongs to the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use milepost_engine::event::Presence;
use milepost_engine::ports::JournalError;
use milepost_model::digest::Digest;
use milepost_model::secret::Secret;
use serde::{Deserialize, Serialize};

use crate::file::{self, FileError, FileMode, WriteOptions};
use crate::limits;
use crate::lock::Lock;
use crate::person::{self, Person, PersonError};
use crate::runs::{self, RunsError};
use crate::stamp::{FileStamp, ObservedStamp};

/// The name of the file.
pub(crate) const FILE: &str = "grants.json";
/// The purpose for which the file's MAC is computed.
const PURPOSE: &str = "grants";

/// Something that a person allowed until they revoke it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    #[serde(flatten)]
    pub subject: GrantSubject,
    /// The caller that the grant belongs to; empty for the local user.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub principal: String,
    /// How the person proved their presence.
    pub presence: Presence,
    /// When it was given, in milliseconds since 1970.
    pub at_ms: u64,
    /// The person's signature, if a PIN was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// What is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GrantSubject {
    /// A folder may act on what it asked for.
    Folder(Box<FolderGrant>),
    /// A secret may be sent to an origin.
    Secret(SecretGrant),
    /// A workflow was reviewed, with everything it calls.
    Reviewed(ReviewedGrant),
}

/// A folder that may act, as it was when it was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderGrant {
    /// The folder's real path.
    pub folder: PathBuf,
    /// The digest of everything it asks for.
    pub digest: String,
    /// What it asks for, one line each, to show what changed.
    pub asks: Vec<String>,
    /// The versions of each catalog that were accepted, the newest last. Open runs may be pinned to
    /// older ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub catalogs: BTreeMap<String, Vec<String>>,
}

/// A secret that may be sent to an origin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SecretGrant {
    /// The name of the secret.
    pub secret: String,
    pub origin: String,
    /// The only command that may send it, with the field; any if absent. Credentials of a catalog
    /// need no such grant: their place is that of their security scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<SecretPlace>,
}

/// Where in a request a secret may be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SecretPlace {
    /// `group name`.
    pub command: String,
    /// The argument, header or body field, such as `body.key`.
    pub field: String,
}

/// A workflow that was reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewedGrant {
    pub workflow: String,
    /// The digest of its text, the texts it runs, and the requests that these may send.
    pub digest: String,
    /// The real path of the folder that it belongs to; none for the user's own workflows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Whether its approvals are given without asking.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// What its runs may change, one line each, to show what a new text adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<String>,
}

impl GrantSubject {
    /// Whether granting `self` replaces `other`.
    fn replaces(&self, other: &GrantSubject) -> bool {
        match (self, other) {
            (GrantSubject::Folder(one), GrantSubject::Folder(other)) => one.folder == other.folder,
            (GrantSubject::Secret(one), GrantSubject::Secret(other)) => one == other,
            (GrantSubject::Reviewed(one), GrantSubject::Reviewed(other)) => {
                one.workflow == other.workflow && one.folder == other.folder
            }
            (
                GrantSubject::Folder(_) | GrantSubject::Secret(_) | GrantSubject::Reviewed(_),
                GrantSubject::Folder(_) | GrantSubject::Secret(_) | GrantSubject::Reviewed(_),
            ) => false,
        }
    }

    fn text(&self) -> String {
        // Cannot fail: maps have string keys, and paths that are not UTF-8 are refused earlier.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Grant {
    /// A short name, which is the same for the same grant.
    pub fn id(&self) -> String {
        let text = format!("{}\n{}", self.principal, self.subject.text());
        Digest::of(text.as_bytes()).to_string().chars().take(limits::GRANT_ID_CHARS).collect()
    }

    /// What the person signs.
    pub fn signed_text(&self) -> String {
        format!("milepost grant\n{}\n{}\n{}", self.principal, self.at_ms, self.subject.text())
    }

    fn is_signed_by(&self, key: &str) -> bool {
        let signature = self.signature.as_deref().unwrap_or_default();
        person::is_signed(key, &self.signed_text(), signature)
    }
}

/// Why a grant could not be read or recorded.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Person(#[from] PersonError),
    /// The file's MAC could not be computed.
    #[error(transparent)]
    Chain(JournalError),
    #[error("`{}` was changed by another program", path.display())]
    Damaged { path: PathBuf },
    /// Grants were signed with a PIN that is no longer there.
    #[error("grants were signed with a PIN, but `person.json` is missing")]
    PersonMissing,
    #[error("at most {} grants can be recorded", limits::GRANTS)]
    TooMany,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct GrantsFile {
    grants: Vec<Grant>,
    /// Computed with the journal's key, so that write access to the file alone is not enough.
    #[serde(default)]
    mac: String,
}

/// The grants in a data directory.
#[derive(Debug)]
pub struct Grants {
    directory: PathBuf,
    known: Mutex<Option<KnownGrants>>,
}

/// The grants as they were last read, and the stamps of the files that they were read from.
#[derive(Debug)]
struct KnownGrants {
    stamps: [Option<ObservedStamp>; 2],
    valid: Arc<Vec<Grant>>,
}

impl Grants {
    /// The grants in a data directory. Reads nothing yet.
    pub fn of(directory: &Path) -> Grants {
        Grants { directory: directory.to_owned(), known: Mutex::default() }
    }

    fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    /// The files that determine which grants count.
    pub(crate) fn paths(&self) -> [PathBuf; 2] {
        [self.path(), Person::of(&self.directory).path()]
    }

    /// Every grant that counts. The files are read again only if they have changed.
    pub fn valid(&self) -> Result<Arc<Vec<Grant>>, GrantError> {
        let clock = SystemTime::now();
        let person = Person::of(&self.directory);
        let stamps = self.paths().map(|path| std::fs::metadata(path).ok().map(FileStamp::of_file));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_still = |seen: &Option<ObservedStamp>, now: Option<FileStamp>| match (seen, now) {
            (Some(seen), Some(now)) => seen.is_still(now),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if let Some(read) = known.as_ref()
            && read.stamps.iter().zip(stamps).all(|(seen, now)| is_still(seen, now))
        {
            return Ok(Arc::clone(&read.valid));
        }
        let valid = Arc::new(self.read_valid(&person)?);
        let stamps = stamps.map(|stamp| stamp.map(|stamp| stamp.seen(clock)));
        *known = Some(KnownGrants { stamps, valid: Arc::clone(&valid) });
        Ok(valid)
    }

    fn read_valid(&self, person: &Person) -> Result<Vec<Grant>, GrantError> {
        let all = self.read()?;
        match person.key()? {
            Some(key) => Ok(all.into_iter().filter(|grant| grant.is_signed_by(&key)).collect()),
            // Otherwise, whoever removes the PIN could grant what they want.
            None if all.iter().any(|grant| grant.signature.is_some()) => {
                Err(GrantError::PersonMissing)
            }
            None => Ok(all),
        }
    }

    /// Records a grant, and replaces an older one about the same thing.
    pub fn add(&self, grant: Grant) -> Result<(), GrantError> {
        self.change(|grants| {
            grants.retain(|other| {
                other.principal != grant.principal || !grant.subject.replaces(&other.subject)
            });
            grants.push(grant);
        })
    }

    /// Removes every grant for which `is_meant` is true, and returns them.
    pub fn revoke(&self, is_meant: impl Fn(&Grant) -> bool) -> Result<Vec<Grant>, GrantError> {
        let mut removed = Vec::new();
        self.change(|grants| {
            let all = std::mem::take(grants);
            let (meant, kept) = all.into_iter().partition(|grant| is_meant(grant));
            (removed, *grants) = (meant, kept);
        })?;
        Ok(removed)
    }

    /// Signs every grant that counted until now, after a PIN was set or changed.
    pub fn sign(&self, valid: &[Grant], pin: &Secret) -> Result<(), GrantError> {
        let texts: Vec<String> = valid.iter().map(Grant::signed_text).collect();
        let signatures = Person::of(&self.directory).sign_each(pin, &texts)?;
        let signed = valid.iter().zip(signatures).map(|(grant, signature)| {
            let signature = Some(signature);
            Grant { signature, presence: Presence::Pin, ..grant.clone() }
        });
        let signed = signed.collect();
        self.change(|grants| *grants = signed)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Grant>)) -> Result<(), GrantError> {
        file::make_directory(&self.directory, FileMode::Owner)?;
        let _lock = Lock::of(&self.directory)?;
        let mut grants = self.read()?;
        change(&mut grants);
        if grants.len() > limits::GRANTS {
            return Err(GrantError::TooMany);
        }
        let mac = runs::coded(&self.directory, PURPOSE, &told(&grants)).map_err(chain)?;
        let kept = GrantsFile { grants, mac };
        let bytes = serde_json::to_vec_pretty(&kept).map_err(|_| self.damaged())?;
        file::write(&self.path(), &bytes, WriteOptions::PRIVATE)?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Every recorded grant, whether it counts or not.
    fn read(&self) -> Result<Vec<Grant>, GrantError> {
        let bytes = file::if_present(file::read_document(&self.path(), limits::GRANTS_BYTES))?;
        let Some(bytes) = bytes else { return Ok(Vec::new()) };
        let kept: GrantsFile = serde_json::from_slice(&bytes).map_err(|_| self.damaged())?;
        let sound = runs::is_coded(&self.directory, PURPOSE, &told(&kept.grants), &kept.mac);
        if sound.map_err(chain)? { Ok(kept.grants) } else { Err(self.damaged()) }
    }

    fn damaged(&self) -> GrantError {
        GrantError::Damaged { path: self.path() }
    }
}

/// The text that the file's MAC covers.
fn told(grants: &[Grant]) -> String {
    serde_json::to_string(grants).unwrap_or_default()
}

fn chain(error: RunsError) -> GrantError {
    GrantError::Chain(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(workflow: &str, digest: &str) -> Grant {
        let subject = GrantSubject::Reviewed(ReviewedGrant {
            workflow: workflow.to_owned(),
            digest: digest.to_owned(),
            folder: None,
            alone: false,
            effects: Vec::new(),
        });
        let (principal, presence) = (String::new(), Presence::Terminal);
        Grant { subject, principal, presence, at_ms: 1, signature: None }
    }

    #[test]
    fn a_grant_replaces_the_one_about_the_same_thing() {
        let directory = tempfile::tempdir().expect("a directory");
        let grants = Grants::of(directory.path());
        assert!(grants.valid().expect("is read").is_empty());
        for (workflow, digest) in [("a", "1"), ("b", "1"), ("a", "2")] {
            grants.add(granted(workflow, digest)).expect("is recorded");
        }
        let found = grants.valid().expect("is read");
        assert_eq!(*found, [granted("b", "1"), granted("a", "2")]);
        let id = granted("b", "1").id();
        assert_eq!(grants.revoke(|grant| grant.id() == id).expect("is revoked").len(), 1);
        assert_eq!(*Grants::of(directory.path()).valid().expect("is read"), [granted("a", "2")]);
    }

    #[test]
    fn a_file_that_was_changed_grants_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let grants = Grants::of(directory.path());
        grants.add(granted("a", "1")).expect("is recorded");
        let text = std::fs::read_to_string(grants.path()).expect("reads");
        std::fs::write(grants.path(), text.replace("\"1\"", "\"2\"")).expect("writes");
        let told = Grants::of(directory.path()).valid();
        assert!(matches!(told, Err(GrantError::Damaged { .. })), "{told:?}");
    }

    #[test]
    fn with_a_pin_only_signed_grants_count() {
        let directory = tempfile::tempdir().expect("a directory");
        let (grants, person) = (Grants::of(directory.path()), Person::of(directory.path()));
        grants.add(granted("a", "1")).expect("is recorded");
        let pin = Secret::new("correct");
        person.set_pin(&pin, None).expect("is set");
        assert!(grants.valid().expect("is read").is_empty(), "it is not signed");
        grants.sign(&[granted("a", "1")], &pin).expect("is signed");
        assert_eq!(grants.valid().expect("is read").len(), 1);
        grants.add(granted("b", "1")).expect("is recorded");
        assert_eq!(grants.valid().expect("is read").len(), 1, "the new one is not signed");
        std::fs::remove_file(person.path()).expect("is removed");
        assert!(matches!(grants.valid(), Err(GrantError::PersonMissing)));
    }
}

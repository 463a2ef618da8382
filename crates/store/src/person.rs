//! The person's PIN, which is used to sign their decisions.
//!
//! The PIN itself is not stored. A key pair is derived from it and a salt; the public key is
//! stored, and pinned in every run, so that anyone can distinguish a decision made by the person
//! from a forged one. Anyone who can read the file can test PINs against it, slowly; only a longer
//! PIN protects against that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use milepost_engine::ports::JournalError;
use milepost_model::digest::unhex;
use milepost_model::document::hex;
use milepost_model::secret::Secret;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::file::{self, FileError, FileMode, WriteOptions};
use crate::limits::{self, PIN_CHARS_MIN, PIN_TRIES};
use crate::lock::Lock;
use crate::runs::{self, RunsError};

/// The purpose for which the file's MAC is computed.
const PURPOSE: &str = "person";

/// Why a PIN could not be set or used.
#[derive(Debug, thiserror::Error)]
pub enum PersonError {
    #[error("no PIN is set")]
    NotSet,
    /// The PIN does not match.
    #[error("wrong PIN; {} left", milepost_model::suggest::count(*left, "attempt"))]
    Wrong { left: u32 },
    #[error("the PIN is locked after {PIN_TRIES} wrong attempts")]
    Locked,
    #[error("a PIN must have at least {PIN_CHARS_MIN} characters")]
    TooShort,
    #[error("`{}` is damaged", path.display())]
    Damaged { path: PathBuf },
    /// The system provided no random numbers.
    #[error("the system provided no random numbers")]
    NoRandomness,
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file's MAC could not be computed.
    #[error(transparent)]
    Chain(JournalError),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct PersonFile {
    salt: String,
    cost: u8,
    key: String,
    wrong: u32,
    /// Workflows whose approvals are granted without asking, each with the person's signature.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    granted: BTreeMap<String, String>,
    /// Computed with the journal's key, so that write access to the file is not enough to reset the
    /// counter.
    #[serde(default)]
    mac: String,
}

impl PersonFile {
    fn told(&self) -> String {
        format!("{} {} {} {}", self.salt, self.cost, self.key, self.wrong)
    }
}

/// The string that is signed to have a workflow's approvals granted without asking.
fn granted_text(workflow: &str) -> String {
    format!("milepost unattended\n{workflow}")
}

/// The person who owns a data directory, identified by their PIN.
#[derive(Debug, Clone)]
pub struct Person {
    directory: PathBuf,
}

impl Person {
    /// The person who owns this data directory. Reads nothing yet.
    pub fn of(directory: &Path) -> Person {
        Person { directory: directory.to_owned() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join("person.json")
    }

    /// The public key, if a PIN is set.
    pub fn key(&self) -> Result<Option<String>, PersonError> {
        Ok(self.kept()?.map(|kept| kept.key))
    }

    /// Sets the PIN. Changing an existing PIN requires the old one.
    pub fn set_pin(&self, pin: &Secret, old: Option<&Secret>) -> Result<(), PersonError> {
        if pin.reveal().chars().count() < PIN_CHARS_MIN {
            return Err(PersonError::TooShort);
        }
        if self.kept()?.is_some() {
            self.sign(old.unwrap_or(&Secret::new("")), "change the PIN")?;
        }
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|_| PersonError::NoRandomness)?;
        let pair = pair(pin, &salt, limits::PIN_SCRYPT_LOG_N)?;
        let key = hex(pair.public_key().as_ref());
        let _lock = self.lock()?;
        let (salt, granted, mac) = (hex(&salt), BTreeMap::new(), String::new());
        self.keep(PersonFile { salt, cost: limits::PIN_SCRYPT_LOG_N, key, wrong: 0, granted, mac })
    }

    /// Allows the approvals of exactly these workflows to be granted without asking.
    pub fn grant(&self, pin: &Secret, workflows: &[&str]) -> Result<(), PersonError> {
        let mut granted = BTreeMap::new();
        for workflow in workflows {
            granted.insert((*workflow).to_owned(), self.sign(pin, &granted_text(workflow))?);
        }
        let _lock = self.lock()?;
        let kept = self.kept()?.ok_or(PersonError::NotSet)?;
        self.keep(PersonFile { granted, ..kept })
    }

    /// Whether the person allowed a workflow's approvals to be granted without asking; always true
    /// if no PIN is set.
    pub fn has_granted(&self, workflow: &str) -> Result<bool, PersonError> {
        let Some(kept) = self.kept()? else { return Ok(true) };
        let signature = kept.granted.get(workflow);
        Ok(signature.is_some_and(|own| is_signed(&kept.key, &granted_text(workflow), own)))
    }

    /// Signs a string. A wrong PIN is counted before it is reported.
    pub fn sign(&self, pin: &Secret, text: &str) -> Result<String, PersonError> {
        let _lock = self.lock()?;
        let mut kept = self.kept()?.ok_or(PersonError::NotSet)?;
        if kept.wrong >= PIN_TRIES {
            return Err(PersonError::Locked);
        }
        // Counted before the check, so that killing the process in between does not yield an extra
        // attempt.
        kept.wrong += 1;
        self.keep(kept.clone())?;
        let salt = unhex(&kept.salt).ok_or_else(|| self.damaged())?;
        let pair = pair(pin, &salt, kept.cost)?;
        if hex(pair.public_key().as_ref()) != kept.key {
            let left = PIN_TRIES.saturating_sub(kept.wrong);
            return Err(if left == 0 { PersonError::Locked } else { PersonError::Wrong { left } });
        }
        kept.wrong = 0;
        self.keep(kept)?;
        Ok(hex(pair.sign(text.as_bytes()).as_ref()))
    }

    fn lock(&self) -> Result<Lock, PersonError> {
        file::make_directory(&self.directory, FileMode::Owner)?;
        Ok(Lock::of(&self.directory)?)
    }

    fn kept(&self) -> Result<Option<PersonFile>, PersonError> {
        let path = self.path();
        let bytes = std::fs::read(&path).map_err(|error| FileError::of(&path, error));
        let Some(bytes) = file::if_present(bytes)? else { return Ok(None) };
        let kept: PersonFile = serde_json::from_slice(&bytes).map_err(|_| self.damaged())?;
        let sound = runs::is_coded(&self.directory, PURPOSE, &kept.told(), &kept.mac);
        let sound = sound.map_err(chain)?;
        if sound { Ok(Some(kept)) } else { Err(self.damaged()) }
    }

    /// Writes the file. The caller holds the lock.
    fn keep(&self, mut kept: PersonFile) -> Result<(), PersonError> {
        kept.mac = runs::coded(&self.directory, PURPOSE, &kept.told()).map_err(chain)?;
        let bytes = serde_json::to_vec_pretty(&kept).map_err(|_| self.damaged())?;
        Ok(file::write(&self.path(), &bytes, WriteOptions::PRIVATE)?)
    }

    fn damaged(&self) -> PersonError {
        PersonError::Damaged { path: self.path() }
    }
}

/// Whether a signature was made with the private key that belongs to `key`.
pub fn is_signed(key: &str, text: &str, signature: &str) -> bool {
    let (Some(key), Some(signature)) = (unhex(key), unhex(signature)) else { return false };
    UnparsedPublicKey::new(&ED25519, key).verify(text.as_bytes(), &signature).is_ok()
}

fn pair(pin: &Secret, salt: &[u8], cost: u8) -> Result<Ed25519KeyPair, PersonError> {
    let mut seed = [0; 32];
    let unusable = || PersonError::NotSet;
    let params = scrypt::Params::new(cost, 8, 1, 32).map_err(|_| unusable())?;
    scrypt::scrypt(pin.reveal().as_bytes(), salt, &params, &mut seed).map_err(|_| unusable())?;
    Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| unusable())
}

fn chain(error: RunsError) -> PersonError {
    PersonError::Chain(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person() -> (tempfile::TempDir, Person) {
        let directory = tempfile::tempdir().expect("a directory");
        let person = Person::of(directory.path());
        (directory, person)
    }

    #[test]
    fn only_the_pin_signs_and_only_what_was_signed_is_signed() {
        let (_directory, person) = person();
        assert!(matches!(person.sign(&Secret::new("123456"), "x"), Err(PersonError::NotSet)));
        assert!(matches!(person.set_pin(&Secret::new("12345"), None), Err(PersonError::TooShort)));
        person.set_pin(&Secret::new("correct"), None).expect("is set");
        let key = person.key().expect("is read").expect("is there");
        let signature = person.sign(&Secret::new("correct"), "approve").expect("signs");
        assert!(is_signed(&key, "approve", &signature));
        assert!(!is_signed(&key, "reject", &signature));
        assert!(!is_signed(&key, "approve", ""));
        assert!(!is_signed(&"00".repeat(32), "approve", &signature));
    }

    #[test]
    fn guesses_are_counted_and_locked() {
        let (_directory, person) = person();
        person.set_pin(&Secret::new("correct"), None).expect("is set");
        for left in (1..PIN_TRIES).rev() {
            let told = person.sign(&Secret::new("guessed"), "x");
            assert!(matches!(told, Err(PersonError::Wrong { left: found }) if found == left));
        }
        let right = Secret::new("correct");
        assert!(matches!(person.sign(&Secret::new("guess"), "x"), Err(PersonError::Locked)));
        assert!(matches!(person.sign(&right, "x"), Err(PersonError::Locked)));
        assert!(matches!(
            person.set_pin(&Secret::new("another"), Some(&right)),
            Err(PersonError::Locked)
        ));
    }

    #[test]
    fn a_count_that_was_set_back_is_noticed() {
        let (_directory, person) = person();
        person.set_pin(&Secret::new("correct"), None).expect("is set");
        assert!(person.sign(&Secret::new("guessed"), "x").is_err());
        let kept = std::fs::read_to_string(person.path()).expect("reads");
        let reset = kept.replace("\"wrong\": 1", "\"wrong\": 0");
        assert_ne!(kept, reset);
        std::fs::write(person.path(), reset).expect("writes");
        let told = person.sign(&Secret::new("correct"), "x");
        assert!(matches!(told, Err(PersonError::Damaged { .. })), "{told:?}");
        std::fs::write(person.path(), kept).expect("writes");
        person.sign(&Secret::new("correct"), "x").expect("signs");
    }

    #[test]
    fn what_approves_by_itself_is_signed_for() {
        let (_directory, person) = person();
        assert!(person.has_granted("a").expect("is read"), "nobody set a PIN");
        let pin = Secret::new("correct");
        person.set_pin(&pin, None).expect("is set");
        assert!(!person.has_granted("a").expect("is read"));
        assert!(person.grant(&Secret::new("wrong-one"), &["a"]).is_err());
        person.grant(&pin, &["a"]).expect("is granted");
        assert!(person.has_granted("a").expect("is read"));
        assert!(!person.has_granted("b").expect("is read"));
    }

    #[test]
    fn a_pin_is_changed_by_whoever_knows_it() {
        let (_directory, person) = person();
        person.set_pin(&Secret::new("the old"), None).expect("is set");
        let (new, wrong) = (Secret::new("the new"), Secret::new("not it"));
        assert!(person.set_pin(&new, None).is_err());
        assert!(person.set_pin(&new, Some(&wrong)).is_err());
        person.set_pin(&new, Some(&Secret::new("the old"))).expect("is changed");
        person.sign(&new, "x").expect("signs");
    }
}

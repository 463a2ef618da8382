//! The person's PIN, which is used to sign their decisions.
//!
//! The PIN itself is not stored. A key pair is derived from it and a salt; the public key is
//! stored, and pinned in every run, so that anyone can distinguish a decision made by the person
//! from a forged one. Anyone who can read the file can test PINs against it, slowly; only a longer
//! PIN protects against that.
//!
//! Wrong PINs cost time, and never lock the person out. Whoever can delete the file can set a PIN
//! of their own, but not unnoticed: see [`PinState`].

mod delay;
mod history;

use std::path::{Path, PathBuf};
use std::time::Duration;

use milepost_engine::ports::JournalError;
use milepost_model::digest::unhex;
use milepost_model::document::hex;
use milepost_model::secret::Secret;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::file::{self, FileError, FileMode, WriteOptions};
use crate::limits::{self, PIN_CHARS_MIN};
use crate::lock::Lock;
use crate::runs::{self, RunsError};

use delay::{PinClock, Remaining};
pub(crate) use history::FILE as HISTORY_FILE;
use history::{PinEntry, PinHistory};

/// The purpose for which the file's MAC is computed.
const PURPOSE: &str = "person";

/// Why a PIN could not be set or used.
#[derive(Debug, thiserror::Error)]
pub enum PersonError {
    #[error("no PIN is set")]
    NotSet,
    /// The PIN does not match. The next attempt has to wait.
    #[error("wrong PIN{}", next_attempt(*wait))]
    Wrong { wait: Duration },
    /// The PIN was not looked at.
    #[error("too many wrong PINs: the next one is accepted in {}", seconds(*wait))]
    TooSoon { wait: Duration },
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

fn next_attempt(wait: Duration) -> String {
    match wait.is_zero() {
        true => String::new(),
        false => format!(": the next one is accepted in {}", seconds(wait)),
    }
}

/// A duration in whole seconds, rounded up.
fn seconds(wait: Duration) -> String {
    let whole = usize::try_from(wait.as_millis().div_ceil(1_000)).unwrap_or(usize::MAX);
    milepost_model::suggest::count(whole, "second")
}

/// Whether the PIN is the one that the person set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinState {
    /// It is, or none was ever set.
    Sound,
    /// `person.json` is gone, although a PIN was set.
    Missing,
    /// Another PIN was set without the old one.
    Replaced { at_ms: u64 },
}

/// A key that decisions in a run have to be signed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedKey {
    pub key: String,
    /// When the run was started, in milliseconds since 1970.
    pub at_ms: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct PersonFile {
    salt: String,
    cost: u8,
    key: String,
    /// The number of wrong PINs since the last correct one.
    wrong: u32,
    /// When the next attempt is accepted, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "is_zero")]
    not_before_ms: u64,
    /// Computed with the journal's key, so that write access to the file is not enough to reset the
    /// counter.
    #[serde(default)]
    mac: String,
}

impl PersonFile {
    fn told(&self) -> String {
        let told = format!("{} {} {} {}", self.salt, self.cost, self.key, self.wrong);
        match self.not_before_ms {
            0 => told,
            until_ms => format!("{told} {until_ms}"),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(ms: &u64) -> bool {
    *ms == 0
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

    /// Sets the PIN. Changing an existing PIN requires the old one, which signs the new key.
    pub fn set_pin(&self, pin: &Secret, old: Option<&Secret>) -> Result<(), PersonError> {
        if pin.reveal().chars().count() < PIN_CHARS_MIN {
            return Err(PersonError::TooShort);
        }
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(|_| PersonError::NoRandomness)?;
        let pair = pair(pin, &salt, limits::PIN_SCRYPT_LOG_N)?;
        let key = hex(pair.public_key().as_ref());
        let at_ms = PinClock::now().wall_ms;
        let entry = match self.kept()? {
            Some(before) => {
                let old = old.cloned().unwrap_or_else(|| Secret::new(""));
                let signature = self.sign(&old, &history::succession_text(&key))?;
                PinEntry::after(before.key, signature, key.clone(), at_ms)
            }
            None => PinEntry::first(key.clone(), at_ms),
        };
        let _lock = self.lock()?;
        // Written first: a key that was recorded and never used is harmless.
        PinHistory::read(&self.directory)?.add(&self.directory, entry)?;
        let (salt, mac) = (hex(&salt), String::new());
        let (cost, wrong, not_before_ms) = (limits::PIN_SCRYPT_LOG_N, 0, 0);
        self.keep(PersonFile { salt, cost, key, wrong, not_before_ms, mac })
    }

    /// Whether a PIN was ever set here, as far as is recorded outside the runs.
    pub fn was_set(&self) -> Result<bool, PersonError> {
        Ok(!PinHistory::read(&self.directory)?.is_empty())
    }

    /// Whether the PIN is the one that the person set. `used` are the keys that recent runs are
    /// pinned to. A replaced PIN is reported for [`limits::PIN_REPLACED_SHOWN`].
    pub fn state(&self, used: &[PinnedKey], now_ms: u64) -> Result<PinState, PersonError> {
        let history = PinHistory::read(&self.directory)?;
        let Some(kept) = self.kept()? else {
            let was_set = !history.is_empty() || !used.is_empty();
            return Ok(if was_set { PinState::Missing } else { PinState::Sound });
        };
        let line = history.line(&kept.key);
        let foreign = used.iter().filter(|used| !line.keys.contains(&used.key));
        let last_used = foreign.map(|used| used.at_ms).max();
        let is_first = history.keys().next().is_none_or(|key| line.keys.contains(key));
        let recorded = if is_first { None } else { Some(line.since_ms.unwrap_or(now_ms)) };
        // A run that is pinned to another key proves that the PIN was not replaced before it.
        let Some(at_ms) = recorded.max(last_used.map(|at| at.max(line.since_ms.unwrap_or(at))))
        else {
            return Ok(PinState::Sound);
        };
        let shown = u64::try_from(limits::PIN_REPLACED_SHOWN.as_millis()).unwrap_or(u64::MAX);
        let is_recent = now_ms.saturating_sub(at_ms) < shown;
        Ok(if is_recent { PinState::Replaced { at_ms } } else { PinState::Sound })
    }

    /// Refuses if the next PIN would not be looked at yet, so that nobody types it in vain.
    pub fn ready(&self) -> Result<(), PersonError> {
        let _lock = self.lock()?;
        let mut kept = self.kept()?.ok_or(PersonError::NotSet)?;
        self.admit(&mut kept, PinClock::now())
    }

    /// Signs a string. A wrong PIN is counted before it is reported.
    pub fn sign(&self, pin: &Secret, text: &str) -> Result<String, PersonError> {
        Ok(hex(self.unlock(pin, PinClock::now())?.sign(text.as_bytes()).as_ref()))
    }

    /// Signs several strings with one attempt.
    pub fn sign_each(&self, pin: &Secret, texts: &[String]) -> Result<Vec<String>, PersonError> {
        let pair = self.unlock(pin, PinClock::now())?;
        Ok(texts.iter().map(|text| hex(pair.sign(text.as_bytes()).as_ref())).collect())
    }

    /// The key pair that belongs to the PIN.
    fn unlock(&self, pin: &Secret, now: PinClock) -> Result<Ed25519KeyPair, PersonError> {
        let _lock = self.lock()?;
        let mut kept = self.kept()?.ok_or(PersonError::NotSet)?;
        self.admit(&mut kept, now)?;
        // Counted before the check, so that killing the process in between does not yield an extra
        // attempt.
        kept.wrong = kept.wrong.saturating_add(1);
        let wait = delay::after(kept.wrong);
        kept.not_before_ms = if wait.is_zero() { 0 } else { delay::begin(&self.path(), wait, now) };
        self.keep(kept.clone())?;
        let salt = unhex(&kept.salt).ok_or_else(|| self.damaged())?;
        let pair = pair(pin, &salt, kept.cost)?;
        if hex(pair.public_key().as_ref()) != kept.key {
            return Err(PersonError::Wrong { wait });
        }
        (kept.wrong, kept.not_before_ms) = (0, 0);
        let history = PinHistory::read(&self.directory)?;
        if history.is_empty() {
            // The PIN was set by a version that kept no history.
            history.add(&self.directory, PinEntry::first(kept.key.clone(), now.wall_ms))?;
        }
        self.keep(kept)?;
        Ok(pair)
    }

    /// Refuses an attempt that comes too soon. The caller holds the lock.
    fn admit(&self, kept: &mut PersonFile, now: PinClock) -> Result<(), PersonError> {
        match delay::remaining(&self.path(), kept.not_before_ms, kept.wrong, now) {
            Remaining::Nothing => Ok(()),
            Remaining::Wait(wait) => Err(PersonError::TooSoon { wait }),
            Remaining::ClockSetBack => {
                let wait = delay::after(kept.wrong);
                kept.not_before_ms = delay::begin(&self.path(), wait, now);
                self.keep(kept.clone())?;
                Err(PersonError::TooSoon { wait })
            }
        }
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

    /// A time this long after `start`.
    fn later(start: PinClock, passed: Duration) -> PinClock {
        let wall_ms = start.wall_ms + u64::try_from(passed.as_millis()).expect("fits");
        PinClock { wall_ms, monotonic: start.monotonic + passed }
    }

    #[test]
    fn wrong_pins_cost_growing_time_and_never_lock_the_person_out() {
        let (_directory, person) = person();
        let (right, wrong) = (Secret::new("correct"), Secret::new("guessed"));
        person.set_pin(&right, None).expect("is set");
        let mut now = PinClock::now();
        let mut waits = Vec::new();
        for _ in 0..12 {
            let told = person.unlock(&wrong, now);
            let Err(PersonError::Wrong { wait }) = told else { panic!("{told:?}") };
            waits.push(wait);
            if !wait.is_zero() {
                // Too soon, even the right PIN is not looked at, and nothing is counted.
                let soon = later(now, wait.saturating_sub(Duration::from_millis(1)));
                let told = person.unlock(&right, soon);
                assert!(matches!(told, Err(PersonError::TooSoon { .. })), "{told:?}");
            }
            now = later(now, wait);
        }
        let free = usize::try_from(limits::PIN_FREE_TRIES).expect("fits");
        assert_eq!(waits[..free], vec![Duration::ZERO; free]);
        assert_eq!(waits[free], limits::PIN_DELAY);
        for pair in waits[free..].windows(2) {
            assert_eq!(pair[1], (pair[0] * 2).min(limits::PIN_DELAY_MAX));
        }
        assert_eq!(waits.last(), Some(&limits::PIN_DELAY_MAX));
        person.unlock(&right, now).expect("the right PIN counts after the wait");
        let told = person.unlock(&wrong, now);
        assert!(matches!(told, Err(PersonError::Wrong { wait: Duration::ZERO })), "{told:?}");
    }

    /// What another process, which did not count the wrong PIN, concludes from the file alone.
    #[test]
    fn a_clock_that_was_set_back_neither_ends_nor_prolongs_a_wait() {
        let file = Path::new("/not/begun/here");
        let wrong = limits::PIN_FREE_TRIES + 1;
        let now = PinClock::now();
        let until_ms = later(now, limits::PIN_DELAY).wall_ms;
        let at = |wall_ms| delay::remaining(file, until_ms, wrong, PinClock { wall_ms, ..now });
        assert_eq!(at(now.wall_ms), Remaining::Wait(limits::PIN_DELAY));
        assert_eq!(at(until_ms), Remaining::Nothing);
        assert_eq!(at(now.wall_ms - 1), Remaining::ClockSetBack);
        assert_eq!(at(0), Remaining::ClockSetBack);
    }

    /// Within the process that counted it, the wall clock does not matter.
    #[test]
    fn a_wait_ends_by_the_monotonic_clock_in_its_own_process() {
        let (_directory, person) = person();
        let (right, wrong) = (Secret::new("correct"), Secret::new("guessed"));
        person.set_pin(&right, None).expect("is set");
        let now = PinClock::now();
        for _ in 0..=limits::PIN_FREE_TRIES {
            person.unlock(&wrong, now).expect_err("is wrong");
        }
        let forward = PinClock { wall_ms: now.wall_ms + 1_000_000_000, ..now };
        let told = person.unlock(&right, forward);
        assert!(matches!(told, Err(PersonError::TooSoon { .. })), "{told:?}");
        let back = PinClock { wall_ms: 0, ..later(now, limits::PIN_DELAY) };
        person.unlock(&right, back).expect("the time has passed");
    }

    #[test]
    fn a_pin_that_an_earlier_version_locked_can_be_used_again() {
        let (_directory, person) = person();
        let right = Secret::new("correct");
        person.set_pin(&right, None).expect("is set");
        std::fs::remove_file(PinHistory::path(&person.directory)).expect("is removed");
        let mut kept = person.kept().expect("is read").expect("is there");
        kept.wrong = 5;
        person.keep(kept).expect("is written");
        person.sign(&right, "x").expect("signs");
        assert!(person.was_set().expect("is read"), "the history begins with the next signature");
    }

    fn used(key: &str, at_ms: u64) -> PinnedKey {
        PinnedKey { key: key.to_owned(), at_ms }
    }

    #[test]
    fn a_changed_pin_is_told_from_a_replaced_one() {
        let (_directory, person) = person();
        let now_ms = PinClock::now().wall_ms;
        let state = |used: &[PinnedKey], at| person.state(used, at).expect("is known");
        assert_eq!(state(&[], now_ms), PinState::Sound);
        person.set_pin(&Secret::new("the first"), None).expect("is set");
        let first = person.key().expect("is read").expect("is there");
        person.set_pin(&Secret::new("second"), Some(&Secret::new("the first"))).expect("is set");
        let second = person.key().expect("is read").expect("is there");
        let runs = [used(&first, now_ms), used(&second, now_ms)];
        assert_eq!(state(&runs, now_ms), PinState::Sound);
        std::fs::remove_file(person.path()).expect("is removed");
        assert_eq!(state(&[], now_ms), PinState::Missing);
        person.set_pin(&Secret::new("another"), None).expect("is set");
        let day = 24 * 60 * 60 * 1_000;
        for (at, is_shown) in [(0, true), (now_ms, true), (now_ms + 6 * day, true)]
            .into_iter()
            .chain([(now_ms + 8 * day, false)])
        {
            let told = state(&[], at);
            assert_eq!(matches!(told, PinState::Replaced { .. }), is_shown, "{at}: {told:?}");
        }
        // A run that was started later with the old PIN proves that the replacement is younger.
        let late = [used(&second, now_ms + 7 * day)];
        assert!(matches!(state(&late, now_ms + 8 * day), PinState::Replaced { .. }));
        // Without the history, only the runs tell.
        std::fs::remove_file(PinHistory::path(&person.directory)).expect("is removed");
        assert_eq!(state(&[], now_ms), PinState::Sound);
        assert!(matches!(state(&runs, now_ms), PinState::Replaced { .. }));
    }

    #[test]
    fn a_succession_that_the_old_pin_did_not_sign_counts_for_nothing() {
        let (_directory, person) = person();
        person.set_pin(&Secret::new("the first"), None).expect("is set");
        let first = person.key().expect("is read").expect("is there");
        std::fs::remove_file(person.path()).expect("is removed");
        person.set_pin(&Secret::new("another"), None).expect("is set");
        let other = person.key().expect("is read").expect("is there");
        let own = person.sign(&Secret::new("another"), &history::succession_text(&other));
        let forged = PinEntry::after(first, own.expect("signs"), other, 1);
        let history = PinHistory::read(&person.directory).expect("is read");
        history.add(&person.directory, forged).expect("is added");
        let told = person.state(&[], PinClock::now().wall_ms).expect("is known");
        assert_ne!(told, PinState::Sound);
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

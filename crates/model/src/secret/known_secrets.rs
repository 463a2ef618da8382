//! The secrets that this process knows: every one that it has read, received or decrypted.
//!
//! The store encrypts them inside the rows of runs, and every interface masks them in its output.
//! Only code at the edge adds secrets or reads this list; nothing that decides, compares or sends
//! may depend on it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::{Mask, Secret};
use crate::limits::KNOWN_SECRETS;

/// Whether there are any, so that nothing else is touched if there are none.
static ANY: AtomicBool = AtomicBool::new(false);
static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

#[derive(Default)]
struct Known {
    /// The names and values, with the time of the last registration, counted in registrations.
    secrets: HashMap<String, (String, u64)>,
    count: u64,
    mask: Arc<Mask>,
}

/// Adds a secret. One that is too short to be recognized in data is left out.
pub fn register(name: &str, secret: &Secret) {
    if !Mask::recognizes(secret) {
        return;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().add(name, secret);
    ANY.store(true, Ordering::Release);
}

/// The mask with all of them; `None` if there are none.
pub fn mask() -> Option<Arc<Mask>> {
    if !ANY.load(Ordering::Acquire) {
        return None;
    }
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().map(|known| Arc::clone(&known.mask))
}

/// A text as it may be shown. If it is JSON, it remains JSON.
pub fn shown(text: &str) -> Cow<'_, str> {
    mask().map_or(Cow::Borrowed(text), |mask| mask.shown(text))
}

/// A value as it may be shown.
pub fn shown_value(value: Value) -> Value {
    match mask() {
        Some(mask) => mask.json(&value),
        None => value,
    }
}

/// Bytes as they may be shown: text, or lines of JSON.
pub fn shown_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Some(mask) = mask() else { return Cow::Borrowed(bytes) };
    match std::str::from_utf8(bytes) {
        Ok(text) => match mask.shown(text) {
            Cow::Borrowed(_) => Cow::Borrowed(bytes),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
        Err(_) => mask.bytes(bytes),
    }
}

/// Like [`shown_bytes`], without a copy if there is nothing to mask.
pub fn shown_owned(bytes: Vec<u8>) -> Vec<u8> {
    match shown_bytes(&bytes) {
        Cow::Borrowed(_) => bytes,
        Cow::Owned(masked) => masked,
    }
}

/// Bytes in which each secret is overwritten, so that their length stays the same.
pub fn overwritten(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(mask) = mask() {
        let found: Vec<_> = mask.find_all(&bytes).map(|found| found.at).collect();
        found.into_iter().for_each(|at| bytes[at].fill(b'*'));
    }
    bytes
}

/// The beginning of a text, of at most this many characters. It does not end within a secret, half
/// of which would not be recognized later.
pub fn beginning(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(end, _)| end);
    &text[..whole(text.as_bytes(), end)]
}

/// The last offset up to a given one at which bytes can be cut without cutting a secret.
pub fn whole(bytes: &[u8], end: usize) -> usize {
    let end = end.min(bytes.len());
    let Some(mask) = mask().filter(|_| end < bytes.len()) else { return end };
    let cut = mask.find_all(bytes).map(|found| found.at).find(|at| at.end > end);
    cut.map_or(end, |at| at.start.min(end))
}

/// Bytes that were cut off somewhere, without the part of a secret that they may end with.
pub fn without_part(bytes: &[u8]) -> &[u8] {
    let part = mask().and_then(|mask| mask.part_at_end(bytes));
    &bytes[..part.unwrap_or(bytes.len())]
}

impl Known {
    fn add(&mut self, name: &str, secret: &Secret) {
        self.count += 1;
        let count = self.count;
        if let Some((_, last)) = self.secrets.get_mut(secret.reveal()) {
            *last = count;
            return;
        }
        if self.secrets.len() >= KNOWN_SECRETS {
            self.forget_half();
        }
        self.secrets.insert(secret.reveal().to_owned(), (name.to_owned(), count));
        Arc::make_mut(&mut self.mask).add(name, secret);
    }

    /// Forgets the secrets that have not been used for longest, such as expired tokens.
    fn forget_half(&mut self) {
        let mut times: Vec<u64> = self.secrets.values().map(|(_, last)| *last).collect();
        times.sort_unstable();
        let middle = times[times.len() / 2];
        self.secrets.retain(|_, (_, last)| *last >= middle);
        let mut mask = Mask::new();
        for (value, (name, _)) in &self.secrets {
            mask.add(name, &Secret::new(value.as_str()));
        }
        self.mask = Arc::new(mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_is_cut_within_a_secret() {
        let text = "before correct-horse-battery after";
        assert_eq!(beginning(text, 12), "before corre");
        register("K", &Secret::new("correct-horse-battery"));
        assert_eq!(beginning(text, 12), "before ");
        assert_eq!(beginning(text, 7), "before ");
        assert_eq!(beginning(text, 28), "before correct-horse-battery");
        assert_eq!(beginning(text, 300), text);
        assert_eq!(without_part(b"before correct-hor"), b"before ");
        assert_eq!(without_part(b"before Y29ycmVjdC1ob3"), b"before ");
        assert_eq!(without_part(text.as_bytes()), text.as_bytes());
        assert_eq!(shown(text), "before [secret:K] after");
        assert_eq!(shown_value(json!({"a": [text]})), json!({"a": ["before [secret:K] after"]}));
        assert_eq!(
            overwritten(b"\xff correct-horse-battery!".to_vec()),
            b"\xff *********************!"
        );
        assert_eq!(shown_bytes(b"\xff correct-horse-battery"), &b"\xff [secret:K]"[..]);
    }

    #[test]
    fn the_newest_are_kept() {
        let mut known = Known::default();
        let secret = |number: usize| Secret::new(format!("a-long-enough-secret-{number:06}"));
        for number in 0..=KNOWN_SECRETS {
            known.add("K", &secret(number));
            known.add("K", &secret(0));
        }
        let text = |number: usize| secret(number).reveal().to_owned();
        assert!(known.secrets.len() <= KNOWN_SECRETS);
        assert!(known.mask.finds(&text(0)) && known.mask.finds(&text(KNOWN_SECRETS)));
        assert!(!known.mask.finds(&text(1)));
    }
}

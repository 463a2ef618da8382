//! Names that surely keep the patterns of the requests' schemas.
//!
//! Never wider than those: what is refused here is looked at again by the schema, which decides.

/// An id of a workflow.
pub(crate) fn is_workflow_id(id: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && WORKFLOW_ID.has_all_of(part);
    let parts = match id.split_once('.') {
        Some((first, second)) => is_part(first) && is_part(second),
        None => is_part(id),
    };
    parts && (3..=64).contains(&id.len())
}

/// An id of a step, or the key of one of its instances.
pub(crate) fn is_step_key(key: &str) -> bool {
    // Two dots in a row would leave a directory.
    let dots = || key.as_bytes().windows(2).any(|pair| pair == b"..");
    !key.is_empty() && (PLAIN_KEY.has_all_of(key) || STEP_KEY.has_all_of(key) && !dots())
}

/// Characters of a part of a workflow's id.
static WORKFLOW_ID: Letters = Letters::of(b"abcdefghijklmnopqrstuvwxyz0123456789_-");
/// Characters of a step's key without dots.
static PLAIN_KEY: Letters =
    Letters::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:@-");
/// Characters of a step's key.
static STEP_KEY: Letters =
    Letters::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:@-");

/// A set of bytes: every one of every key of every call is looked up.
struct Letters([bool; 256]);

impl Letters {
    const fn of(letters: &[u8]) -> Letters {
        let mut set = [false; 256];
        let mut at = 0;
        while at < letters.len() {
            set[letters[at] as usize] = true;
            at += 1;
        }
        Letters(set)
    }

    fn has_all_of(&self, text: &str) -> bool {
        text.bytes().all(|byte| self.0[usize::from(byte)])
    }
}

//! A yes that a person gave, carried by a model: one token for exactly one call.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

/// The argument that carries a token.
pub(super) const ARGUMENT: &str = "confirm";
/// How long a token is good.
const VALID: Duration = Duration::from_mins(5);
/// Tokens that are kept; the oldest goes first.
const KEPT: usize = 256;

/// The tokens that were given out and not used yet.
#[derive(Debug, Default)]
pub(super) struct Confirmations {
    open: Mutex<HashMap<String, Open>>,
}

#[derive(Debug)]
struct Open {
    call: String,
    since: Instant,
}

impl Confirmations {
    /// A token for one call.
    pub(super) fn give(&self, tool: &str, arguments: &Map<String, Value>) -> String {
        let token = token();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, one| one.since.elapsed() < VALID);
        if open.len() >= KEPT
            && let Some(oldest) =
                open.iter().min_by_key(|(_, one)| one.since).map(|(token, _)| token.clone())
        {
            open.remove(&oldest);
        }
        let call = call(tool, arguments);
        open.insert(token.clone(), Open { call, since: Instant::now() });
        token
    }

    /// Whether a token was given for this call; it is used up either way.
    pub(super) fn take(&self, token: &str, tool: &str, arguments: &Map<String, Value>) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(token)
            .is_some_and(|one| one.since.elapsed() < VALID && one.call == call(tool, arguments))
    }
}

/// A call as text: the same arguments in another order are another call, which is only asked again.
fn call(tool: &str, arguments: &Map<String, Value>) -> String {
    let mut text = tool.to_owned();
    text.push_str(&serde_json::to_string(arguments).unwrap_or_default());
    text
}

/// 128 bits. They guard against a model that makes one up, which is asked not to, and is bound to
/// this process.
fn token() -> String {
    let random = RandomState::new();
    format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_once_and_for_its_call_alone() {
        let confirmations = Confirmations::default();
        let arguments = |id: &str| Map::from_iter([("workflow_id".to_owned(), id.into())]);
        let token = confirmations.give("workflow.delete", &arguments("a"));
        assert!(!confirmations.take("made-up", "workflow.delete", &arguments("a")));
        assert!(confirmations.take(&token, "workflow.delete", &arguments("a")));
        assert!(!confirmations.take(&token, "workflow.delete", &arguments("a")));
        let token = confirmations.give("workflow.delete", &arguments("a"));
        assert!(!confirmations.take(&token, "workflow.delete", &arguments("b")));
        assert!(!confirmations.take(&token, "workflow.delete", &arguments("a")));
    }
}

//! Tokens that link the answer to a question with the call that asked it, in a revision in which
//! the answer arrives in another request. A token is no answer: it only says what was asked.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::{Map, Value};

use crate::limits;
use crate::lock::lock;

/// Tokens that were issued and not yet used, each with its data.
#[derive(Debug)]
pub(super) struct CallTokens<T> {
    open: Mutex<HashMap<String, Open<T>>>,
}

#[derive(Debug)]
struct Open<T> {
    call: String,
    since: Instant,
    what: T,
}

impl<T> Default for CallTokens<T> {
    fn default() -> CallTokens<T> {
        CallTokens { open: Mutex::default() }
    }
}

impl<T> CallTokens<T> {
    /// Issues a token for one call.
    pub(super) fn give(&self, call: String, what: T) -> String {
        let token = token();
        let mut open = lock(&self.open);
        open.retain(|_, one| one.since.elapsed() < limits::TOKEN_VALID);
        if open.len() >= limits::TOKENS
            && let Some(oldest) =
                open.iter().min_by_key(|(_, one)| one.since).map(|(token, _)| token.clone())
        {
            open.remove(&oldest);
        }
        open.insert(token.clone(), Open { call, since: Instant::now(), what });
        token
    }

    /// Returns the data of a token if it was issued for this call; the token is used up either way.
    pub(super) fn take(&self, token: &str, call: &str) -> Option<T> {
        let mut open = lock(&self.open);
        let one = open.remove(token)?;
        (one.since.elapsed() < limits::TOKEN_VALID && one.call == call).then_some(one.what)
    }
}

/// A call as a string. The same arguments in a different order count as a different call, which
/// only means that the question is asked again.
pub(super) fn call(tool: &str, arguments: &Map<String, Value>) -> String {
    format!("{tool}{}", Value::Object(arguments.clone()))
}

/// A random token of 128 bits. It protects against a model that invents one despite its
/// instructions, and is valid only in this process.
pub(super) fn token() -> String {
    let random = RandomState::new();
    format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_once_and_for_its_call_alone() {
        let tokens = CallTokens::default();
        let call = |id: &str| {
            let arguments = Map::from_iter([("workflow_id".to_owned(), id.into())]);
            call("workflow.delete", &arguments)
        };
        let token = tokens.give(call("a"), 1);
        assert_eq!(tokens.take("made-up", &call("a")), None);
        assert_eq!(tokens.take(&token, &call("a")), Some(1));
        assert_eq!(tokens.take(&token, &call("a")), None);
        let token = tokens.give(call("a"), 2);
        assert_eq!(tokens.take(&token, &call("b")), None);
        assert_eq!(tokens.take(&token, &call("a")), None);
    }
}

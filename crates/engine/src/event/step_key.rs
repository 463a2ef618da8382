//! The key of one execution of a step: the step, and the pass of every loop around it.

use std::fmt;
use std::ops::Range;

use milepost_model::id::StepId;
use serde::{Deserialize, Serialize};

/// `lookup`, `fetch@3` (a list item), `loop@2::inner` (a step in a loop pass) or `decide::verify@0`
/// (a submission check). A key is stable because it is built only from the definition and indices.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepKey(String);

impl StepKey {
    /// The key of a top-level step.
    pub fn of(step: &StepId) -> StepKey {
        StepKey(step.as_str().to_owned())
    }

    /// A key from its written form, such as `lookup` or `loop@2::inner`.
    pub fn of_walk(spelling: &str) -> StepKey {
        StepKey(spelling.to_owned())
    }

    /// The key of one item in a step that runs over a list.
    #[must_use]
    pub fn item(&self, index: usize) -> StepKey {
        StepKey(format!("{}@{index}", self.0))
    }

    /// The list that an item belongs to, and its index.
    pub(crate) fn list(&self) -> Option<(StepKey, usize)> {
        let (list, index) = self.0.rsplit_once('@')?;
        Some((StepKey(list.to_owned()), index.parse().ok()?))
    }

    /// Whether it is a list item or a check, neither of which is a separate step in expressions.
    pub(crate) fn is_item(&self) -> bool {
        self.0.rsplit("::").next().unwrap_or_default().contains('@')
    }

    /// Whether it belongs to a submission check.
    pub(crate) fn is_check(&self) -> bool {
        self.0.contains("::verify@")
    }

    /// The key of one submission check.
    #[must_use]
    pub fn check(&self, index: usize) -> StepKey {
        StepKey(format!("{}::verify@{index}", self.0))
    }

    /// The key of the question whether the run may do what it wants to do.
    pub fn consent() -> StepKey {
        StepKey(".consent".to_owned())
    }

    /// The key of the question whether the run may make as many writes again.
    pub(crate) fn consent_again(times: u64) -> StepKey {
        StepKey(format!(".consent:{times}"))
    }

    /// The key of the question whether one request of an execution may be sent.
    pub(crate) fn approval(&self, request: &str) -> StepKey {
        // Such a key belongs to no step, list or loop.
        let of = self.0.replace("::", "/").replace('@', "+");
        StepKey(format!(".approve:{of}:{request}"))
    }

    /// Whether it is the key of a question that the run itself asks. No document contains such a
    /// key, because the ids of steps do not begin with a dot.
    pub fn is_reserved(&self) -> bool {
        self.0.starts_with('.')
    }

    /// The range of all reserved keys.
    pub(crate) fn reserved() -> Range<StepKey> {
        // The end is the ASCII character after the dot.
        StepKey(".".to_owned())..StepKey("/".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of the top-level step that it belongs to.
    pub fn top(&self) -> &str {
        let first = self.0.split("::").next().unwrap_or(&self.0);
        first.split('@').next().unwrap_or(first)
    }

    /// The id of the step itself.
    pub fn step(&self) -> &str {
        let parts = self.0.rsplit("::").find(|part| !part.starts_with("verify@"));
        let last = parts.unwrap_or(&self.0);
        last.split('@').next().unwrap_or(last)
    }

    /// The ranges of all keys below this one, in order: see [`StepKey::is_within`].
    pub(crate) fn below(&self) -> [Range<StepKey>; 2] {
        // Each range ends at the ASCII character after `:` or `@`.
        [(":", ";"), ("@", "A")].map(|(from, to)| {
            let key = |end: &str| StepKey(format!("{}{end}", self.0));
            key(from)..key(to)
        })
    }

    /// Whether this key equals the other one or is below it.
    pub fn is_within(&self, other: &StepKey) -> bool {
        let rest = self.0.strip_prefix(other.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', ':']))
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_knows_its_step_and_what_is_around_it() {
        let check = |key: &str, top: &str, step: &str| {
            let key = StepKey::of_walk(key);
            assert_eq!((key.top(), key.step()), (top, step), "{key}");
        };
        check("lookup", "lookup", "lookup");
        check("fetch@3", "fetch", "fetch");
        check("loop@2::inner", "loop", "inner");
        check("a@0::b@1::c", "a", "c");
        check("decide::verify@0", "decide", "decide");
        check("loop@1::decide::verify@0", "loop", "decide");
    }

    #[test]
    fn a_reserved_key_belongs_to_no_step() {
        let approval = StepKey::of_walk("loop@1::pay@2").approval("0123");
        for key in [StepKey::consent(), StepKey::consent_again(1), approval] {
            assert!(key.is_reserved() && StepKey::reserved().contains(&key), "{key}");
            assert_eq!((key.top(), key.step()), (key.as_str(), key.as_str()));
            assert!(!key.is_item() && !key.is_check() && key.list().is_none(), "{key}");
        }
        assert!(!StepKey::reserved().contains(&StepKey::of_walk("0")));
        assert!(milepost_model::id::StepId::parse(".consent").is_err());
    }

    #[test]
    fn what_lies_below_is_within() {
        let within =
            |key: &str, other: &str| StepKey::of_walk(key).is_within(&StepKey::of_walk(other));
        assert!(within("a", "a") && within("a@1", "a") && within("a@1::b", "a"));
        assert!(within("a::verify@0", "a"));
        assert!(!within("ab", "a") && !within("a", "a@1"));
        let a = StepKey::of_walk("a");
        let all = ["a", "a-b", "a1", "a::verify@0", "a:b", "a;", "a@0", "a@1::b", "aA", "ab", "b"];
        for key in all.map(StepKey::of_walk) {
            let below = a.below().iter().any(|range| range.contains(&key));
            assert_eq!(below, key != a && key.is_within(&a), "{key}");
        }
    }
}

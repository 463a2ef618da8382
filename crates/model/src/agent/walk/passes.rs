//! Decides whether a loop has another pass.

use serde_json::Value;

use super::{WalkError, WalkScope, root};
use crate::condition::{Condition, MissingVariable, Truth, Variables};
use crate::guide::{Count, LoopDoc, LoopType};

/// How a loop repeats, with its variable resolved.
pub(super) enum Passes<'w, 'c> {
    /// Repeats once for each item.
    Items(&'c [Value]),
    /// Repeats a fixed number of times.
    Times(usize),
    /// Repeats as long as a condition evaluates to `wanted`.
    Condition { condition: &'w Condition, wanted: bool },
    /// Repeats until the caller or the limit ends the loop.
    Open,
}

impl<'w, 'c> Passes<'w, 'c> {
    pub(super) fn of(spec: &'w LoopDoc, scope: &WalkScope<'w, 'c>) -> Result<Self, WalkError> {
        let on = |wanted: bool| match &spec.condition {
            Some(condition) => Passes::Condition { condition, wanted },
            None => Passes::Open,
        };
        Ok(match spec.kind.value {
            LoopType::While => on(true),
            LoopType::Until => on(false),
            LoopType::For => match &spec.count {
                Some(Count::Times(times)) => Passes::Times(usize::try_from(*times).unwrap_or(0)),
                Some(Count::Variable(name)) => Passes::Times(count(name, scope)?),
                None => Passes::Open,
            },
            LoopType::ForEach => {
                let name = spec.items.as_ref().map_or("", |items| items.0.as_str());
                match scope.theirs(name) {
                    Some(Value::Array(items)) => Passes::Items(items),
                    _ => return Err(mismatch(name, "an array", scope)),
                }
            }
        })
    }

    /// Whether the loop has a pass with this number; `None` if the variable that decides this is
    /// missing.
    pub(super) fn goes_on(&self, iteration: usize, scope: &dyn Variables) -> Option<bool> {
        match self {
            Passes::Items(items) => Some(iteration < items.len()),
            Passes::Times(times) => Some(iteration < *times),
            Passes::Open => Some(true),
            Passes::Condition { condition, wanted } => {
                if condition.holds(scope) == *wanted {
                    return Some(true);
                }
                match condition.decide(scope) {
                    Truth::Undecided(_) => None,
                    Truth::Holds | Truth::Fails => Some(false),
                }
            }
        }
    }

    /// The variables that an undecided condition is waiting for. Values that make an `until`
    /// condition hold would end the loop, so they are not listed as expected values.
    pub(super) fn wanted(&self, scope: &dyn Variables) -> Vec<MissingVariable> {
        let Passes::Condition { condition, wanted } = self else { return Vec::new() };
        let truth = condition.decide(scope);
        match if *wanted { truth } else { truth.negate() } {
            Truth::Undecided(found) => found,
            Truth::Holds | Truth::Fails => Vec::new(),
        }
    }

    /// Whether its condition reads only variables of this kind.
    pub(super) fn reads_only(&self, kind: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Passes::Condition { condition, .. } => {
                condition.variables().into_iter().all(|path| kind(root(path)))
            }
            Passes::Items(_) | Passes::Times(_) | Passes::Open => false,
        }
    }

    pub(super) fn is_conditional(&self) -> bool {
        matches!(self, Passes::Condition { .. } | Passes::Open)
    }

    pub(super) fn item(&self, iteration: usize) -> Option<&'c Value> {
        match self {
            Passes::Items(items) => items.get(iteration),
            _ => None,
        }
    }

    /// The number of passes within a limit, if known.
    pub(super) fn total(&self, limit: usize) -> Option<usize> {
        match self {
            Passes::Items(items) => Some(items.len().min(limit)),
            Passes::Times(times) => Some((*times).min(limit)),
            Passes::Condition { .. } | Passes::Open => None,
        }
    }
}

/// The variable of a count: what outputs decide, or else what is known.
fn counted<'s>(name: &str, scope: &'s WalkScope<'_, '_>) -> Option<&'s Value> {
    scope.get(name).or_else(|| scope.theirs(name))
}

fn count(name: &str, scope: &WalkScope<'_, '_>) -> Result<usize, WalkError> {
    let number = match counted(name, scope) {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    let whole = |number: &f64| *number >= 0.0 && number.fract() == 0.0;
    match number.filter(whole) {
        #[expect(clippy::cast_sign_loss, reason = "not negative, and a large float saturates")]
        Some(number) => Ok(number as usize),
        None if number.is_some() => Err(mismatch(name, "a non-negative whole number", scope)),
        None => Err(mismatch(name, "a number", scope)),
    }
}

fn mismatch(name: &str, expected: &'static str, scope: &WalkScope<'_, '_>) -> WalkError {
    let actual = match counted(name, scope) {
        None => "missing".to_owned(),
        Some(Value::Null) => "null".to_owned(),
        Some(Value::Bool(_)) => "a boolean".to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::String(_)) => "a string".to_owned(),
        Some(Value::Array(_)) => "an array".to_owned(),
        Some(Value::Object(_)) => "an object".to_owned(),
    };
    WalkError::Variable { variable: scope.path_of(name), expected, actual }
}

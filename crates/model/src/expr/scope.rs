//! The data available to an expression.

use serde_json::{Map, Value as Json};

/// The values of the names in an expression.
///
/// The evaluator reads nothing else: no clock, no environment. The JSON must not nest deeper than
/// the JSON parser allows, since values are compared and copied recursively.
pub trait Scope {
    /// The value of a root name such as `inputs`.
    fn root(&self, name: &str) -> Option<&Json>;

    /// The root names that exist, for error messages.
    fn roots(&self) -> Vec<&str>;

    /// The time that `now()` yields, in RFC 3339 format, if the scope has one.
    fn now(&self) -> Option<&str> {
        None
    }

    /// The value of `secret(name)`: an unguessable sentinel, never the secret itself.
    fn secret(&self, _name: &str) -> Option<String> {
        None
    }
}

/// A [`Scope`] over a JSON object: each key is a root name. It has no clock and no secrets.
#[derive(Clone, Debug, Default)]
pub struct MapScope {
    roots: Map<String, Json>,
}

impl MapScope {
    pub fn new(roots: Map<String, Json>) -> MapScope {
        MapScope { roots }
    }
}

impl Scope for MapScope {
    fn root(&self, name: &str) -> Option<&Json> {
        self.roots.get(name)
    }

    fn roots(&self) -> Vec<&str> {
        self.roots.keys().map(String::as_str).collect()
    }
}

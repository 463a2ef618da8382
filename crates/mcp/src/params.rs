//! From the text of `params` to a map, in which no key was there twice.
//!
//! The text was scanned with the line it stands in: it is JSON of a depth that recursion can take.

use milepost_ops::Strict;
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::message::Params;

/// The parameters by name; none are an empty map.
pub(crate) fn object(params: Params<'_>) -> Result<Map<String, Value>, Fault> {
    let text = match params {
        Params::None => return Ok(Map::new()),
        Params::Array(_) => return Err(not_an_object("params")),
        Params::Object(text) => text,
    };
    match serde_json::from_str(text) {
        Ok(Strict(Value::Object(map))) => Ok(map),
        Ok(_) => Err(not_an_object("params")),
        Err(error) => {
            // The place is counted from the beginning of `params`: it would only mislead.
            let place = format!(" at line {} column {}", error.line(), error.column());
            let details = error.to_string();
            Err(Fault::invalid_params(details.strip_suffix(&place).unwrap_or(&details)))
        }
    }
}

/// The fault of a parameter that is there and is no object.
pub(crate) fn not_an_object(name: &str) -> Fault {
    Fault::invalid_params(format!("{name} must be an object"))
}

/// The members of `params` that a call of a tool has, as they were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CallMembers<'a> {
    name: Option<&'a str>,
    arguments: Option<&'a str>,
    meta: Option<&'a str>,
    /// There is another one, or one of these twice.
    more: bool,
}

impl<'a> CallMembers<'a> {
    pub(crate) fn put(&mut self, key: &'a str, value: &'a str) {
        let slot = match key {
            "\"name\"" => &mut self.name,
            "\"arguments\"" => &mut self.arguments,
            "\"_meta\"" => &mut self.meta,
            _ => return self.more = true,
        };
        self.more |= slot.replace(value).is_some();
    }

    /// The name and the arguments, when there is nothing else to see to: each once, beside them at
    /// most a `_meta` that nobody reads, and no escape in the name.
    pub(crate) fn plain(self) -> Option<(&'a str, &'a str)> {
        // Equal keys are refused everywhere, also where nobody reads.
        let plain =
            !self.more && self.meta.is_none_or(|meta| serde_json::from_str::<Strict>(meta).is_ok());
        let name = self.name?.strip_prefix('"')?.strip_suffix('"')?;
        Some((name, self.arguments?)).filter(|_| plain)
    }
}

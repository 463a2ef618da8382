//! From the text of `params` to a map, in which no key was there twice.
//!
//! The text was scanned with the line it stands in: it is JSON of a depth that recursion can take.

use milepost_ops::Strict;
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::message::Params;
use crate::scan::Scanner;

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

/// The name and the arguments of a call as they were written, when there is nothing else to see
/// to: each once, beside them at most a `_meta` that nobody reads, and no escape in the name.
pub(crate) fn plain_call(params: Params<'_>) -> Option<(&str, &str)> {
    let Params::Object(text) = params else { return None };
    let (mut name, mut arguments, mut meta) = (None, None, None);
    let mut plain = true;
    let scanned = Scanner::new(text).object(|key, value| {
        let slot = match key {
            "\"name\"" => &mut name,
            "\"arguments\"" => &mut arguments,
            "\"_meta\"" => &mut meta,
            _ => return plain = false,
        };
        plain &= slot.replace(value).is_none();
    });
    scanned.ok()?;
    // Equal keys are refused everywhere, also where nobody reads.
    plain &= meta.is_none_or(|meta| serde_json::from_str::<Strict>(meta).is_ok());
    let name = name?.strip_prefix('"')?.strip_suffix('"')?;
    plain.then_some((name, arguments?))
}

//! From the text of `params` to a map, in which no key was there twice.
//!
//! The text was scanned with the line it stands in: it is JSON of a depth that recursion can take.

use milepost_ops::Strict;
use serde_json::{Map, Value};

use crate::message::Params;
use crate::rpc_error::RpcError;

/// The parameters by name; none are an empty map.
pub(crate) fn object(params: Params<'_>) -> Result<Map<String, Value>, RpcError> {
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
            Err(RpcError::invalid_params(details.strip_suffix(&place).unwrap_or(&details)))
        }
    }
}

/// The fault of a parameter that is there and is no object.
pub(crate) fn not_an_object(name: &str) -> RpcError {
    RpcError::invalid_params(format!("{name} must be an object"))
}

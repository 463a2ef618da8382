//! Building requests: commands and arguments in, the bytes of a request out.

mod arguments;
mod cases;
mod hostile;
mod pages;
mod real;
mod shown;
mod table;

use milepost_catalog::request::{Arguments, Misuse, Payload, Piece, Request};
use serde_json::{Value, json};
use url::Url;

/// The base URL for tests where it does not matter.
fn base() -> Url {
    Url::parse("http://api.test/v1").expect("is a URL")
}

/// Arguments with these parameters.
fn with(with: &Value) -> Arguments {
    Arguments { with: with.as_object().expect("is a map").clone(), ..Arguments::default() }
}

/// Builds a request for an OpenAPI operation object.
fn request(operation: &Value, arguments: &Arguments) -> Result<Request, Vec<Misuse>> {
    cases::build(&cases::command(operation), &base(), arguments)
}

/// The bytes of a body that contains no files.
fn bytes(payload: &Payload) -> Vec<u8> {
    let piece = |piece| match piece {
        Piece::Bytes(bytes) => bytes.into_owned(),
        Piece::File(path) => panic!("the body has the file {path}"),
    };
    payload.pieces().into_iter().flat_map(piece).collect()
}

/// An operation with these parameters.
fn taking(parameters: &Value) -> Value {
    json!({"parameters": parameters})
}

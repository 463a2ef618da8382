//! What a person typed as arguments of a command, as the values it was meant to be. Models send
//! JSON, which is what it is: nothing is guessed for them.

use crate::prelude::*;

/// Arguments as they were typed.
#[derive(Debug, Clone, Default)]
pub struct TypedArguments {
    /// `name=value`, in order; these win over `with`.
    pub texts: Vec<(String, String)>,
    /// Arguments that came as JSON.
    pub with: Map<String, Value>,
    /// The body.
    pub body: Option<TypedBody>,
    /// The media type of the body.
    pub content_type: Option<String>,
}

/// A body as it was typed.
#[derive(Debug, Clone)]
pub enum TypedBody {
    /// Its text.
    Text(String),
    /// The file it is in.
    File(String),
}

/// Arguments as they were meant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedArguments {
    /// Arguments by name.
    pub with: Map<String, Value>,
    /// The body.
    pub body: Option<Value>,
}

/// Reads arguments by the schemas of a command.
pub fn read(
    reader: &Reader,
    call: &dyn Caller,
    command: &str,
    typed: TypedArguments,
) -> Result<ParsedArguments> {
    let (loaded, row) = reader.shelf.command(command)?;
    let prepared = loaded.prepared(row)?;
    let content_type = typed.content_type.as_deref();
    let mut with = typed.with;
    with.extend(prepared.typed(&typed.texts, content_type));
    let text = match typed.body {
        None => return Ok(ParsedArguments { with, body: None }),
        Some(TypedBody::Text(text)) => text,
        Some(TypedBody::File(path)) => match prepared.typed_file(&path, content_type) {
            Some(file) => return Ok(ParsedArguments { with, body: Some(file) }),
            None => String::from_utf8(reader.file(&path, call)?).map_err(|_| {
                let message = format!("`{path}` is not UTF-8 text");
                Problem::new(Code::ArgumentsInvalid, message, "save it as UTF-8")
            })?,
        },
    };
    let body = prepared.typed_body(&text, content_type).map_err(|error| {
        let message = format!("the body is not valid JSON: {error}");
        let hint = "quote it for your shell: '{\"name\": \"value\"}', or put it into a file: @file";
        Problem::new(Code::ArgumentsInvalid, message, hint)
    })?;
    Ok(ParsedArguments { with, body: Some(body) })
}

//! Command arguments that a person typed as strings, converted to the declared types. Models send
//! JSON, which is taken literally.

use crate::prelude::*;

#[derive(Debug, Clone, Default)]
pub struct TypedArguments {
    /// `name=value`, in order; these take precedence over `with`.
    pub texts: Vec<(String, String)>,
    /// Arguments given as JSON.
    pub with: Map<String, Value>,
    pub body: Option<TypedBody>,
    pub content_type: Option<String>,
}

#[derive(Debug, Clone)]
pub enum TypedBody {
    Text(String),
    /// The path of the file that contains the body.
    File(String),
}

/// Arguments converted to the declared types.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedArguments {
    pub with: Map<String, Value>,
    pub body: Option<Value>,
}

/// Parses arguments according to a command's schemas.
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
        let (line, column) = (error.line(), error.column());
        let message = format!("the body is not valid JSON at line {line}, column {column}");
        let hint = "quote it for your shell: '{\"name\": \"value\"}', or put it into a file: @file";
        Problem::new(Code::ArgumentsInvalid, message, hint)
    })?;
    Ok(ParsedArguments { with, body: Some(body) })
}

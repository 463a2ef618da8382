//! Arguments as typed on a command line: named strings, and a body's text.

use serde_json::{Map, Value, json};

use super::assign::{ArgumentNames, Meaning};
use super::coerce::coerce;
use super::media::{self, MediaKind};
use super::{Arguments, PreparedCommand};
use crate::schema;

impl PreparedCommand {
    /// Converts named strings to values according to the arguments' schemas. A repeated name
    /// becomes a list, and `@path` is a file if the argument can be one. Unknown names are kept as
    /// they are, and the argument check then reports them.
    pub fn typed(
        &self,
        texts: &[(String, String)],
        content_type: Option<&str>,
    ) -> Map<String, Value> {
        let content = self.typed_content(content_type);
        let mut with = Map::new();
        for (name, text) in texts {
            let value = self.typed_value(name, text, content);
            match with.get_mut(name) {
                None => drop(with.insert(name.clone(), value)),
                Some(before) => append(before, value),
            }
        }
        with
    }

    /// Converts a body's text to a value.
    pub fn typed_body(
        &self,
        text: &str,
        content_type: Option<&str>,
    ) -> Result<Value, serde_json::Error> {
        let read = serde_json::from_str::<Value>(text);
        match self.typed_kind(content_type) {
            MediaKind::Json | MediaKind::JsonLike => read,
            MediaKind::Form | MediaKind::Multipart => {
                Ok(read.unwrap_or_else(|_| Value::from(text)))
            }
            _ => {
                let is_file =
                    |value: &Value| value.get("$file").is_some() || value.get("$base64").is_some();
                Ok(read.ok().filter(is_file).unwrap_or_else(|| Value::from(text)))
            }
        }
    }

    /// A body that is the file itself; `None` if its text has to be read and converted first.
    pub fn typed_file(&self, path: &str, content_type: Option<&str>) -> Option<Value> {
        match self.typed_kind(content_type) {
            MediaKind::Json | MediaKind::JsonLike | MediaKind::Form | MediaKind::Multipart => None,
            _ => Some(json!({"$file": path})),
        }
    }

    fn typed_content(&self, content_type: Option<&str>) -> Option<usize> {
        let content_type = content_type.map(str::to_owned);
        let arguments = Arguments { content_type, ..Arguments::default() };
        self.choose(&arguments, &mut Vec::new())
    }

    fn typed_kind(&self, content_type: Option<&str>) -> MediaKind {
        let content = self.typed_content(content_type).and_then(|at| self.content(at));
        let media_type = content.map(|content| media::concrete(&content.media_type));
        content_type.or(media_type).map_or(MediaKind::Json, MediaKind::of)
    }

    fn typed_value(&self, name: &str, text: &str, content: Option<usize>) -> Value {
        let defs = &self.command().defs;
        let Some((schema, in_body)) = self.named(name, content) else { return Value::from(text) };
        let media_type = content.and_then(|at| self.content(at)).map(|content| &content.media_type);
        let is_multipart = media_type
            .is_some_and(|name| MediaKind::of(media::concrete(name)) == MediaKind::Multipart);
        let takes_files = in_body && (is_multipart || schema::is_binary(schema, defs));
        match text.strip_prefix('@').filter(|_| takes_files) {
            // `@@` escapes a string that starts with `@`.
            Some(rest) if rest.starts_with('@') => coerce(schema, defs, rest),
            // Many documents declare a file as a plain string, so in a multipart form `@` always
            // means a file.
            Some(path) if schema::types(schema, defs) == ["array"] => json!([{"$file": path}]),
            Some(path) => json!({"$file": path}),
            None => coerce(schema, defs, text),
        }
    }

    /// The schema of the argument with this name, and whether it belongs to the body.
    fn named(&self, name: &str, content: Option<usize>) -> Option<(&Value, bool)> {
        let command = self.command();
        let properties = content.map_or(&[][..], |at| self.properties(at));
        let names = ArgumentNames { parameters: &command.parameters, properties };
        match names.meaning(name).ok()? {
            (Meaning::Parameter(index), _) => Some((&command.parameters[index].schema, false)),
            (Meaning::Property, property) => {
                let schema = &self.content(content?)?.schema;
                let all = schema::properties(schema, &command.defs);
                let found = all.into_iter().find(|(known, _)| *known == property);
                found.map(|(_, schema)| (schema, true))
            }
        }
    }
}

/// Appends another value given under the same name.
fn append(before: &mut Value, value: Value) {
    let mut items = match before.take() {
        Value::Array(items) => items,
        single => vec![single],
    };
    match value {
        Value::Array(more) => items.extend(more),
        single => items.push(single),
    }
    *before = Value::Array(items);
}

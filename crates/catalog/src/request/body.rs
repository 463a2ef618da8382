//! Request bodies: serializes a value to bytes according to its media type.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use milepost_model::suggest;
use serde_json::{Map, Value};

use super::encode::Encode;
use super::media::{self, MediaKind};
use super::misuse::{ArgumentPlace, Misuse, Reason};
use super::style::{ValueStyle, text_of};
use super::{MultipartPart, PartContent, Payload, multipart};
use crate::command::{Content, Encoding, Location, Style};
use crate::finding::below;
use crate::schema::{self, Definitions};

/// The files that a body may contain; `None` for any.
pub(crate) type NamedFiles<'a> = Option<&'a [String]>;

/// Serializes a body. `asked` is the media type that the caller requested.
pub(crate) fn payload(
    content: &Content,
    asked: Option<&str>,
    value: &Value,
    files: NamedFiles<'_>,
    defs: &Definitions,
) -> Result<Payload, Misuse> {
    let content_type = asked.unwrap_or_else(|| media::concrete(&content.media_type)).to_owned();
    let kind = MediaKind::of(&content_type);
    let bytes = |bytes: Vec<u8>, content_type: String| {
        Ok(Payload::Whole { content_type, content: PartContent::Bytes(bytes) })
    };
    if let Some(attached) = Attached::of(value, files).filter(|_| !kind.is_json()) {
        let attached = attached.map_err(|reason| unsendable(None, reason))?;
        let content_type = attached.content_type.unwrap_or(content_type);
        return Ok(Payload::Whole { content_type, content: attached.content });
    }
    let wrong = |wanted| Misuse::BodyKind {
        media_type: content_type.clone(),
        wanted,
        found: suggest::with_article(schema::type_of(value)),
    };
    match (kind, value) {
        (MediaKind::Json | MediaKind::JsonLike, value) => {
            bytes(value.to_string().into_bytes(), content_type)
        }
        (MediaKind::Form, Value::Object(map)) => {
            let form = FormBody { content, defs, files };
            bytes(form.urlencoded(map).into_bytes(), content_type)
        }
        (MediaKind::Multipart, Value::Object(map)) => {
            let parts = FormBody { content, defs, files }.parts(map)?;
            let media_type = media::essence(&content_type);
            Ok(Payload::Multipart { media_type, boundary: multipart::boundary(&parts), parts })
        }
        (MediaKind::Form | MediaKind::Multipart, _) => {
            Err(wrong("an object with the form's fields"))
        }
        (MediaKind::JsonLines, Value::Array(items)) => {
            let lines = items.iter().map(|item| format!("{item}\n"));
            bytes(lines.collect::<String>().into_bytes(), content_type)
        }
        (MediaKind::Xml | MediaKind::JsonLines, Value::String(text)) => {
            bytes(text.clone().into_bytes(), content_type)
        }
        (MediaKind::JsonLines, _) => Err(wrong("an array with one value per line")),
        (MediaKind::Xml, _) => Err(wrong("XML as a string")),
        (MediaKind::Text | MediaKind::Bytes, Value::Object(_) | Value::Array(_) | Value::Null) => {
            let wanted = if kind == MediaKind::Text {
                "a string"
            } else {
                "a string, `{\"$file\": \"path\"}` or `{\"$base64\": \"…\"}`"
            };
            Err(wrong(wanted))
        }
        (MediaKind::Text | MediaKind::Bytes, plain) => {
            bytes(text_of(plain).as_bytes().to_vec(), content_type)
        }
    }
}

fn unsendable(property: Option<&str>, reason: Reason) -> Misuse {
    Misuse::Unsendable {
        place: ArgumentPlace::Body { property: property.map(str::to_owned) },
        reason,
    }
}

/// Pointers to the values in a body that are files, which no schema describes.
pub(crate) fn attached_places(
    kind: MediaKind,
    value: &Value,
    files: NamedFiles<'_>,
) -> Vec<String> {
    if kind.is_json() {
        return Vec::new();
    }
    let mut places = Vec::new();
    let mut open = vec![(String::new(), value, 0)];
    while let Some((pointer, value, depth)) = open.pop() {
        match value {
            _ if Attached::of(value, files).is_some() => places.push(pointer),
            // A file is a property, or an item of a list that is a property.
            Value::Object(map) if depth == 0 => {
                for (key, value) in map {
                    open.push((below(&pointer, key), value, depth + 1));
                }
            }
            Value::Array(items) if depth == 1 => {
                for (index, item) in items.iter().enumerate() {
                    open.push((format!("{pointer}/{index}"), item, depth + 1));
                }
            }
            _ => {}
        }
    }
    places
}

/// Bytes given as `{"$file": path}` or `{"$base64": text}`.
struct Attached {
    filename: Option<String>,
    content_type: Option<String>,
    content: PartContent,
}

impl Attached {
    fn of(value: &Value, files: NamedFiles<'_>) -> Option<Result<Attached, Reason>> {
        let map = value.as_object()?;
        let known = ["$file", "$base64", "filename", "content_type"];
        if !map.keys().all(|key| known.contains(&key.as_str())) {
            return None;
        }
        let content = match (map.get("$file"), map.get("$base64")) {
            (Some(path), None) => {
                let is_named = |file: &String| path.as_str() == Some(file);
                if files.is_some_and(|files| !files.iter().any(is_named)) {
                    return None;
                }
                let path = path.as_str().filter(|path| !path.is_empty() && !path.contains('\0'));
                path.map(|path| PartContent::File(path.to_owned())).ok_or(Reason::File)
            }
            (None, Some(text)) => {
                let bytes = text.as_str().and_then(|text| STANDARD.decode(text).ok());
                bytes.map(PartContent::Bytes).ok_or(Reason::Base64)
            }
            _ => return None,
        };
        Some(content.and_then(|content| Attached::with(map, content)))
    }

    fn with(map: &Map<String, Value>, content: PartContent) -> Result<Attached, Reason> {
        let text = |name: &str| map.get(name).and_then(Value::as_str).map(str::to_owned);
        let content_type = text("content_type");
        if content_type.as_deref().is_some_and(|text| !media::is_media_type(text)) {
            return Err(Reason::ContentType);
        }
        let own = match &content {
            PartContent::File(path) => path.rsplit(['/', '\\']).next().map(str::to_owned),
            PartContent::Bytes(_) => None,
        };
        Ok(Attached { filename: text("filename").or(own), content_type, content })
    }
}

/// A body made up of form fields.
pub(crate) struct FormBody<'c> {
    pub(crate) content: &'c Content,
    pub(crate) defs: &'c Definitions,
    pub(crate) files: NamedFiles<'c>,
}

impl FormBody<'_> {
    fn encoding(&self, property: &str) -> Option<&Encoding> {
        self.content.encoding.iter().find(|encoding| encoding.property == property)
    }

    /// A property's style; `None` if it is serialized by its media type.
    fn manner(&self, property: &str) -> Option<ValueStyle> {
        let encoding = self.encoding(property)?;
        let by_style =
            encoding.style.is_some() || encoding.explode.is_some() || encoding.allow_reserved;
        let style = encoding.style.unwrap_or(Style::Form);
        by_style.then(|| ValueStyle {
            location: Location::Query,
            style,
            explode: encoding.explode.unwrap_or(matches!(style, Style::Form | Style::DeepObject)),
            encode: if encoding.allow_reserved { Encode::ReservedInQuery } else { Encode::Strict },
        })
    }

    /// `application/x-www-form-urlencoded`. A property with a style is written like a query
    /// parameter; any other follows the URL standard, with one field per list item.
    pub(crate) fn urlencoded(&self, map: &Map<String, Value>) -> String {
        let mut fields = Vec::new();
        for (name, value) in map {
            if let Some(manner) = self.manner(name) {
                fields.extend(manner.write(name, value));
                continue;
            }
            let as_json = self.is_json(name);
            let mut push = |value: &Value| {
                let text = if as_json { value.to_string() } else { text_of(value).into_owned() };
                fields.push(format!("{}={}", Encode::Form.text(name), Encode::Form.text(&text)));
            };
            match value {
                Value::Null => {}
                Value::Array(items) if !as_json => {
                    items.iter().filter(|item| !item.is_null()).for_each(push);
                }
                value => push(value),
            }
        }
        fields.join("&")
    }

    fn is_json(&self, property: &str) -> bool {
        let content_type =
            self.encoding(property).and_then(|encoding| encoding.content_type.as_deref());
        content_type.is_some_and(|media_type| MediaKind::of(media_type).is_json())
    }

    /// `multipart/form-data`: one part per property, and one per item of a list.
    fn parts(&self, map: &Map<String, Value>) -> Result<Vec<MultipartPart>, Misuse> {
        let properties = schema::properties(&self.content.schema, self.defs);
        let mut parts = Vec::new();
        for (name, value) in map {
            if let Some(manner) = self.manner(name) {
                let fields = manner.fields(name, value).into_iter();
                parts.extend(fields.map(|(name, text)| MultipartPart {
                    name,
                    filename: None,
                    content_type: None,
                    content: PartContent::Bytes(text.into_bytes()),
                }));
                continue;
            }
            let schema =
                properties.iter().find(|(known, _)| known == name).map(|(_, schema)| *schema);
            match value {
                Value::Array(items) if !self.is_json(name) => {
                    let schema =
                        schema.and_then(|schema| schema::resolve(schema, self.defs).get("items"));
                    for item in items {
                        parts.extend(self.part(name, item, schema)?);
                    }
                }
                value => parts.extend(self.part(name, value, schema)?),
            }
        }
        Ok(parts)
    }

    fn part(
        &self,
        name: &str,
        value: &Value,
        schema: Option<&Value>,
    ) -> Result<Option<MultipartPart>, Misuse> {
        // The first concrete type in a list such as `image/*, image/png, image/jpeg`.
        let documented = self.encoding(name).and_then(|encoding| encoding.content_type.as_deref());
        let documented = documented
            .and_then(|types| types.split(',').map(str::trim).find(|one| !one.contains('*')))
            .filter(|media_type| media::is_media_type(media_type))
            .map(str::to_owned);
        let part = |filename, content_type, content| {
            Ok(Some(MultipartPart { name: name.to_owned(), filename, content_type, content }))
        };
        let octets = || Some("application/octet-stream".to_owned());
        if let Some(attached) = Attached::of(value, self.files) {
            let attached = attached.map_err(|reason| unsendable(Some(name), reason))?;
            let content_type = attached.content_type.or(documented).or_else(octets);
            let filename = attached.filename.or_else(|| Some(name.to_owned()));
            return part(filename, content_type, attached.content);
        }
        let is_json = documented.as_deref().is_some_and(|one| MediaKind::of(one).is_json());
        match value {
            Value::Null => Ok(None),
            Value::Object(_) | Value::Array(_) => {
                let content_type = documented.or_else(|| Some("application/json".to_owned()));
                part(None, content_type, PartContent::Bytes(value.to_string().into_bytes()))
            }
            value if is_json => {
                part(None, documented, PartContent::Bytes(value.to_string().into_bytes()))
            }
            plain => {
                let content = PartContent::Bytes(text_of(plain).as_bytes().to_vec());
                // Servers recognize a file by its filename.
                let is_file = schema.is_some_and(|schema| schema::is_binary(schema, self.defs));
                let filename = is_file.then(|| name.to_owned());
                let content_type = documented.or_else(|| is_file.then(octets).flatten());
                part(filename, content_type, content)
            }
        }
    }
}

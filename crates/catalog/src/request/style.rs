//! Styles: how a value is serialized, following the tables in OpenAPI and RFC 6570.
//!
//! | style | prefix | separator | named | separator for unexploded items |
//! |---|---|---|---|---|
//! | simple | | `,` | no | `,` |
//! | label | `.` | `.` | no | `,` |
//! | matrix | `;` | `;` | yes | `,` |
//! | form | | `&` | yes | `,` |
//! | cookie | | `; ` | yes | `,` |
//! | spaceDelimited, pipeDelimited, tab (2.0) | | `&` | yes | `%20`, `%7C`, `%09` |
//!
//! `null` counts as undefined and is left out, whether it is the whole value, an item or a
//! property. The same applies to an empty list or object. OpenAPI defines nested lists and objects
//! only for `deepObject`; elsewhere they are sent as JSON text.

use std::borrow::Cow;

use serde_json::Value;

use super::encode::Encode;
use crate::command::{Location, Style};
use crate::limits;

/// A style's serialization rule.
#[derive(Clone, Copy)]
struct Rule {
    first: &'static str,
    between: &'static str,
    named: bool,
    /// Written after a name whose value is empty.
    if_empty: &'static str,
    joint: &'static str,
}

impl Rule {
    fn of(style: Style, location: Location) -> Rule {
        let simple = Rule { first: "", between: ",", named: false, if_empty: "", joint: "," };
        let form = Rule { first: "", between: "&", named: true, if_empty: "=", joint: "," };
        // OpenAPI 2.0 also allows these separators in paths and headers, where values have no name.
        let delimited = |encoded: &'static str, raw: &'static str| match location {
            Location::Header => Rule { between: raw, joint: raw, ..simple },
            Location::Path => Rule { between: encoded, joint: encoded, ..simple },
            _ => Rule { joint: encoded, ..form },
        };
        match style {
            Style::Simple => simple,
            Style::Label => Rule { first: ".", between: ".", ..simple },
            Style::Matrix => {
                Rule { first: ";", between: ";", named: true, if_empty: "", joint: "," }
            }
            Style::Form | Style::DeepObject if location == Location::Header => simple,
            Style::Form | Style::DeepObject => form,
            Style::SpaceDelimited => delimited("%20", " "),
            Style::PipeDelimited => delimited("%7C", "|"),
            Style::TabDelimited => delimited("%09", "\t"),
            Style::Cookie => Rule { between: "; ", ..form },
        }
    }
}

/// How a parameter or form field is serialized.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueStyle {
    pub(crate) location: Location,
    pub(crate) style: Style,
    pub(crate) explode: bool,
    pub(crate) encode: Encode,
}

impl ValueStyle {
    /// The serialized value, including its name if the style has one; `None` if the value is
    /// undefined.
    pub(crate) fn write(self, name: &str, value: &Value) -> Option<String> {
        if self.style == Style::DeepObject && self.location != Location::Header {
            return self.write_deep(name, value);
        }
        let rule = Rule::of(self.style, self.location);
        let mut text = Writer { rule, encode: self.encode, out: rule.first.to_owned() };
        match Shape::of(value)? {
            Shape::One(one) => text.item(name, &one),
            Shape::List(items) if self.explode => {
                text.each(&items, rule.between, |text, item| text.item(name, item));
            }
            // A list with one item is written like a single value, so that an empty item works too.
            Shape::List(items) if items.len() == 1 => text.item(name, &items[0]),
            Shape::List(items) => {
                text.name(name);
                text.each(&items, rule.joint, |text, item| text.value(item));
            }
            Shape::Pairs(pairs) if self.explode => {
                text.each(&pairs, rule.between, |text, (key, value)| text.pair(key, value));
            }
            Shape::Pairs(pairs) => {
                text.name(name);
                text.each(&pairs, rule.joint, |text, (key, value)| {
                    text.value(key);
                    text.out.push_str(rule.joint);
                    text.value(value);
                });
            }
        }
        Some(text.out)
    }

    fn write_deep(self, name: &str, value: &Value) -> Option<String> {
        // Brackets are invalid in a query, and `allowReserved` never applies to names.
        let names = if self.encode == Encode::Raw { Encode::Raw } else { Encode::Strict };
        let fields = deep_fields(name, value).into_iter();
        let pair = |(name, value): (String, String)| {
            format!("{}={}", names.text(&name), self.encode.text(&value))
        };
        Some(fields.map(pair).collect::<Vec<_>>().join("&")).filter(|text| !text.is_empty())
    }

    /// The fields that a value becomes in a multipart body, where nothing is encoded.
    pub(crate) fn fields(self, name: &str, value: &Value) -> Vec<(String, String)> {
        if self.style == Style::DeepObject {
            return deep_fields(name, value);
        }
        match (Shape::of(value), self.explode) {
            (None, _) => Vec::new(),
            (Some(Shape::List(items)), true) => {
                items.into_iter().map(|item| (name.to_owned(), item.into_owned())).collect()
            }
            (Some(Shape::Pairs(pairs)), true) => {
                pairs.into_iter().map(|(key, value)| (key.to_owned(), value.into_owned())).collect()
            }
            _ => {
                // The header location writes separators unencoded and omits names.
                let style = if self.style == Style::Form { Style::Simple } else { self.style };
                let raw = ValueStyle { location: Location::Header, style, ..self };
                let raw = ValueStyle { encode: Encode::Raw, ..raw };
                raw.write(name, value).map(|text| (name.to_owned(), text)).into_iter().collect()
            }
        }
    }
}

struct Writer {
    rule: Rule,
    encode: Encode,
    out: String,
}

impl Writer {
    fn each<T>(&mut self, items: &[T], between: &str, write: impl Fn(&mut Writer, &T)) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.out.push_str(between);
            }
            write(self, item);
        }
    }

    fn value(&mut self, value: &str) {
        self.encode.push(&mut self.out, value);
    }

    /// Writes a name. `allowReserved` applies only to values.
    fn key(&mut self, name: &str) {
        let strict = matches!(self.encode, Encode::ReservedInQuery | Encode::ReservedInPath);
        let encode = if strict { Encode::Strict } else { self.encode };
        encode.push(&mut self.out, name);
    }

    /// Writes the name of a composite value, if the style has names.
    fn name(&mut self, name: &str) {
        if self.rule.named {
            self.key(name);
            self.out.push('=');
        }
    }

    fn item(&mut self, name: &str, value: &str) {
        if !self.rule.named {
            self.value(value);
        } else if value.is_empty() {
            self.key(name);
            self.out.push_str(self.rule.if_empty);
        } else {
            self.pair(name, value);
        }
    }

    fn pair(&mut self, key: &str, value: &str) {
        self.key(key);
        let bare = self.rule.named && value.is_empty();
        self.out.push_str(if bare { self.rule.if_empty } else { "=" });
        self.value(value);
    }
}

/// The shapes of values that styles distinguish.
enum Shape<'v> {
    One(Cow<'v, str>),
    List(Vec<Cow<'v, str>>),
    Pairs(Vec<(&'v str, Cow<'v, str>)>),
}

impl Shape<'_> {
    fn of(value: &Value) -> Option<Shape<'_>> {
        match value {
            Value::Null => None,
            Value::Array(items) => {
                let items: Vec<_> =
                    items.iter().filter(|item| !item.is_null()).map(text_of).collect();
                (!items.is_empty()).then_some(Shape::List(items))
            }
            Value::Object(map) => {
                let defined = map.iter().filter(|(_, value)| !value.is_null());
                let pairs: Vec<_> = defined.map(|(k, v)| (k.as_str(), text_of(v))).collect();
                (!pairs.is_empty()).then_some(Shape::Pairs(pairs))
            }
            one => Some(Shape::One(text_of(one))),
        }
    }
}

/// A value as text: numbers without exponents, lists and objects as JSON.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => Cow::Owned(float.to_string()),
            None => Cow::Owned(number.to_string()),
        },
        other => Cow::Owned(other.to_string()),
    }
}

/// `a[b]=1`, `a[b][c]=2`, `a[]=3` for scalar items and `a[0][b]=4` for objects: the format that
/// Rack, PHP and `qs` read and that Stripe documents. OpenAPI defines only the first one.
fn deep_fields(name: &str, value: &Value) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    push_deep(&mut fields, name.to_owned(), value, 0);
    fields
}

fn push_deep(fields: &mut Vec<(String, String)>, name: String, value: &Value, depth: usize) {
    match value {
        Value::Null => {}
        Value::Object(map) if depth < limits::VALUE_DEPTH => {
            for (key, value) in map {
                push_deep(fields, format!("{name}[{key}]"), value, depth + 1);
            }
        }
        Value::Array(items) if depth < limits::VALUE_DEPTH => {
            for (index, item) in items.iter().enumerate() {
                let name = match item {
                    Value::Object(_) | Value::Array(_) => format!("{name}[{index}]"),
                    _ => format!("{name}[]"),
                };
                push_deep(fields, name, item, depth + 1);
            }
        }
        plain => fields.push((name, text_of(plain).into_owned())),
    }
}

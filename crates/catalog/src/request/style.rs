//! Styles: how a value becomes text, as the tables of OpenAPI and RFC 6570 say it.
//!
//! | style | first | between | name | between items that stand together |
//! |---|---|---|---|---|
//! | simple | | `,` | no | `,` |
//! | label | `.` | `.` | no | `,` |
//! | matrix | `;` | `;` | yes | `,` |
//! | form | | `&` | yes | `,` |
//! | cookie | | `; ` | yes | `,` |
//! | spaceDelimited, pipeDelimited, tab (2.0) | | `&` | yes | `%20`, `%7C`, `%09` |
//!
//! `null` is an undefined value: left out, alone, as an item and as a property. So is a list or an
//! object with nothing in it. A list or object within a list or object is undefined in OpenAPI for
//! all but `deepObject`; it goes as its JSON text.

use std::borrow::Cow;

use serde_json::Value;

use super::encode::Encode;
use crate::command::{Location, Style};
use crate::limits;

/// How one style writes.
#[derive(Clone, Copy)]
struct Rule {
    first: &'static str,
    between: &'static str,
    named: bool,
    /// What follows a name whose value is empty.
    if_empty: &'static str,
    joint: &'static str,
}

impl Rule {
    fn of(style: Style, location: Location) -> Rule {
        let simple = Rule { first: "", between: ",", named: false, if_empty: "", joint: "," };
        let form = Rule { first: "", between: "&", named: true, if_empty: "=", joint: "," };
        // OpenAPI 2.0 has the separators in paths and headers as well, where nothing is named.
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

/// How a parameter or a field of a form is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueStyle {
    pub(crate) location: Location,
    pub(crate) style: Style,
    pub(crate) explode: bool,
    pub(crate) encode: Encode,
}

impl ValueStyle {
    /// A value as text, its name included where the style names it; nothing when it is undefined.
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
            // One item is written as if it stood alone, so that an empty one is as well.
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
        // The brackets are no query; a name is never written with `allowReserved`.
        let names = if self.encode == Encode::Raw { Encode::Raw } else { Encode::Strict };
        let fields = deep_fields(name, value).into_iter();
        let pair = |(name, value): (String, String)| {
            format!("{}={}", names.text(&name), self.encode.text(&value))
        };
        Some(fields.map(pair).collect::<Vec<_>>().join("&")).filter(|text| !text.is_empty())
    }

    /// The fields a value makes in a multipart body, where nothing is encoded.
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
                // A header is where separators are written as they are and nothing is named.
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

    /// Names come from the document: reserved characters in them never stay.
    fn key(&mut self, name: &str) {
        let strict = matches!(self.encode, Encode::ReservedInQuery | Encode::ReservedInPath);
        let encode = if strict { Encode::Strict } else { self.encode };
        encode.push(&mut self.out, name);
    }

    /// The name of a value of several parts, in a style that names.
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

/// What a value is to a style.
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

/// `a[b]=1`, `a[b][c]=2`, `a[]=3` for plain items and `a[0][b]=4` for items with properties: the
/// form that Rack, PHP and `qs` read and that the documentation of Stripe shows. OpenAPI defines
/// the first one only.
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

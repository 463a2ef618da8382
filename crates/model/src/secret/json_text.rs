//! Masks JSON as text: only strings change, every other byte stays the same, and the result is
//! valid JSON.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::Mask;

impl Mask {
    /// A text as it may be shown. If it is JSON, it remains JSON.
    pub fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !self.finds(text) {
            return Cow::Borrowed(text);
        }
        match is_json(text) {
            true => Cow::Owned(self.json_lines(text)),
            false => self.text(text),
        }
    }

    /// Valid JSON, or several lines of it, with the secrets in its strings masked.
    pub fn json_text<'a>(&self, json: &'a str) -> Cow<'a, str> {
        if self.finds(json) { Cow::Owned(self.json_lines(json)) } else { Cow::Borrowed(json) }
    }

    fn json_lines(&self, json: &str) -> String {
        let mut out = String::with_capacity(json.len());
        let mut rest = json;
        while let Some(start) = rest.find('"') {
            let length = string_length(&rest.as_bytes()[start..]);
            let (before, from) = rest.split_at(start);
            let (string, after) = from.split_at(length);
            out.push_str(before);
            out.push_str(&self.json_string(string));
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// A JSON string, with its quotes.
    fn json_string<'a>(&self, quoted: &'a str) -> Cow<'a, str> {
        if !self.finds(quoted) {
            return Cow::Borrowed(quoted);
        }
        // Unescaped first: a mark in the middle of an escape sequence would make it invalid.
        let Ok(text) = serde_json::from_str::<String>(quoted) else { return self.text(quoted) };
        match self.shown(&text) {
            Cow::Borrowed(_) => Cow::Borrowed(quoted),
            Cow::Owned(masked) => Cow::Owned(serde_json::Value::String(masked).to_string()),
        }
    }
}

/// The length of the string literal at the start of JSON, including its quotes.
fn string_length(json: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = json.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    json.len()
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[', '"'])
        && serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>().all(|one| one.is_ok())
}

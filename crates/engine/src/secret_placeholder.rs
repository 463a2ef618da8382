//! Placeholders for secrets, and how they are found and replaced when a request is sent.
//!
//! Nobody outside knows a run's nonce, so no API response can make the engine insert a secret
//! anywhere.

use milepost_model::secret;
use serde_json::Value;

pub fn secret_placeholder(nonce: &str, name: &str) -> String {
    format!("{}{name}{CLOSE}", open(nonce))
}

const CLOSE: char = ')';
/// The prefix of every placeholder.
const NAME: &str = "milepost-secret";

fn open(nonce: &str) -> String {
    format!("{NAME}({nonce}:")
}

/// Replaces every placeholder in a string; `with` maps the name of a secret to its replacement, and
/// `None` leaves the placeholder in place.
fn replace_in_text(open: &str, text: &str, with: &mut dyn FnMut(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(open) {
        let inner = &rest[at + open.len()..];
        let Some(end) = inner.find(CLOSE) else { break };
        let after = at + open.len() + end + CLOSE.len_utf8();
        match with(&inner[..end]) {
            Some(other) => {
                out.push_str(&rest[..at]);
                out.push_str(&other);
            }
            None => out.push_str(&rest[..after]),
        }
        rest = &rest[after..];
    }
    out.push_str(rest);
    out
}

/// Replaces every placeholder in the strings of a value.
pub fn replace_secrets(
    nonce: &str,
    value: &Value,
    with: &mut dyn FnMut(&str) -> Option<String>,
) -> Value {
    replace_in_value(&open(nonce), value, with)
}

/// The names of the secrets whose placeholders occur in a value.
pub fn secret_names_in(nonce: &str, value: &Value) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    replace_in_value(&open(nonce), value, &mut |name| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        None
    });
    names
}

fn replace_in_value(
    open: &str,
    value: &Value,
    with: &mut dyn FnMut(&str) -> Option<String>,
) -> Value {
    match value {
        Value::String(text) => Value::String(replace_in_text(open, text, with)),
        Value::Array(items) => {
            items.iter().map(|item| replace_in_value(open, item, with)).collect()
        }
        Value::Object(map) => {
            let all =
                map.iter().map(|(name, value)| (name.clone(), replace_in_value(open, value, with)));
            Value::Object(all.collect())
        }
        other => other.clone(),
    }
}

/// A value as it may be shown, with secret placeholders masked.
pub fn mask_secrets(nonce: &str, value: &Value) -> Value {
    replace_secrets(nonce, value, &mut |name| Some(secret::mark(name)))
}

/// A string as it may be shown, with secret placeholders masked.
pub fn mask_text(nonce: &str, text: &str) -> String {
    replace_in_text(&open(nonce), text, &mut |name| Some(secret::mark(name)))
}

/// Shown in place of a placeholder that was truncated before the end of its name.
const CUT: &str = "[secret]";

/// A part of a request as it may be shown. Placeholders may be percent-encoded there, and
/// truncation may have cut off the end of the last one; no part of the nonce remains.
pub(crate) fn mask_request(nonce: &str, text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(NAME) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        match encoded(nonce, &from[NAME.len()..]) {
            Sentinel::Named(name, after) => {
                out.push_str(&secret::mark(&name));
                rest = after;
            }
            Sentinel::Cut => {
                out.push_str(CUT);
                rest = "";
            }
            Sentinel::None => {
                out.push_str(NAME);
                rest = &from[NAME.len()..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// What follows [`NAME`] in a string.
enum Sentinel<'t> {
    /// The rest of a placeholder: the name of its secret, and the text after it.
    Named(String, &'t str),
    /// The rest of a placeholder whose end is missing.
    Cut,
    /// Something that is not a placeholder.
    None,
}

fn encoded<'t>(nonce: &str, text: &'t str) -> Sentinel<'t> {
    let Some(inner) = past(text, '(') else { return Sentinel::None };
    let Some(inner) = inner.strip_prefix(nonce) else {
        return if nonce.starts_with(inner) { Sentinel::Cut } else { Sentinel::None };
    };
    let Some(mut inner) = past(inner, ':') else { return Sentinel::Cut };
    let mut name = String::new();
    loop {
        if let Some(after) = past(inner, CLOSE) {
            return Sentinel::Named(name, after);
        }
        // The name itself contains a colon, after its prefix: `input:key`.
        if let Some(after) = past(inner, ':') {
            name.push(':');
            inner = after;
            continue;
        }
        let Some(next) = inner.chars().next() else { return Sentinel::Cut };
        name.push(next);
        inner = &inner[next.len_utf8()..];
    }
}

/// The text after an ASCII character, which may be percent-encoded.
fn past(text: &str, mark: char) -> Option<&str> {
    text.strip_prefix(mark).or_else(|| {
        let code = text.strip_prefix('%')?.get(..2)?;
        let same = u8::from_str_radix(code, 16).is_ok_and(|byte| char::from(byte) == mark);
        same.then(|| &text[3..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wanted: &str) {
        let told = mask_request("5ea1", text);
        assert_eq!(told, wanted);
        assert!(!told.contains("5ea1"));
    }

    #[test]
    fn a_request_is_shown_without_the_places_of_its_secrets() {
        let plain = secret_placeholder("5ea1", "input:key");
        check(&format!("a {plain} b {plain}"), &{
            let mark = secret::mark("input:key");
            format!("a {mark} b {mark}")
        });
        let url = "https://x/?q=milepost-secret%285ea1%3Ainput%3akey%29&z=1";
        check(url, &format!("https://x/?q={}&z=1", secret::mark("input:key")));
        check("milepost-secret(other:key)", "milepost-secret(other:key)");
    }

    #[test]
    fn a_sentinel_that_was_cut_tells_nothing() {
        let plain = format!("x {}", secret_placeholder("5ea1", "input:key"));
        for end in "x milepost-secret(".len()..plain.len() {
            assert_eq!(mask_request("5ea1", &plain[..end]), "x [secret]", "{end}");
        }
    }
}

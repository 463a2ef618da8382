//! A status must be an enum, because a string could hold anything, and code that compares it would
//! have to guess the values.

use proc_macro2::{Delimiter, TokenTree};

use super::exempt::{Exempt, Hit};
use super::tokens::{
    Attribute, RustFile, crate_of_production, each_production_level, ident, is_ident, is_punct,
    trees,
};

const CRATES: &[&str] = &["engine", "driver", "ops", "mcp", "cli"];

/// Field names that denote one of a few states.
const NAMES: &[&str] = &[
    "status", "state", "phase", "stage", "kind", "mode", "level", "verdict", "outcome", "decision",
    "presence", "severity", "effect", "safety",
];

/// Types that hold arbitrary text, written without spaces and lifetimes.
const TEXTS: &[&str] = &["String", "&str", "Cow<str>", "Box<str>", "Arc<str>"];

pub(crate) const EXEMPT: &[Exempt] = &[
    (
        "crates/cli/src/run/args.rs::RunsArgs.status",
        "a filter as it was typed: the operation reads it",
    ),
    ("crates/mcp/src/workflows/tool_call.rs::ToolCall.state", "MCP's opaque `requestState`"),
    ("crates/ops/src/command/view.rs::ResponseView.status", "a key of OpenAPI's `responses`"),
    ("crates/ops/src/run/list.rs::Request.status", "a filter word, refused if it is unknown"),
];

pub(crate) fn held_as_text(file: &RustFile) -> Vec<Hit> {
    if !crate_of_production(&file.path).is_some_and(|name| CRATES.contains(&name)) {
        return Vec::new();
    }
    let mut hits = Vec::new();
    each_production_level(&file.tokens, &mut |level| {
        for (item, fields) in bodies(level) {
            for (field, line) in text_fields(&fields) {
                let message = format!("`{item}.{field}` is a status held as text: make it an enum");
                let place = format!("{}::{item}.{field}", file.path);
                hits.push(Hit { place, finding: file.finding(line, message) });
            }
        }
    });
    hits
}

/// The named fields of each struct and each enum variant that is declared on a level.
fn bodies(level: &[TokenTree]) -> Vec<(String, Vec<TokenTree>)> {
    let mut bodies = Vec::new();
    for (index, token) in level.iter().enumerate() {
        let is_enum = is_ident(token, "enum");
        let Some(name) = ident(level.get(index + 1)) else { continue };
        if !is_enum && !is_ident(token, "struct") && !is_ident(token, "union") {
            continue;
        }
        let is_end = |token: &&TokenTree| is_body(token) || is_punct(token, ';');
        let Some(TokenTree::Group(group)) = level[index + 2..].iter().find(is_end) else {
            continue;
        };
        let body = trees(&group.stream());
        if is_enum {
            bodies.extend(body.windows(2).filter_map(|pair| match &pair[1] {
                TokenTree::Group(fields) if is_body(&pair[1]) => {
                    Some((format!("{name}::{}", ident(pair.first())?), trees(&fields.stream())))
                }
                _ => None,
            }));
        } else {
            bodies.push((name, body));
        }
    }
    bodies
}

fn is_body(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

/// The fields that are a status by name and text by type, with their lines.
fn text_fields(fields: &[TokenTree]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (index, token) in fields.iter().enumerate() {
        let Some(name) = ident(Some(token)).filter(|name| NAMES.contains(&name.as_str())) else {
            continue;
        };
        let is_name = begins_a_field(&fields[..index])
            && fields.get(index + 1).is_some_and(|token| is_punct(token, ':'));
        if is_name && is_text(&type_name(&fields[index + 2..])) {
            found.push((name, token.span().start().line));
        }
    }
    found
}

/// Whether a field name may follow these tokens: a comma, its visibility or an attribute.
fn begins_a_field(before: &[TokenTree]) -> bool {
    let before = match before {
        [rest @ .., public, TokenTree::Group(_)] if is_ident(public, "pub") => rest,
        [rest @ .., public] if is_ident(public, "pub") => rest,
        whole => whole,
    };
    let follows_attribute =
        before.len().checked_sub(2).is_some_and(|index| Attribute::at(before, index).is_some());
    before.last().is_none_or(|last| is_punct(last, ',')) || follows_attribute
}

/// The type up to the end of its field, without spaces and lifetimes.
fn type_name(tokens: &[TokenTree]) -> String {
    let mut name = String::new();
    let mut depth = 0_usize;
    let mut tokens = tokens.iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) => match punct.as_char() {
                ',' if depth == 0 => break,
                '=' => break,
                '\'' => {
                    tokens.next();
                    continue;
                }
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                _ => {}
            },
            TokenTree::Ident(_) | TokenTree::Literal(_) | TokenTree::Group(_) => {}
        }
        name.push_str(&token.to_string());
    }
    name.replace("<,", "<")
}

fn is_text(name: &str) -> bool {
    let inner = name.strip_prefix("Option<").and_then(|rest| rest.strip_suffix('>'));
    TEXTS.contains(&inner.unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(path: &str, source: &str) -> String {
        let hits = held_as_text(&RustFile::parse(path, source).unwrap());
        let place = |hit: &Hit| hit.place.trim_start_matches(path).to_owned();
        hits.iter().map(place).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_status_of_any_text_is_found() {
        let source = "\
pub struct View<'a> where A: B { pub status: String, #[serde(default)] kind: Option<String> }
struct Borrowed<'a> { pub(crate) state: &'a str, mode: Option<&'static str>, phase: Cow<'a, str> }
enum Event { Ended { outcome: String }, Begun(String) }
shape! { pub struct Read { verdict: String = \"verdict\", } }
";
        let expected = "::View.status ::View.kind ::Borrowed.state ::Borrowed.mode \
             ::Borrowed.phase ::Event::Ended.outcome ::Read.verdict";
        assert_eq!(places("crates/ops/src/run/view.rs", source), expected);
    }

    #[test]
    fn enums_other_names_and_what_is_no_field_are_fine() {
        let source = "\
struct View { status: RunStatus, state: &'a State, kind: HashMap<String, String>, name: String }
struct Kind(String);
fn a(status: String) { let b = View { status: String::new() }; }
type F = fn(status: String);
struct Path { name: status::Name, other: Vec<kind::String> }
#[cfg(test)]
struct Expected { status: String }
";
        assert_eq!(places("crates/ops/src/run/view.rs", source), "");
        let source = "struct View { status: String }";
        assert_eq!(places("crates/ops/tests/it/view.rs", source), "");
        assert_eq!(places("crates/catalog/src/view.rs", source), "");
    }
}

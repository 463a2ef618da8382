//! The position of an error inside a string, whatever the style of the string.

use milepost_model::document::Document;
use milepost_syntax::source::Format;
use proptest::prelude::*;
use regex::Regex;

use super::typos::{regex, spliced};
use super::{bases, read};

/// A name that occurs in no document.
const NOBODY: &str = "nobody";

/// The offsets at which the unknown name was found.
fn places(document: &Document) -> Vec<usize> {
    let unknown = document.violations.iter().filter(|one| one.rule.name() == "unknown-name");
    let named = unknown.filter(|one| one.message.contains(NOBODY));
    named.map(|one| one.at.start as usize).collect()
}

#[test]
fn names_in_whole_documents() {
    let names: Regex = regex(r"\b(?:steps\.|steps\['|inputs\.)([a-z_-]+)");
    let mut checked = 0;
    for base in bases::all().iter().filter(|base| !base.guide) {
        for found in names.captures_iter(&base.text).filter_map(|found| found.get(1)) {
            let text = spliced(&base.text, found.range(), NOBODY);
            let places = places(&read(&text, base.format));
            let line = text[..found.start()].lines().count();
            assert_eq!(places, [found.start()], "{}: line {line}", base.name);
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} places");
}

#[track_caller]
fn check(scalar: &str) {
    for newline in ["\n", "\r\n"] {
        let text = format!("workflow: a\nsteps:\n  - id: b\n    prompt: {scalar}\n  # the end\n");
        let text = text.replace('\n', newline);
        // Uses a different name each time, because a name that is read twice is reported once.
        let mut letters = 'a'..='z';
        let text = regex(NOBODY).replace_all(&text, |_: &regex::Captures<'_>| {
            format!("{NOBODY}{}", letters.next().expect("few names"))
        });
        let document = read(&text, Format::Yaml);
        let wanted: Vec<usize> = text.match_indices(NOBODY).map(|(at, _)| at).collect();
        assert_eq!(places(&document), wanted, "{text}\n{:?}", document.violations);
        let line = text[..wanted[0]].matches('\n').count() as u32 + 1;
        assert!(document.violations.iter().any(|one| one.line == line), "{text}");
    }
}

#[test]
fn every_style_of_scalar() {
    let expr = "${{ inputs.nobody }}";
    check(&format!("é 😀 {expr} and {expr}"));
    check(&format!("a plain one\n      on lines {expr}\n\n      and more {expr}"));
    check(&format!("'it''s \"quoted\" {expr}'"));
    check(&format!("'it''s\n\n      two lines {expr}'"));
    check(&format!(r#""\u00e9 \U0001F600 \x41 \t\n \\ \" \/ {expr} é""#));
    check(&format!("\"one \\\n      line {expr}\n      and\\n the\n\n      next {expr}\""));
    check(&format!("|\n      literal\n        deeper {expr}\n\n      {expr}"));
    check(&format!("|2-\n        {expr} after an indent of its own"));
    check(&format!("|+ # a remark > with a sign\n      {expr}\n\n"));
    check(&format!(
        ">\n      folded {expr}\n      on\n\n      and\n        deeper {expr}\n      {expr}"
    ));
    check(&format!(">-\n\n      {expr} after a blank line"));
    check(&format!("!x {expr}").replace("!x ", ""));
}

#[test]
fn flow_and_json() {
    let flow = "{workflow: a, steps: [{id: b, set: {\"k y\": \"\\u00e9 ${{ inputs.nobody }}\"}}]}";
    for format in [Format::Yaml, Format::Json] {
        let text = match format {
            Format::Yaml => flow.to_owned(),
            Format::Json => {
                regex(r"([{ ])([a-z]+)(: |,|\})").replace_all(flow, "$1\"$2\"$3").into()
            }
        };
        let text = text.replace(": a,", ": \"a\",").replace(": b,", ": \"b\",");
        let wanted = text.find(NOBODY).expect("the name is there");
        assert_eq!(places(&read(&text, format)), [wanted], "{text}");
    }
}

/// The text in single quotes, where a line break is written as an empty line.
fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''").replace('\n', "\n\n      "))
}

fn literal(text: &str) -> String {
    format!("|2-\n      {}", text.replace('\n', "\n      "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_in_any_quotes(
        before in "[a-z'\"\\\\ é😀#:-]{0,12}(\n[a-z'\"\\\\é#:-]{1,6}){0,2}",
        after in "[a-z'\"\\\\ é#:-]{0,6}",
    ) {
        let text = format!("x{before} ${{{{ inputs.nobody }}}}{after}x");
        // In single quotes, whitespace next to a line break is folded away.
        let text = regex(" *\n *").replace_all(&text, "\n").into_owned();
        let double = serde_json::Value::from(text.as_str()).to_string();
        for scalar in [double, single_quoted(&text), literal(&text)] {
            let source = format!("workflow: a\nsteps:\n  - id: b\n    prompt: {scalar}\n");
            let document = read(&source, Format::Yaml);
            let data = document.parsed();
            let parsed = data.as_ref().and_then(|data| data.pointer("/steps/0/prompt"));
            prop_assert_eq!(parsed.and_then(|one| one.as_str()), Some(text.as_str()), "{}", source);
            let wanted = source.find(NOBODY).expect("the name is there");
            prop_assert_eq!(places(&document), vec![wanted], "{}", source);
        }
    }
}

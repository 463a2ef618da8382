//! A doc comment must add something to the name, such as a unit, an invariant or a reason. One that
//! only repeats the name, or refers to nothing in particular, has to be removed.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, TokenTree};

use super::finding::Finding;
use super::tokens::{RustFile, each_level, ident, is_punct, trees};

/// Words that carry no meaning of their own in a doc comment.
const FILLER: &[&str] = &[
    "a", "all", "an", "and", "are", "as", "at", "be", "by", "for", "from", "given", "has", "have",
    "here", "how", "if", "in", "is", "it", "its", "itself", "of", "on", "one", "ones", "or", "own",
    "same", "that", "the", "their", "them", "there", "these", "they", "this", "those", "to", "was",
    "were", "what", "when", "where", "whether", "which", "who", "whom", "whose", "why", "with",
];

/// Keywords before the name of an item.
const BEFORE_NAME: &[&str] = &[
    "pub", "const", "async", "unsafe", "extern", "static", "mut", "fn", "struct", "enum", "trait",
    "type", "union", "mod",
];

/// Derives that turn the docs of fields and variants into text that people or models read.
const SHOWN: &[&str] = &["Args", "JsonSchema", "Parser", "Subcommand", "ValueEnum"];

pub(crate) fn empty_docs(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let shown = shown_lines(file);
    each_level(&file.tokens, &mut |level| {
        let mut index = 0;
        while index < level.len() {
            let (text, after) = doc_at(level, index);
            let Some(text) = text else {
                index += 1;
                continue;
            };
            let name = name_at(level, after);
            let line = level[index].span().start().line;
            let is_shown = shown.iter().any(|lines| lines.contains(&line));
            if !is_shown && says_nothing(&text, name.as_deref().unwrap_or_default()) {
                let message = "this doc comment adds nothing to the name: \
                    state a unit, an invariant or a reason, or remove it";
                findings.push(file.finding(line, message));
            }
            index = after.max(index + 1);
        }
    });
    findings
}

/// The bodies of types whose docs are shown, where a description is required even if it only
/// repeats the name.
fn shown_lines(file: &RustFile) -> Vec<RangeInclusive<usize>> {
    let mut ranges = Vec::new();
    each_level(&file.tokens, &mut |level| {
        for (index, token) in level.iter().enumerate() {
            let TokenTree::Group(attribute) = token else { continue };
            let text = attribute.stream().to_string();
            let is_derive =
                attribute.delimiter() == Delimiter::Bracket && text.starts_with("derive");
            let mut names = text.split(|letter: char| !letter.is_alphanumeric());
            if !is_derive || !names.any(|name| SHOWN.contains(&name)) {
                continue;
            }
            let body = level[index + 1..].iter().find_map(|token| match token {
                TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => Some(body),
                _ => None,
            });
            let lines =
                body.map(|body| body.span_open().start().line..=body.span_close().end().line);
            ranges.extend(lines);
        }
    });
    ranges
}

/// The outer doc comment that starts at `index`, with all its lines, and the index after it.
fn doc_at(level: &[TokenTree], mut index: usize) -> (Option<String>, usize) {
    let mut text: Option<String> = None;
    while let Some(line) = doc_line(level, index) {
        let text = text.get_or_insert_with(String::new);
        text.push(' ');
        text.push_str(&line);
        index += 2;
    }
    (text, index)
}

/// One `///` line, which arrives as `#[doc = "…"]`.
fn doc_line(level: &[TokenTree], index: usize) -> Option<String> {
    level.get(index).filter(|token| is_punct(token, '#'))?;
    let Some(TokenTree::Group(group)) = level.get(index + 1) else { return None };
    if group.delimiter() != Delimiter::Bracket {
        return None;
    }
    match trees(&group.stream()).as_slice() {
        [name, _, TokenTree::Literal(text)] if ident(Some(name)).as_deref() == Some("doc") => {
            Some(text.to_string())
        }
        _ => None,
    }
}

/// The name of the item, field or variant that starts at `index`, after its attributes.
fn name_at(level: &[TokenTree], mut index: usize) -> Option<String> {
    loop {
        match level.get(index)? {
            token if is_punct(token, '#') => index += 2,
            TokenTree::Group(_) => index += 1,
            TokenTree::Ident(word) if BEFORE_NAME.contains(&word.to_string().as_str()) => {
                index += 1;
            }
            TokenTree::Ident(word) => return Some(word.to_string()),
            _ => return None,
        }
    }
}

fn says_nothing(doc: &str, name: &str) -> bool {
    let name = words(name);
    let is_known = |word: &String| {
        FILLER.contains(&word.as_str()) || name.iter().any(|of_name| is_same(of_name, word))
    };
    let words = words(doc);
    // A doc comment without words shows a notation, such as `[…]`.
    !words.is_empty() && words.iter().all(is_known)
}

/// Whether two words differ only in their endings: `limit` and `limits`, `cancel` and `cancels`.
fn is_same(one: &str, other: &str) -> bool {
    fn stem(word: &str) -> &str {
        let word = ["ing", "ed", "es", "s", "e"]
            .iter()
            .find_map(|ending| word.strip_suffix(ending).filter(|stem| stem.len() > 2));
        word.unwrap_or_default()
    }
    one == other || stem(one) == other || one == stem(other) || {
        !stem(one).is_empty() && stem(one) == stem(other)
    }
}

/// The words of a comment, or of a name in camel or snake case, in lowercase.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for letter in text.chars() {
        let begins = letter.is_uppercase() && word.chars().last().is_some_and(char::is_lowercase);
        if (!letter.is_alphanumeric() || begins) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.push(letter);
        }
    }
    words.push(word);
    words.into_iter().filter(|word| !word.is_empty()).map(|word| word.to_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::finding::places;
    use super::*;

    fn check(source: &str, expected: &[&str]) {
        assert_eq!(places(&empty_docs(&RustFile::parse("a.rs", source).unwrap())), expected);
    }

    #[test]
    fn a_doc_comment_adds_to_the_name() {
        check("/// The retry limits.\npub struct RetryLimits;", &["a.rs:1"]);
        check(
            "/// Which one.\n#[derive(Debug)]\npub struct Request {\n/// Its id.\nid: u8 }",
            &["a.rs:1", "a.rs:4"],
        );
        check(
            "enum A {\n/// It was canceled.\nCanceled,\n/// By its caller.\nCaller }",
            &["a.rs:2", "a.rs:4"],
        );
        check("#[derive(Debug, JsonSchema)]\nstruct A {\n/// The id.\nid: u8 }", &[]);
        check("impl A {\n    /// The id of the run.\n    pub fn run_id(&self) {} }", &["a.rs:2"]);
    }

    #[test]
    fn a_unit_a_reason_or_an_invariant_is_something() {
        check("/// In milliseconds.\nfn timeout() {}", &[]);
        check("/// The id.\n///\n/// Never reused.\nstruct Id;", &[]);
        check("/// The name of the lock file.\nconst NAME: &str = \"x\";", &[]);
        check("//! The module.\nfn a() {}", &[]);
        check("enum A {\n/// `[…]`\nList }", &[]);
    }
}

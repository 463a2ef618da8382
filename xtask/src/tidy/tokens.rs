//! A Rust file as tokens, so that text in a string or a comment is never mistaken for code.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::finding::Finding;

/// A tokenized Rust file.
pub(crate) struct RustFile {
    pub(super) path: String,
    pub(super) source: String,
    pub(super) tokens: TokenStream,
}

impl RustFile {
    pub(crate) fn parse(path: &str, source: &str) -> Result<RustFile, Finding> {
        match source.parse() {
            Ok(tokens) => Ok(RustFile { path: path.to_owned(), source: source.to_owned(), tokens }),
            Err(error) => {
                let line = error.span().start().line;
                Err(Finding::new(path, line, "cannot be parsed as Rust: fix its syntax"))
            }
        }
    }

    pub(super) fn finding(&self, line: usize, message: impl Into<String>) -> Finding {
        Finding::new(&self.path, line, message)
    }
}

pub(super) fn is_test_path(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|part| part == "tests")
}

/// The crate whose shipped code is at this path: `ops` for `crates/ops/src/run/mod.rs`. Tests,
/// examples, benches and `xtask` are not shipped code.
pub(crate) fn crate_of_production(path: &str) -> Option<&str> {
    let (folder, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    (rest.starts_with("src/") && !is_test_path(path)).then_some(folder)
}

/// Calls `visit` with the tokens between each pair of brackets, outermost first.
pub(super) fn each_level(tokens: &TokenStream, visit: &mut dyn FnMut(&[TokenTree])) {
    let level = trees(tokens);
    visit(&level);
    for token in &level {
        if let TokenTree::Group(group) = token {
            each_level(&group.stream(), visit);
        }
    }
}

/// Like [`each_level`], but skips everything under `#[cfg(test)]`.
pub(super) fn each_production_level(tokens: &TokenStream, visit: &mut dyn FnMut(&[TokenTree])) {
    let level = without_tests(&trees(tokens));
    visit(&level);
    for token in &level {
        if let TokenTree::Group(group) = token {
            each_production_level(&group.stream(), visit);
        }
    }
}

fn without_tests(level: &[TokenTree]) -> Vec<TokenTree> {
    let mut kept = Vec::with_capacity(level.len());
    let mut index = 0;
    while let Some(token) = level.get(index) {
        match Attribute::at(level, index).filter(Attribute::is_for_tests) {
            Some(attribute) if attribute.inner => return Vec::new(),
            Some(_) if let Some(end) = item_end(level, index) => index = end,
            _ => kept.push(token.clone()),
        }
        index += 1;
    }
    kept
}

/// The last token of the item that starts at `index`.
pub(super) fn item_end(level: &[TokenTree], index: usize) -> Option<usize> {
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        other => is_punct(other, ';'),
    };
    level[index..].iter().position(is_end).map(|length| index + length)
}

/// `#[…]`, or `#![…]` for the enclosing file or block.
pub(super) struct Attribute {
    content: TokenStream,
    pub(super) inner: bool,
    pub(super) line: usize,
}

impl Attribute {
    pub(super) fn at(level: &[TokenTree], index: usize) -> Option<Attribute> {
        let hash = level.get(index).filter(|token| is_punct(token, '#'))?;
        let inner = level.get(index + 1).is_some_and(|token| is_punct(token, '!'));
        match level.get(index + 1 + usize::from(inner)) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket => {
                let line = hash.span().start().line;
                Some(Attribute { content: group.stream(), inner, line })
            }
            _ => None,
        }
    }

    /// Whether this is `cfg(test)`, alone or with further conditions.
    pub(super) fn is_for_tests(&self) -> bool {
        match trees(&self.content).as_slice() {
            [name, TokenTree::Group(condition)] if is_ident(name, "cfg") => {
                mentions(&condition.stream(), "test") && !mentions(&condition.stream(), "not")
            }
            _ => false,
        }
    }

    /// The content of the attribute, or of each attribute that `cfg_attr` may add.
    pub(super) fn settings(&self) -> Vec<Vec<TokenTree>> {
        let content = trees(&self.content);
        match content.as_slice() {
            [name, TokenTree::Group(group)] if is_ident(name, "cfg_attr") => trees(&group.stream())
                .split(|token| is_punct(token, ','))
                .skip(1)
                .map(<[TokenTree]>::to_vec)
                .collect(),
            _ => vec![content],
        }
    }
}

pub(super) fn attributes(level: &[TokenTree]) -> impl Iterator<Item = Attribute> {
    (0..level.len()).filter_map(|index| Attribute::at(level, index))
}

fn mentions(tokens: &TokenStream, word: &str) -> bool {
    tokens.clone().into_iter().any(|token| match &token {
        TokenTree::Group(group) => mentions(&group.stream(), word),
        other => is_ident(other, word),
    })
}

pub(super) fn trees(tokens: &TokenStream) -> Vec<TokenTree> {
    tokens.clone().into_iter().collect()
}

pub(super) fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

pub(super) fn is_ident(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

pub(super) fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_code_belongs_to_its_crate() {
        assert_eq!(crate_of_production("crates/ops/src/run/mod.rs"), Some("ops"));
        assert_eq!(crate_of_production("crates/ops/src/guide.md"), Some("ops"));
        for path in [
            "crates/ops/tests/it/main.rs",
            "crates/ops/examples/a.rs",
            "crates/ops/src/graph/tests.rs",
            "crates/ops/build.rs",
            "xtask/src/main.rs",
        ] {
            assert_eq!(crate_of_production(path), None, "{path}");
        }
    }

    #[test]
    fn production_is_what_is_left_without_tests() {
        let words = |source: &str| {
            let mut words = Vec::new();
            each_production_level(&source.parse().unwrap(), &mut |level| {
                words.extend(level.iter().filter_map(|token| ident(Some(token))));
            });
            words.join(" ")
        };
        let source = "a { b #[cfg(test)] c(); d } #[cfg(test)] mod t { e } #[cfg(not(test))] f;";
        assert_eq!(words(source), "a f b d cfg not test");
        assert_eq!(words("#![cfg(test)] a b { c }"), "");
    }
}

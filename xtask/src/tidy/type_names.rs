//! A type name that is visible outside its module must be unique in the whole workspace, so that a
//! search for it finds a single definition.

use std::collections::BTreeMap;

use proc_macro2::TokenTree;

use super::exempt::Exempt;
use super::finding::Finding;
use super::tokens::{RustFile, crate_of_production, each_production_level, ident, is_ident};

/// Names that may be used more than once.
const EXEMPT: &[Exempt] = &[
    ("Config", "each is the configuration of its module"),
    ("Error", "each is the error of its module"),
    ("Request", "each is the request of its module's operation"),
    ("Response", "each is the response of its module's operation"),
];

/// The definitions seen so far, by name.
#[derive(Default)]
pub(crate) struct TypeNames {
    definitions: BTreeMap<String, Vec<(String, usize)>>,
}

impl TypeNames {
    pub(crate) fn read(&mut self, file: &RustFile) {
        if crate_of_production(&file.path).is_none() {
            return;
        }
        each_production_level(&file.tokens, &mut |level| {
            for (name, line) in visible_types(level) {
                self.definitions.entry(name).or_default().push((file.path.clone(), line));
            }
        });
    }

    pub(crate) fn findings(self) -> Vec<Finding> {
        let repeated = self.definitions.into_iter().filter(|(name, places)| {
            // A file may define a type once per platform.
            places.iter().any(|(path, _)| *path != places[0].0)
                && !EXEMPT.iter().any(|(exempt, _)| exempt == name)
        });
        let mut findings = Vec::new();
        for (name, places) in repeated {
            for (path, line) in &places {
                let (other, _) =
                    places.iter().find(|(other, _)| other != path).unwrap_or(&places[0]);
                let message = format!("`{name}` is also a type of {other}: rename one of them");
                findings.push(Finding::new(path, *line, message));
            }
        }
        findings
    }
}

/// The macros that declare the type that they name first.
const DECLARING_MACROS: &[&str] = &["shape", "words", "named_enum", "serialized_enum"];

/// The types on a level that are declared `pub`, `pub(crate)` or similar, or by a macro.
fn visible_types(level: &[TokenTree]) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = level.windows(3).filter_map(declared_by_macro).collect();
    for (index, token) in level.iter().enumerate().filter(|(_, token)| is_ident(token, "pub")) {
        let restricted = matches!(level.get(index + 1), Some(TokenTree::Group(_)));
        let keyword = index + 1 + usize::from(restricted);
        let declares = ident(level.get(keyword)).is_some_and(|word| {
            ["struct", "enum", "trait", "type", "union"].contains(&word.as_str())
        });
        if let (true, Some(name)) = (declares, ident(level.get(keyword + 1))) {
            found.push((name, token.span().start().line));
        }
    }
    found
}

fn declared_by_macro(tokens: &[TokenTree]) -> Option<(String, usize)> {
    let [name, TokenTree::Punct(mark), TokenTree::Group(body)] = tokens else { return None };
    if mark.as_char() != '!' || !DECLARING_MACROS.iter().any(|known| is_ident(name, known)) {
        return None;
    }
    // Attributes, doc comments among them, and the visibility come before the name.
    let mut tokens = body.stream().into_iter();
    tokens.find_map(|token| match token {
        TokenTree::Ident(name) => {
            let (name, line) = (name.to_string(), name.span().start().line);
            name.starts_with(char::is_uppercase).then_some((name, line))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::places;
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let mut names = TypeNames::default();
        for (path, source) in files {
            names.read(&RustFile::parse(path, source).unwrap());
        }
        assert_eq!(places(&names.findings()), expected);
    }

    #[test]
    fn a_visible_name_stands_for_one_type() {
        let files = [
            ("crates/a/src/x.rs", "pub struct Plan;\npub(crate) enum Kind {}\nstruct Own;"),
            ("crates/b/src/y.rs", "mod m {\n    pub(super) type Kind = u8;\n}\npub trait Own {}"),
            ("crates/b/tests/it/z.rs", "pub struct Plan;"),
        ];
        check(&files, &["crates/a/src/x.rs:2", "crates/b/src/y.rs:2"]);
    }

    #[test]
    fn a_macro_declares_the_type_it_names_first() {
        let files = [
            ("crates/a/src/x.rs", "shape! {\n    /// How.\n    Retry = \"a policy\";\n}"),
            (
                "crates/b/src/y.rs",
                "m::named_enum! {\n    #[derive(Ord)]\n    pub Retry { A = \"a\" }\n}",
            ),
            ("crates/b/src/z.rs", "format!(\"{x}\", Retry);"),
        ];
        check(&files, &["crates/a/src/x.rs:3", "crates/b/src/y.rs:3"]);
    }

    #[test]
    fn platforms_and_exceptions_may_repeat_a_name() {
        let twice = "#[cfg(unix)]\npub struct Lock;\n#[cfg(windows)]\npub struct Lock;";
        check(&[("crates/a/src/x.rs", twice)], &[]);
        let request = "pub struct Request;";
        check(&[("crates/a/src/x.rs", request), ("crates/a/src/y.rs", request)], &[]);
    }
}

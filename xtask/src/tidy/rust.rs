//! Rules on the form of a Rust file: its length, the length of its functions, and constructs that
//! hide a test result.

use std::collections::BTreeSet;

use proc_macro2::{Group, TokenTree};

use super::finding::Finding;
use super::tokens::{
    Attribute, RustFile, attributes, each_level, ident, is_ident, is_punct, is_test_path, item_end,
    trees,
};

const FUNCTION_LINES_MAX: usize = 70;
const PRODUCTION_LINES_MAX: usize = 800;

/// Attributes that hide a test's result, each with an alternative.
const FORBIDDEN_ATTRIBUTES: &[(&str, &str)] =
    &[("ignore", "fix or remove the test"), ("should_panic", "return an error and assert on it")];

/// Macros that mark unfinished code.
const FORBIDDEN_MACROS: &[(&str, &str)] =
    &[("dbg", "remove it"), ("todo", "finish the function or leave it out")];

pub(crate) fn long_functions(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    each_level(&file.tokens, &mut |level| {
        for (index, token) in level.iter().enumerate() {
            let (Some(name), true) = (ident(level.get(index + 1)), is_ident(token, "fn")) else {
                continue;
            };
            let Some(body) = body(&level[index + 2..]) else { continue };
            let first = token.span().start().line;
            let lines = body.span_close().end().line + 1 - first;
            if lines > FUNCTION_LINES_MAX {
                let message =
                    format!("`{name}` has {lines} lines (limit {FUNCTION_LINES_MAX}): split it");
                findings.push(file.finding(first, message));
            }
        }
    });
    findings
}

pub(crate) fn forbidden_attributes(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    each_level(&file.tokens, &mut |level| {
        for attribute in attributes(level) {
            for setting in attribute.settings() {
                let Some(name) = ident(setting.first()) else { continue };
                let forbidden = FORBIDDEN_ATTRIBUTES.iter().find(|(word, _)| *word == name);
                if let Some((word, instead)) = forbidden {
                    let message = format!("`#[{word}]` hides a test's result: {instead}");
                    findings.push(file.finding(attribute.line, message));
                } else if ["allow", "expect"].contains(&name.as_str()) && !has_reason(&setting) {
                    let message = format!("`#[{name}(…)]` without `reason = \"…\"`: give one");
                    findings.push(file.finding(attribute.line, message));
                }
            }
        }
    });
    findings
}

pub(crate) fn forbidden_macros(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    each_level(&file.tokens, &mut |level| {
        for window in level.windows(3) {
            let [name, bang, TokenTree::Group(_)] = window else { continue };
            let forbidden = FORBIDDEN_MACROS.iter().find(|(word, _)| is_ident(name, word));
            if let (Some((word, instead)), true) = (forbidden, is_punct(bang, '!')) {
                let message = format!("`{word}!` is left over: {instead}");
                findings.push(file.finding(name.span().start().line, message));
            }
        }
    });
    findings
}

pub(crate) fn unexplained_length(file: &RustFile) -> Option<Finding> {
    if is_test_path(&file.path) {
        return None;
    }
    let lines = production_lines(file);
    let mut doc = file.source.lines().take_while(|line| line.starts_with("//!"));
    (lines > PRODUCTION_LINES_MAX && !doc.any(|line| line.contains("Length:"))).then(|| {
        let message = format!(
            "has {lines} production lines (limit {PRODUCTION_LINES_MAX}): split it, \
             or say why not after `Length:` in its module doc"
        );
        file.finding(1, message)
    })
}

fn production_lines(file: &RustFile) -> usize {
    file.source.lines().count() - test_lines(file).len()
}

/// The numbers of the lines that are only compiled for tests, including attributes.
pub(crate) fn test_lines(file: &RustFile) -> BTreeSet<usize> {
    let level = trees(&file.tokens);
    if attributes(&level).any(|attribute| attribute.inner && attribute.is_for_tests()) {
        return (1..=file.source.lines().count()).collect();
    }
    let mut lines = BTreeSet::new();
    add_test_lines(&level, &mut lines);
    lines
}

fn add_test_lines(level: &[TokenTree], lines: &mut BTreeSet<usize>) {
    let mut index = 0;
    while let Some(token) = level.get(index) {
        let item = Attribute::at(level, index)
            .filter(|attribute| !attribute.inner && attribute.is_for_tests())
            .and_then(|attribute| Some((attribute, item_end(level, index)?)));
        if let Some((attribute, end)) = item {
            lines.extend(attribute.line..=level[end].span().end().line);
            index = end;
        } else if let TokenTree::Group(group) = token {
            add_test_lines(&trees(&group.stream()), lines);
        }
        index += 1;
    }
}

fn has_reason(setting: &[TokenTree]) -> bool {
    setting.iter().any(|token| match token {
        TokenTree::Group(group) => trees(&group.stream())
            .windows(2)
            .any(|pair| is_ident(&pair[0], "reason") && is_punct(&pair[1], '=')),
        _ => false,
    })
}

/// The body of the function whose name was just read; `None` for a declaration without one.
fn body(after_name: &[TokenTree]) -> Option<&Group> {
    match &after_name[item_end(after_name, 0)?] {
        TokenTree::Group(group) => Some(group),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::places;
    use super::*;

    fn file(source: &str) -> RustFile {
        RustFile::parse("a.rs", source).unwrap()
    }

    /// A function with exactly this many lines.
    fn function(name: &str, lines: usize) -> String {
        format!("fn {name}() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_may_have_seventy_lines() {
        let source = format!("{}{}", function("fits", 70), function("long", 71));
        assert_eq!(places(&long_functions(&file(&source))), ["a.rs:71"]);
    }

    #[test]
    fn functions_are_measured_wherever_they_stand() {
        let source = format!("mod tests {{\nimpl X {{\n{}}}\n}}\n", function("long", 71));
        assert_eq!(places(&long_functions(&file(&source))), ["a.rs:3"]);
    }

    #[test]
    fn declarations_types_tables_and_text_are_no_functions() {
        let rows = "    \"fn not() {\",\n".repeat(80);
        let source = format!(
            "trait T {{ fn declared(&self) -> [u8; 2]; }}\n\
             type F = fn(u8) -> u8;\n\
             const TABLE: &[&str] = &[\n{rows}];\n\
             /* fn commented() {{ */\n\
             fn lifetime<'a>(x: &'a str) -> char {{ '{{' }}\n"
        );
        assert_eq!(long_functions(&file(&source)), []);
    }

    #[test]
    fn attributes_that_hide_a_result_are_refused() {
        let source = "\
#[test]
#[ignore]
fn a() {}
#[should_panic(expected = \"x\")]
fn b() {}
#[cfg_attr(windows, ignore = \"slow\")]
fn c() {}
// #[ignore] in a comment, and in a string:
const TEXT: &str = \"#[ignore]\";
#[derive(Setters)]
struct S { #[setters(ignore)] field: u8 }
";
        assert_eq!(places(&forbidden_attributes(&file(source))), ["a.rs:2", "a.rs:4", "a.rs:6"]);
    }

    #[test]
    fn an_exception_to_a_lint_needs_its_reason() {
        let source = "\
#![allow(dead_code)]
#[allow(dead_code, reason = \"used by the next edition\")]
fn a() {}
#[expect(clippy::all)]
fn b() { #[allow(unused)] let reason = 1; }
#[cfg_attr(test, allow(unused))]
fn c() { x.expect(\"why\"); }
";
        let expected = ["a.rs:1", "a.rs:4", "a.rs:6", "a.rs:5"];
        assert_eq!(places(&forbidden_attributes(&file(source))), expected);
    }

    #[test]
    fn leftover_macros_are_refused() {
        let source = "\
fn a() { dbg!(1); }
fn b() { vec![todo!()] }
fn c(todo: u8) -> bool { todo != (1) }
const TEXT: &str = \"todo!()\"; // dbg!(x)
";
        assert_eq!(places(&forbidden_macros(&file(source))), ["a.rs:1", "a.rs:2"]);
    }

    #[test]
    fn lines_for_tests_are_not_production() {
        let source = "\
//! Doc.
fn a() {}
#[cfg(test)]
#[path = \"x.rs\"]
mod x;
#[cfg(not(test))]
fn b() {}
impl S {
    #[cfg(test)]
    fn c() {
        #[cfg(test)]
        d();
    }
}
#[cfg(all(test, unix))]
mod tests {
    fn e() {}
}
";
        assert_eq!(production_lines(&file(source)), 18 - 3 - 5 - 4);
        let source = "//! Doc.\n#![cfg(test)]\nfn a() {}\n";
        assert_eq!(production_lines(&file(source)), 0);
    }

    #[test]
    fn a_long_file_says_why() {
        let body = "fn a() {}\n".repeat(800);
        let long = |path: &str, doc: &str| {
            let source = format!("{doc}{body}");
            unexplained_length(&RustFile::parse(path, &source).unwrap()).is_some()
        };
        assert!(!long("a.rs", ""));
        assert!(long("a.rs", "//! Doc.\n"));
        assert!(!long("a.rs", "//! Doc.\n//! Length: one table.\n"));
        assert!(!long("crates/model/tests/it/a.rs", "//! Doc.\n"));
    }

    #[test]
    fn a_file_that_is_no_rust_is_a_finding() {
        let finding = RustFile::parse("a.rs", "fn a() {\n}\n}\n").err();
        assert_eq!(places(finding.as_slice()), ["a.rs:3"]);
    }
}

//! No two places in production code share more than a few lines, because a fix to one copy would be
//! forgotten in the other.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::rust::test_lines;
use super::tokens::{RustFile, crate_of_production};

/// How many lines two places may share. Blank lines, comments, imports, attributes and lines
/// without a letter or digit do not count.
const SHARED_LINES_MAX: usize = 15;

/// The counted lines of all files, concatenated.
#[derive(Default)]
pub(crate) struct Repetition {
    lines: Vec<Line>,
    files: Vec<String>,
}

struct Line {
    file: usize,
    number: usize,
    text: String,
}

impl Repetition {
    pub(crate) fn read(&mut self, file: &RustFile) {
        if crate_of_production(&file.path).is_none() {
            return;
        }
        let (tests, index) = (test_lines(file), self.files.len());
        self.files.push(file.path.clone());
        let mut in_import = false;
        for (number, line) in file.source.lines().enumerate().map(|(at, line)| (at + 1, line)) {
            let text = line.trim();
            in_import |= text.starts_with("use ") || text.starts_with("pub use ");
            let counts = !in_import
                && !tests.contains(&number)
                && !text.starts_with("//")
                && !text.starts_with("#[")
                && text.contains(char::is_alphanumeric);
            in_import &= !text.ends_with(';');
            if counts {
                self.lines.push(Line { file: index, number, text: text.to_owned() });
            }
        }
    }

    pub(crate) fn findings(&self) -> Vec<Finding> {
        const WINDOW: usize = SHARED_LINES_MAX + 1;
        let mut first_seen: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
        let mut findings = Vec::new();
        let mut reported_until = 0;
        for (start, window) in self.lines.windows(WINDOW).enumerate() {
            if window[0].file != window[WINDOW - 1].file {
                continue;
            }
            let texts: Vec<&str> = window.iter().map(|line| line.text.as_str()).collect();
            let first = *first_seen.entry(texts).or_insert(start);
            // Overlapping windows of one long repetition are one finding.
            if first + WINDOW <= start && start >= reported_until {
                let (line, other) = (&self.lines[start], &self.lines[first]);
                let message = format!(
                    "more than {SHARED_LINES_MAX} lines are repeated at {}:{}: share them",
                    self.files[other.file], other.number,
                );
                findings.push(Finding::new(&self.files[line.file], line.number, message));
            }
            if first + WINDOW <= start {
                reported_until = start + WINDOW;
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::places;
    use super::*;

    fn steps(count: usize) -> String {
        (0..count).fold(String::new(), |text, step| format!("{text}    step_{step}();\n\n"))
    }

    fn check(files: &[(&str, String)], expected: &[&str]) {
        let mut repetition = Repetition::default();
        for (path, source) in files {
            repetition.read(&RustFile::parse(path, source).unwrap());
        }
        assert_eq!(places(&repetition.findings()), expected);
    }

    #[test]
    fn sixteen_lines_are_too_many() {
        let one = ("crates/a/src/x.rs", format!("fn a() {{\n{}}}\n", steps(16)));
        let other = |count| ("crates/b/src/y.rs", format!("fn b() {{\n{}}}\n", steps(count)));
        check(&[one.clone(), other(15)], &[]);
        check(&[one.clone(), other(16)], &["crates/b/src/y.rs:2"]);
        check(&[one.clone(), ("crates/b/tests/it/y.rs", one.1.clone())], &[]);
    }

    #[test]
    fn a_long_repetition_is_one_finding_and_a_file_can_repeat_itself() {
        let body = steps(40);
        let source = format!("fn a() {{\n{body}}}\nfn b() {{\n{body}}}\n");
        check(&[("crates/a/src/x.rs", source)], &["crates/a/src/x.rs:84"]);
    }
}

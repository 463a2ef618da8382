//! Rules on the text of a Rust file: line width and the opening module doc.

use super::finding::Finding;

const COLUMNS_MAX: usize = 100;

/// An address cannot be broken into two lines, and neither can what a program printed: a snapshot
/// in a test is compared letter by letter.
pub(crate) fn long_lines(path: &str, source: &str) -> Vec<Finding> {
    let mut in_snapshot = false;
    source
        .lines()
        .enumerate()
        .filter(|(_, line)| {
            let begins = line.contains("expect![[r");
            let inside = in_snapshot;
            in_snapshot = begins || (in_snapshot && !line.trim_start().starts_with('"'));
            !inside || begins
        })
        .filter(|(_, line)| !line.contains("://"))
        .filter_map(|(index, line)| {
            let columns = line.chars().count();
            (columns > COLUMNS_MAX).then(|| {
                let message = format!("has {columns} columns (limit {COLUMNS_MAX}): break it");
                Finding::new(path, index + 1, message)
            })
        })
        .collect()
}

pub(crate) fn missing_module_doc(path: &str, source: &str) -> Option<Finding> {
    (is_source_of_a_crate(path) && !source.starts_with("//!")).then(|| {
        Finding::new(path, 1, "opens without `//!`: say what it is and what it must never do")
    })
}

fn is_source_of_a_crate(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts.as_slice(), ["xtask", "src", ..] | ["crates", _, "src", ..])
}

#[cfg(test)]
mod tests {
    use super::super::finding::places;
    use super::*;

    #[test]
    fn the_hundredth_column_is_the_last() {
        let fits = "x".repeat(100);
        let wide = "é".repeat(101);
        let address = format!("// https://example.com/{wide}");
        let source = format!("{fits}\n{wide}\n{address}\n");
        assert_eq!(places(&long_lines("a.rs", &source)), ["a.rs:2"]);
    }

    #[test]
    fn a_module_opens_with_its_doc() {
        let missing = |path, source| missing_module_doc(path, source).is_some();
        assert!(missing("crates/model/src/id.rs", "use std::fmt;\n//! late\n"));
        assert!(missing("xtask/src/tidy/text.rs", ""));
        assert!(!missing("crates/model/src/id.rs", "//! Ids.\n"));
        assert!(!missing("crates/model/tests/it/main.rs", "mod ids;\n"));
    }
}

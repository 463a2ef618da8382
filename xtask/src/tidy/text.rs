//! Rules on the text of a Rust file: line width and the opening module doc.

use super::finding::Finding;

const COLUMNS_MAX: usize = 100;

/// Lines that are too long. URLs and program output are exempt, because a URL cannot be broken and
/// a snapshot in a test is compared character by character.
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

/// Fault injection is only for tests, so every access to it must be excluded from release builds by
/// a gate in the lines right above it.
pub(crate) fn ungated_faults(path: &str, source: &str) -> Vec<Finding> {
    const WAYS: [&str; 4] = ["mod fail;", "fail::", "file_faults;", "\"MILEPOST_FAIL\""];
    const GATE: &str = "#[cfg(debug_assertions)]";
    /// How many lines above the access the gate may be.
    const NEAR: usize = 4;
    if !is_source_of_a_crate(path) || path.starts_with("xtask") {
        return Vec::new();
    }
    let lines: Vec<&str> = source.lines().collect();
    let is_way = |line: &str| {
        let code = line.trim_start();
        !code.starts_with("//") && WAYS.iter().any(|way| code.contains(way))
    };
    let is_gated = |index: usize| {
        lines[index.saturating_sub(NEAR)..index].iter().any(|line| line.trim() == GATE)
    };
    let open = (0..lines.len()).filter(|index| is_way(lines[*index]) && !is_gated(*index));
    open.map(|index| {
        let message = format!("fault injection in a release build: put `{GATE}` above it");
        Finding::new(path, index + 1, message)
    })
    .collect()
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
    fn what_goes_wrong_on_purpose_is_gated() {
        let source = "mod fail;\n#[cfg(debug_assertions)]\nmod fail;\nuse a;\nuse b;\nuse c;\n\
            // fail::x\nlet a = fail::x();\n";
        let found = |path| places(&ungated_faults(path, source)).join(" ");
        assert_eq!(found("crates/ops/src/a.rs"), "crates/ops/src/a.rs:1 crates/ops/src/a.rs:8");
        assert_eq!(found("crates/ops/tests/it/a.rs"), "");
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

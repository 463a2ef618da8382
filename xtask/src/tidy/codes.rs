//! Every error code has a page that explains it, and every page has its code.

use std::collections::BTreeSet;

use super::finding::Finding;

/// The file whose rows `Variant = "CODE", …` declare the codes.
pub(crate) const TABLE: &str = "crates/model/src/findings/problem.rs";
const PAGES: &str = "docs/errors/";

/// A code and the line that declares it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    code: String,
    line: usize,
}

/// A page in `docs/errors/` and its first line.
pub(crate) struct Page {
    pub(crate) path: String,
    pub(crate) title: String,
}

impl Page {
    fn code(&self) -> &str {
        code_of_page(&self.path).unwrap_or_default()
    }
}

pub(crate) fn is_page(path: &str) -> bool {
    code_of_page(path).is_some_and(|code| code != "README")
}

fn code_of_page(path: &str) -> Option<&str> {
    path.strip_prefix(PAGES)?.strip_suffix(".md")
}

pub(crate) fn declared(source: &str) -> Vec<Declared> {
    source
        .lines()
        .enumerate()
        .filter_map(|(index, line)| Some(Declared { code: code_of_row(line)?, line: index + 1 }))
        .collect()
}

/// Parses `WorkflowInvalid = "WORKFLOW_INVALID", …`.
fn code_of_row(line: &str) -> Option<String> {
    let (variant, rest) = line.trim_start().split_once(" = \"")?;
    let (code, _) = rest.split_once('"')?;
    let is_variant = variant.starts_with(|c: char| c.is_ascii_uppercase())
        && variant.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_code = code.len() > 1
        && code.starts_with(|c: char| c.is_ascii_uppercase())
        && code.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    (is_variant && is_code).then(|| code.to_owned())
}

pub(crate) fn unpaired(declared: &[Declared], pages: &[Page]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if declared.is_empty() {
        let message = "declares no code: the table of `Code` has rows `Variant = \"CODE\", …`";
        findings.push(Finding::new(TABLE, 1, message));
    }
    let mut seen = BTreeSet::new();
    for Declared { code, line } in declared {
        if !seen.insert(code.as_str()) {
            findings.push(Finding::new(TABLE, *line, format!("`{code}` is declared twice")));
        }
        match pages.iter().find(|page| page.code() == code) {
            None => {
                let message = format!("`{code}` has no page: write {PAGES}{code}.md");
                findings.push(Finding::new(TABLE, *line, message));
            }
            Some(page) if page.title.trim_end() != format!("# {code}") => {
                findings.push(Finding::new(&page.path, 1, format!("must open with `# {code}`")));
            }
            Some(_) => {}
        }
    }
    for page in pages.iter().filter(|page| !seen.contains(page.code())) {
        let message = format!("`{}` is not a code in {TABLE}: remove the page", page.code());
        findings.push(Finding::new(&page.path, 1, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::places;
    use super::*;

    const ROWS: &str = r#"codes! {
    WorkflowInvalid = "WORKFLOW_INVALID", "the workflow is invalid";
    /// Said when `Name = "NO_ROW"` is only in a comment.
    NotFound = "NOT_FOUND",
    let lower = "NOT_A_ROW";
    Title = "Not a code",
}
"#;

    fn page(code: &str, title: &str) -> Page {
        Page { path: format!("docs/errors/{code}.md"), title: title.to_owned() }
    }

    #[test]
    fn the_rows_of_the_table_declare_codes() {
        let expected = [("WORKFLOW_INVALID", 2), ("NOT_FOUND", 4)]
            .map(|(code, line)| Declared { code: code.to_owned(), line });
        assert_eq!(declared(ROWS), expected);
    }

    #[test]
    fn a_code_and_its_page_are_a_pair() {
        let pages = [
            page("WORKFLOW_INVALID", "# WORKFLOW_INVALID"),
            page("NOT_FOUND", "# Not found"),
            page("GONE", "# GONE"),
        ];
        let expected = ["docs/errors/NOT_FOUND.md:1", "docs/errors/GONE.md:1"];
        assert_eq!(places(&unpaired(&declared(ROWS), &pages)), expected);
        let expected = ["crates/model/src/findings/problem.rs:4"];
        assert_eq!(places(&unpaired(&declared(ROWS), &pages[..1])), expected);
    }

    #[test]
    fn a_code_declared_twice_and_an_empty_table_are_findings() {
        let twice = "A = \"SAME\",\nB = \"SAME\",\n";
        let findings = unpaired(&declared(twice), &[page("SAME", "# SAME")]);
        assert_eq!(places(&findings), ["crates/model/src/findings/problem.rs:2"]);
        assert_eq!(places(&unpaired(&[], &[])), ["crates/model/src/findings/problem.rs:1"]);
    }

    #[test]
    fn the_index_of_the_pages_is_no_page() {
        assert!(is_page("docs/errors/NOT_FOUND.md"));
        assert!(!is_page("docs/errors/README.md"));
        assert!(!is_page("docs/README.md"));
    }
}

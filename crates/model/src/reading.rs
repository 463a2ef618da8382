//! Text of others as a tree: no meaning is given to it, and all that is asked is that it can be
//! read whole.

use crate::finding::{Finding, Severity};
use crate::report::Report;
use crate::source::{Format, Source};
use crate::tree::Node;
use crate::yaml;

/// Why a text could not be read, and where; both counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
    /// What is wrong there.
    pub message: String,
}

/// Reads YAML, as strictly as workflows are read: what would be lost in the tree is refused.
pub fn yaml(text: &str) -> Result<Node, Unreadable> {
    let source = Source::decode(text.as_bytes(), Some(Format::Yaml))
        .map_err(|fault| unreadable(&fault, None))?;
    let mut report = Report::default();
    let node =
        yaml::read(&source, &mut report).map_err(|fault| unreadable(&fault, Some(&source)))?;
    match report.findings.iter().find(|finding| finding.severity == Severity::Error) {
        Some(finding) => Err(unreadable(finding, Some(&source))),
        None => Ok(node),
    }
}

fn unreadable(finding: &Finding, source: Option<&Source>) -> Unreadable {
    let counted = source.map(|source| source.position(finding.place.at.start));
    let (line, column) = finding.position.or(counted).unwrap_or((1, 1));
    Unreadable { line, column, message: finding.message.clone() }
}

#[cfg(test)]
mod tests {
    use super::yaml;

    #[test]
    fn reads_yaml_and_says_where_it_is_none() {
        let node = yaml("a: {b: 1} # note\n").expect("is YAML");
        assert_eq!(node.get("a").and_then(|a| a.get("b")).map(|b| b.at.start), Some(7));
        let fault = yaml("a: 1\nb: [\n").expect_err("is no YAML");
        assert!(fault.line >= 2, "{fault:?}");
        for refused in ["a: 1\na: 2\n", "a: &x {b: 1}\nc: {<<: *x}\n", "a: !tag 1\n", "a: \0\n"] {
            yaml(refused).expect_err(refused);
        }
    }
}

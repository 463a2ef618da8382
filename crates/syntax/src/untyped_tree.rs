//! Reads third-party documents into a tree without interpreting them.

use crate::fault::{Faults, SyntaxFault};
use crate::source::{Format, Source};
use crate::tree::SyntaxNode;
use crate::yaml;

/// Why a document could not be read, and where; line and column start at 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntypedTreeError {
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
    pub message: String,
}

/// Reads YAML as strictly as workflows are read: anything that the tree would lose is rejected.
pub fn yaml(text: &str) -> Result<SyntaxNode, UntypedTreeError> {
    let source = Source::decode(text.as_bytes(), Some(Format::Yaml))
        .map_err(|fault| unreadable(&fault, None))?;
    let mut faults = Faults::default();
    let node =
        yaml::read(&source, &mut faults).map_err(|fault| unreadable(&fault, Some(&source)))?;
    match faults.kept.first() {
        Some(fault) => Err(unreadable(fault, Some(&source))),
        None => Ok(node),
    }
}

fn unreadable(fault: &SyntaxFault, source: Option<&Source>) -> UntypedTreeError {
    let counted = source.map(|source| source.position(fault.at.start));
    let (line, column) = fault.position.or(counted).unwrap_or((1, 1));
    UntypedTreeError { line, column, message: fault.message.clone() }
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

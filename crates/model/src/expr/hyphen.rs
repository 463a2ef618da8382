//! Names with a hyphen, written where a hyphen means subtraction.

use super::Span;
use super::ast::{BinaryOp, Link, Node, NodeKind, StepKind};
use super::lexer::is_word;
use super::literal::Literal;

/// `steps.my-step` read as `steps.my - step`, though nobody can have meant that.
///
/// Of `inputs` it is a suspicion, for inputs may be numbers: confirm it by the names that exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HyphenSlip {
    /// The root and the name, such as `steps.my-step`.
    pub span: Span,
    /// The name as it was meant.
    pub name: String,
    /// What to write in place of the span.
    pub replacement: String,
}

/// Names that begin a reference of their own, so that a hyphen before them may well be a minus.
const ROOTS: [&str; 8] =
    ["inputs", "steps", "env", "run", "item", "index", "output", "status_code"];

pub(super) fn slips(source: &str, node: &Node, found: &mut Vec<HyphenSlip>) {
    if let NodeKind::Chain { first, rest } = &node.kind {
        let mut left = &**first;
        for link in rest {
            // Whether blanks stand around the hyphen is for the letters to tell.
            if is_slip(left, link) {
                found.extend(around(source, link.op_span.start as usize));
            }
            left = &link.operand;
        }
    }
    node.children().into_iter().for_each(|child| slips(source, child, found));
}

fn is_slip(left: &Node, link: &Link) -> bool {
    let NodeKind::Access { base, steps } = &left.kind else {
        return false;
    };
    let (NodeKind::Root(root), [step]) = (&base.kind, steps.as_slice()) else {
        return false;
    };
    let field = matches!(step.kind, StepKind::Field { optional: false, .. });
    link.op == BinaryOp::Subtract
        && field
        && match &**root {
            "steps" => true,
            "inputs" => !may_be_subtracted(&link.operand),
            _ => false,
        }
}

fn may_be_subtracted(operand: &Node) -> bool {
    match &operand.kind {
        NodeKind::Literal(Literal::Int(_) | Literal::Double(_)) | NodeKind::Call(_) => true,
        NodeKind::Root(root) => ROOTS.contains(&&**root),
        NodeKind::Access { base, .. } => may_be_subtracted(base),
        _ => false,
    }
}

/// The hyphenated name of a step or an input that the text at `at` belongs to, by its letters only.
pub(super) fn around(source: &str, at: usize) -> Option<HyphenSlip> {
    let bytes = source.as_bytes();
    let in_name = |byte: &u8| is_word(*byte) || *byte == b'-';
    let start = at - bytes[..at].iter().rev().take_while(|byte| in_name(byte)).count();
    let end = at + bytes[at..].iter().take_while(|byte| in_name(byte)).count();
    let name = &source[start..end];
    if !name.contains('-') || name.starts_with('-') || name.ends_with('-') {
        return None;
    }
    let before = &source[..start];
    let root = ["steps", "inputs"].into_iter().find(|root| {
        before.strip_suffix('.').and_then(|rest| rest.strip_suffix(root)).is_some_and(|rest| {
            !rest.bytes().next_back().is_some_and(|byte| is_word(byte) || byte == b'.')
        })
    })?;
    let span = Span::new(start - root.len() - 1, end);
    Some(HyphenSlip { span, name: name.to_owned(), replacement: format!("{root}['{name}']") })
}

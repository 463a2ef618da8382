//! Names with a hyphen, written where a hyphen means subtraction.

use milepost_syntax::span::Span;

use super::ast::{AccessKind, BinaryOp, ChainLink, ExprNode, NodeKind};
use super::lexer::is_word;
use super::literal::Literal;

/// A name such as `steps.my-step`. It parses as the subtraction `steps.my - step`, which no author
/// can have meant.
///
/// For `inputs` this is only a suspicion, since inputs may be numbers, so callers must check which
/// names exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HyphenatedName {
    /// The root and the name, such as `steps.my-step`.
    pub span: Span,
    /// The intended name.
    pub name: String,
    /// The text that replaces the span.
    pub replacement: String,
}

/// Names that start a reference of their own, so a hyphen before them may be a minus sign.
const ROOTS: [&str; 8] =
    ["inputs", "steps", "env", "run", "item", "index", "output", "status_code"];

/// The hyphenated name that a subtraction was probably meant to be. The source is needed to tell
/// whether the hyphen has spaces around it.
pub(super) fn misread(source: &str, left: &ExprNode, link: &ChainLink) -> Option<HyphenatedName> {
    let NodeKind::Access { base, steps } = &left.kind else { return None };
    let (NodeKind::Root(root), [step]) = (&base.kind, steps.as_slice()) else { return None };
    let field = matches!(step.kind, AccessKind::Field { optional: false, .. });
    let suspicious = match &**root {
        "steps" => true,
        "inputs" => !may_be_subtracted(&link.operand),
        _ => false,
    };
    let found = link.op == BinaryOp::Subtract && field && suspicious;
    found.then(|| hyphenated_name_at(source, link.op_span.start as usize)).flatten()
}

fn may_be_subtracted(operand: &ExprNode) -> bool {
    match &operand.kind {
        NodeKind::Literal(Literal::Int(_) | Literal::Double(_)) | NodeKind::Call(_) => true,
        NodeKind::Root(root) => ROOTS.contains(&&**root),
        NodeKind::Access { base, .. } => may_be_subtracted(base),
        _ => false,
    }
}

/// The hyphenated name of a step or an input around an offset, based on its characters alone.
pub(super) fn hyphenated_name_at(source: &str, at: usize) -> Option<HyphenatedName> {
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
    Some(HyphenatedName { span, name: name.to_owned(), replacement: format!("{root}['{name}']") })
}

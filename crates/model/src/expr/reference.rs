//! The scope names that an expression uses, recorded while it is parsed.

use milepost_syntax::span::Span;

use super::ast::{AccessKind, AccessStep, ExprNode, NodeKind};
use super::literal::{self, Literal};

/// A reference to data in the scope: a root name and the path that follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The root name in the scope, such as `inputs`.
    pub root: String,
    /// The path below the root, up to the first call or macro.
    pub path: Vec<Segment>,
    /// The span of the root and its whole path.
    pub span: Span,
    /// Whether the value may be missing: it is read inside `has()` or `coalesce()`, or with `.?` or
    /// `[?]`.
    pub guarded: bool,
}

impl Reference {
    /// The name of the field that a segment of the path reads; `index` starts at 0.
    pub fn field(&self, index: usize) -> Option<&str> {
        self.path.get(index)?.field()
    }
}

/// One segment of a [`Reference`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub kind: SegmentKind,
    /// The span of the field's name or of the index, without dot, brackets or quotes.
    pub span: Span,
    /// Whether it is written with `.?` or `[?]`.
    pub optional: bool,
}

impl Segment {
    /// The name of the field, if the segment reads a field.
    pub fn field(&self) -> Option<&str> {
        match &self.kind {
            SegmentKind::Field(name) => Some(name),
            SegmentKind::Index(_) | SegmentKind::Dynamic => None,
        }
    }
}

/// What a segment reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// A field of an object, written `.name` or `['name']`.
    Field(String),
    /// An element of a list, written `[0]`.
    Index(i64),
    /// An index that is only known at run time.
    Dynamic,
}

/// The reference formed by a base and its steps; `None` if the base is not a name in the scope.
pub(super) fn of(source: &str, base: &ExprNode, steps: &[AccessStep]) -> Option<Reference> {
    let NodeKind::Root(root) = &base.kind else {
        return None;
    };
    let mut span = base.span;
    let mut path = Vec::new();
    for step in steps {
        let Some(segment) = segment(source, step) else {
            break;
        };
        span = span.to(step.span);
        path.push(segment);
    }
    let guarded = path.iter().any(|segment| segment.optional);
    Some(Reference { root: root.to_string(), path, span, guarded })
}

fn segment(source: &str, step: &AccessStep) -> Option<Segment> {
    match &step.kind {
        AccessKind::Field { name, name_span, optional } => {
            let kind = SegmentKind::Field(name.to_string());
            Some(Segment { kind, span: *name_span, optional: *optional })
        }
        AccessKind::Index { key, optional } => {
            let (kind, span) = match key.literal() {
                Some(Literal::Str(name)) => {
                    (SegmentKind::Field(name.to_string()), inside(source, key.span))
                }
                Some(Literal::Int(index)) => (SegmentKind::Index(*index), key.span),
                _ => (SegmentKind::Dynamic, key.span),
            };
            Some(Segment { kind, span, optional: *optional })
        }
        AccessKind::Method(_) | AccessKind::Macro(_) => None,
    }
}

/// The span inside the quotes. A literal in parentheses keeps the span of its parentheses.
fn inside(source: &str, span: Span) -> Span {
    let text = &source[span.range()];
    if text.starts_with('(') { span } else { literal::inside(text, span) }
}

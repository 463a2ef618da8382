//! The names of the scope an expression mentions, found while it is parsed.

use milepost_syntax::span::Span;

use super::ast::{Node, NodeKind, Step, StepKind};
use super::literal::{self, Literal};

/// One mention of data: a root name and the path that follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The name of the scope, such as `inputs`.
    pub root: String,
    /// What is read below it, up to the first call or macro.
    pub path: Vec<Segment>,
    /// The root and its whole path.
    pub span: Span,
    /// Whether the expression allows for it to be missing: below `has()`, `.?`, `[?]` or
    /// `coalesce()`.
    pub guarded: bool,
}

impl Reference {
    /// The name of the field that a step of the path reads, counted from 0.
    pub fn field(&self, index: usize) -> Option<&str> {
        self.path.get(index)?.field()
    }
}

/// One step of a [`Reference`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// What the step reads.
    pub kind: SegmentKind,
    /// The field's name or the index itself, without dot, brackets or quotes.
    pub span: Span,
    /// Whether it is written `.?` or `[?]`.
    pub optional: bool,
}

impl Segment {
    /// The name of the field it reads, when it reads a field.
    pub fn field(&self) -> Option<&str> {
        match &self.kind {
            SegmentKind::Field(name) => Some(name),
            SegmentKind::Index(_) | SegmentKind::Dynamic => None,
        }
    }
}

/// What a step of a path reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// A field of an object, written `.name` or `['name']`.
    Field(String),
    /// An element of a list, written `[0]`.
    Index(i64),
    /// An index that is known only at run time.
    Dynamic,
}

/// The reference that a base and its steps make, unless the base is no name of the scope.
pub(super) fn of(source: &str, base: &Node, steps: &[Step]) -> Option<Reference> {
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

fn segment(source: &str, step: &Step) -> Option<Segment> {
    match &step.kind {
        StepKind::Field { name, name_span, optional } => {
            let kind = SegmentKind::Field(name.to_string());
            Some(Segment { kind, span: *name_span, optional: *optional })
        }
        StepKind::Index { key, optional } => {
            let (kind, span) = match key.literal() {
                Some(Literal::Str(name)) => {
                    (SegmentKind::Field(name.to_string()), inside(source, key.span))
                }
                Some(Literal::Int(index)) => (SegmentKind::Index(*index), key.span),
                _ => (SegmentKind::Dynamic, key.span),
            };
            Some(Segment { kind, span, optional: *optional })
        }
        StepKind::Method(_) | StepKind::Macro(_) => None,
    }
}

/// A literal in parentheses keeps the span of its parentheses: only a bare one has quotes to skip.
fn inside(source: &str, span: Span) -> Span {
    let text = &source[span.range()];
    if text.starts_with('(') { span } else { literal::inside(text, span) }
}

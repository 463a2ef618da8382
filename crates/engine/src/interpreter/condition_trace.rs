//! The values that an expression read, to explain its result.

use milepost_model::expr::{Reference, Scope, SegmentKind};
use milepost_model::templated::Bare;
use serde_json::{Map, Value};

use crate::interpreter::scope::RunScope;

/// The values that an expression read, keyed by the part of the expression that read them, and the
/// expression itself.
pub(crate) fn values(bare: &Bare, names: &RunScope<'_>, source: String) -> Map<String, Value> {
    let mut read = Map::new();
    for reference in bare.expr.references() {
        let text = bare.expr.source().get(reference.span.range()).unwrap_or_default();
        read.insert(text.to_owned(), value(reference, names).cloned().unwrap_or_default());
    }
    read.insert("if".to_owned(), Value::String(source));
    read
}

fn value<'n>(reference: &Reference, names: &'n RunScope<'_>) -> Option<&'n Value> {
    let mut value = names.root(&reference.root)?;
    for segment in &reference.path {
        value = match &segment.kind {
            SegmentKind::Field(name) => value.get(name)?,
            SegmentKind::Index(index) => value.get(usize::try_from(*index).ok()?)?,
            SegmentKind::Dynamic => return Some(value),
        };
    }
    Some(value)
}

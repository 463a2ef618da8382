//! Infers what kind of value an expression yields, if that can be determined from its text.

use super::ast::{AccessKind, AccessStep, BinaryOp, Call, ExprNode, MacroKind, NodeKind, UnaryOp};
use super::function::Function;
use super::literal::Literal;
use super::{Reference, reference};
use crate::named_enum::named_enum;

named_enum! {
    /// The kind of a JSON value, if it is known without evaluation. The names are those used in
    /// messages.
    pub InferredKind {
        Null = "null",
        Bool = "a boolean",
        /// An integer or a floating-point number.
        Number = "a number",
        String = "a string",
        List = "a list",
        /// An object.
        Map = "a map",
        /// Not known before the expression is evaluated, or none of the other kinds.
        Unknown = "something else",
    }
}

impl InferredKind {
    pub(crate) fn of(value: &serde_json::Value) -> InferredKind {
        use serde_json::Value;
        match value {
            Value::Null => InferredKind::Null,
            Value::Bool(_) => InferredKind::Bool,
            Value::Number(_) => InferredKind::Number,
            Value::String(_) => InferredKind::String,
            Value::Array(_) => InferredKind::List,
            Value::Object(_) => InferredKind::Map,
        }
    }
}

pub(super) struct Inference<'e> {
    pub(super) source: &'e str,
    pub(super) of: &'e dyn Fn(&Reference) -> InferredKind,
}

impl Inference<'_> {
    pub(super) fn kind(&self, node: &ExprNode) -> InferredKind {
        match &node.kind {
            NodeKind::Literal(literal) => literal_kind(literal),
            NodeKind::Local(_) => InferredKind::Unknown,
            NodeKind::Root(_) => self.access(node, &[]),
            NodeKind::List(_) => InferredKind::List,
            NodeKind::Map(_) => InferredKind::Map,
            NodeKind::Unary { op: UnaryOp::Negate, .. } => InferredKind::Number,
            NodeKind::Unary { op: UnaryOp::Not, .. }
            | NodeKind::Logic { .. }
            | NodeKind::Has { .. } => InferredKind::Bool,
            NodeKind::Chain { first, rest } => {
                rest.iter().fold(self.kind(first), |left, link| match link.op {
                    BinaryOp::Add => sum(left, self.kind(&link.operand)),
                    BinaryOp::Subtract
                    | BinaryOp::Multiply
                    | BinaryOp::Divide
                    | BinaryOp::Remainder => InferredKind::Number,
                    _ => InferredKind::Bool,
                })
            }
            NodeKind::Choice { arms, otherwise } => {
                let last = self.kind(otherwise);
                let agree = arms.iter().all(|(_, then)| self.kind(then) == last);
                if agree { last } else { InferredKind::Unknown }
            }
            NodeKind::Access { base, steps } => self.access(base, steps),
            NodeKind::Call(call) => self.call(call),
        }
    }

    fn access(&self, base: &ExprNode, steps: &[AccessStep]) -> InferredKind {
        match steps.last().map(|step| &step.kind) {
            Some(AccessKind::Method(call)) => call.function.result(),
            Some(AccessKind::Macro(each)) => match each.kind {
                MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => InferredKind::Bool,
                MacroKind::Filter | MacroKind::Map => InferredKind::List,
                MacroKind::OptMap | MacroKind::OptFlatMap => InferredKind::Unknown,
            },
            _ => match reference::of(self.source, base, steps) {
                // An optional may be empty, so its kind is not that of the value inside.
                Some(found) if found.path.len() == steps.len() => {
                    let optional = found.path.iter().any(|segment| segment.optional);
                    if optional { InferredKind::Unknown } else { (self.of)(&found) }
                }
                _ => InferredKind::Unknown,
            },
        }
    }

    fn call(&self, call: &Call) -> InferredKind {
        match (call.function, call.args.as_slice()) {
            (Function::Dyn, [arg]) => self.kind(arg),
            (function, _) => function.result(),
        }
    }
}

fn sum(left: InferredKind, right: InferredKind) -> InferredKind {
    match (left, right) {
        (InferredKind::Unknown, known) | (known, InferredKind::Unknown) => known,
        (left, right) if left == right => left,
        _ => InferredKind::Unknown,
    }
}

fn literal_kind(literal: &Literal) -> InferredKind {
    match literal {
        Literal::Null => InferredKind::Null,
        Literal::Bool(_) => InferredKind::Bool,
        Literal::Int(_) | Literal::Double(_) => InferredKind::Number,
        Literal::Str(_) => InferredKind::String,
        Literal::Bytes(_) => InferredKind::Unknown,
    }
}

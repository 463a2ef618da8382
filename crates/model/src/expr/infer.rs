//! Infers what an expression yields, if its text determines that.

use super::ast::{BinaryOp, Call, MacroKind, Node, NodeKind, Step, StepKind, UnaryOp};
use super::function::Function;
use super::literal::Literal;
use super::{Reference, reference};
use crate::named_enum::named_enum;

named_enum! {
    /// The kind of a JSON value, as far as it is known without evaluating; named as messages do.
    pub Kind {
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

impl Kind {
    pub(crate) fn of(value: &serde_json::Value) -> Kind {
        use serde_json::Value;
        match value {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Number(_) => Kind::Number,
            Value::String(_) => Kind::String,
            Value::Array(_) => Kind::List,
            Value::Object(_) => Kind::Map,
        }
    }
}

pub(super) struct Inference<'e> {
    pub(super) source: &'e str,
    pub(super) of: &'e dyn Fn(&Reference) -> Kind,
}

impl Inference<'_> {
    pub(super) fn kind(&self, node: &Node) -> Kind {
        match &node.kind {
            NodeKind::Literal(literal) => literal_kind(literal),
            NodeKind::Local(_) => Kind::Unknown,
            NodeKind::Root(_) => self.access(node, &[]),
            NodeKind::List(_) => Kind::List,
            NodeKind::Map(_) => Kind::Map,
            NodeKind::Unary { op: UnaryOp::Negate, .. } => Kind::Number,
            NodeKind::Unary { op: UnaryOp::Not, .. }
            | NodeKind::Logic { .. }
            | NodeKind::Has { .. } => Kind::Bool,
            NodeKind::Chain { first, rest } => {
                rest.iter().fold(self.kind(first), |left, link| match link.op {
                    BinaryOp::Add => sum(left, self.kind(&link.operand)),
                    BinaryOp::Subtract
                    | BinaryOp::Multiply
                    | BinaryOp::Divide
                    | BinaryOp::Remainder => Kind::Number,
                    _ => Kind::Bool,
                })
            }
            NodeKind::Choice { arms, otherwise } => {
                let last = self.kind(otherwise);
                let agree = arms.iter().all(|(_, then)| self.kind(then) == last);
                if agree { last } else { Kind::Unknown }
            }
            NodeKind::Access { base, steps } => self.access(base, steps),
            NodeKind::Call(call) => self.call(call),
        }
    }

    fn access(&self, base: &Node, steps: &[Step]) -> Kind {
        match steps.last().map(|step| &step.kind) {
            Some(StepKind::Method(call)) => call.function.result(),
            Some(StepKind::Macro(each)) => match each.kind {
                MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => Kind::Bool,
                MacroKind::Filter | MacroKind::Map => Kind::List,
                MacroKind::OptMap | MacroKind::OptFlatMap => Kind::Unknown,
            },
            _ => match reference::of(self.source, base, steps) {
                // An optional may be empty, so its kind is not that of the value inside.
                Some(found) if found.path.len() == steps.len() => {
                    let optional = found.path.iter().any(|segment| segment.optional);
                    if optional { Kind::Unknown } else { (self.of)(&found) }
                }
                _ => Kind::Unknown,
            },
        }
    }

    fn call(&self, call: &Call) -> Kind {
        match (call.function, call.args.as_slice()) {
            (Function::Dyn, [arg]) => self.kind(arg),
            (function, _) => function.result(),
        }
    }
}

fn sum(left: Kind, right: Kind) -> Kind {
    match (left, right) {
        (Kind::Unknown, known) | (known, Kind::Unknown) => known,
        (left, right) if left == right => left,
        _ => Kind::Unknown,
    }
}

fn literal_kind(literal: &Literal) -> Kind {
    match literal {
        Literal::Null => Kind::Null,
        Literal::Bool(_) => Kind::Bool,
        Literal::Int(_) | Literal::Double(_) => Kind::Number,
        Literal::Str(_) => Kind::String,
        Literal::Bytes(_) => Kind::Unknown,
    }
}

//! The syntax tree of an expression.
//!
//! Anything that can be long without nesting — operators of one precedence level, member access,
//! conditionals — is one node with a list, so no traversal or drop recurses deeper than the source
//! is nested.

use milepost_syntax::span::Span;
use regex::Regex;

use super::function::Function;
use super::literal::Literal;
use crate::named_enum::named_enum;

#[derive(Debug)]
pub(super) struct ExprNode {
    pub(super) span: Span,
    pub(super) kind: NodeKind,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    Literal(Literal),
    /// A macro's variable: its index on the stack of variables.
    Local(usize),
    /// A name from the scope, or the name of a type if the scope has no such name.
    Root(Box<str>),
    List(Vec<Element>),
    Map(Vec<Entry>),
    /// `!` or `-`, applied `count` times.
    Unary {
        op: UnaryOp,
        count: usize,
        operand: Box<ExprNode>,
    },
    /// Operators of the same precedence, applied from left to right.
    Chain {
        first: Box<ExprNode>,
        rest: Vec<ChainLink>,
    },
    Logic {
        op: LogicOp,
        terms: Vec<ExprNode>,
    },
    /// `c1 ? a1 : c2 ? a2 : otherwise`
    Choice {
        arms: Vec<(ExprNode, ExprNode)>,
        otherwise: Box<ExprNode>,
    },
    Access {
        base: Box<ExprNode>,
        steps: Vec<AccessStep>,
    },
    /// `has(base.step)`
    Has {
        base: Box<ExprNode>,
        step: Box<AccessStep>,
    },
    Call(Call),
}

/// An element of a list literal; `?x` adds the value of an optional, if it has one.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) optional: bool,
    pub(super) value: ExprNode,
}

/// An entry of a map literal; `?k: x` adds the value of an optional, if it has one.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) optional: bool,
    pub(super) key: ExprNode,
    pub(super) value: ExprNode,
}

#[derive(Debug)]
pub(super) struct ChainLink {
    pub(super) op: BinaryOp,
    pub(super) op_span: Span,
    pub(super) operand: ExprNode,
}

/// One step of member access; its span starts at the dot or bracket.
#[derive(Debug)]
pub(super) struct AccessStep {
    pub(super) span: Span,
    pub(super) kind: AccessKind,
}

#[derive(Debug)]
pub(super) enum AccessKind {
    Field { name: Box<str>, name_span: Span, optional: bool },
    Index { key: Box<ExprNode>, optional: bool },
    Method(Call),
    Macro(Macro),
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) function: Function,
    /// The arguments, without a method's receiver.
    pub(super) args: Vec<ExprNode>,
    /// The `matches` pattern, if it is a literal.
    pub(super) pattern: Option<Box<Regex>>,
}

#[derive(Debug)]
pub(super) struct Macro {
    pub(super) kind: MacroKind,
    /// The condition of a three-argument `map`.
    pub(super) only_if: Option<Box<ExprNode>>,
    pub(super) body: Box<ExprNode>,
}

named_enum! {
    pub(super) MacroKind {
        All = "all",
        Exists = "exists",
        ExistsOne = "exists_one",
        Filter = "filter",
        Map = "map",
        OptMap = "optMap",
        OptFlatMap = "optFlatMap",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnaryOp {
    Not,
    Negate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogicOp {
    And,
    Or,
}

named_enum! {
    pub(super) BinaryOp {
        Add = "+",
        Subtract = "-",
        Multiply = "*",
        Divide = "/",
        Remainder = "%",
        Equal = "==",
        NotEqual = "!=",
        Less = "<",
        LessOrEqual = "<=",
        Greater = ">",
        GreaterOrEqual = ">=",
        In = "in",
    }
}

impl ExprNode {
    /// The nodes whose values reach the result unchanged: the node itself, or the operands that `+`
    /// joins at its top level.
    pub(super) fn joined(&self) -> Vec<&ExprNode> {
        match &self.kind {
            NodeKind::Chain { first, rest } if rest.iter().all(|one| one.op == BinaryOp::Add) => {
                std::iter::once(&**first).chain(rest.iter().map(|link| &link.operand)).collect()
            }
            _ => vec![self],
        }
    }

    pub(super) fn literal(&self) -> Option<&Literal> {
        match &self.kind {
            NodeKind::Literal(literal) => Some(literal),
            _ => None,
        }
    }
}

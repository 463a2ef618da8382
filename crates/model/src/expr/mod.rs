//! The expression language: CEL over JSON.
//!
//! An [`Expr`] is parsed once and evaluated any number of times. The language follows the CEL
//! specification, including the optional syntax, but without unsigned integers, times, messages and
//! containers. It deviates from CEL where JSON and workflows require it: integers and
//! floating-point numbers can be mixed in arithmetic, results are finite, unknown functions are
//! found before anything runs, maps are visited in key order, and every evaluation terminates
//! (`limits.rs`). `has()` also accepts an index, and `string(1.0)` is `1.0`, as in a template.
//!
//! Nothing here reads a clock, a file or the environment, because all data comes through a
//! [`Scope`].

use std::fmt;
use std::sync::Arc;

mod ast;
mod common_mistakes;
mod compare;
mod eval;
mod eval_access;
mod eval_call;
mod eval_error;
mod eval_macro;
mod fuel;
mod function;
mod hyphenated_name;
mod infer;
mod lexer;
pub mod limits;
mod literal;
mod names;
mod number;
mod outcome;
mod parse_call;
mod parser;
mod reference;
mod scope;
mod syntax_error;
mod value;
mod value_type;

pub use eval_error::{EvalError, EvalErrorKind};
pub use fuel::Fuel;
pub use hyphenated_name::HyphenatedName;
pub use infer::InferredKind;
pub(crate) use lexer::closing_braces;
pub use names::Names;
pub use outcome::Outcome;
pub use reference::{Reference, Segment, SegmentKind};
pub use scope::{MapScope, Scope};
pub use syntax_error::SyntaxError;
pub use value_type::ValueType;

use ast::{AccessKind, ExprNode, NodeKind};
use eval::{Eval, Evaluator};
use infer::Inference;
use value::Value;

/// A parsed expression. Clones share the tree; two expressions are equal if their sources are.
#[derive(Clone)]
pub struct Expr {
    inner: Arc<Inner>,
}

struct Inner {
    source: Box<str>,
    root: ExprNode,
    references: Vec<Reference>,
    secrets: Vec<SecretUse>,
    hyphenated: Vec<HyphenatedName>,
}

/// A call to `secret()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretUse {
    pub name: String,
    /// The span of the call.
    pub span: milepost_syntax::span::Span,
    /// Whether the call is the whole expression or joined by `+` at its top level. Anywhere else
    /// its placeholder would be split or changed, and evaluating it is an error.
    pub legal: bool,
}

impl Expr {
    /// Parses an expression without surrounding braces.
    pub fn parse(source: &str) -> Result<Expr, SyntaxError> {
        let inner = parser::parse(source).map_err(|error| *error)?;
        Ok(Expr { inner: Arc::new(inner) })
    }

    /// The source text.
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// The data that the expression reads, in source order; macro variables are not data.
    pub fn references(&self) -> &[Reference] {
        &self.inner.references
    }

    /// Whether a reference is the whole expression or joined by `+` at its top level, so that its
    /// value reaches the result unchanged.
    pub fn passes_on(&self, reference: &Reference) -> bool {
        self.inner.root.joined().iter().any(|node| node.span == reference.span)
    }

    /// The secrets that the expression uses, in source order.
    pub fn secrets(&self) -> &[SecretUse] {
        &self.inner.secrets
    }

    /// Hyphenated step and input names that were parsed as subtractions.
    pub fn hyphenated_names(&self) -> &[HyphenatedName] {
        &self.inner.hyphenated
    }

    /// The kind of value that the expression yields, if its text and the kinds of its references
    /// determine it.
    pub fn infer(&self, of: &dyn Fn(&Reference) -> InferredKind) -> InferredKind {
        Inference { source: self.source(), of }.kind(&self.inner.root)
    }

    /// Whether the expression is only a path, such as `steps.lookup.output.items[0]`, whose value
    /// is read from the data unchanged.
    pub fn is_path(&self) -> bool {
        match &self.inner.root.kind {
            NodeKind::Root(_) => !self.inner.references.is_empty(),
            NodeKind::Access { base, steps } => {
                matches!(base.kind, NodeKind::Root(_))
                    && steps.iter().all(|step| match &step.kind {
                        AccessKind::Field { optional, .. } => !optional,
                        AccessKind::Index { key, optional } => !optional && key.literal().is_some(),
                        AccessKind::Method(_) | AccessKind::Macro(_) => false,
                    })
            }
            _ => false,
        }
    }

    /// Evaluates the expression in a scope.
    pub fn eval(&self, scope: &dyn Scope, fuel: &mut Fuel) -> Result<Outcome, EvalError> {
        self.outcome(scope, fuel).map_err(|error| *error)
    }

    /// Evaluates a condition; any result other than a boolean is an error.
    pub fn eval_bool(&self, scope: &dyn Scope, fuel: &mut Fuel) -> Result<bool, EvalError> {
        self.condition(scope, fuel).map_err(|error| *error)
    }

    fn outcome(&self, scope: &dyn Scope, fuel: &mut Fuel) -> Eval<Outcome> {
        self.check_secrets()?;
        let root = &self.inner.root;
        let mut evaluator = Evaluator::new(self.source(), scope, fuel);
        let value = match evaluator.node(root)? {
            Value::Optional(None) => return Ok(Outcome::Omit),
            Value::Optional(Some(inner)) => (*inner).clone(),
            value => value,
        };
        evaluator.json(&value, root.span).map(Outcome::Value)
    }

    fn condition(&self, scope: &dyn Scope, fuel: &mut Fuel) -> Eval<bool> {
        self.check_secrets()?;
        Evaluator::new(self.source(), scope, fuel).condition(&self.inner.root)
    }

    fn check_secrets(&self) -> Eval<()> {
        match self.secrets().iter().find(|secret| !secret.legal) {
            Some(secret) => eval::error(secret.span, EvalErrorKind::SecretPlace),
            None => Ok(()),
        }
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.source() == other.source()
    }
}

impl Eq for Expr {}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expr").field(&self.source()).finish()
    }
}

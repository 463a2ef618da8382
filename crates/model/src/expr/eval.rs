//! The evaluator, which walks the tree and spends fuel at every node.
//!
//! It is deterministic, because its only inputs are the tree and the scope, and maps are visited in
//! key order. Recursion is bounded by the nesting of the source (`limits.rs`).

use std::rc::Rc;

use milepost_syntax::span::Span;
use serde_json::Value as Json;

use super::ast::{BinaryOp, Call, ChainLink, Element, Entry, ExprNode, LogicOp, NodeKind, UnaryOp};
use super::fuel::Exhausted;
use super::function::Function;
use super::limits::RESULT_DEPTH_MAX;
use super::value::{Key, Map, OwnMap, Value};
use super::{EvalError, EvalErrorKind, Fuel, Names, Scope, ValueType};
use super::{compare, number, outcome};

/// Errors are boxed because every node returns a result and most results are values.
pub(super) type Eval<T> = Result<T, Box<EvalError>>;
pub(super) type Valued<'v> = Eval<Value<'v>>;

/// What methods on optionals accept, as worded in errors.
pub(super) const AN_OPTIONAL: &str = "an optional, such as the result of `.?`";

pub(super) struct Evaluator<'v, 'f> {
    pub(super) source: &'v str,
    pub(super) scope: &'v dyn Scope,
    fuel: &'f mut Fuel,
    /// The variables of the enclosing macros, outermost first.
    pub(super) locals: Vec<Value<'v>>,
}

pub(super) fn error<T>(span: Span, kind: EvalErrorKind) -> Eval<T> {
    Err(Box::new(EvalError { span, kind }))
}

impl<'v, 'f> Evaluator<'v, 'f> {
    pub(super) fn new(source: &'v str, scope: &'v dyn Scope, fuel: &'f mut Fuel) -> Self {
        Evaluator { source, scope, fuel, locals: Vec::new() }
    }

    /// Evaluates a node.
    ///
    /// Values are traversed and dropped recursively, and a long chain such as `x.optMap(y,
    /// [y]).optMap(y, [y])` nests them deeper than its source, so the depth is checked here.
    pub(super) fn node(&mut self, node: &'v ExprNode) -> Valued<'v> {
        self.spend(node.span, 1)?;
        let value = self.unchecked(node)?;
        if value.depth() > RESULT_DEPTH_MAX {
            return error(node.span, EvalErrorKind::TooDeep);
        }
        Ok(value)
    }

    fn unchecked(&mut self, node: &'v ExprNode) -> Valued<'v> {
        match &node.kind {
            NodeKind::Literal(literal) => Ok(Value::of_literal(literal)),
            NodeKind::Local(slot) => Ok(self.locals[*slot].clone()),
            NodeKind::Root(name) => self.root(name, node.span),
            NodeKind::List(elements) => self.list(elements),
            NodeKind::Map(entries) => self.map(entries),
            NodeKind::Unary { op, count, operand } => self.unary(*op, *count, operand, node.span),
            NodeKind::Chain { first, rest } => self.chain(first, rest, node.span),
            NodeKind::Logic { op, terms } => {
                self.decided(terms, *op == LogicOp::Or, Self::condition)
            }
            NodeKind::Choice { arms, otherwise } => {
                for (condition, then) in arms {
                    if self.condition(condition)? {
                        return self.node(then);
                    }
                }
                self.node(otherwise)
            }
            NodeKind::Access { base, steps } => {
                let mut value = self.node(base)?;
                for step in steps {
                    let of = Span { start: node.span.start, end: step.span.start };
                    value = self.step(value, step, of)?;
                }
                Ok(value)
            }
            NodeKind::Has { base, step } => self.has(base, step),
            NodeKind::Call(call) => self.call(call, None, node.span),
        }
    }

    pub(super) fn spend(&mut self, span: Span, units: u64) -> Eval<()> {
        let spent = self.fuel.spend(units);
        paid(spent, span)
    }

    pub(super) fn spend_bytes(&mut self, span: Span, bytes: usize) -> Eval<()> {
        let spent = self.fuel.spend_bytes(bytes);
        paid(spent, span)
    }

    /// Converts a value to JSON.
    pub(super) fn json(&mut self, value: &Value<'v>, span: Span) -> Eval<Json> {
        let (json, bytes) = outcome::to_json(value);
        self.spend_bytes(span, bytes)?;
        json.or_else(|kind| error(span, kind))
    }

    /// Evaluates a node that must yield a boolean.
    pub(super) fn condition(&mut self, node: &'v ExprNode) -> Eval<bool> {
        match self.node(node)? {
            Value::Bool(value) => Ok(value),
            other => error(node.span, EvalErrorKind::NotBoolean { found: other.value_type() }),
        }
    }

    fn root(&mut self, name: &str, span: Span) -> Valued<'v> {
        if let Some(json) = self.scope.root(name) {
            return Ok(Value::of_json(json));
        }
        if let Some(named) = ValueType::named(name) {
            return Ok(Value::Type(named));
        }
        let roots = self.scope.roots();
        self.spend(span, Names::fuel(roots.len()))?;
        let roots: Vec<String> = roots.into_iter().map(str::to_owned).collect();
        let names = Names::new(name, roots.len(), &roots);
        error(span, EvalErrorKind::UnknownName { name: name.to_owned(), names })
    }

    fn list(&mut self, elements: &'v [Element]) -> Valued<'v> {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            let value = self.node(&element.value)?;
            if element.optional {
                items.extend(optional(value, "[?x]", element.value.span)?);
            } else {
                items.push(value);
            }
        }
        Ok(Value::list(items))
    }

    fn map(&mut self, written: &'v [Entry]) -> Valued<'v> {
        let mut entries = Vec::with_capacity(written.len());
        let mut spans = Vec::with_capacity(written.len());
        for entry in written {
            let key = self.node(&entry.key)?;
            let Some(key) = Key::of_entry(&key) else {
                let found = key.value_type();
                return error(entry.key.span, EvalErrorKind::BadKey { found });
            };
            let value = self.node(&entry.value)?;
            let value = match entry.optional {
                true => optional(value, "{?'key': x}", entry.value.span)?,
                false => Some(value),
            };
            if let Some(value) = value {
                entries.push((key, value));
                spans.push(entry.key.span);
            }
        }
        match OwnMap::new(entries) {
            Ok(map) => Ok(Value::Map(Map::Own(Rc::new(map)))),
            Err(place) => error(spans[place], EvalErrorKind::DuplicateKey),
        }
    }

    fn unary(
        &mut self,
        op: UnaryOp,
        count: usize,
        operand: &'v ExprNode,
        span: Span,
    ) -> Valued<'v> {
        let value = self.node(operand)?;
        match (op, value) {
            (UnaryOp::Not, Value::Bool(value)) => Ok(Value::Bool(value ^ (count % 2 == 1))),
            (UnaryOp::Negate, Value::Int(value)) => match value.checked_neg() {
                Some(negative) => Ok(Value::Int(if count % 2 == 1 { negative } else { value })),
                None => error(span, EvalErrorKind::Overflow),
            },
            (UnaryOp::Negate, Value::Double(value)) => {
                Ok(Value::Double(if count % 2 == 1 { -value } else { value }))
            }
            (UnaryOp::Negate, Value::Big(_)) => error(span, EvalErrorKind::BeyondInteger),
            (op, value) => {
                let op = if op == UnaryOp::Not { "!" } else { "-" };
                error(span, EvalErrorKind::Operand { op, found: value.value_type() })
            }
        }
    }

    fn chain(&mut self, first: &'v ExprNode, rest: &'v [ChainLink], span: Span) -> Valued<'v> {
        let mut value = self.node(first)?;
        for link in rest {
            let right = self.node(&link.operand)?;
            let upto = Span { start: span.start, end: link.operand.span.end };
            value = self.binary(link.op, value, right, upto)?;
        }
        Ok(value)
    }

    fn binary(&mut self, op: BinaryOp, left: Value<'v>, right: Value<'v>, at: Span) -> Valued<'v> {
        use BinaryOp::{Equal, Greater, GreaterOrEqual, In, Less, LessOrEqual, NotEqual};
        match op {
            Equal | NotEqual => {
                let equal = paid(compare::equal(self.fuel, &left, &right), at)?;
                Ok(Value::Bool(equal == (op == Equal)))
            }
            In => self.contains(&left, &right, at),
            Less | LessOrEqual | Greater | GreaterOrEqual => {
                let Some(order) = paid(compare::order(self.fuel, &left, &right), at)? else {
                    return operands(op, &left, &right, at);
                };
                Ok(Value::Bool(match op {
                    Less => order.is_lt(),
                    LessOrEqual => order.is_le(),
                    Greater => order.is_gt(),
                    _ => order.is_ge(),
                }))
            }
            _ => match number::arithmetic(op, &left, &right) {
                Some(result) => result.or_else(|kind| error(at, kind)),
                None if op == BinaryOp::Add => self.joined(left, right, at),
                None => operands(op, &left, &right, at),
            },
        }
    }

    /// `left + right` for operands that are not numbers.
    fn joined(&mut self, left: Value<'v>, right: Value<'v>, at: Span) -> Valued<'v> {
        match (left, right) {
            (Value::Str(left), Value::Str(right)) => {
                self.spend_bytes(at, left.len() + right.len())?;
                Ok(Value::text([&*left, &*right].concat()))
            }
            (Value::Bytes(left), Value::Bytes(right)) => {
                self.spend_bytes(at, left.len() + right.len())?;
                Ok(Value::Bytes([&*left, &*right].concat().into()))
            }
            (Value::List(left), Value::List(right)) => {
                self.spend(at, (left.len() + right.len()) as u64)?;
                Ok(Value::list(left.iter().chain(right.iter()).collect()))
            }
            (left, right) => operands(BinaryOp::Add, &left, &right, at),
        }
    }

    /// `left in right`
    fn contains(&mut self, left: &Value<'v>, right: &Value<'v>, span: Span) -> Valued<'v> {
        match right {
            Value::List(list) => {
                for item in list.iter() {
                    if paid(compare::equal(self.fuel, left, &item), span)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            Value::Map(map) => {
                Ok(Value::Bool(Key::of(left).is_some_and(|key| map.get(&key).is_some())))
            }
            right => operands(BinaryOp::In, left, right, span),
        }
    }

    /// `&&`, `||`, `all` and `exists`: an operand that decides the result absorbs the errors of the
    /// others.
    pub(super) fn decided<T>(
        &mut self,
        operands: impl IntoIterator<Item = T>,
        decides: bool,
        holds: impl Fn(&mut Self, T) -> Eval<bool>,
    ) -> Valued<'v> {
        let mut failed = None;
        for operand in operands {
            match holds(self, operand) {
                Ok(value) if value == decides => return Ok(Value::Bool(decides)),
                Ok(_) => {}
                Err(error) => absorb(&mut failed, error)?,
            }
        }
        failed.map_or(Ok(Value::Bool(!decides)), Err)
    }

    pub(super) fn call(
        &mut self,
        call: &'v Call,
        receiver: Option<Value<'v>>,
        span: Span,
    ) -> Valued<'v> {
        match (call.function, receiver) {
            (Function::Coalesce, _) => self.coalesce(&call.args),
            (function @ (Function::Or | Function::OrValue), Some(receiver)) => {
                let Value::Optional(inner) = receiver else {
                    return wrong_argument(span, function.name(), AN_OPTIONAL, &receiver);
                };
                match inner {
                    Some(inner) if function == Function::OrValue => Ok((*inner).clone()),
                    Some(inner) => Ok(Value::Optional(Some(inner))),
                    // The fallback is evaluated only if it is needed.
                    None => self.node(&call.args[0]),
                }
            }
            (_, receiver) => {
                let mut args = Vec::with_capacity(call.args.len() + 1);
                args.extend(receiver);
                for arg in &call.args {
                    args.push(self.node(arg)?);
                }
                self.apply(call, &args, span)
            }
        }
    }

    fn coalesce(&mut self, args: &'v [ExprNode]) -> Valued<'v> {
        for arg in args {
            let value = match self.node(arg) {
                Ok(Value::Optional(Some(inner))) => (*inner).clone(),
                Ok(value) => value,
                Err(error) if error.kind.is_missing() => continue,
                Err(error) => return Err(error),
            };
            if !matches!(value, Value::Null | Value::Optional(None)) {
                return Ok(value);
            }
        }
        Ok(Value::Null)
    }
}

fn paid<T>(spent: Result<T, Exhausted>, span: Span) -> Eval<T> {
    spent.or_else(|Exhausted| error(span, EvalErrorKind::TooExpensive))
}

/// Keeps the first error for later. An exceeded limit is returned immediately instead.
fn absorb(failed: &mut Option<Box<EvalError>>, error: Box<EvalError>) -> Eval<()> {
    if error.kind.is_limit() {
        return Err(error);
    }
    failed.get_or_insert(error);
    Ok(())
}

/// The content of an optional, for places that accept only optionals.
pub(super) fn optional<'v>(
    value: Value<'v>,
    place: &'static str,
    span: Span,
) -> Eval<Option<Value<'v>>> {
    match value {
        Value::Optional(inner) => Ok(inner.map(|inner| (*inner).clone())),
        other => wrong_argument(span, place, AN_OPTIONAL, &other),
    }
}

pub(super) fn wrong_argument<T>(
    span: Span,
    function: &'static str,
    expected: &'static str,
    value: &Value<'_>,
) -> Eval<T> {
    error(span, EvalErrorKind::Argument { function, expected, found: value.value_type() })
}

fn operands<T>(op: BinaryOp, left: &Value<'_>, right: &Value<'_>, span: Span) -> Eval<T> {
    let (left, right) = (left.value_type(), right.value_type());
    error(span, EvalErrorKind::Operands { op: op.name(), left, right })
}

//! The evaluator: a walk over the tree that spends fuel at every node.
//!
//! It is pure: its only inputs are the tree and the scope, and maps are visited in the order of
//! their keys. Recursion is bounded by the nesting of the source (`limits.rs`).

use std::rc::Rc;

use super::ast::{
    BinaryOp, Call, Element, Entry, Link, LogicOp, Macro, MacroKind, Node, NodeKind, Step,
    StepKind, UnaryOp,
};
use super::fuel::Exhausted;
use super::function::Function;
use super::names::shortened;
use super::value::{Key, List, Map, OwnMap, Text, Value};
use super::{EvalError, EvalErrorKind, Fuel, Names, Scope, Span, ValueType};
use super::{call, compare, number};

/// Errors are boxed: the walk passes a result on at every node, and most of them are values.
pub(super) type Eval<T> = Result<T, Box<EvalError>>;

pub(super) struct Evaluator<'v, 'f> {
    source: &'v str,
    pub(super) scope: &'v dyn Scope,
    fuel: &'f mut Fuel,
    /// The variables of the macros around the current node, outermost first.
    locals: Vec<Value<'v>>,
}

pub(super) fn error<T>(span: Span, kind: EvalErrorKind) -> Eval<T> {
    Err(Box::new(EvalError { span, kind }))
}

impl<'v, 'f> Evaluator<'v, 'f> {
    pub(super) fn new(source: &'v str, scope: &'v dyn Scope, fuel: &'f mut Fuel) -> Self {
        Evaluator { source, scope, fuel, locals: Vec::new() }
    }

    pub(super) fn node(&mut self, node: &'v Node) -> Eval<Value<'v>> {
        self.spend(node.span, 1)?;
        match &node.kind {
            NodeKind::Literal(literal) => Ok(Value::of_literal(literal)),
            NodeKind::Local(slot) => Ok(self.locals[*slot].clone()),
            NodeKind::Root(name) => self.root(name, node.span),
            NodeKind::List(elements) => self.list(elements),
            NodeKind::Map(entries) => self.map(entries),
            NodeKind::Unary { op, count, operand } => self.unary(*op, *count, operand, node.span),
            NodeKind::Chain { first, rest } => self.chain(first, rest, node.span),
            NodeKind::Logic { op, terms } => self.logic(*op, terms),
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

    /// A node that must yield true or false.
    pub(super) fn condition(&mut self, node: &'v Node) -> Eval<bool> {
        match self.node(node)? {
            Value::Bool(value) => Ok(value),
            other => error(node.span, EvalErrorKind::NotBoolean { found: other.value_type() }),
        }
    }

    fn root(&mut self, name: &str, span: Span) -> Eval<Value<'v>> {
        if let Some(json) = self.scope.root(name) {
            return Ok(Value::of_json(json));
        }
        if let Some(named) = ValueType::named(name) {
            return Ok(Value::Type(named));
        }
        let roots = self.scope.roots();
        self.spend(span, Names::fuel(roots.len()))?;
        let names = Names::new(name, roots.into_iter());
        error(span, EvalErrorKind::UnknownName { name: name.to_owned(), names })
    }

    fn list(&mut self, elements: &'v [Element]) -> Eval<Value<'v>> {
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

    fn map(&mut self, written: &'v [Entry]) -> Eval<Value<'v>> {
        let mut entries = Vec::with_capacity(written.len());
        let mut spans = Vec::with_capacity(written.len());
        for entry in written {
            let key = self.node(&entry.key)?;
            let Some(key) = Key::of_entry(&key) else {
                let found = key.value_type();
                return error(entry.key.span, EvalErrorKind::BadKey { found });
            };
            let mut value = Some(self.node(&entry.value)?);
            if entry.optional {
                value = value
                    .map(|value| optional(value, "{?'key': x}", entry.value.span))
                    .transpose()?
                    .flatten();
            }
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
        operand: &'v Node,
        span: Span,
    ) -> Eval<Value<'v>> {
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

    fn chain(&mut self, first: &'v Node, rest: &'v [Link], span: Span) -> Eval<Value<'v>> {
        let mut value = self.node(first)?;
        for link in rest {
            let right = self.node(&link.operand)?;
            let upto = Span { start: span.start, end: link.operand.span.end };
            value = self.binary(link.op, value, right, upto)?;
        }
        Ok(value)
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: Value<'v>,
        right: Value<'v>,
        span: Span,
    ) -> Eval<Value<'v>> {
        let ordering = match op {
            BinaryOp::Equal | BinaryOp::NotEqual => {
                let equal = paid(compare::equal(self.fuel, &left, &right), span)?;
                return Ok(Value::Bool(equal == (op == BinaryOp::Equal)));
            }
            BinaryOp::In => return self.contains(&left, &right, span),
            BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual => paid(compare::order(self.fuel, &left, &right), span)?,
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder => return self.arithmetic(op, left, right, span),
        };
        match ordering {
            Some(ordering) => Ok(Value::Bool(match op {
                BinaryOp::Less => ordering.is_lt(),
                BinaryOp::LessOrEqual => ordering.is_le(),
                BinaryOp::Greater => ordering.is_gt(),
                _ => ordering.is_ge(),
            })),
            None => operands(op, &left, &right, span),
        }
    }

    fn arithmetic(
        &mut self,
        op: BinaryOp,
        left: Value<'v>,
        right: Value<'v>,
        span: Span,
    ) -> Eval<Value<'v>> {
        if let Some(result) = number::arithmetic(op, &left, &right) {
            return result.or_else(|kind| error(span, kind));
        }
        match (op, left, right) {
            (BinaryOp::Add, Value::Str(left), Value::Str(right)) => {
                self.spend_bytes(span, left.len() + right.len())?;
                Ok(Value::text([&*left, &*right].concat()))
            }
            (BinaryOp::Add, Value::Bytes(left), Value::Bytes(right)) => {
                self.spend_bytes(span, left.len() + right.len())?;
                Ok(Value::Bytes([&*left, &*right].concat().into()))
            }
            (BinaryOp::Add, Value::List(left), Value::List(right)) => {
                self.spend(span, (left.len() + right.len()) as u64)?;
                Ok(Value::list(left.iter().chain(right.iter()).collect()))
            }
            (op, left, right) => operands(op, &left, &right, span),
        }
    }

    /// `left in right`
    fn contains(&mut self, left: &Value<'v>, right: &Value<'v>, span: Span) -> Eval<Value<'v>> {
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

    /// `&&` and `||`: one operand that decides absorbs the errors of the others.
    fn logic(&mut self, op: LogicOp, terms: &'v [Node]) -> Eval<Value<'v>> {
        let decides = op == LogicOp::Or;
        let mut failed = None;
        for term in terms {
            match self.condition(term) {
                Ok(value) if value == decides => return Ok(Value::Bool(decides)),
                Ok(_) => {}
                Err(error) => absorb(&mut failed, error)?,
            }
        }
        failed.map_or(Ok(Value::Bool(!decides)), Err)
    }

    /// One step of member access on a value; `of` is the source of that value.
    fn step(&mut self, value: Value<'v>, step: &'v Step, of: Span) -> Eval<Value<'v>> {
        self.spend(step.span, 1)?;
        let optional = match &step.kind {
            StepKind::Method(call) => {
                let span = Span { start: of.start, end: step.span.end };
                return self.call(call, Some(value), span);
            }
            StepKind::Macro(each) => return self.each(value, each, of),
            StepKind::Field { optional, .. } | StepKind::Index { optional, .. } => *optional,
        };
        match value {
            Value::Optional(None) => Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => {
                let found = self.look(&inner, step, of)?;
                Ok(Value::Optional(found.ok().map(Rc::new)))
            }
            value => match self.look(&value, step, of)? {
                Ok(found) if optional => Ok(Value::some(found)),
                Ok(found) => Ok(found),
                Err(_) if optional => Ok(Value::Optional(None)),
                Err(index) => self.missing(&value, &index, step.span, of),
            },
        }
    }

    /// What a field or index step reads; the inner error is the index that is not there.
    fn look(
        &mut self,
        value: &Value<'v>,
        step: &'v Step,
        of: Span,
    ) -> Eval<Result<Value<'v>, Value<'v>>> {
        let (index, optional) = match &step.kind {
            StepKind::Field { name, optional, .. } => (Value::Str(Text::Borrowed(name)), *optional),
            StepKind::Index { key, optional } => (self.node(key)?, *optional),
            StepKind::Method(_) | StepKind::Macro(_) => {
                unreachable!("only fields and indexes are looked up")
            }
        };
        let is_field = matches!(step.kind, StepKind::Field { .. });
        let found = match value {
            Value::Map(map) => Key::of(&index).and_then(|key| map.get(&key)),
            // What may be missing may be null just as well: APIs use the two alike.
            Value::Null if optional => None,
            value if is_field => {
                let StepKind::Field { name, .. } = &step.kind else { return Ok(Err(index)) };
                let found = value.value_type();
                let (of, field) = (self.quote(of), name.to_string());
                return error(step.span, EvalErrorKind::NoFields { of, found, field });
            }
            Value::List(list) => {
                let Some(place) = list_index(&index) else {
                    let (of, found) = (ValueType::List, index.value_type());
                    return error(step.span, EvalErrorKind::BadIndex { of, found });
                };
                usize::try_from(place).ok().and_then(|place| list.get(place))
            }
            value => {
                let (of, found) = (self.quote(of), value.value_type());
                return error(step.span, EvalErrorKind::NotIndexable { of, found });
            }
        };
        Ok(found.ok_or(index))
    }

    fn missing<T>(&mut self, of: &Value<'v>, index: &Value<'v>, at: Span, text: Span) -> Eval<T> {
        let quoted = self.quote(text);
        match of {
            Value::Map(map) => {
                self.spend(at, Names::fuel(map.len()))?;
                let Some(key) = Key::of(index) else {
                    let (of, found) = (ValueType::Map, index.value_type());
                    return error(at, EvalErrorKind::BadIndex { of, found });
                };
                let key = key.to_text();
                let names = match map {
                    Map::Json(map) => Names::new(&key, map.keys().map(String::as_str)),
                    Map::Own(_) => {
                        let keys: Vec<String> =
                            map.entries().iter().map(|(key, _)| key.to_text()).collect();
                        Names::new(&key, keys.iter().map(String::as_str))
                    }
                };
                let key = shortened(&key).into_owned();
                error(at, EvalErrorKind::MissingKey { of: quoted, key, names })
            }
            Value::List(list) => {
                let index = list_index(index).unwrap_or_default();
                let length = list.len();
                error(at, EvalErrorKind::OutOfRange { of: quoted, index, length })
            }
            _ => error(at, EvalErrorKind::NotIndexable { of: quoted, found: of.value_type() }),
        }
    }

    fn has(&mut self, base: &'v Node, step: &'v Step) -> Eval<Value<'v>> {
        let value = self.node(base)?;
        let inner = match &value {
            Value::Optional(None) | Value::Null => return Ok(Value::Bool(false)),
            Value::Optional(Some(inner)) => inner,
            value => value,
        };
        let found = self.look(inner, step, base.span)?;
        Ok(Value::Bool(found.is_ok()))
    }

    fn call(&mut self, call: &'v Call, receiver: Option<Value<'v>>, span: Span) -> Eval<Value<'v>> {
        match (call.function, receiver) {
            (Function::Coalesce, _) => self.coalesce(&call.args),
            (function @ (Function::Or | Function::OrValue), Some(receiver)) => {
                let Value::Optional(inner) = receiver else {
                    let expected = "an optional, as `.?` yields it";
                    let (function, found) = (function.name(), receiver.value_type());
                    return error(span, EvalErrorKind::Argument { function, expected, found });
                };
                match inner {
                    Some(inner) if function == Function::OrValue => Ok((*inner).clone()),
                    Some(inner) => Ok(Value::Optional(Some(inner))),
                    // The other value is not even computed when it is not needed.
                    None => self.node(&call.args[0]),
                }
            }
            (_, receiver) => {
                let mut args = Vec::with_capacity(call.args.len() + 1);
                args.extend(receiver);
                for arg in &call.args {
                    args.push(self.node(arg)?);
                }
                call::apply(self, call, &args, span)
            }
        }
    }

    fn coalesce(&mut self, args: &'v [Node]) -> Eval<Value<'v>> {
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

    fn each(&mut self, receiver: Value<'v>, each: &'v Macro, of: Span) -> Eval<Value<'v>> {
        let items = match (each.kind, receiver) {
            (MacroKind::OptMap | MacroKind::OptFlatMap, Value::Optional(None)) => {
                return Ok(Value::Optional(None));
            }
            (MacroKind::OptMap, Value::Optional(Some(inner))) => {
                return Ok(Value::some(self.with((*inner).clone(), &each.body)?));
            }
            (MacroKind::OptFlatMap, Value::Optional(Some(inner))) => {
                let value = self.with((*inner).clone(), &each.body)?;
                return Ok(Value::Optional(
                    optional(value, "optFlatMap", each.body.span)?.map(Rc::new),
                ));
            }
            (MacroKind::OptMap | MacroKind::OptFlatMap, other) => {
                let expected = "an optional, as `.?` yields it";
                let (function, found) = (each.kind.name(), other.value_type());
                return error(of, EvalErrorKind::Argument { function, expected, found });
            }
            (_, Value::List(list)) => list,
            (_, Value::Map(map)) => {
                self.spend(of, map.len() as u64)?;
                List::Own(Rc::new(map.sorted_keys()))
            }
            (_, other) => {
                let expected = "a list or an object";
                let (function, found) = (each.kind.name(), other.value_type());
                return error(of, EvalErrorKind::Argument { function, expected, found });
            }
        };
        match each.kind {
            MacroKind::All => self.quantified(&items, &each.body, false),
            MacroKind::Exists => self.quantified(&items, &each.body, true),
            MacroKind::ExistsOne => {
                let mut count = 0_usize;
                for item in items.iter() {
                    count += usize::from(self.condition_with(item, &each.body)?);
                }
                Ok(Value::Bool(count == 1))
            }
            _ => self.collected(&items, each),
        }
    }

    /// `all` and `exists`: one element that decides absorbs the errors of the others.
    fn quantified(&mut self, items: &List<'v>, body: &'v Node, decides: bool) -> Eval<Value<'v>> {
        let mut failed = None;
        for item in items.iter() {
            match self.condition_with(item, body) {
                Ok(value) if value == decides => return Ok(Value::Bool(decides)),
                Ok(_) => {}
                Err(error) => absorb(&mut failed, error)?,
            }
        }
        failed.map_or(Ok(Value::Bool(!decides)), Err)
    }

    /// `filter` and `map`
    fn collected(&mut self, items: &List<'v>, each: &'v Macro) -> Eval<Value<'v>> {
        let mut out = Vec::new();
        for item in items.iter() {
            if each.kind == MacroKind::Filter {
                if self.condition_with(item.clone(), &each.body)? {
                    out.push(item);
                }
                continue;
            }
            let keep = match &each.only_if {
                Some(only_if) => self.condition_with(item.clone(), only_if)?,
                None => true,
            };
            if keep {
                out.push(self.with(item, &each.body)?);
            }
        }
        Ok(Value::list(out))
    }

    /// A macro's body with its variable bound.
    fn with(&mut self, item: Value<'v>, body: &'v Node) -> Eval<Value<'v>> {
        self.locals.push(item);
        let value = self.node(body);
        self.locals.pop();
        value
    }

    fn condition_with(&mut self, item: Value<'v>, body: &'v Node) -> Eval<bool> {
        self.locals.push(item);
        let value = self.condition(body);
        self.locals.pop();
        value
    }

    fn quote(&self, span: Span) -> String {
        shortened(self.source[span.range()].trim_end()).into_owned()
    }
}

fn paid<T>(spent: Result<T, Exhausted>, span: Span) -> Eval<T> {
    spent.or_else(|Exhausted| error(span, EvalErrorKind::TooExpensive))
}

/// Keeps the first error for later; a limit that was hit is never kept.
fn absorb(failed: &mut Option<Box<EvalError>>, error: Box<EvalError>) -> Eval<()> {
    if error.kind.is_limit() {
        return Err(error);
    }
    failed.get_or_insert(error);
    Ok(())
}

/// The value inside an optional, for places that take nothing else.
fn optional<'v>(value: Value<'v>, place: &'static str, span: Span) -> Eval<Option<Value<'v>>> {
    match value {
        Value::Optional(inner) => Ok(inner.map(|inner| (*inner).clone())),
        other => {
            let expected = "an optional, as `.?` yields it";
            let found = other.value_type();
            error(span, EvalErrorKind::Argument { function: place, expected, found })
        }
    }
}

fn operands<T>(op: BinaryOp, left: &Value<'_>, right: &Value<'_>, span: Span) -> Eval<T> {
    let (left, right) = (left.value_type(), right.value_type());
    error(span, EvalErrorKind::Operands { op: op.symbol(), left, right })
}

fn list_index(index: &Value<'_>) -> Option<i64> {
    match index {
        Value::Int(index) => Some(*index),
        Value::Double(index) => number::whole(*index),
        _ => None,
    }
}

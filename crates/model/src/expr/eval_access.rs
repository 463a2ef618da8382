//! Evaluates member access: fields, indexes, `has()` and optional chaining.

use std::rc::Rc;

use milepost_syntax::span::Span;

use super::ast::{AccessKind, AccessStep, ExprNode};
use super::eval::{Eval, Evaluator, Valued, error};
use super::limits::NAMES_COMPARED_MAX;
use super::names::shortened;
use super::value::{Key, Text, Value};
use super::{EvalErrorKind, Names, ValueType};

impl<'v> Evaluator<'v, '_> {
    /// Applies one step of member access to a value; `of` is that value's source span.
    pub(super) fn step(&mut self, value: Value<'v>, step: &'v AccessStep, of: Span) -> Valued<'v> {
        self.spend(step.span, 1)?;
        let optional = match &step.kind {
            AccessKind::Method(call) => {
                let span = Span { start: of.start, end: step.span.end };
                return self.call(call, Some(value), span);
            }
            AccessKind::Macro(each) => return self.each(value, each, of),
            AccessKind::Field { optional, .. } | AccessKind::Index { optional, .. } => *optional,
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

    /// Reads a field or an index. The inner error is the field or index that does not exist.
    fn look(
        &mut self,
        value: &Value<'v>,
        step: &'v AccessStep,
        of: Span,
    ) -> Eval<Result<Value<'v>, Value<'v>>> {
        let (index, field, optional) = match &step.kind {
            AccessKind::Field { name, optional, .. } => {
                (Value::Str(Text::Borrowed(name)), Some(name), *optional)
            }
            AccessKind::Index { key, optional } => (self.node(key)?, None, *optional),
            AccessKind::Method(_) | AccessKind::Macro(_) => {
                unreachable!("only fields and indexes are looked up")
            }
        };
        let found = match (value, field) {
            (Value::Map(map), _) => Key::of(&index).and_then(|key| map.get(&key)),
            // An optional field may be null as well as missing, because APIs use the two
            // interchangeably.
            (Value::Null, _) if optional => None,
            (Value::List(list), None) => {
                let Some(Key::Int(place)) = Key::of(&index) else {
                    let (of, found) = (ValueType::List, index.value_type());
                    return error(step.span, EvalErrorKind::BadIndex { of, found });
                };
                usize::try_from(place).ok().and_then(|place| list.get(place))
            }
            (value, field) => {
                let (of, found) = (self.quote(of), value.value_type());
                let kind = match field {
                    Some(field) => EvalErrorKind::NoFields { of, found, field: field.to_string() },
                    None => EvalErrorKind::NotIndexable { of, found },
                };
                return error(step.span, kind);
            }
        };
        Ok(found.ok_or(index))
    }

    /// The error for an index that does not exist; `text` is the value's source span.
    fn missing<T>(&mut self, of: &Value<'v>, index: &Value<'v>, at: Span, text: Span) -> Eval<T> {
        let quoted = self.quote(text);
        match (of, Key::of(index)) {
            (Value::Map(map), Some(key)) => {
                self.spend(at, Names::fuel(map.len()))?;
                let key = key.to_text();
                let names = Names::new(&key, map.len(), &map.names(NAMES_COMPARED_MAX));
                let key = shortened(&key).into_owned();
                error(at, EvalErrorKind::MissingKey { of: quoted, key, names })
            }
            (Value::List(list), Some(Key::Int(index))) => {
                let length = list.len();
                error(at, EvalErrorKind::OutOfRange { of: quoted, index, length })
            }
            (of, _) => {
                let (of, found) = (of.value_type(), index.value_type());
                error(at, EvalErrorKind::BadIndex { of, found })
            }
        }
    }

    pub(super) fn has(&mut self, base: &'v ExprNode, step: &'v AccessStep) -> Valued<'v> {
        let value = self.node(base)?;
        let inner = match &value {
            Value::Optional(None) | Value::Null => return Ok(Value::Bool(false)),
            Value::Optional(Some(inner)) => inner,
            value => value,
        };
        let found = self.look(inner, step, base.span)?;
        Ok(Value::Bool(found.is_ok()))
    }

    fn quote(&self, span: Span) -> String {
        shortened(self.source[span.range()].trim_end()).into_owned()
    }
}

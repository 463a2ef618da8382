//! Evaluates macros: each one binds its variable to every element in turn.

use std::rc::Rc;

use milepost_syntax::span::Span;

use super::ast::{ExprNode, Macro, MacroKind};
use super::eval::{AN_OPTIONAL, Eval, Evaluator, Valued, optional, wrong_argument};
use super::value::{List, Value};

impl<'v> Evaluator<'v, '_> {
    pub(super) fn each(&mut self, receiver: Value<'v>, each: &'v Macro, of: Span) -> Valued<'v> {
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
                return wrong_argument(of, each.kind.name(), AN_OPTIONAL, &other);
            }
            (_, Value::List(list)) => list,
            (_, Value::Map(map)) => {
                self.spend(of, map.len() as u64)?;
                map.sorted_keys()
            }
            (_, other) => {
                return wrong_argument(of, each.kind.name(), "a list or an object", &other);
            }
        };
        match each.kind {
            MacroKind::All | MacroKind::Exists => {
                let decides = each.kind == MacroKind::Exists;
                self.decided(items.iter(), decides, |cx, item| cx.condition_with(item, &each.body))
            }
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

    /// `filter` and `map`
    fn collected(&mut self, items: &List<'v>, each: &'v Macro) -> Valued<'v> {
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

    /// Evaluates a macro's body with its variable bound.
    fn with(&mut self, item: Value<'v>, body: &'v ExprNode) -> Valued<'v> {
        self.locals.push(item);
        let value = self.node(body);
        self.locals.pop();
        value
    }

    fn condition_with(&mut self, item: Value<'v>, body: &'v ExprNode) -> Eval<bool> {
        self.locals.push(item);
        let value = self.condition(body);
        self.locals.pop();
        value
    }
}

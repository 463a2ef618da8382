//! What is known before a run: the inputs, the readable variables, and what follows from them.
//! Everything else is listed as unknown, never guessed.

use std::collections::BTreeSet;

use milepost_model::decode::Entries;
use milepost_model::expr::{EvalErrorKind, Expr, Fuel, Outcome, Reference, Scope, SegmentKind};
use milepost_model::plan;
use milepost_model::secret::mark;
use milepost_model::step::When;
use milepost_model::template::{Template, TemplatePart};
use milepost_model::templated::Dynamic;
use milepost_model::workflow::Workflow;
use milepost_syntax::span::Span;

use crate::inputs::{GatheredInputs, InputStatus, known_roots};
use crate::prelude::*;

/// The data that expressions read, limited to what is known before the run.
#[derive(Debug, Clone)]
pub(crate) struct Knowledge {
    /// Secrets are placeholders.
    roots: Map<String, Value>,
    /// Required inputs without a valid value so far.
    open: BTreeSet<String>,
    secrets: BTreeSet<String>,
}

/// A value with its known parts filled in.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RenderedValue {
    /// Unknown parts keep their template as written. `None` if an optional part is omitted.
    pub(crate) value: Option<Value>,
    /// The references that are still unknown, as they are written.
    pub(crate) unknown: Vec<String>,
    /// Errors that no further input could fix.
    pub(crate) problems: Vec<String>,
    /// Whether it contains a secret's placeholder.
    pub(crate) secret: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConditionResult {
    pub(crate) holds: Option<bool>,
    pub(crate) unknown: Vec<String>,
}

impl Scope for Knowledge {
    fn root(&self, name: &str) -> Option<&Value> {
        self.roots.get(name)
    }

    fn roots(&self) -> Vec<&str> {
        self.roots.keys().map(String::as_str).collect()
    }

    fn secret(&self, name: &str) -> Option<String> {
        Some(mark(name))
    }
}

impl Knowledge {
    /// What the inputs alone determine.
    pub(crate) fn of(
        reader: &Reader,
        workflow: &Workflow,
        gathered: &GatheredInputs,
    ) -> Result<Knowledge> {
        let mut roots = known_roots(reader, workflow, gathered)?;
        roots.insert("steps".to_owned(), json!({}));
        let open = gathered
            .inputs
            .iter()
            .filter(|input| matches!(input.status, InputStatus::Missing | InputStatus::Invalid));
        let secrets = workflow.inputs.0.iter().filter(|(_, input)| input.is_secret());
        Ok(Knowledge {
            roots,
            open: open.map(|input| input.name.clone()).collect(),
            secrets: secrets.map(|(name, _)| name.value.clone()).collect(),
        })
    }

    /// Adds the item and index of one iteration.
    pub(crate) fn with_item(&self, name: &str, item: &Value, index: usize) -> Knowledge {
        let mut inner = self.clone();
        inner.roots.insert(name.to_owned(), item.clone());
        inner.roots.insert("index".to_owned(), index.into());
        inner
    }

    /// Records the output of a step.
    pub(crate) fn learn(&mut self, step: &str, output: &Value) {
        if let Some(Value::Object(steps)) = self.roots.get_mut("steps") {
            steps.insert(step.to_owned(), json!({"output": output, "status": "succeeded"}));
        }
    }

    /// The values that conditions in guides read; excludes secrets.
    fn context(&self) -> Map<String, Value> {
        let inputs = self.roots.get("inputs").and_then(Value::as_object).cloned();
        let mut inputs = inputs.unwrap_or_default();
        inputs.retain(|name, _| !self.secrets.contains(name));
        inputs
    }

    /// Evaluates a condition. One that reads a secret stays undecided, because its result would
    /// reveal something about the secret.
    pub(crate) fn decide(&self, when: &When) -> ConditionResult {
        let bare = match when {
            When::Condition(condition) => {
                let holds = plan::decided(when, &self.context());
                let names = condition.variables().into_iter().map(str::to_owned);
                let unknown = if holds.is_some() { Vec::new() } else { names.collect() };
                return ConditionResult { holds, unknown };
            }
            When::Expr(bare) => bare,
        };
        let expr = &bare.expr;
        let mut unknown = self.unknown(expr);
        let secret = expr.references().iter().filter(|one| self.is_secret(one));
        unknown.extend(secret.map(|one| text(expr, one.span)));
        // A guard would mistake an unknown value for a missing one.
        let guarded = expr.references().iter().any(|one| !self.knows(one) && one.guarded);
        let reads_secret = expr.references().iter().any(|one| self.is_secret(one));
        let holds = match guarded || reads_secret {
            true => None,
            false => expr.eval_bool(self, &mut Fuel::default()).ok(),
        };
        if holds.is_some() {
            unknown.clear();
        }
        ConditionResult { holds, unknown }
    }

    /// Renders a value, filling in everything that is known.
    pub(crate) fn render(&self, value: &Dynamic) -> RenderedValue {
        match value {
            Dynamic::Plain(plain) => {
                RenderedValue { value: Some(plain.value.clone()), ..RenderedValue::default() }
            }
            Dynamic::Text(text) => self.render_text(&text.template),
            Dynamic::List(items) => {
                let mut whole = RenderedValue::default();
                let items = items.value.iter().filter_map(|item| whole.take(self.render(item)));
                whole.value = Some(items.collect());
                whole
            }
            Dynamic::Map(entries) => {
                let mut whole = RenderedValue::default();
                let entries = entries.value.iter().filter_map(|(name, value)| {
                    Some((name.clone(), whole.take(self.render(value))?))
                });
                let entries = entries.collect();
                whole.value = Some(Value::Object(entries));
                whole
            }
        }
    }

    /// Renders a template, filling in everything that is known.
    pub(crate) fn render_text(&self, template: &Template) -> RenderedValue {
        let mut rendered = RenderedValue::default();
        for (expr, _) in template.exprs() {
            rendered.unknown.extend(self.unknown(expr));
            rendered.secret |= !expr.secrets().is_empty()
                || expr.references().iter().any(|one| self.is_secret(one));
        }
        if rendered.unknown.is_empty() {
            match template.render(self, &mut Fuel::default()) {
                Ok(Outcome::Value(value)) => rendered.value = Some(value),
                Ok(Outcome::Omit) => {}
                Err(error) if error.kind == EvalErrorKind::NoTime => {
                    rendered.unknown.push("now()".to_owned());
                }
                Err(error) => rendered.problems.push(error.to_string()),
            }
        }
        if !rendered.unknown.is_empty() || !rendered.problems.is_empty() {
            rendered.value = Some(Value::String(written(template)));
        }
        rendered
    }

    /// The references in an expression whose values are not known yet.
    fn unknown(&self, expr: &Expr) -> Vec<String> {
        let references = expr.references().iter().filter(|one| !self.knows(one));
        let mut found: Vec<String> = references.map(|one| text(expr, one.span)).collect();
        found.dedup();
        found
    }

    fn knows(&self, reference: &Reference) -> bool {
        let field = |index: usize| match reference.path.get(index).map(|segment| &segment.kind) {
            Some(SegmentKind::Field(name)) => Some(name.as_str()),
            _ => None,
        };
        match reference.root.as_str() {
            "inputs" => match field(0) {
                Some(name) => !self.open.contains(name),
                None => self.open.is_empty(),
            },
            "steps" => {
                let step = field(0).and_then(|id| self.roots.get("steps")?.get(id));
                step.is_some_and(|step| field(1).is_some_and(|part| step.get(part).is_some()))
            }
            root => self.roots.contains_key(root),
        }
    }

    fn is_secret(&self, reference: &Reference) -> bool {
        let first = reference.path.first().map(|segment| &segment.kind);
        reference.root == "inputs"
            && match first {
                Some(SegmentKind::Field(name)) => self.secrets.contains(name),
                _ => !self.secrets.is_empty(),
            }
    }
}

impl RenderedValue {
    /// Merges the unknowns and problems from a part, and returns its value.
    pub(crate) fn take(&mut self, part: RenderedValue) -> Option<Value> {
        self.unknown.extend(part.unknown);
        self.problems.extend(part.problems);
        self.secret |= part.secret;
        part.value
    }

    /// Renders named values and merges their unknowns and problems.
    pub(crate) fn take_all(
        &mut self,
        entries: &Entries<Dynamic>,
        knowledge: &Knowledge,
    ) -> Map<String, Value> {
        let rendered = entries.0.iter().filter_map(|(name, value)| {
            Some((name.value.clone(), self.take(knowledge.render(value))?))
        });
        rendered.collect()
    }

    /// Whether everything in it is known and free of problems.
    pub(crate) fn is_known(&self) -> bool {
        self.unknown.is_empty() && self.problems.is_empty()
    }
}

fn text(expr: &Expr, span: Span) -> String {
    expr.source().get(span.range()).unwrap_or_default().to_owned()
}

/// A template as its author wrote it.
fn written(template: &Template) -> String {
    let braces = |expr: &Expr| format!("${{{{ {} }}}}", expr.source());
    let parts = template.parts.iter().map(|part| match part {
        TemplatePart::Text(text) => text.clone(),
        TemplatePart::Expr(placed) => braces(&placed.expr),
    });
    parts.collect()
}

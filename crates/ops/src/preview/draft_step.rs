//! A step before it runs: its text and the arguments of its call, rendered from what is known.

use std::sync::Arc;

use milepost_catalog::request::Arguments;
use milepost_model::commands::Effect;
use milepost_model::step::{Action, ForEach, PromptText, Run, Step};
use milepost_model::target::Target;
use milepost_model::templated::named_files;
use milepost_model::wait::Wait;

use super::knowledge::{Knowledge, RenderedValue};
use crate::catalog_cache::LoadedCatalog;
use crate::command::draft::{CommandDraft, RequestPreview};
use crate::prelude::*;

/// A call rendered from what is known.
#[derive(Debug, Default)]
pub(crate) struct DraftCall {
    pub(crate) with: Map<String, Value>,
    pub(crate) body: Option<Value>,
    pub(crate) headers: Map<String, Value>,
    /// The files that the author named in the arguments.
    files: Vec<String>,
    /// What is still unknown or wrong in the other fields. Its `value` is unused.
    pub(crate) rest: RenderedValue,
}

impl DraftCall {
    /// Drafts a step's call.
    pub(crate) fn of(run: &Run, knowledge: &Knowledge) -> DraftCall {
        let files = named_files(Some(&run.with), run.body.as_ref());
        let mut call = DraftCall { files, ..DraftCall::default() };
        call.with = call.rest.take_all(&run.with, knowledge);
        call.headers = call.rest.take_all(&run.headers, knowledge);
        if let Some(body) = &run.body {
            call.body = call.rest.take(knowledge.render(body));
        }
        call
    }

    /// The exact request, with placeholders for secrets.
    pub(crate) fn drawn(
        &self,
        reader: &Reader,
        call: &dyn Caller,
        command: &StepCommand,
    ) -> Result<RequestPreview> {
        let draft = CommandDraft::unsent(reader, &command.loaded, command.row, None)?;
        let (with, body) = (self.with.clone(), self.body.clone());
        let files = Some(self.files.clone());
        let arguments = Arguments { with, body, files, ..Arguments::default() };
        let mut built = draft.build(reader, call, &arguments)?;
        for (name, value) in &self.headers {
            let set = built.set_header(name, &plain_text(value));
            set.map_err(|fault| problems::of_misuse(draft.command(), &[fault]))?;
        }
        draft.drawn(built)
    }
}

/// The command that a step calls, resolved.
pub(crate) struct StepCommand {
    loaded: Arc<LoadedCatalog>,
    row: usize,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) effect: Effect,
    pub(crate) may_repeat: bool,
}

impl StepCommand {
    /// Looks up a step's command; `None` if the step calls another workflow.
    pub(crate) fn find(reader: &Reader, run: &Run) -> Result<Option<StepCommand>> {
        let Target::Command(id) = &run.target.value else { return Ok(None) };
        let (loaded, row) = reader.shelf.command(&id.to_string())?;
        let prepared = loaded.prepared(row)?;
        let command = prepared.command();
        Ok(Some(StepCommand {
            method: command.method.name(),
            path: command.path.clone(),
            effect: command.effect,
            // The author's setting overrides the default for the method.
            may_repeat: run.idempotent.unwrap_or(command.may_repeat),
            loaded,
            row,
        }))
    }
}

/// The text or value of a step that is not a call.
pub(crate) fn words(step: &Step, knowledge: &Knowledge) -> RenderedValue {
    let literal =
        |text: String| RenderedValue { value: Some(text.into()), ..RenderedValue::default() };
    match &step.action {
        Action::Prompt(prompt) => match &prompt.text {
            PromptText::Template(text) => knowledge.render_text(&text.template),
            PromptText::Guide { text, .. } => match text {
                Some(text) => literal(text.clone()),
                None => RenderedValue::default(),
            },
        },
        Action::Approve(approve) => knowledge.render_text(&approve.message.template),
        Action::Fail(message) => knowledge.render_text(&message.template),
        Action::Wait(Wait::Computed(text)) => knowledge.render_text(&text.template),
        Action::Wait(Wait::Until(moment)) => literal(moment.value.clone()),
        Action::Wait(Wait::For(period)) => literal(format!("{}s", period.0.as_secs_f64())),
        Action::Set(values) => {
            let mut whole = RenderedValue::default();
            whole.value = Some(Value::Object(whole.take_all(values, knowledge)));
            whole
        }
        Action::Run(_) | Action::Loop(_) => RenderedValue::default(),
    }
}

/// The items that a step iterates over.
pub(crate) struct LoopItems {
    /// The items, if known.
    pub(crate) known: Option<Vec<Value>>,
    pub(crate) rest: RenderedValue,
}

impl LoopItems {
    pub(crate) fn of(each: &ForEach, knowledge: &Knowledge) -> LoopItems {
        let mut rest = knowledge.render(&each.items);
        let known = match rest.value.take() {
            Some(Value::Array(items)) if rest.is_known() => Some(items),
            Some(_) if rest.is_known() => {
                rest.problems.push("`for_each` needs a list".to_owned());
                None
            }
            _ => None,
        };
        LoopItems { known, rest }
    }
}

/// The name that the current item has in expressions.
pub(crate) fn item_name(each: &ForEach) -> &str {
    each.name.as_ref().map_or("item", |name| name.value.as_str())
}

/// Records the output of a `set` step whose expressions are all known.
pub(crate) fn learn(step: &Step, knowledge: &mut Knowledge) {
    let runs = step.when.as_ref().is_none_or(|when| knowledge.decide(when).holds == Some(true));
    if !runs || step.for_each.is_some() || !matches!(step.action, Action::Set(_)) {
        return;
    }
    let rendered = words(step, knowledge);
    if let Some(value) = rendered.value.clone().filter(|_| rendered.is_known()) {
        knowledge.learn(step.id.value.as_str(), &value);
    }
}

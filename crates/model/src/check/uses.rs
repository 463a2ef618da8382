//! Where expressions stand in a workflow, and what each place allows.

use crate::input::ArgumentSource;
use crate::step::{Action, PromptText, Step, When};
use crate::templated::{Dynamic, Located};
use crate::wait::Wait;
use crate::workflow::Workflow;

/// The kind of place an expression stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// `if`.
    Condition,
    /// `repeat.until`.
    Until,
    /// `verify[].check`.
    Check,
    /// `with`, `body` and `headers`: what goes into a request.
    Request,
    /// What an agent reads.
    Prompt,
    /// What a person reads before deciding.
    Question,
    /// `set`.
    Set,
    /// `fail`.
    Failure,
    /// `for_each`.
    Items,
    /// `wait`.
    Wait,
    /// `final_output`.
    FinalOutput,
    /// Arguments of an input's provider.
    ProviderArgument,
}

impl Slot {
    /// The place takes true or false only.
    pub fn wants_boolean(self) -> bool {
        matches!(self, Slot::Condition | Slot::Until | Slot::Check)
    }

    /// What is rendered here is shown or stored in clear.
    pub fn is_shown(self) -> bool {
        matches!(
            self,
            Slot::Prompt | Slot::Question | Slot::Set | Slot::Failure | Slot::FinalOutput
        )
    }

    /// `output` and `status_code` exist here.
    pub fn has_answer(self) -> bool {
        matches!(self, Slot::Until | Slot::Check)
    }

    /// The words for it in a message.
    pub fn words(self) -> &'static str {
        match self {
            Slot::Condition => "`if`",
            Slot::Until => "`until`",
            Slot::Check => "`check`",
            Slot::Request => "a request",
            Slot::Prompt => "a prompt",
            Slot::Question => "a question",
            Slot::Set => "`set`",
            Slot::Failure => "`fail`",
            Slot::Items => "`for_each`",
            Slot::Wait => "`wait`",
            Slot::FinalOutput => "`final_output`",
            Slot::ProviderArgument => "an argument of a provider",
        }
    }
}

/// An expression and the place it stands in.
#[derive(Debug, Clone, Copy)]
pub struct Use<'e> {
    /// The expression.
    pub located: Located<'e>,
    /// The place.
    pub slot: Slot,
}

fn all<'e>(values: impl IntoIterator<Item = &'e Dynamic>, slot: Slot, found: &mut Vec<Use<'e>>) {
    for value in values {
        found.extend(value.exprs().into_iter().map(|located| Use { located, slot }));
    }
}

/// The expressions of one step, without those of a loop's body.
pub(crate) fn of_step(step: &Step) -> Vec<Use<'_>> {
    let mut found = Vec::new();
    if let Some(When::Expr(bare)) = &step.when {
        found.push(Use { located: bare.located(), slot: Slot::Condition });
    }
    if let Some(each) = &step.for_each {
        all([&each.items], Slot::Items, &mut found);
    }
    match &step.action {
        Action::Run(run) => {
            let values = run.with.0.iter().chain(&run.headers.0).map(|(_, value)| value);
            all(values.chain(&run.body), Slot::Request, &mut found);
            if let Some(repeat) = &run.repeat {
                found.push(Use { located: repeat.until.located(), slot: Slot::Until });
            }
        }
        Action::Prompt(prompt) => {
            if let PromptText::Template(text) = &prompt.text {
                found.extend(text.exprs().map(|located| Use { located, slot: Slot::Prompt }));
            }
            for verify in &prompt.verify {
                let with = verify.with.iter().flat_map(|with| &with.0).map(|(_, value)| value);
                all(with.chain(&verify.body), Slot::Request, &mut found);
                found.push(Use { located: verify.check.located(), slot: Slot::Check });
            }
        }
        Action::Approve(approve) => {
            let uses = approve.message.exprs();
            found.extend(uses.map(|located| Use { located, slot: Slot::Question }));
        }
        Action::Wait(Wait::Computed(text)) => {
            found.extend(text.exprs().map(|located| Use { located, slot: Slot::Wait }));
        }
        Action::Wait(_) | Action::Loop(_) => {}
        Action::Set(values) => all(values.0.iter().map(|(_, value)| value), Slot::Set, &mut found),
        Action::Fail(text) => {
            found.extend(text.exprs().map(|located| Use { located, slot: Slot::Failure }));
        }
    }
    found
}

/// The expressions outside of steps.
pub(crate) fn of_workflow(workflow: &Workflow) -> Vec<Use<'_>> {
    let mut found = Vec::new();
    for (_, input) in &workflow.inputs.0 {
        let args = input.provider_args.iter().flat_map(|args| &args.0).map(|(_, value)| value);
        let sources = input.depends_on.iter().flat_map(|sources| &sources.0);
        let values = sources.filter_map(|(_, source)| match source {
            ArgumentSource::Value(value) => Some(value),
            ArgumentSource::From(_) => None,
        });
        all(args.chain(values), Slot::ProviderArgument, &mut found);
    }
    all(&workflow.final_output, Slot::FinalOutput, &mut found);
    found
}

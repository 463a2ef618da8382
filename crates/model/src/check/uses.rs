//! Where expressions occur in a workflow, and what each of these places allows.

use crate::input::ArgumentSource;
use crate::named_enum::named_enum;
use crate::step::{Action, PromptText, Step, When};
use crate::templated::{Dynamic, Located};
use crate::wait::Wait;
use crate::workflow::Workflow;

named_enum! {
    /// The kind of place that an expression is in, as worded in messages.
    pub(crate) ExprPlace {
        Condition = "`if`",
        /// `repeat.until`.
        Until = "`until`",
        /// `verify[].check`.
        Check = "`check`",
        /// `with`, `body` and `headers`: the parts of a request.
        Request = "a request",
        /// Text for an agent.
        Prompt = "a prompt",
        /// Text for a person who has to decide.
        Question = "a question",
        Set = "`set`",
        Failure = "`fail`",
        Items = "`for_each`",
        Wait = "`wait`",
        FinalOutput = "`final_output`",
        ProviderArgument = "a provider argument",
    }
}

impl ExprPlace {
    /// Whether only a boolean is allowed here.
    pub(crate) fn wants_boolean(self) -> bool {
        matches!(self, Self::Condition | Self::Until | Self::Check)
    }

    /// Whether the result is shown or stored in plain text.
    pub(crate) fn is_shown(self) -> bool {
        matches!(
            self,
            Self::Prompt | Self::Question | Self::Set | Self::Failure | Self::FinalOutput
        )
    }

    /// Whether `output` and `status_code` exist here.
    pub(crate) fn has_response(self) -> bool {
        matches!(self, Self::Until | Self::Check)
    }
}

/// An expression and the place it is in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExprUse<'e> {
    pub(crate) located: Located<'e>,
    pub(crate) place: ExprPlace,
}

impl<'e> ExprUse<'e> {
    fn at(place: ExprPlace) -> impl Fn(Located<'e>) -> ExprUse<'e> {
        move |located| ExprUse { located, place }
    }
}

fn all<'e>(
    values: impl IntoIterator<Item = &'e Dynamic>,
    place: ExprPlace,
) -> impl Iterator<Item = ExprUse<'e>> {
    values.into_iter().flat_map(Dynamic::exprs).map(ExprUse::at(place))
}

/// The expressions of one step, excluding those in a loop's body.
pub(crate) fn of_step(step: &Step) -> Vec<ExprUse<'_>> {
    let mut found = Vec::new();
    if let Some(When::Expr(bare)) = &step.when {
        found.push(ExprUse { located: bare.located(), place: ExprPlace::Condition });
    }
    found.extend(all(step.for_each.iter().map(|each| &each.items), ExprPlace::Items));
    match &step.action {
        Action::Run(run) => {
            let values = run.with.0.iter().chain(&run.headers.0).map(|(_, value)| value);
            found.extend(all(values.chain(&run.body), ExprPlace::Request));
            let until = run.repeat.iter().map(|repeat| repeat.until.located());
            found.extend(until.map(ExprUse::at(ExprPlace::Until)));
        }
        Action::Prompt(prompt) => {
            if let PromptText::Template(text) = &prompt.text {
                found.extend(text.exprs().map(ExprUse::at(ExprPlace::Prompt)));
            }
            for verify in &prompt.verify {
                let with = verify.with.iter().flat_map(|with| &with.0).map(|(_, value)| value);
                found.extend(all(with.chain(&verify.body), ExprPlace::Request));
                found.push(ExprUse { located: verify.check.located(), place: ExprPlace::Check });
            }
        }
        Action::Approve(approve) => {
            found.extend(approve.message.exprs().map(ExprUse::at(ExprPlace::Question)));
        }
        Action::Wait(Wait::Computed(text)) => {
            found.extend(text.exprs().map(ExprUse::at(ExprPlace::Wait)));
        }
        Action::Wait(_) | Action::Loop(_) => {}
        Action::Set(values) => {
            found.extend(all(values.0.iter().map(|(_, value)| value), ExprPlace::Set));
        }
        Action::Fail(text) => found.extend(text.exprs().map(ExprUse::at(ExprPlace::Failure))),
    }
    found
}

/// The expressions outside steps.
pub(crate) fn of_workflow(workflow: &Workflow) -> Vec<ExprUse<'_>> {
    let mut found = Vec::new();
    for (_, input) in &workflow.inputs.0 {
        let args = input.provider_args.iter().flat_map(|args| &args.0).map(|(_, value)| value);
        let sources = input.depends_on.iter().flat_map(|sources| &sources.0);
        let values = sources.filter_map(|(_, source)| match source {
            ArgumentSource::Value(value) => Some(value),
            ArgumentSource::From(_) => None,
        });
        found.extend(all(args.chain(values), ExprPlace::ProviderArgument));
    }
    found.extend(all(&workflow.final_output, ExprPlace::FinalOutput));
    found
}

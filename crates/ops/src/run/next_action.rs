//! The next action for a run, as data; each interface words it differently.

use super::view::{RunView, WaitingView};
use crate::prelude::*;
use milepost_model::wording;
use serde::Serializer;

/// Placeholder for an output that is yet to be produced.
const OUTPUT: &str = "<the output of the step>";
/// Placeholder for a value that is yet to be determined.
const VALUE: &str = "<its value>";
/// Placeholder for a value that only a person can supply.
const UNTOLD: &str = "…";

/// The next call to make. Each interface renders it in its own syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextAction(pub Invocation);

impl NextAction {
    /// Watch a run until it ends.
    pub(crate) fn look(run: &str) -> NextAction {
        let look = Invocation::of("workflow.status").with("run_id", run);
        NextAction(look.with("wait_s", limits::RUN_WAIT_MAX_S))
    }

    /// Resume a run.
    pub(crate) fn resume(run: &str) -> NextAction {
        NextAction(resume(run))
    }

    /// Show what resuming would do.
    pub(crate) fn plan(run: &str) -> NextAction {
        NextAction(resume(run).with("plan_only", true))
    }

    /// Do a step and submit its output, with the variables that its prompt lacks.
    pub(crate) fn submit(run: &str, step: &str, missing: &[String]) -> NextAction {
        let submit = Invocation::of("workflow.submit").with("run_id", run);
        let submit = submit.with("step_id", step).with("output", OUTPUT);
        if missing.is_empty() {
            return NextAction(submit);
        }
        let values: Map<String, Value> =
            missing.iter().map(|name| (name.clone(), VALUE.into())).collect();
        NextAction(submit.with("context", Value::Object(values)))
    }

    /// Submit a variable that a run is waiting for.
    pub(crate) fn variable(run: &str, name: &str) -> NextAction {
        let submit = Invocation::of("workflow.submit").with("run_id", run);
        NextAction(submit.with("context", json!({name: VALUE})))
    }

    /// A person approves or rejects.
    pub(crate) fn approve(run: &str) -> NextAction {
        NextAction(Invocation::of("workflow.approve").with("run_id", run))
    }

    /// A person decides what happened to a step.
    pub(crate) fn decide(run: &str) -> NextAction {
        NextAction(Invocation::of("workflow.decide").with("run_id", run))
    }

    /// A person raises a budget.
    pub(crate) fn budget(run: &str, name: &str, limit: u64) -> NextAction {
        NextAction(resume(run).with("budget", json!({name: limit})))
    }

    /// What a person has to do, if nobody else can do it.
    pub fn person(&self) -> Option<&'static str> {
        let gives = |name: &str| self.0.arguments.contains_key(name);
        match &*self.0.operation {
            "workflow.approve" => Some("approve or reject"),
            "workflow.decide" => Some("decide what happened"),
            "workflow.resume" if gives("budget") => Some("raise the budget"),
            "workflow.resume" if gives("inputs") => Some("supply the secret input again"),
            _ => None,
        }
    }
}

/// The call that resumes a run.
pub(crate) fn resume(run: &str) -> Invocation {
    Invocation::of("workflow.resume").with("run_id", run)
}

/// Like [`resume()`], with a secret input that only a person can supply again.
pub(crate) fn resume_with(run: &str, input: &str) -> Invocation {
    resume(run).with("inputs", json!({input: UNTOLD}))
}

/// The problem when a call could refer to several waiting steps; its hint lists calls that each
/// name one of them.
pub(crate) fn one_of<'v>(
    view: &RunView,
    operation: &'static str,
    open: impl Iterator<Item = &'v WaitingView>,
    message: &str,
) -> Problem {
    let mut steps = Vec::new();
    let mut hint = Hint::text("say which one: ");
    for (index, one) in open.enumerate() {
        let run = one.run_id.as_deref().unwrap_or(&view.run_id);
        let step = one.step.as_deref().unwrap_or_default();
        if index < limits::STEPS_OFFERED {
            let call = Invocation::of(operation).with("run_id", run).with("step_id", step);
            hint = hint.then(if index == 0 { "" } else { " or " }).person(call);
        }
        steps.push(step.to_owned());
    }
    let problem = Problem::new(Code::ParamsInvalid, message, hint);
    problem.context("run_id", view.run_id.as_str()).context("steps", steps)
}

impl Serialize for NextAction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let said: Value = wording::current(|wording| wording.next(&self.0, self.person()));
        said.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each action either can be taken by anyone or states what a person has to do.
    #[test]
    fn what_only_a_person_can_do_is_told_apart() {
        for next in [
            NextAction::look("run_1"),
            NextAction::resume("run_1"),
            NextAction::plan("run_1"),
            NextAction::submit("run_1", "each[2]/look", &[]),
            NextAction::variable("run_1", "tone"),
        ] {
            assert_eq!(next.person(), None, "{next:?}");
        }
        assert_eq!(NextAction::approve("run_1").person(), Some("approve or reject"));
        assert_eq!(NextAction::decide("run_1").person(), Some("decide what happened"));
        assert_eq!(NextAction::budget("run_1", "writes", 20).person(), Some("raise the budget"));
        let given = NextAction(resume_with("run_1", "token"));
        assert_eq!(given.person(), Some("supply the secret input again"));
    }

    #[test]
    fn without_a_door_it_is_written_as_the_call_it_is() {
        let told = serde_json::to_value(NextAction::plan("run_1")).expect("JSON");
        let arguments = json!({"run_id": "run_1", "plan_only": true});
        assert_eq!(told, json!({"operation": "workflow.resume", "arguments": arguments}));
    }
}

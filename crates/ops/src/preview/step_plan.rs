//! `workflow.step_plan`: the steps of a run in order, and what is already decided about each.

use std::collections::{BTreeSet, HashMap};

use milepost_model::commands::Effect;
use milepost_model::plan::{self, Plan, PlannedStep};
use milepost_model::step::{Action, ActionKind, Approve, Needs, OnError, Step};

pub use super::PreviewRequest as Request;
use super::draft_step::{self, DraftCall, LoopItems, StepCommand, item_name, words};
use super::knowledge::Knowledge;
use crate::inputs::InputViolation;
use crate::prelude::*;

/// The plan.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The workflow's id.
    pub workflow_id: String,
    /// A hash of the workflow's meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_hash: Option<String>,
    /// The number of waves: steps in one wave do not wait for each other.
    pub waves: usize,
    /// How many steps may run at once.
    pub concurrency: u32,
    /// The steps in sequential order; those of a loop follow it.
    pub steps: Vec<PlannedStepView>,
    /// Required inputs that have no value yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<InputViolation>,
    /// What the run can change, and which origins it reads from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub can_change: Vec<String>,
}

/// One step of a plan.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct PlannedStepView {
    /// Its id.
    pub id: String,
    /// Its name for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `run`, `prompt`, `approve`, `wait`, `set`, `fail` or `loop`.
    #[schemars(with = "String")]
    pub kind: ActionKind,
    /// The earliest possible wave, from 1.
    pub wave: usize,
    /// The enclosing loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// The steps it waits for.
    pub depends_on: Vec<String>,
    /// `any` if one of them is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// Whether it always runs, at the end.
    pub finally: bool,
    /// `continue` if its failure does not fail the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<String>,
    /// Its condition.
    pub condition: Option<String>,
    /// The condition's result, if known.
    pub condition_holds: Option<bool>,
    /// What the condition still needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub condition_needs: Vec<String>,
    /// How many items it iterates over, if the list is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<usize>,
    /// What it calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallView>,
    /// What it displays, asks or computes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Value>,
    /// Who decides, for an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalView>,
    /// Approvals it waits for, directly or indirectly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approved_by: Vec<String>,
    /// What is still unknown about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    /// Why it would fail in any case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// What a step calls.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct CallView {
    /// `group name`, or `workflow id`.
    pub target: String,
    /// The method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path, with the names of its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `read`, `create` or `write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub effect: Option<Effect>,
    /// Whether it is safe to repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_repeat: Option<bool>,
    /// Its arguments; unknown parts are shown as written.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub with: Map<String, Value>,
    /// Its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Extra headers.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub headers: Map<String, Value>,
    /// The condition that ends polling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// Who decides, and where a rejection leads.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct ApprovalView {
    /// Who may answer; anyone if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// Seconds until the question expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_s: Option<u64>,
    /// The step to return to on rejection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_reject: Option<String>,
}

operation! {
    /// Shows a run's plan.
    PlanSteps: "workflow.step_plan", "Plan the steps", include_str!("step_plan.md");
    doors: [Door::Tool(Tool::FULL), Door::Command("workflow plan")];
    run: plan_steps(Reader, Request) -> Response;
    example: {"workflow_id": "refund-order"};
}

async fn plan_steps(reader: &Reader, call: &dyn Caller, request: Request) -> Result<Response> {
    let subject = request.subject(reader)?;
    let workflow = subject.workflow()?;
    let (gathered, knowledge) = request.knowledge(reader, call, workflow).await?;
    let compiled = Plan::of(workflow);
    Ok(Response {
        workflow_id: workflow.id.value.to_string(),
        plan_hash: plan::hash(&subject.document),
        waves: compiled.waves(),
        concurrency: workflow.concurrency,
        steps: Viewer { reader, compiled: &compiled, knowledge }.views(),
        missing: gathered.faults.iter().map(InputViolation::from).collect(),
        can_change: super::can_change(reader, workflow, &gathered.values),
    })
}

/// Describes the steps in order, recording outputs along the way.
struct Viewer<'v> {
    reader: &'v Reader,
    compiled: &'v Plan<'v>,
    knowledge: Knowledge,
}

impl Viewer<'_> {
    fn views(mut self) -> Vec<PlannedStepView> {
        let mut views = Vec::new();
        // By step: the approvals among the step itself and those it waits for.
        let mut approvals: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        for planned in &self.compiled.steps {
            let above = planned.waits_for.iter().filter_map(|id| approvals.get(id));
            let mut above: BTreeSet<&str> = above.flatten().copied().collect();
            let view = self.view(planned.step, planned.wave, planned.finally);
            views.push(PlannedStepView {
                depends_on: planned.waits_for.iter().map(|id| (*id).to_owned()).collect(),
                approved_by: above.iter().map(|id| (*id).to_owned()).collect(),
                ..view
            });
            let id = planned.step.id.value.as_str();
            if matches!(planned.step.action, Action::Approve(_)) {
                above.insert(id);
            }
            approvals.insert(id, above);
            self.body(planned.step, planned, &mut views);
            draft_step::learn(planned.step, &mut self.knowledge);
        }
        views
    }

    /// Adds a loop's steps after the loop itself.
    fn body(&self, step: &Step, planned: &PlannedStep<'_>, views: &mut Vec<PlannedStepView>) {
        let Action::Loop(looped) = &step.action else { return };
        for inner in &looped.body {
            let view = self.view(inner, planned.wave, planned.finally);
            let waits = inner.depends_on.iter().map(|id| id.value.to_string());
            views.push(PlannedStepView {
                inside: Some(step.id.value.to_string()),
                depends_on: waits.collect(),
                ..view
            });
            self.body(inner, planned, views);
        }
    }

    fn view(&self, step: &Step, wave: usize, finally: bool) -> PlannedStepView {
        let decision = step.when.as_ref().map(|when| self.knowledge.decide(when));
        let mut view = PlannedStepView {
            id: step.id.value.to_string(),
            title: step.title.clone(),
            kind: step.action.kind(),
            wave,
            finally,
            needs: (step.needs == Needs::Any).then(|| step.needs.name().to_owned()),
            on_error: (step.on_error == OnError::Continue).then(|| step.on_error.name().to_owned()),
            condition: step.when.as_ref().map(plan::words),
            condition_holds: decision.as_ref().and_then(|decision| decision.holds),
            condition_needs: decision.map(|decision| decision.unknown).unwrap_or_default(),
            ..PlannedStepView::default()
        };
        if let Some(each) = &step.for_each {
            let items = LoopItems::of(each, &self.knowledge);
            view.items = items.known.as_ref().map(Vec::len);
            view.pending.extend(items.rest.unknown);
            view.problems.extend(items.rest.problems);
        }
        self.action(step, &mut view);
        view.pending.dedup();
        view
    }

    fn action(&self, step: &Step, view: &mut PlannedStepView) {
        let said = words(step, &self.knowledge);
        view.text.clone_from(&said.value);
        view.pending.extend(said.unknown);
        view.problems.extend(said.problems);
        match &step.action {
            Action::Approve(approve) => view.approval = Some(approval(approve)),
            Action::Run(run) => {
                let drafted = DraftCall::of(run, &self.knowledge);
                let own = step.for_each.as_ref().map(item_name);
                let item = |name: &String| own.is_some_and(|own| is_of_item(name, own));
                view.pending.extend(drafted.rest.unknown.into_iter().filter(|one| !item(one)));
                view.problems.extend(drafted.rest.problems);
                let mut call = CallView {
                    target: run.target.value.to_string(),
                    with: drafted.with,
                    body: drafted.body,
                    headers: drafted.headers,
                    until: run.repeat.as_ref().map(|one| one.until.expr.source().to_owned()),
                    ..CallView::default()
                };
                match StepCommand::find(self.reader, run) {
                    Ok(None) => {}
                    Ok(Some(command)) => {
                        call.method = Some(command.method.to_owned());
                        call.path = Some(command.path);
                        call.effect = Some(command.effect);
                        let repeats = command.may_repeat || command.effect == Effect::Read;
                        call.may_repeat = Some(repeats);
                    }
                    Err(problem) => view.problems.push(problem.message),
                }
                view.call = Some(call);
            }
            _ => {}
        }
    }
}

/// Whether a reference reads the current item or index, which is known only in each iteration.
fn is_of_item(reference: &str, item: &str) -> bool {
    let is = |name: &str| {
        let rest = reference.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    is(item) || is("index")
}

fn approval(approve: &Approve) -> ApprovalView {
    ApprovalView {
        by: approve.by.clone(),
        expires_s: approve.expires.map(|period| period.0.as_secs()),
        on_reject: approve.on_reject.as_ref().map(|back| back.to.value.to_string()),
    }
}

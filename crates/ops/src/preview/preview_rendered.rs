//! `workflow.preview_rendered`: the requests and messages of a run that its inputs alone determine.

use milepost_model::plan::Plan;
use milepost_model::secret::mark;
use milepost_model::step::{Action, ActionKind, Run, Step};
use milepost_model::workflow::Workflow;

pub use super::PreviewRequest as Request;
use super::draft_step::{self, DraftCall, LoopItems, StepCommand, item_name, words};
use super::knowledge::Knowledge;
use crate::command::run::RequestView;
use crate::inputs::InputViolation;
use crate::prelude::*;

/// What a run would send and display.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The workflow's id.
    pub workflow_id: String,
    /// Its steps in sequential order; those of a loop follow it.
    pub steps: Vec<RenderedStep>,
    /// Required inputs that have no value yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<InputViolation>,
    /// What the run can change, and which origins it reads from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub can_change: Vec<String>,
}

/// How much of a step is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RenderStatus {
    /// Everything: this is what the run would use.
    #[default]
    Known,
    /// Something is still unknown.
    Unknown,
    /// Its condition is false: it would not run.
    Skipped,
    /// It would fail in any case.
    Problem,
}

/// A step as the run would send or display it.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct RenderedStep {
    /// Its id.
    pub id: String,
    /// `run`, `prompt`, `approve`, `wait`, `set`, `fail` or `loop`.
    #[schemars(with = "String")]
    pub kind: ActionKind,
    /// The enclosing loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// How much of it is known.
    pub status: RenderStatus,
    /// `group name`, or `workflow id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The method, even if the request is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The path, with named parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The exact requests, secrets masked: one, or one per list item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestView>,
    /// Whether there are more requests than are shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// The known arguments, while the request is incomplete.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub with: Map<String, Value>,
    /// The known body, while the request is incomplete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// What it displays, asks or computes, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Value>,
    /// References that are still unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// Why it would fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Additional notes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

operation! {
    /// Shows what a run would send and display.
    PreviewRequests: "workflow.preview_rendered", "Preview requests",
        include_str!("preview_rendered.md");
    doors: [Door::Tool(Tool::FULL), Door::Command("workflow plan --requests")];
    run: preview(Reader, Request) -> Response;
    example: {"workflow_id": "refund-order"};
}

async fn preview(reader: &Reader, call: &dyn Caller, request: Request) -> Result<Response> {
    let subject = request.subject(reader)?;
    let workflow = subject.workflow()?;
    let (gathered, knowledge) = request.knowledge(reader, call, workflow).await?;
    let marks = marks(workflow);
    let mut renderer = Renderer { reader, call, knowledge, marks, steps: Vec::new() };
    for planned in &Plan::of(workflow).steps {
        renderer.add(planned.step, None);
        draft_step::learn(planned.step, &mut renderer.knowledge);
    }
    Ok(Response {
        workflow_id: workflow.id.value.to_string(),
        steps: renderer.steps,
        missing: gathered.faults.iter().map(InputViolation::from).collect(),
        can_change: super::can_change(reader, workflow, &gathered.values),
    })
}

/// Secret placeholders: as encoded in a URL, and as shown to people.
fn marks(workflow: &Workflow) -> Vec<(String, String)> {
    let inputs = workflow.inputs.0.iter().filter(|(_, input)| input.is_secret());
    let inputs = inputs.map(|(name, _)| name.value.clone());
    let steps = workflow.all_steps();
    let called = steps.iter().filter_map(|step| match &step.action {
        Action::Run(run) => Some(run),
        _ => None,
    });
    let called = called.flat_map(|run| {
        let values = run.with.0.iter().chain(&run.headers.0).map(|(_, value)| value);
        values.chain(&run.body).flat_map(milepost_model::templated::Dynamic::exprs)
    });
    let named = called.flat_map(|located| located.expr.secrets());
    let named = named.map(|secret| secret.name.clone());
    let mut found = Vec::new();
    for name in inputs.chain(named) {
        found.push((format!("%5Bsecret%3A{name}%5D"), mark(&name)));
        found.push((format!("%5Bsecret:{name}%5D"), mark(&name)));
    }
    found
}

/// Renders the steps in order, recording outputs along the way.
struct Renderer<'r> {
    reader: &'r Reader,
    call: &'r dyn Caller,
    knowledge: Knowledge,
    marks: Vec<(String, String)>,
    steps: Vec<RenderedStep>,
}

impl Renderer<'_> {
    fn add(&mut self, step: &Step, inside: Option<&str>) {
        let mut rendered = self.step(step);
        rendered.inside = inside.map(str::to_owned);
        rendered.unknown.dedup();
        self.steps.push(rendered);
        if let Action::Loop(looped) = &step.action {
            for inner in &looped.body {
                self.add(inner, Some(step.id.value.as_str()));
            }
        }
    }

    fn step(&self, step: &Step) -> RenderedStep {
        let mut rendered = RenderedStep {
            id: step.id.value.to_string(),
            kind: step.action.kind(),
            ..RenderedStep::default()
        };
        let decision = step.when.as_ref().map(|when| self.knowledge.decide(when));
        if decision.as_ref().is_some_and(|decision| decision.holds == Some(false)) {
            rendered.status = RenderStatus::Skipped;
            return rendered;
        }
        if let Some(open) = decision.map(|one| one.unknown).filter(|open| !open.is_empty()) {
            let open = open.join(", ");
            rendered.notes.push(format!("whether it runs depends on {open}"));
        }
        if let Action::Run(run) = &step.action {
            self.requests(step, run, &mut rendered);
        } else {
            let said = words(step, &self.knowledge);
            rendered.text.clone_from(&said.value);
            rendered.unknown = said.unknown;
            rendered.problems = said.problems;
        }
        rendered.status = match (rendered.problems.is_empty(), rendered.unknown.is_empty()) {
            (false, _) => RenderStatus::Problem,
            (true, false) => RenderStatus::Unknown,
            (true, true) => RenderStatus::Known,
        };
        rendered
    }

    fn requests(&self, step: &Step, run: &Run, rendered: &mut RenderedStep) {
        rendered.target = Some(run.target.value.to_string());
        let command = StepCommand::find(self.reader, run).unwrap_or_else(|problem| {
            rendered.problems.push(problem.message);
            None
        });
        if let Some(command) = &command {
            rendered.method = Some(command.method.to_owned());
            rendered.path = Some(command.path.clone());
        }
        let Some(each) = &step.for_each else {
            return self.request(run, command.as_ref(), &self.knowledge, rendered);
        };
        let items = LoopItems::of(each, &self.knowledge);
        rendered.unknown.extend(items.rest.unknown);
        rendered.problems.extend(items.rest.problems);
        let Some(items) = items.known else {
            let drafted = DraftCall::of(run, &self.knowledge);
            (rendered.with, rendered.body) = (drafted.with, drafted.body);
            return;
        };
        rendered.more = items.len() > limits::PREVIEW_REQUESTS;
        for (index, item) in items.iter().take(limits::PREVIEW_REQUESTS).enumerate() {
            let inner = self.knowledge.with_item(item_name(each), item, index);
            self.request(run, command.as_ref(), &inner, rendered);
        }
    }

    /// Renders one request: in full if everything is known, otherwise only its known arguments.
    fn request(
        &self,
        run: &Run,
        command: Option<&StepCommand>,
        knowledge: &Knowledge,
        rendered: &mut RenderedStep,
    ) {
        let drafted = DraftCall::of(run, knowledge);
        let known = drafted.rest.is_known();
        if let Some(command) = command.filter(|_| known) {
            match drafted.drawn(self.reader, self.call, command) {
                Ok(drawn) => {
                    rendered.requests.push(self.readable(drawn.shown));
                    rendered.notes.extend(drawn.notes);
                    return;
                }
                // The placeholder may fail a check that the real value passes.
                Err(problem) if drafted.rest.secret => {
                    let why = problem.message;
                    rendered.notes.push(format!("not checked because it contains a secret: {why}"));
                    rendered.unknown.push("a secret".to_owned());
                }
                Err(problem) => rendered.problems.push(problem.message),
            }
        }
        rendered.unknown.extend(drafted.rest.unknown);
        rendered.problems.extend(drafted.rest.problems);
        (rendered.with, rendered.body) = (drafted.with, drafted.body);
    }

    /// Restores the readable form of placeholders in the URL and the body.
    fn readable(&self, mut shown: RequestView) -> RequestView {
        shown.url = self.plain(&shown.url);
        shown.body = shown.body.map(|body| self.plain(&body));
        shown
    }

    fn plain(&self, text: &str) -> String {
        let marks = self.marks.iter();
        marks.fold(text.to_owned(), |text, (encoded, mark)| text.replace(encoded, mark))
    }
}

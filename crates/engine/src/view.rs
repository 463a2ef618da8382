//! A run as people and agents see it.

use milepost_model::agent_prompt::{self, FilledText};
use milepost_model::condition::MissingVariable;
use milepost_model::criteria::Criteria;
use milepost_model::step::{Action, Prompt, PromptText, Step};
use milepost_model::walk::{self, BlockedStep, GuideWalk, WalkError, WalkPosition};
use serde_json::{Map, Value};

use crate::event::{Actor, ApprovalRequest, SubmissionIssue};
use crate::interpreter::evaluator::RunEvaluator;
use crate::interpreter::run_variables::SaidVariables;
use crate::interpreter::scope::RunScope;
use crate::state::{End, Phase, State, Status};
use crate::{Failure, Flow, StepKey, admission, limits};
use milepost_model::serialized_enum;

/// Who has to do what before a run can continue.
#[derive(Debug, Clone, PartialEq)]
pub enum Waiting {
    /// A person has to answer an approval request.
    Approval(Box<ApprovalRequest>),
    /// A person has to decide the outcome of a request.
    Unknown { key: StepKey, failure: Failure },
    /// A person has to decide how to continue with a step whose submissions were all rejected;
    /// `issues` are those of the last one.
    Exhausted { key: StepKey, issues: Vec<SubmissionIssue> },
    /// A person has to raise the budget or give up.
    Budget(crate::event::BudgetKind),
    /// An agent has to work on a step.
    Agent(StepKey),
    /// An agent has to supply a variable that a step needs; `expected` lists its allowed values.
    Variable { step: String, variable: String, expected: Option<Vec<Value>> },
}

impl Waiting {
    /// The kind of action that the run is waiting for.
    pub fn kind(&self) -> WaitingKind {
        match self {
            Waiting::Approval(_) => WaitingKind::Approval,
            Waiting::Unknown { .. } => WaitingKind::Decision,
            Waiting::Exhausted { .. } => WaitingKind::Person,
            Waiting::Budget(_) => WaitingKind::Budget,
            Waiting::Agent(_) => WaitingKind::Agent,
            Waiting::Variable { .. } => WaitingKind::Variable,
        }
    }
}

serialized_enum! {
    /// What kind of action a run is waiting for, or why it is not continuing.
    #[derive(Default)]
    WaitingKind {
        /// A person has to answer an approval request.
        #[default]
        Approval = "approval",
        /// The time to answer an approval request has passed. No process was driving the run at
        /// that time, so this is not in its journal yet.
        Lapsed = "lapsed",
        /// A person has to decide the outcome of a request.
        Decision = "decision",
        /// A person has to decide how to continue with a step whose submissions were all rejected.
        Person = "person",
        /// A person has to raise a limit.
        Budget = "budget",
        /// Somebody paused the run.
        Paused = "paused",
        /// No process is driving the run.
        Adrift = "adrift",
        /// The run is quarantined because its journal is damaged.
        Damaged = "damaged",
        /// An agent has to work on a step.
        Agent = "agent",
        /// An agent has to supply a variable.
        Variable = "variable",
    }
}

impl WaitingKind {
    /// Whether an agent has to act.
    pub fn is_for_agent(self) -> bool {
        matches!(self, WaitingKind::Agent | WaitingKind::Variable)
    }

    /// Whether a person has to answer before the run continues.
    pub fn is_question(self) -> bool {
        use WaitingKind::{Approval, Budget, Decision, Person};
        matches!(self, Approval | Decision | Person | Budget)
    }
}

/// The status of a run.
pub fn status(flow: &Flow, state: &State) -> Status {
    match &state.end {
        Some(End::Succeeded(_)) => return Status::Succeeded,
        Some(End::Failed(_)) => return Status::Failed,
        Some(End::Canceled) => return Status::Canceled,
        None if state.paused => return Status::Paused,
        None => {}
    }
    let moves = |phase: &Phase| phase.is_busy() || phase.wakes_at().is_some();
    let runs = state.open().any(|(_, step)| moves(&step.phase)) || waiting(flow, state).is_empty();
    if runs { Status::Running } else { Status::Waiting }
}

/// Who has to do what before the run can continue.
pub fn waiting(flow: &Flow, state: &State) -> Vec<Waiting> {
    if state.end.is_some() {
        return Vec::new();
    }
    let mut all: Vec<Waiting> = state.parked.map(Waiting::Budget).into_iter().collect();
    for (key, step) in state.open() {
        match &step.phase {
            Phase::Asking => all.extend(step.request.clone().map(Waiting::Approval)),
            Phase::Unknown(failure) => {
                all.push(Waiting::Unknown { key: key.clone(), failure: (**failure).clone() });
            }
            Phase::Offered(_) => all.push(Waiting::Agent(key.clone())),
            Phase::Rejected if admission::is_exhausted(flow, state, key) => {
                let issues = step.judged.last().map(|judged| judged.issues.clone());
                let issues = issues.unwrap_or_default();
                all.push(Waiting::Exhausted { key: key.clone(), issues });
            }
            _ => {}
        }
    }
    if all.is_empty() {
        all.extend(blocked(flow, state).into_iter().map(|blocked| Waiting::Variable {
            step: blocked.step,
            variable: blocked.wanted.variable,
            expected: blocked.wanted.expected,
        }));
    }
    all
}

/// The conditions of a guide, of a loop or of a step that are waiting for a variable.
fn blocked(flow: &Flow, state: &State) -> Vec<BlockedStep> {
    let look = RunEvaluator::of(flow, state);
    let said = SaidVariables::of(flow, state);
    let variables = said.with_outputs();
    let of = |found: Result<GuideWalk<'_, '_>, WalkError>, id: &str| match found {
        Ok(GuideWalk { position: WalkPosition::Blocked(blocked), .. }) => blocked,
        Err(WalkError::Variable { variable, .. }) => {
            let wanted = MissingVariable { variable, expected: None };
            vec![BlockedStep { step: id.to_owned(), wanted }]
        }
        Ok(_) | Err(_) => Vec::new(),
    };
    if flow.is_walked() {
        let completed = look.completed(None);
        let found = walk::next_in_run(flow.workflow(), &completed, &variables);
        return of(found, flow.workflow().id.value.as_str());
    }
    let loops = state.open().filter(|(_, step)| step.phase == Phase::Listed);
    let in_loops = loops
        .filter_map(|(key, _)| Some((key, flow.of_key(key)?)))
        .filter(|(_, step)| matches!(step.action, Action::Loop(_)))
        .flat_map(|(key, step)| {
            let completed = look.completed(Some(key));
            of(walk::within(flow.workflow(), step, &completed, &variables), key.as_str())
        });
    in_loops.chain(look.undecided_nodes()).collect()
}

/// The variables of a run as they are outside its loops.
pub(crate) fn outer_variables(flow: &Flow, state: &State) -> Value {
    let said = SaidVariables::of(flow, state);
    Value::Object(said.with_outputs().all(&[]))
}

/// The variables of a run as an execution sees them, including those of the enclosing loops.
pub(crate) fn variables(flow: &Flow, state: &State, key: &StepKey) -> Value {
    let look = RunEvaluator::of(flow, state);
    let said = SaidVariables::of(flow, state);
    let variables = said.with_outputs();
    let (top, walked) = (key.top(), flow.is_walked());
    let completed =
        if walked { look.completed(None) } else { look.completed(Some(&StepKey::of_walk(top))) };
    let found = match flow.step(top) {
        _ if walked => Some(walk::next_in_run(flow.workflow(), &completed, &variables)),
        Some(step) if matches!(step.action, Action::Loop(_)) => {
            Some(walk::within(flow.workflow(), step, &completed, &variables))
        }
        _ => None,
    };
    match found.and_then(Result::ok).map(|found| found.position) {
        Some(WalkPosition::Due(due)) if due.key == key.as_str() => {
            milepost_model::condition::Variables::to_value(&due.scope)
        }
        _ => Value::Object(variables.all(&walk::passes_of(key.as_str()))),
    }
}

/// What an agent is shown about a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepBrief {
    pub key: StepKey,
    /// The display title.
    pub title: Option<String>,
    /// What the agent should do.
    pub prompt: String,
    /// The variables that the prompt reads and that are not set.
    pub missing: Vec<String>,
    /// The role that the agent should assume.
    pub role: Option<String>,
    pub guidance: Vec<String>,
    /// The checks that the output has to pass.
    pub checks: Vec<String>,
    /// The schema that the output must match.
    pub output_schema: Option<Value>,
    /// The attempt number.
    pub attempt: u32,
    /// Attempts that are left, including this one.
    pub attempts_left: u32,
    /// What was wrong with the previous attempt.
    pub issues: Vec<SubmissionIssue>,
    /// A person's comment when they sent the run back to this step.
    pub feedback: Option<String>,
    /// What the guide says about all steps; only with the first one.
    pub about: GuideNotes,
}

/// What a guide says about itself as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuideNotes {
    /// What must hold before the first step.
    pub preconditions: Vec<String>,
    /// What to ask before the first step.
    pub clarification_prompts: Vec<String>,
    /// Hints for all steps.
    pub meta_guidance: Vec<String>,
}

impl GuideNotes {
    /// The notes of a guide whose first step is due; none later.
    fn of(flow: &Flow, state: &State) -> GuideNotes {
        let begins = !state.steps.values().any(|step| step.phase.is_closed());
        let Some(guide) = flow.workflow().guide.as_ref().filter(|_| begins) else {
            return GuideNotes::default();
        };
        let listed = |texts: &Option<Vec<String>>| texts.clone().unwrap_or_default();
        GuideNotes {
            preconditions: listed(&guide.preconditions),
            clarification_prompts: listed(&guide.clarification_prompts),
            meta_guidance: listed(&guide.meta_guidance),
        }
    }
}

/// The steps that an agent may work on now, with everything it needs; later steps are not revealed.
pub fn briefs(flow: &Flow, state: &State) -> Vec<StepBrief> {
    let due = admission::due(flow, state);
    due.iter().filter_map(|key| brief(flow, state, key)).collect()
}

fn brief(flow: &Flow, state: &State, key: &StepKey) -> Option<StepBrief> {
    let step = flow.of_key(key)?;
    let Action::Prompt(prompt) = &step.action else { return None };
    let stands = state.step(key)?;
    let attempt = match stands.phase {
        Phase::Offered(attempt) => attempt,
        _ => stands.offered,
    };
    let variables = variables(flow, state, key);
    let checks = prompt.criteria.as_ref().map(|criteria| criteria.applicable(&variables));
    let mut checks = checks.unwrap_or_default();
    let verified = prompt.verify.iter().map(|check| {
        let source = check.check.expr.source().trim();
        check.message.clone().unwrap_or_else(|| format!("{} : {source}", check.run.value))
    });
    checks.extend(verified);
    let last = stands.judged.last().filter(|judged| judged.attempt + 1 == attempt);
    let told = told(state, step, prompt, key, &variables);
    let schema = prompt.output_schema.as_ref();
    let schema = schema.or_else(|| prompt.criteria.as_ref().and_then(Criteria::schema));
    Some(StepBrief {
        key: key.clone(),
        title: step.title.clone(),
        prompt: crate::mask_text(&state.head.nonce, &told.text),
        missing: told.missing,
        role: prompt.agent_role.clone(),
        guidance: prompt.guidance.clone(),
        checks,
        output_schema: schema.map(|schema| schema.value.clone()),
        attempt,
        attempts_left: stands.tries_left(prompt.max_attempts),
        issues: last.map(|judged| judged.issues.clone()).unwrap_or_default(),
        feedback: stands.feedback.clone(),
        about: GuideNotes::of(flow, state),
    })
}

/// The prompt with its variables filled in.
fn told(
    state: &State,
    step: &Step,
    prompt: &Prompt,
    key: &StepKey,
    variables: &Value,
) -> FilledText {
    match &prompt.text {
        PromptText::Guide { .. } => {
            let text = agent_prompt::assemble(prompt, variables).unwrap_or_default();
            agent_prompt::fill_in_run(&text, variables)
        }
        PromptText::Template(text) => {
            let mut names = RunScope::of(state);
            // Variables may have any name, but these four names always keep their own meaning.
            let own = |name: &str| !matches!(name, "inputs" | "steps" | "env" | "run");
            let variables = variables.as_object().into_iter().flatten();
            for (name, value) in variables.filter(|(name, _)| own(name)) {
                names = names.with(name, value.clone());
            }
            if let Some((index, item)) = item(state, key) {
                let name = step.for_each.as_ref().and_then(|each| each.name.as_ref());
                names = names.item(name.map(|name| name.value.as_str()), index, item);
            }
            let text = names.text("prompt", text);
            let text = text.unwrap_or_else(|failure| failure.message().into_owned());
            FilledText { text, missing: Vec::new() }
        }
    }
}

/// The list item that an execution is for, with its index.
pub(crate) fn item(state: &State, key: &StepKey) -> Option<(usize, Value)> {
    let (list, index) = key.list()?;
    Some((index, state.step(&list)?.items.as_ref()?.get(index)?.clone()))
}

/// The inputs as they may be shown, with secrets masked.
pub fn shown_inputs(state: &State) -> Map<String, Value> {
    let shown = crate::mask_secrets(&state.head.nonce, &Value::Object(state.head.inputs.clone()));
    shown.as_object().cloned().unwrap_or_default()
}

/// A short description of an actor.
pub fn who(actor: &Actor) -> String {
    let kind = actor.kind.name();
    let name: String = actor.name.chars().take(limits::COMMENT_CHARS).collect();
    if name.is_empty() { kind.to_owned() } else { format!("{kind} {name}") }
}

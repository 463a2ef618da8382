//! `workflow.resume`: plans how a run continues, and continues it.

use std::collections::BTreeMap;
use std::sync::Arc;

use milepost_driver::clock::now_ms;
use milepost_driver::{RunService, Snapshot, plan_continuation};
use milepost_engine::event::{BudgetKind, Resumption};
use milepost_engine::resume::{
    self, Forecast, ForecastRange, Origin, ResumeAuthority, ResumePlan, ResumeRequest, StepOutlook,
    StepPlan,
};
use milepost_engine::signal::{Signal, resumed_text};
use milepost_engine::state::{End, Phase, State, Status};
pub use milepost_engine::world::WorldPart;
use milepost_engine::world::{MissingWorld, WorldChange};
use milepost_engine::{Flow, StepKey, secret_placeholder};
use milepost_model::id::RunId;
use milepost_model::plan;
use milepost_model::step::ActionKind;
use milepost_store::Digest;

use super::consent::{self, ConsentCase};
use super::errors::{refused, world_missing};
use super::request_sender::CatalogSender;
use super::view::{RunView, WaitingKind};
use super::world::VersionChoice;
use super::{next_action, person, prepare};
use crate::author::no_secrets;
use crate::inputs::InputOrigin::Given;
use crate::inputs::{self, WorkflowSubject};
use crate::masked_values;
use crate::prelude::*;
use crate::trust::review;

/// Where and how to resume.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is a separate argument")]
pub struct Request {
    /// Run id.
    pub run_id: String,
    /// `failed` (default), `start`, or a step.
    pub from: Option<String>,
    /// Default: `downstream`.
    pub mode: Option<ResumeMode>,
    /// Default: `pinned`.
    pub version: Option<ResumeVersion>,
    /// Short for the mode `only`.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    pub only: bool,
    /// Short for the version `latest`.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    pub latest: bool,
    /// Uses the newest catalogs but keeps the pinned workflow. `latest` updates both.
    #[serde(default)]
    #[schemars(extend("x-rare" = true))]
    pub latest_catalogs: bool,
    /// Inputs to change.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
    /// Steps to repeat even though they succeeded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redo: Vec<String>,
    /// Outputs that replace those of steps.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub overrides: Map<String, Value>,
    /// New budgets: `http_calls`, `writes`, `attempts`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-rare" = true))]
    pub budget: BTreeMap<String, u64>,
    /// Reason.
    #[schemars(extend("x-rare" = true))]
    pub reason: Option<String>,
    /// Shows the plan and changes nothing.
    #[serde(default)]
    pub plan_only: bool,
}

/// How much of a run is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeMode {
    /// The step alone.
    Only,
    /// The step, and everything that depends on it.
    Downstream,
}

/// Which version of its workflow a run continues with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeVersion {
    /// The one it started with.
    Pinned,
    /// The newest.
    Latest,
}

/// The plan, its cost, and the run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The steps in order, and the fate of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<StepPlanView>,
    /// The cost, and the savings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<ForecastView>,
    /// What changes for the run's later requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<WorldChangeView>,
    /// The run's current state.
    pub run: RunView,
}

/// A change in what a run's requests depend on.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorldChangeView {
    /// The catalog, or the workflow that a step runs.
    pub name: String,
    /// `address`, `credentials`, `document` or `workflow`.
    #[schemars(with = "String")]
    pub part: WorldPart,
    /// The old URL, credential names or hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The new value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// The fate of a step.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StepPlanView {
    /// The step.
    pub step: String,
    /// Its kind.
    #[schemars(with = "String")]
    pub kind: ActionKind,
    /// What happens to it: kept, will run, may run, may repeat a write, overridden, …
    #[schemars(with = "String")]
    pub verdict: StepOutlook,
    /// The write that may be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<String>,
    /// Reason.
    pub why: String,
}

/// The cost of resuming, and the savings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ForecastView {
    /// The number of requests.
    pub calls: CountRange,
    /// How many of them are writes.
    pub writes: CountRange,
    /// Steps for an agent.
    pub agent_steps: CountRange,
    /// Questions for a person.
    pub approvals: CountRange,
    /// Child runs. The other counts include those of child runs, if known.
    #[serde(default, skip_serializing_if = "CountRange::is_none")]
    pub children: CountRange,
    /// Requests that are not repeated.
    pub saved_calls: u64,
    /// Writes that are not repeated.
    pub saved_writes: u64,
    /// Agent steps that are not repeated.
    pub saved_agent_steps: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CountRange {
    /// The lower bound.
    pub least: u64,
    /// The upper bound; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
}

impl CountRange {
    fn is_none(&self) -> bool {
        *self == CountRange::default()
    }
}

impl Default for CountRange {
    fn default() -> CountRange {
        CountRange { least: 0, most: Some(0) }
    }
}

operation! {
    ResumeRun: "workflow.resume", "Resume a run", include_str!("resume.md");
    doors: [Door::Tool(Tool { calls_out: true, ..Tool::WORK }), Door::Command("resume")];
    run: resume_run(Writer, Request) -> Response;
    example: {"run_id": "run_00000000000000000000000001", "plan_only": true};
}

async fn resume_run(writer: &Writer, call: &dyn Caller, request: Request) -> Result<Response> {
    masked_values::refuse_in_map("inputs", &request.inputs)?;
    masked_values::refuse_in_map("overrides", &request.overrides)?;
    let runs = writer.runs()?;
    let run = super::find(runs, call, &request.run_id).await?;
    let snapshot = runs.snapshot(&run).await.or_problem()?;
    if !request.plan_only && request.changes_nothing() && is_open(&snapshot) {
        let run = go_on(runs, call, &snapshot).await?;
        return Ok(Response { plan: Vec::new(), forecast: None, changes: Vec::new(), run });
    }
    let view = RunView::of(&snapshot);
    if request.plan_only && request.changes_nothing() && view.goes_on_by_itself() {
        return ahead(writer, &snapshot, view).await;
    }
    let snapshot = if request.plan_only { snapshot } else { pinned(runs, snapshot).await? };
    let (sender, missing) = world_to_leave(writer, &snapshot, request.versions()).await?;
    let given = request.inputs.values().chain(request.overrides.values());
    no_secrets(&sender.place.writer, &view, given)?;
    let wanted = PreparedResume::of(&sender, call, &request, &snapshot).await?;
    let (flow, state) = (&snapshot.flow, &snapshot.state);
    let planned = resume::plan(flow, &wanted.flow, state, &*wanted.sender, &wanted.request);
    let planned = planned.map_err(|failure| match view.waits_for(WaitingKind::Adrift) {
        true if failure.is(Code::RunConflict) => left_alone(&run, missing.as_ref()),
        _ => refused(&failure, &run),
    })?;
    let (plan, forecast) = with_children(writer, &snapshot.state, &planned).await?;
    let changes = changes(&snapshot.state, &planned.resumption);
    let run = if request.plan_only {
        super::view(runs, &run).await?
    } else {
        carry_out(writer, call, &snapshot, wanted, planned.resumption).await?;
        super::follow(runs, &SilentCaller, &run, limits::CONSEQUENCES_WAIT).await?
    };
    Ok(Response { plan, forecast: Some(forecast_view(&forecast)), changes, run })
}

impl Request {
    fn is_latest(&self) -> bool {
        self.latest || self.version == Some(ResumeVersion::Latest)
    }

    /// The versions that the run continues with.
    fn versions(&self) -> VersionChoice {
        match (self.is_latest(), self.latest_catalogs) {
            (true, _) => VersionChoice::Latest,
            (false, true) => VersionChoice::LatestCatalogs,
            (false, false) => VersionChoice::Pinned,
        }
    }

    /// Whether the request changes nothing about the run.
    fn changes_nothing(&self) -> bool {
        self.from.is_none()
            && !self.is_latest()
            && !self.latest_catalogs
            && self.inputs.is_empty()
            && self.redo.is_empty()
            && self.overrides.is_empty()
            && self.budget.is_empty()
    }
}

/// Resumes a run as planned, once any required presence has been proven.
async fn carry_out(
    writer: &Writer,
    call: &dyn Caller,
    snapshot: &Snapshot,
    wanted: PreparedResume,
    resumption: Resumption,
) -> Result<()> {
    let (run, state) = (&snapshot.run, &*snapshot.state);
    let told = wanted.given.clone();
    let mut resumption = Box::new(Resumption { given: wanted.given, ..resumption });
    let (seq, head) = (state.seq, &state.head);
    match needs(writer, &wanted.flow, state, &resumption).await {
        ResumeAuthority::Person(deed) | ResumeAuthority::Proof(deed)
            if call.kind() != CallerKind::Person =>
        {
            return Err(for_a_person(&deed, run));
        }
        ResumeAuthority::Nobody | ResumeAuthority::Person(_) => {}
        ResumeAuthority::Proof(deed) => {
            let deed = format!("{deed} in run `{run}`");
            let text = resumed_text(&head.run, seq, &resumption);
            resumption.proof = Some(person::proof(writer, call, head, &deed, &text).await?);
        }
    }
    let sender = writer.sender()?;
    let mut given = wanted.secrets.clone();
    given.retain(|name, _| told.contains(name));
    sender.seal(run, &given);
    sender.keep(run, wanted.secrets);
    if resumption.world.is_some() {
        let kept = wanted.sender.place.keep_texts().await;
        kept.map_err(|missing| world_missing(run, &missing))?;
    }
    let signal = Signal::Resume { seq, resumption };
    super::tell_with(writer.runs()?, run, signal, wanted.text).await
}

/// Whose presence is required to resume a run. A child run draws on its parent's budget; once the
/// parent's step has ended, the child's spending is no longer counted anywhere.
async fn needs(
    writer: &Writer,
    flow: &Flow,
    state: &State,
    resumption: &Resumption,
) -> ResumeAuthority {
    let own = resume::needs(flow, state, resumption);
    let Some(above) = uncounted(writer, state).await else { return own };
    let deed = format!("spend more than the budget of run `{above}` covers");
    match own {
        ResumeAuthority::Proof(own) => ResumeAuthority::Proof(format!("{own}, {deed}")),
        ResumeAuthority::Nobody | ResumeAuthority::Person(_) => ResumeAuthority::Proof(deed),
    }
}

/// The parent run, if it has a budget and its step is no longer waiting for this run.
async fn uncounted(writer: &Writer, state: &State) -> Option<RunId> {
    let parent = state.head.parent.as_ref()?;
    let above = RunId::parse(&parent.run).ok()?;
    // A parent that no longer exists has no budget to exceed.
    let snapshot = writer.reader.runs().snapshot(&above).await.ok()?;
    let waits =
        matches!(snapshot.state.phase(&parent.key), Phase::Child(run) if *run == state.head.run);
    (!waits && !snapshot.state.head.budget.is_empty()).then_some(above)
}

/// The sender for a run's current world.
async fn world(writer: &Writer, snapshot: &Snapshot) -> Result<Arc<CatalogSender>> {
    let opened = writer.sender()?.world_of(&snapshot.state.head).await;
    opened.map(|(sender, _)| sender).map_err(|missing| world_missing(&snapshot.run, &missing))
}

/// Like [`world()`], for a run that may be moving to another world. Missing parts of the old world
/// do not prevent the move, and are returned as well.
async fn world_to_leave(
    writer: &Writer,
    snapshot: &Snapshot,
    versions: VersionChoice,
) -> Result<(Arc<CatalogSender>, Option<MissingWorld>)> {
    let (sender, head) = (writer.sender()?, &snapshot.state.head);
    let missing = match sender.world_of(head).await {
        Ok((opened, _)) => return Ok((opened, None)),
        Err(missing) => missing,
    };
    let is_lost = matches!(
        missing,
        MissingWorld::Workflow { .. } | MissingWorld::Record { .. } | MissingWorld::Document { .. }
    );
    match versions {
        VersionChoice::Latest | VersionChoice::LatestCatalogs if is_lost => {
            Ok((sender.live_for(head), Some(missing)))
        }
        _ => Err(world_missing(&snapshot.run, &missing)),
    }
}

/// Pins an open run to a world before it is resumed. Pinning is a separate event, and the plan must
/// be based on the latest events.
async fn pinned(runs: &dyn RunService, snapshot: Snapshot) -> Result<Snapshot> {
    if snapshot.state.head.world.is_some() || snapshot.state.end.is_some() {
        return Ok(snapshot);
    }
    let run = &snapshot.run;
    runs.acquire(run).await.or_problem()?;
    super::next_event(runs, run, snapshot.state.seq, limits::TAKEN_IN_WAIT).await?;
    runs.snapshot(run).await.or_problem()
}

/// What differs in the world that a run would continue in.
fn changes(state: &State, resumption: &Resumption) -> Vec<WorldChangeView> {
    // A run that started without a world gets its first one, which is not a change.
    let worlds = state.head.world.as_ref().zip(resumption.world.as_ref());
    let Some((before, after)) = worlds else { return Vec::new() };
    let view =
        |WorldChange { name, part, before, after }| WorldChangeView { name, part, before, after };
    before.changes(after).into_iter().map(view).collect()
}

/// Whether a run can continue unchanged: it has not ended and is not parked. It may be paused or
/// orphaned.
fn is_open(snapshot: &Snapshot) -> bool {
    snapshot.state.end.is_none() && snapshot.state.parked.is_none()
}

/// Continues a run unchanged.
async fn go_on(runs: &dyn RunService, call: &dyn Caller, snapshot: &Snapshot) -> Result<RunView> {
    let run = &snapshot.run;
    if snapshot.status() == Status::Paused {
        super::tell(runs, run, Signal::Unpause { by: prepare::actor(call) }).await?;
    } else {
        runs.acquire(run).await.or_problem()?;
        // An expired question stays open until the process that drives the run records its expiry.
        if RunView::of(snapshot).waits_for(WaitingKind::Lapsed) {
            super::next_event(runs, run, snapshot.state.seq, limits::TAKEN_IN_WAIT).await?;
        }
    }
    super::follow(runs, &SilentCaller, run, limits::CONSEQUENCES_WAIT).await
}

/// A resume request with everything it refers to resolved.
struct PreparedResume {
    flow: Flow,
    text: Option<String>,
    request: ResumeRequest,
    secrets: BTreeMap<String, milepost_model::secret::Secret>,
    /// The secret inputs that were given rather than taken from a default.
    given: Vec<String>,
    /// The sender for the world that the run continues in.
    sender: Arc<CatalogSender>,
}

impl PreparedResume {
    async fn of(
        sender: &CatalogSender,
        call: &dyn Caller,
        request: &Request,
        snapshot: &Snapshot,
    ) -> Result<PreparedResume> {
        let (state, writer) = (&*snapshot.state, &sender.place.writer);
        let mut wish = ResumeRequest::of(state, prepare::actor(call));
        wish.origin = match request.from.as_deref() {
            None | Some("failed") => Origin::Failed,
            Some("start") => Origin::Start,
            Some(step) => Origin::Step(step.to_owned()),
        };
        wish.only = request.only || request.mode == Some(ResumeMode::Only);
        wish.latest = request.is_latest();
        wish.redo.clone_from(&request.redo);
        wish.overrides = request.overrides.clone().into_iter().collect();
        wish.reason.clone_from(&request.reason);
        for (name, limit) in &request.budget {
            wish.budget.insert(budget(name)?, *limit);
        }
        let (mut flow, mut text) = (snapshot.flow.clone(), None);
        if request.is_latest() {
            let id = state.head.workflow.as_str();
            let document = WorkflowSubject::find(&writer.reader, None, Some(id))?.document;
            let source = document.source.as_ref().map(|source| source.text().to_owned());
            let newest = source.unwrap_or_default();
            wish.plan_hash = plan::hash(&document).unwrap_or_default();
            wish.text_hash = Digest::of(newest.as_bytes()).to_string();
            if let Some(workflow) = document.workflow {
                flow = Flow::of(Arc::new(workflow));
            }
            text = Some(newest);
        }
        wish.deadline_ms = now_ms() + flow.allowed_ms();
        let (mut secrets, mut named) = (BTreeMap::new(), Vec::new());
        if !request.inputs.is_empty() {
            let mut given = state.head.inputs.clone();
            state.head.secrets.iter().for_each(|name| drop(given.remove(name)));
            given.extend(request.inputs.clone());
            let resolved = inputs::resolve(writer, call, flow.workflow(), given).await?;
            secrets = resolved.secrets;
            let is_given = |name: &&String| resolved.provenance.get(*name) == Some(&Given);
            named = secrets.keys().filter(is_given).cloned().collect();
            for (name, value) in resolved.values {
                if secrets.contains_key(&name) {
                    let sealed = secret_placeholder(&state.head.nonce, &format!("input:{name}"));
                    wish.inputs.insert(name, sealed.into());
                } else if state.head.inputs.get(&name) != Some(&value) {
                    wish.inputs.insert(name, value);
                }
            }
        }
        if request.is_latest() {
            let read = prepare::env(writer, flow.workflow(), &secrets, &state.head.nonce)?;
            let known = |name: &String| state.head.env.contains_key(name);
            wish.env = read.into_iter().filter(|(name, _)| !known(name)).collect();
        }
        let sender = sender.moved(flow.workflow(), request.versions());
        let world = sender.place.world.clone().map(Box::new);
        wish.world = world.filter(|world| state.head.world.as_ref() != Some(world));
        bind(&sender, call, &flow, state, &mut wish).await?;
        Ok(PreparedResume { flow, text, request: wish, secrets, given: named, sender })
    }
}

/// Determines what the run can change from now on, and what a person has to agree to. If nothing
/// that a person agreed to has changed, their answer stays valid.
async fn bind(
    sender: &CatalogSender,
    call: &dyn Caller,
    flow: &Flow,
    state: &State,
    wish: &mut ResumeRequest,
) -> Result<()> {
    let head = &state.head;
    let changed = wish.text_hash != head.text_hash
        || wish.world.is_some()
        || !wish.inputs.is_empty()
        || !wish.env.is_empty();
    // Runs that were started by version 0.1.0 have no bound.
    if head.bound.is_none() && !changed || head.consent.is_some() && !changed {
        return Ok(());
    }
    let mut after = head.clone();
    after.inputs.extend(wish.inputs.clone());
    after.budget.extend(&wish.budget);
    let (world, workflow) = (&*sender.place, flow.workflow());
    let bound = world.bound(workflow, &after);
    if changed && !head.mock {
        let case = ConsentCase {
            by: prepare::actor(call).kind,
            reviewed: review::is_reviewed(world, workflow, &wish.text_hash)?,
            direct: false,
            pin: head.person.is_some(),
        };
        wish.consent = consent::terms(world, workflow, &bound, case)?.map(Box::new);
    }
    wish.bound = Some(Box::new(bound));
    Ok(())
}

/// What an orphaned run would do next. It continues unchanged, so there is nothing to decide.
async fn ahead(writer: &Writer, snapshot: &Snapshot, run: RunView) -> Result<Response> {
    let (flow, state) = (&snapshot.flow, &*snapshot.state);
    let sender = world(writer, snapshot).await?;
    let planned = resume::ahead(flow, state, &*sender, now_ms());
    let (steps, mut forecast) = planned.map_err(|failure| refused(&failure, &snapshot.run))?;
    let has_children = state.children().next().is_some();
    if has_children || forecast.children.most != Some(0) {
        forecast = forecast.unbounded();
    }
    let (plan, changes) = (step_views(&steps), Vec::new());
    Ok(Response { plan, forecast: Some(forecast_view(&forecast)), changes, run })
}

/// The problem when a request would change an orphaned run, which has not ended.
fn left_alone(run: &RunId, missing: Option<&MissingWorld>) -> Problem {
    let message = "no process is driving this run, and it has not ended";
    let (message, hint) = match missing {
        Some(missing) => (
            format!("{message}: {missing}"),
            Hint::text("cancel it with ")
                .call(Invocation::of("workflow.cancel").with("run_id", run.as_str()))
                .then(", then resume it with the latest versions"),
        ),
        None => (
            message.to_owned(),
            Hint::text("continue it with ")
                .call(next_action::resume(run.as_str()))
                .then(", or cancel it first"),
        ),
    };
    Problem::new(Code::RunConflict, message, hint).context("run_id", run.as_str())
}

/// The error for an agent that attempts something only a person may decide.
fn for_a_person(deed: &str, run: &RunId) -> Problem {
    let message = format!("only a person can decide to {deed}");
    let hint = Hint::text("stop, and ask the person to run ")
        .person(next_action::resume(run.as_str()))
        .then(" with the same arguments");
    Problem::new(Code::PresenceRequired, message, hint).context("run_id", run.as_str())
}

fn budget(name: &str) -> Result<BudgetKind> {
    BudgetKind::ALL.iter().copied().find(|budget| budget.name() == name).ok_or_else(|| {
        let message = format!("`{name}` is not a budget");
        Problem::new(Code::ParamsInvalid, message, "use `http_calls`, `writes` or `attempts`")
    })
}

/// The plan and its cost, including child runs that continue.
fn with_children<'a>(
    writer: &'a Writer,
    state: &'a State,
    planned: &'a ResumePlan,
) -> OperationFuture<'a, (Vec<StepPlanView>, Forecast)> {
    Box::pin(async move {
        let (mut steps, mut forecast) = (step_views(&planned.steps), planned.forecast);
        let mut going_on = 0;
        for (key, run) in left(state, &planned.resumption) {
            let Some((plan, below)) = continued(writer, &run).await? else { continue };
            going_on += 1;
            forecast = forecast.plus(below);
            if let Some(step) = steps.iter_mut().find(|step| step.step == key.top()) {
                step.why = format!("{}; run `{run}` continues", step.why);
                step.write =
                    step.write.take().or_else(|| plan.into_iter().find_map(|step| step.write));
            }
        }
        // The cost of new child runs cannot be predicted.
        let unpredictable = forecast.children.most.is_none_or(|most| most > going_on);
        Ok((steps, if unpredictable { forecast.unbounded() } else { forecast }))
    })
}

/// The plan and cost of continuing a child run; `None` if it cannot continue.
async fn continued(writer: &Writer, run: &RunId) -> Result<Option<(Vec<StepPlanView>, Forecast)>> {
    let Ok(snapshot) = writer.reader.runs().snapshot(run).await else { return Ok(None) };
    if matches!(snapshot.state.end, Some(End::Succeeded(_))) {
        // It was resumed separately and has succeeded, so the step only needs its result.
        return Ok(Some((Vec::new(), Forecast::NONE)));
    }
    let (flow, state) = (&snapshot.flow, &*snapshot.state);
    let Ok(sender) = world(writer, &snapshot).await else { return Ok(None) };
    match plan_continuation(&*sender, flow, state, &BTreeMap::new(), now_ms()) {
        Ok(planned) => with_children(writer, state, &planned).await.map(Some),
        Err(_) => Ok(None),
    }
}

/// The child runs that continue when their steps restart with unchanged inputs.
fn left(state: &State, resumption: &Resumption) -> Vec<(StepKey, RunId)> {
    let edited = !resumption.inputs.is_empty() || !resumption.overrides.is_empty();
    if edited || resumption.from == Resumption::START {
        return Vec::new();
    }
    let left = state.steps.iter().filter_map(|(key, step)| {
        let reset = resumption.reset.iter().any(|reset| key.is_within(reset));
        let left = step.leaves().filter(|_| reset)?;
        Some((key.clone(), RunId::parse(&left.run).ok()?))
    });
    left.collect()
}

fn step_views(steps: &[StepPlan]) -> Vec<StepPlanView> {
    let views = steps.iter().map(|step| StepPlanView {
        step: step.key.as_str().to_owned(),
        kind: step.kind,
        verdict: step.verdict,
        write: step.repeats.clone(),
        why: step.why.clone(),
    });
    views.collect()
}

fn forecast_view(forecast: &Forecast) -> ForecastView {
    let range = |tally: &ForecastRange| CountRange { least: tally.least, most: tally.most };
    ForecastView {
        calls: range(&forecast.calls),
        writes: range(&forecast.writes),
        agent_steps: range(&forecast.agent_steps),
        approvals: range(&forecast.approvals),
        children: range(&forecast.children),
        saved_calls: forecast.saved.calls,
        saved_writes: forecast.saved.writes,
        saved_agent_steps: forecast.saved.agent_steps,
    }
}

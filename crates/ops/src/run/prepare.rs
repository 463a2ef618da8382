//! Turns a workflow and its inputs into a run that is ready to start.

use std::collections::BTreeMap;
use std::sync::Arc;

use milepost_driver::clock::now_ms;
use milepost_driver::{new_nonce, new_run_id};
use milepost_engine::consent::ConsentTerms;
use milepost_engine::effect_bound::{EffectBound, WriteCounts};
use milepost_engine::event::{Actor, ActorKind, BudgetKind, Parent, Presence, RunCreated};
use milepost_engine::ports::{
    ChildRun, Durability, PreparedRun, RememberedInputs, RunContext, remembered_in,
};
use milepost_engine::secret_placeholder;
use milepost_model::guide::Confirmation;
use milepost_model::id::{InputName, RunId};
use milepost_model::input::{DefaultFrom, Input};
use milepost_model::secret::Secret;
use milepost_model::step::Action;
use milepost_model::workflow::Workflow;
use milepost_store::{Approvals, Budgets, LeastPresence};
use sha2::{Digest as _, Sha256};

use super::consent::{self, ConsentCase};
use super::request_sender::CatalogSender;
use super::secret_placeholders::SecretPlaceholders;
use super::start;
use super::world::OpenedWorld;
use crate::author;
use crate::compiled_workflow::CompiledWorkflow;
use crate::inputs;
use crate::inputs::{InputOrigin, WorkflowSubject};
use crate::prelude::*;
use crate::trust::{self, review};

/// Prepares a run for a person or an agent.
pub(crate) async fn run(
    writer: &Writer,
    call: &dyn Caller,
    request: start::Request,
) -> Result<PreparedRun> {
    let id = match &request.idempotency_key {
        Some(key) => keyed(&workspace(writer), call.principal().unwrap_or_default(), key),
        None => new_run_id().or_problem()?,
    };
    let (manifest, workflow_id) = (request.manifest.as_ref(), request.workflow_id.as_deref());
    let compiled = WorkflowSubject::compiled(&writer.reader, manifest, workflow_id)?;
    let (mock, relaxed) = (request.mock, request.relaxed);
    let wanted = WantedRun::new(id, compiled, request.inputs, actor(call));
    // A person may name a file; what counts is whether they reviewed exactly this text.
    let is_named = request.workflow_id.is_some() || call.kind() == CallerKind::Person;
    let text = if is_named { TextSource::Library } else { TextSource::Given };
    prepared(writer, writer.sender()?, call, WantedRun { mock, relaxed, text, ..wanted }).await
}

/// Prepares a run of a built-in manifest, whose steps may call built-in commands.
pub(crate) async fn own(
    writer: &Writer,
    call: &dyn Caller,
    manifest: &Value,
    inputs: Map<String, Value>,
) -> Result<PreparedRun> {
    let compiled = CompiledWorkflow::of(WorkflowSubject::own(manifest)?.document);
    let compiled = compiled.map(Arc::new).ok_or_else(nothing_to_run)?;
    let wanted = WantedRun::new(new_run_id().or_problem()?, compiled, inputs, actor(call));
    prepared(writer, writer.sender()?, call, WantedRun { text: TextSource::Own, ..wanted }).await
}

/// Prepares a run for a step of another run. It inherits mock mode, durability and workspace from
/// its parent.
pub(crate) async fn child(sender: &CatalogSender, child: ChildRun) -> Result<PreparedRun> {
    let world = &sender.place;
    let writer = &world.writer;
    let is_chosen = child.workflow == author::CHOSEN;
    let (workflow_id, inputs) = match is_chosen {
        true => author::chosen(&child.inputs),
        false => (Some(child.workflow), child.inputs),
    };
    let id = workflow_id.as_deref();
    // Use the source that the parent run is pinned to. Only a workflow that was chosen during the
    // run has no pinned source.
    let compiled = match id.and_then(|id| world.text(id)?.compiled()) {
        Some(pinned) => pinned,
        None => WorkflowSubject::compiled(&writer.reader, None, id)?,
    };
    let starter = super::starter(&child.actor);
    let wanted = WantedRun {
        mock: child.above.mock,
        relaxed: child.durability == Durability::Relaxed,
        // What a parent may change says nothing about a workflow that was chosen while it ran.
        text: if is_chosen { TextSource::Library } else { TextSource::Child(child.writes) },
        above: Some((child.parent, child.above)),
        rest: child.rest,
        ..WantedRun::new(child.run, compiled, inputs, child.actor)
    };
    prepared(writer, sender, &starter, wanted).await
}

struct WantedRun {
    id: RunId,
    compiled: Arc<CompiledWorkflow>,
    inputs: Map<String, Value>,
    actor: Actor,
    /// Whether every call is answered by its catalog's mock.
    mock: bool,
    /// Whether the run need not survive a power loss.
    relaxed: bool,
    /// The step that it runs for, and the parent run's context.
    above: Option<(Parent, RunContext)>,
    /// The parent run's remaining budget.
    rest: BTreeMap<BudgetKind, u64>,
    text: TextSource,
}

/// Where the text of a run comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TextSource {
    /// A workflow in the library, or a text that a person named.
    Library,
    /// An agent's call.
    Given,
    /// The program, for what a caller asked for.
    Own,
    /// A workflow that a run with a bound runs, and how many writes of each kind it may make.
    Child(WriteCounts),
}

impl WantedRun {
    fn new(
        id: RunId,
        compiled: Arc<CompiledWorkflow>,
        inputs: Map<String, Value>,
        actor: Actor,
    ) -> WantedRun {
        let (mock, relaxed, above, rest) = (false, false, None, BTreeMap::new());
        let text = TextSource::Given;
        WantedRun { id, compiled, inputs, actor, mock, relaxed, above, rest, text }
    }
}

/// The run id derived from an idempotency key.
fn keyed(workspace: &str, principal: &str, key: &str) -> RunId {
    let mut text = format!("{}:{workspace}{key}", workspace.len());
    if !principal.is_empty() {
        text = format!("{}:{principal}{text}", principal.len());
    }
    let digest = Sha256::digest(text);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    RunId::from_bytes(bytes)
}

async fn prepared(
    writer: &Writer,
    sender: &CatalogSender,
    call: &dyn Caller,
    wanted: WantedRun,
) -> Result<PreparedRun> {
    let WantedRun { id, compiled, inputs, actor, mock, relaxed, above, rest, text } = wanted;
    let workflow = &*compiled.workflow;
    let given = match &above {
        Some((_, above)) => handed(sender, above, workflow, inputs)?,
        None => inputs,
    };
    let world = sender.begins(writer, workflow, &workspace(writer));
    if above.is_none() && !mock && (world.refers() || is_of_folder(writer, &compiled)) {
        trust::ensure(writer, call, &world.used_catalogs())?;
    }
    let resolved = inputs::resolve(writer, call, workflow, given).await?;
    remember(writer, call, workflow, &resolved.values).await?;
    let nonce = new_nonce().or_problem()?;
    let env = env(writer, workflow, &resolved.secrets, &nonce)?;
    let (values, defaulted) = recorded_inputs(&resolved, &nonce);
    let config = writer.reader.config()?;
    let budget = budget(workflow, &config.budget, &rest);
    let person = super::person::key(writer).await?;
    let standing = TextStanding::of(&world, &compiled, &text, above.as_ref())?;
    let presence = presence(&standing, workflow, &config.approvals, person.is_some())?;
    let case = ConsentCase {
        by: actor.kind,
        reviewed: standing.reviewed,
        direct: text == TextSource::Own,
        pin: person.is_some(),
    };
    let mut created = RunCreated {
        run: id.as_str().to_owned(),
        workflow: workflow.id.value.to_string(),
        text_hash: compiled.text_hash.clone(),
        plan_hash: compiled.plan_hash.clone(),
        inputs: values,
        nonce,
        secrets: resolved.secrets.keys().cloned().collect(),
        defaulted,
        env,
        actor,
        workspace: workspace(writer),
        parent: above.map(|(parent, _)| parent),
        budget,
        presence,
        person,
        deadline_ms: now_ms() + compiled.flow.allowed_ms(),
        mock,
        world: world.world.clone().map(Box::new),
        bound: None,
        consent: None,
    };
    bind(&mut created, &world, workflow, text, standing.over, case)?;
    if created.person.is_none() {
        writer.unsigned.add(id.clone());
    }
    keep_secrets(sender, &id, resolved.secrets, &created.defaulted);
    Ok(PreparedRun {
        id,
        workflow: workflow.id.value.clone(),
        title: workflow.display_title().to_owned(),
        text: compiled.text.clone(),
        flow: compiled.flow.clone(),
        created,
        pinned: world.pinned_texts(),
        durability: if relaxed { Durability::Relaxed } else { Durability::Full },
    })
}

/// The inputs as they are recorded, with placeholders in place of secrets, and the secrets that use
/// their defaults.
fn recorded_inputs(
    resolved: &inputs::ResolvedInputs,
    nonce: &str,
) -> (Map<String, Value>, Vec<String>) {
    let is_default = |name: &&String| resolved.provenance.get(*name) == Some(&InputOrigin::Env);
    let defaulted = resolved.secrets.keys().filter(is_default).cloned().collect();
    let mut values = resolved.values.clone();
    for name in resolved.secrets.keys() {
        values.insert(name.clone(), secret_placeholder(nonce, &format!("input:{name}")).into());
    }
    (values, defaulted)
}

/// Keeps the secret inputs of a run: in memory, and encrypted unless they are read again.
fn keep_secrets(
    sender: &CatalogSender,
    run: &RunId,
    secrets: BTreeMap<String, Secret>,
    defaulted: &[String],
) {
    let mut given = secrets.clone();
    given.retain(|name, _| !defaulted.contains(name));
    sender.seal(run, &given);
    sender.keep(run, secrets);
}

/// How far the text of a run was looked at.
struct TextStanding {
    /// Whether a person reviewed it, or a text that runs it.
    reviewed: bool,
    /// Whether its approvals are given without asking.
    alone: bool,
    /// The bound that the run's own must not exceed.
    over: Option<Arc<EffectBound>>,
}

impl TextStanding {
    fn of(
        world: &OpenedWorld,
        compiled: &CompiledWorkflow,
        text: &TextSource,
        above: Option<&(Parent, RunContext)>,
    ) -> Result<TextStanding> {
        Ok(match (text, above) {
            (TextSource::Library, _) => {
                let granted = review::granted(world, &compiled.workflow, &compiled.text_hash)?;
                let alone = granted.as_ref().is_some_and(|granted| granted.alone);
                TextStanding { reviewed: granted.is_some(), alone, over: None }
            }
            (TextSource::Child(_), Some((_, above))) => TextStanding {
                reviewed: above.reviewed,
                alone: above.presence == Presence::Policy,
                over: above.bound.clone(),
            },
            (TextSource::Given | TextSource::Own | TextSource::Child(_), _) => {
                TextStanding { reviewed: false, alone: false, over: None }
            }
        })
    }
}

/// Records what a run can change, and what a person has to agree to.
fn bind(
    created: &mut RunCreated,
    world: &OpenedWorld,
    workflow: &Workflow,
    text: TextSource,
    over: Option<Arc<EffectBound>>,
    case: ConsentCase,
) -> Result<()> {
    let bound = world.bound(workflow, created);
    let bound = match (&text, over) {
        (TextSource::Child(handed), Some(over)) => bound.within(&over, handed),
        _ => bound,
    };
    if !created.mock {
        let terms = consent::terms(world, workflow, &bound, case)?;
        // The parent's question covered this run as well.
        let terms = match text {
            TextSource::Child(_) => terms.map(ConsentTerms::inherited),
            TextSource::Library | TextSource::Given | TextSource::Own => terms,
        };
        created.consent = terms.filter(|terms| !terms.is_empty()).map(Box::new);
    }
    created.bound = Some(Box::new(bound));
    Ok(())
}

/// Whether a workflow is one of the folder in force. Nothing in such a folder acts until it is
/// trusted, not even a prompt for an agent.
fn is_of_folder(writer: &Writer, compiled: &CompiledWorkflow) -> bool {
    let Some(folder) = writer.reader.locations.asking_folder() else { return false };
    let entry = writer.reader.workflow(compiled.workflow.id.value.as_str());
    entry.is_ok_and(|entry| entry.path.starts_with(folder) && entry.version == compiled.text_hash)
}

/// Stores the values that later runs use as defaults.
async fn remember(
    writer: &Writer,
    call: &dyn Caller,
    workflow: &Workflow,
    values: &Map<String, Value>,
) -> Result<()> {
    let values = remembered(workflow, values);
    if values.is_empty() {
        return Ok(());
    }
    let workspace = remembered_in(&workspace(writer), call.principal());
    let workflow = workflow.id.value.clone();
    let what = RememberedInputs { workspace, workflow, values, at_ms: now_ms() };
    writer.reader.ports.history.remember_inputs(what).await.or_problem()
}

/// The values that later runs use as defaults: those of inputs whose default is `history`, never a
/// secret.
fn remembered(workflow: &Workflow, values: &Map<String, Value>) -> Vec<(InputName, String)> {
    let asked = workflow.inputs.0.iter().filter(|(_, input)| {
        let from = input.default.as_ref().map(|default| default.0.from);
        from == Some(DefaultFrom::History) && !input.is_secret()
    });
    let kept = asked.filter_map(|(name, _)| {
        let value = values.get(&name.value)?.to_string();
        Some((InputName::parse(&name.value).ok()?, value))
    });
    kept.collect()
}

/// A run's budget: the author's limits, or else the configured ones, and never more than the parent
/// run has left.
fn budget(
    workflow: &Workflow,
    usual: &Budgets,
    rest: &BTreeMap<BudgetKind, u64>,
) -> BTreeMap<BudgetKind, u64> {
    let own = workflow.budget.as_ref();
    let all = [
        (BudgetKind::HttpCalls, own.and_then(|own| own.http_calls.as_ref()), usual.http_calls),
        (BudgetKind::Writes, own.and_then(|own| own.writes.as_ref()), usual.writes),
        (BudgetKind::Attempts, own.and_then(|own| own.attempts.as_ref()), usual.attempts),
    ];
    let set = all.into_iter().filter_map(|(budget, own, usual)| {
        let own = own.and_then(|most| u64::try_from(most.0).ok());
        let most = [own.or(usual), rest.get(&budget).copied()];
        Some((budget, most.into_iter().flatten().min()?))
    });
    set.collect()
}

/// How a person must prove their presence. If a PIN is required, it must be set before the run
/// starts, because the run is tied to its key from the first event.
fn presence(
    standing: &TextStanding,
    workflow: &Workflow,
    wanted: &Approvals,
    pin: bool,
) -> Result<Presence> {
    if standing.alone {
        return Ok(Presence::Policy);
    }
    let asks = workflow.all_steps().into_iter().any(|step| match &step.action {
        Action::Approve(_) => true,
        Action::Prompt(prompt) => !matches!(prompt.confirmation, Confirmation::Never),
        _ => false,
    });
    match wanted.presence {
        LeastPresence::Elicitation => Ok(Presence::Elicitation),
        LeastPresence::Terminal => Ok(Presence::Terminal),
        LeastPresence::Pin if pin || !asks => Ok(Presence::Pin),
        LeastPresence::Pin => {
            let message = "the configuration requires a PIN for decisions, but none is set";
            let hint = Hint::text("set one with ")
                .call(Invocation::of("person.set_pin"))
                .then(", then run the workflow");
            Err(Problem::new(Code::PresenceRequired, message, hint))
        }
    }
}

/// The environment variables that a workflow's expressions read, restricted to the allowed ones.
/// They contain no secret: a variable that is the default of a secret input becomes a placeholder,
/// and so does any occurrence of a secret input's value.
pub(crate) fn env(
    writer: &Writer,
    workflow: &Workflow,
    secrets: &BTreeMap<String, Secret>,
    nonce: &str,
) -> Result<Map<String, Value>> {
    let (named, hidden) = (workflow.env_names(), inputs::secret_variables(workflow));
    let is_named = |name: &&String| named.as_ref().is_none_or(|all| all.contains(name.as_str()));
    let allowed = writer.reader.config()?.env_allow;
    let read = allowed.iter().filter(is_named).filter_map(|name| {
        let mut text = writer.variable(name)?;
        if hidden.contains(name.as_str()) {
            text = secret_placeholder(nonce, &format!("{}{name}", super::request_sender::ENV));
        }
        for (input, secret) in secrets {
            let own = secret.reveal();
            if own == text || own.len() >= limits::SECRET_SOUGHT_BYTES_MIN && text.contains(own) {
                let name = format!("{}{input}", super::request_sender::INPUT);
                text = text.replace(own, &secret_placeholder(nonce, &name));
            }
        }
        Some((name.clone(), Value::String(text)))
    });
    Ok(read.collect())
}

/// The inputs that a step passes to its child run. A secret may only be passed to an input that is
/// also secret; otherwise it would end up in the child's journal.
fn handed(
    sender: &CatalogSender,
    above: &RunContext,
    workflow: &Workflow,
    inputs: Map<String, Value>,
) -> Result<Map<String, Value>> {
    let sealed = SecretPlaceholders(above.nonce.clone());
    let handed = inputs.into_iter().map(|(name, value)| {
        let wanted = sealed.names(&value);
        if wanted.is_empty() {
            return Ok((name, value));
        }
        if !workflow.inputs.get(&name).is_some_and(Input::is_secret) {
            let message = format!("a secret was passed to `{name}`, which is not a secret input");
            let hint = format!("declare `{name}` in `{}` with `secret: true`", workflow.id.value);
            return Err(Problem::new(Code::InputInvalid, message, hint));
        }
        let known =
            wanted.into_iter().map(|secret| Ok((secret.clone(), sender.handed(above, &secret)?)));
        Ok((name, sealed.reveal(&value, &known.collect::<Result<_>>()?)))
    });
    handed.collect()
}

/// The project that a run belongs to, or else the working directory.
pub(crate) fn workspace(writer: &Writer) -> String {
    writer.reader.workspace().display().to_string()
}

/// The actor behind a call.
pub(crate) fn actor(call: &dyn Caller) -> Actor {
    let principal = call.principal().map(str::to_owned);
    let (kind, name) = match call.kind() {
        CallerKind::Person => (ActorKind::Person, principal.unwrap_or_else(milepost_store::user)),
        CallerKind::Agent => (ActorKind::Agent, principal.unwrap_or_default()),
    };
    Actor { kind, name }
}

/// The problem for a request without a workflow.
pub(crate) fn nothing_to_run() -> Problem {
    let hint = "give `workflow_id`, or `manifest` with the text of a workflow";
    Problem::new(Code::ParamsInvalid, "there is no workflow to run", hint)
}

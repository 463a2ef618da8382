//! The surroundings of a run: scripted servers that remember which requests took effect. They
//! outlive the processes that call them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use milepost_driver::clock::WallClock;
use milepost_engine::command::StepCall;
use milepost_engine::event::{
    Actor, ActorKind, BudgetKind, CallAnswer, Parent, Presence, RunCreated, Settlement,
};
use milepost_engine::interpreter::{AttemptOutcome, PreparedCall, WorldView};
use milepost_engine::ports::{
    BoxFuture, ChildRun, Durability, OpenWorld, OutgoingRequest, PreparedRun, RequestSender,
    WorldResult,
};
use milepost_engine::{Failure, FailureKind, Flow};
use milepost_model::digest::Digest;
use milepost_model::id::RunId;
use milepost_model::pinned::{self, LANGUAGE_VERSION};
use milepost_model::problem::Code;
use serde_json::{Map, Value, json};

use crate::chance::Chance;
use crate::life::Life;

/// A server's reaction to a request.
#[derive(Debug, Clone)]
pub(crate) struct Reaction {
    /// The delay until the request takes effect.
    effect_ms: u64,
    /// The further delay until it is answered.
    after_ms: u64,
    outcome: AttemptOutcome,
    /// Whether the request takes effect, regardless of the answer.
    effect: bool,
}

impl Reaction {
    pub(crate) fn after(mut self, after_ms: u64) -> Reaction {
        self.after_ms = after_ms;
        self
    }

    /// Adds a `Retry-After` delay.
    fn asking(mut self, pause_ms: u64) -> Reaction {
        if let AttemptOutcome::Failed { retry_after_ms, .. } = &mut self.outcome {
            *retry_after_ms = Some(pause_ms);
        }
        self
    }
}

pub(crate) fn ok(output: Value) -> Reaction {
    let answer = CallAnswer { output, status: 200, ..CallAnswer::default() };
    let outcome = AttemptOutcome::Answered { answer, duration_ms: 10 };
    Reaction { effect_ms: 0, after_ms: 10, outcome, effect: true }
}

fn failed(trouble: FailureKind, unsent: bool, effect: bool) -> Reaction {
    let code = match trouble {
        FailureKind::Timeout => Code::UpstreamTimeout,
        FailureKind::Status(_) => Code::UpstreamRejected,
        _ => Code::UpstreamFailed,
    };
    let failure = Failure::new(code, format!("{trouble:?}"), "look at the API");
    let outcome = AttemptOutcome::Failed { failure, trouble, unsent, retry_after_ms: None };
    Reaction { effect_ms: 0, after_ms: 10, outcome, effect }
}

pub(crate) fn status(status: u16) -> Reaction {
    failed(FailureKind::Status(status), false, false)
}

/// The connection breaks, which leaves the outcome unknown.
pub(crate) fn broken(effect: bool) -> Reaction {
    failed(FailureKind::Network, false, effect)
}

fn random(chance: &mut Chance, command: &str) -> Reaction {
    let (n, effect) = (chance.below(6), chance.one_in(2));
    let mut reaction = match chance.below(12) {
        0 => status(503),
        1 => status(429).asking(2_000),
        2 => status(400),
        3 => broken(effect),
        4 => failed(FailureKind::Timeout, false, effect),
        5 => failed(FailureKind::Network, true, false),
        6 => Reaction { effect, ..status(504) },
        _ => ok(json!({"n": n, "of": command})),
    };
    reaction.effect_ms = *chance.pick(&[0, 0, 0, 2, 700]);
    reaction.after(*chance.pick(&[0, 1, 10, 900, 5_000]))
}

/// A request as a server saw it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) idempotency_key: String,
    pub(crate) attempt: u32,
    pub(crate) command: String,
    pub(crate) repeatable: bool,
    pub(crate) effect: bool,
    pub(crate) output: Option<Value>,
}

/// All servers, and the workflows that steps can run.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    kept: Mutex<Kept>,
    workflows: BTreeMap<String, String>,
    /// A file in which effects are recorded, for servers that outlive a real process.
    file: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct Kept {
    /// Reactions by command, one per request that is not a repetition; the last one applies to all
    /// further requests.
    reactions: BTreeMap<String, Vec<Reaction>>,
    sent: Vec<Sent>,
    /// Commands whose secret is missing.
    withheld: BTreeSet<String>,
    /// Decides on reactions that are not scripted.
    fate: Option<Chance>,
    /// Part of every digest: another catalog prepares a different request.
    catalog: u32,
}

impl Servers {
    pub(crate) fn new(workflows: &[(&str, &str)]) -> Servers {
        let text = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        Servers { workflows: workflows.iter().map(text).collect(), ..Servers::default() }
    }

    /// Also records effects in a file.
    pub(crate) fn in_file(self, file: PathBuf) -> Servers {
        Servers { file: Some(file), ..self }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scripts the reactions to a command, in order.
    pub(crate) fn on(&self, command: &str, reactions: &[Reaction]) {
        self.kept().reactions.insert(format!("api {command}"), reactions.to_vec());
    }

    /// Lets chance decide on unscripted reactions, or stops doing so.
    pub(crate) fn leave_to(&self, fate: Option<Chance>) {
        self.kept().fate = fate;
    }

    pub(crate) fn replace_catalog(&self) {
        self.kept().catalog += 1;
    }

    /// Removes or restores the secret of a command.
    pub(crate) fn withhold(&self, command: &str, withheld: bool) {
        let command = format!("api {command}");
        match withheld {
            true => self.kept().withheld.insert(command),
            false => self.kept().withheld.remove(&command),
        };
    }

    /// Every request, latest last.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        let Some(file) = &self.file else { return self.kept().sent.clone() };
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().filter_map(read_line).collect()
    }

    /// The idempotency keys of requests that took effect.
    pub(crate) fn effects(&self) -> BTreeSet<String> {
        let took = self.sent().into_iter().filter(|sent| sent.effect);
        took.map(|sent| sent.idempotency_key).collect()
    }

    /// Asserts that no unrepeatable request took effect twice.
    pub(crate) fn check_once(&self, told: &str) {
        let mut took: BTreeMap<String, usize> = BTreeMap::new();
        for sent in self.sent().into_iter().filter(|sent| sent.effect && !sent.repeatable) {
            *took.entry(sent.idempotency_key).or_default() += 1;
        }
        assert!(took.values().all(|times| *times == 1), "{told}: repeated: {took:?}");
    }

    /// The outcome of a request, as its server knows it.
    pub(crate) fn truth(&self, idempotency_key: &str) -> Settlement {
        let of = |sent: &Sent| sent.idempotency_key == idempotency_key && sent.effect;
        match self.sent().into_iter().find(of) {
            Some(sent) => {
                let fallback = json!({"n": 9, "of": sent.command});
                Settlement::Happened { output: sent.output.unwrap_or(fallback) }
            }
            None => Settlement::DidNot,
        }
    }

    /// Chooses a reaction, the same one for the same attempt, and returns it with the index of the
    /// recorded request.
    fn receive(&self, sending: &OutgoingRequest) -> (Reaction, usize) {
        let mut kept = self.kept();
        let command = &sending.call.command;
        let repeatable = sending.call.idempotent.unwrap_or(method(command) != "POST");
        let mut tries: Vec<(&str, u32)> = Vec::new();
        for sent in kept.sent.iter().filter(|sent| sent.command == *command) {
            let one = (sent.idempotency_key.as_str(), sent.attempt);
            if !tries.contains(&one) {
                tries.push(one);
            }
        }
        let this = (sending.idempotency_key.as_str(), sending.attempt);
        let again = tries.iter().position(|one| *one == this).filter(|_| repeatable);
        let nth = again.unwrap_or(tries.len());
        let all = kept.reactions.get(command);
        let found = all.and_then(|all| all.get(nth).or(all.last())).cloned();
        let found = found.or_else(|| Some(random(kept.fate.as_mut()?, command)));
        let reaction = found.unwrap_or_else(|| ok(json!({"n": 9, "of": command})));
        let output = match &reaction.outcome {
            AttemptOutcome::Answered { answer, .. } => Some(answer.output.clone()),
            AttemptOutcome::Failed { .. } => None,
        };
        kept.sent.push(Sent {
            idempotency_key: sending.idempotency_key.clone(),
            attempt: sending.attempt,
            command: command.clone(),
            repeatable,
            effect: false,
            output,
        });
        let index = kept.sent.len() - 1;
        (reaction, index)
    }

    /// Marks a request as having taken effect.
    fn take_effect(&self, index: usize) {
        let mut kept = self.kept();
        kept.sent[index].effect = true;
        if let Some(file) = &self.file {
            // A single write, which the system appends atomically.
            let line = written_line(&kept.sent[index]);
            let opened = fs::OpenOptions::new().append(true).create(true).open(file);
            opened.and_then(|mut file| file.write_all(line.as_bytes())).expect("is written");
        }
    }
}

fn written_line(sent: &Sent) -> String {
    let Sent { idempotency_key, attempt, command, repeatable, output, .. } = sent;
    format!("{}\n", json!([idempotency_key, attempt, command, repeatable, output]))
}

fn read_line(line: &str) -> Option<Sent> {
    let line: Value = serde_json::from_str(line).ok()?;
    Some(Sent {
        idempotency_key: line[0].as_str()?.to_owned(),
        attempt: u32::try_from(line[1].as_u64()?).ok()?,
        command: line[2].as_str()?.to_owned(),
        repeatable: line[3].as_bool()?,
        effect: true,
        output: Some(line[4].clone()).filter(|output| !output.is_null()),
    })
}

/// The method of a command, derived from its last word.
fn method(command: &str) -> &'static str {
    match command.rsplit(':').next() {
        Some("create" | "send") => "POST",
        Some("put") => "PUT",
        Some("delete") => "DELETE",
        _ => "GET",
    }
}

/// One process's connection to the servers.
pub(crate) struct Caller {
    pub(crate) servers: Arc<Servers>,
    pub(crate) life: Life,
    pub(crate) clock: WallClock,
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Caller")
    }
}

impl WorldView for Caller {
    /// Zero, so that a person can say at once that a request did not happen.
    fn arrives_within_ms(&self, _: u64) -> u64 {
        0
    }

    fn prepare(&self, call: &StepCall, _: bool) -> Result<PreparedCall, Failure> {
        let method = method(&call.command);
        let catalog = self.servers.kept().catalog;
        Ok(PreparedCall {
            digest: format!("{catalog}{}{}", call.command, call.arguments()),
            request: format!("{method} {}", call.command),
            target: String::new(),
            write: method != "GET",
            repeatable: method != "POST",
            sent: None,
            effect: None,
        })
    }

    fn text_of(&self, workflow: &str) -> Option<String> {
        let text = self.servers.workflows.get(workflow)?;
        Some(Digest::of(text.as_bytes()).to_string())
    }

    fn is_signed(&self, _: &str, _: &str, _: &str) -> bool {
        false
    }
}

impl RequestSender for Caller {
    fn send(&self, sending: OutgoingRequest) -> BoxFuture<'_, AttemptOutcome> {
        Box::pin(async move {
            self.life.lives().await;
            let prepared = self.prepare(&sending.call, false).map(|prepared| prepared.digest);
            if prepared.ok().as_ref() != Some(&sending.digest) {
                return failed(FailureKind::Changed, true, false).outcome;
            }
            if self.servers.kept().withheld.contains(&sending.call.command) {
                return failed(FailureKind::Withheld, true, false).outcome;
            }
            let (reaction, index) = self.servers.receive(&sending);
            wait(reaction.effect_ms).await;
            self.life.lives().await;
            if reaction.effect {
                self.servers.take_effect(index);
            }
            self.life.acted().await;
            wait(reaction.after_ms).await;
            self.life.lives().await;
            reaction.outcome
        })
    }

    fn prepare_child(&self, child: ChildRun) -> BoxFuture<'_, Result<PreparedRun, Failure>> {
        let text = self.servers.workflows.get(&child.workflow).ok_or_else(|| {
            let message = format!("there is no workflow `{}`", child.workflow);
            Failure::new(Code::WorkflowNotFound, message, "write it")
        });
        let prepared = text.map(|text| {
            let start = Start {
                inputs: child.inputs,
                budget: child.rest,
                parent: Some(child.parent),
                actor: child.actor,
                durability: child.durability,
                ..Start::of(child.run, text)
            };
            start.prepared((self.clock)())
        });
        Box::pin(std::future::ready(prepared))
    }

    fn open(self: Arc<Self>, _: &RunCreated) -> BoxFuture<'_, WorldResult> {
        Box::pin(std::future::ready(Ok(OpenWorld { sender: self, pin: None })))
    }

    fn forget(&self, _: &RunId) {}
}

async fn wait(ms: u64) {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

/// A run to be started.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) id: RunId,
    pub(crate) text: String,
    pub(crate) inputs: Map<String, Value>,
    pub(crate) budget: BTreeMap<BudgetKind, u64>,
    pub(crate) parent: Option<Parent>,
    pub(crate) actor: Actor,
    pub(crate) durability: Durability,
}

impl Start {
    pub(crate) fn of(id: RunId, text: &str) -> Start {
        let actor = Actor { kind: ActorKind::Agent, name: String::new() };
        let (inputs, budget, text) = (Map::new(), BTreeMap::new(), text.to_owned());
        Start { id, text, inputs, budget, parent: None, actor, durability: Durability::Full }
    }

    /// The prepared run that a service starts.
    pub(crate) fn prepared(self, now_ms: u64) -> PreparedRun {
        let Ok(pinned) = pinned::decode(&self.text, LANGUAGE_VERSION) else {
            panic!("is no workflow:\n{}", self.text)
        };
        let flow = Flow::of(Arc::new(pinned.workflow));
        let workflow = flow.workflow().id.value.clone();
        let created = RunCreated {
            run: self.id.as_str().to_owned(),
            workflow: workflow.to_string(),
            text_hash: Digest::of(self.text.as_bytes()).to_string(),
            plan_hash: plan_hash(&self.text),
            inputs: self.inputs,
            nonce: "seal".to_owned(),
            secrets: Vec::new(),
            defaulted: Vec::new(),
            env: Map::new(),
            actor: self.actor,
            workspace: "here".to_owned(),
            parent: self.parent,
            budget: self.budget,
            presence: Presence::Terminal,
            person: None,
            deadline_ms: now_ms + flow.allowed_ms(),
            mock: false,
            world: None,
            bound: None,
            consent: None,
        };
        let (id, title, text) = (self.id, "For tests".to_owned(), self.text);
        let (pinned, durability) = (Vec::new(), self.durability);
        PreparedRun { id, workflow, title, text, flow, created, pinned, durability }
    }
}

fn plan_hash(text: &str) -> String {
    pinned::decode(text, LANGUAGE_VERSION).expect("is a workflow").plan_hash
}

//! A driver without a disk, a network or a clock: the journal is a list, the world is a script, and
//! time passes on request. The driver can die after any entry and be reopened.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use milepost_engine::command::StepCall;
use milepost_engine::consent::{ConsentTerms, GuardedWrite, WriteRule};
use milepost_engine::effect_bound::{
    BoundLookup, CallEffect, CommandEffect, EffectBound, WriteCounts,
};
use milepost_engine::event::{
    Actor, ActorKind, Attempt, BudgetKind, CallAnswer, ChildOutcome, Event, JournalEntry, Presence,
    Proof, RunCreated, Settlement,
};
use milepost_engine::interpreter::{
    AttemptOutcome, Decision, Interpreter, InterpreterInput, PreparedCall, RunEffect, WorldView,
};
use milepost_engine::signal::{DecisionSignal, Reply, Signal, SubmissionSignal};
use milepost_engine::state::{State, Status};
use milepost_engine::view::{self, Waiting};
use milepost_engine::{BudgetUsage, Failure, FailureKind, Flow, StepKey};
use milepost_model::check;
use milepost_model::commands::NoCommands;
use milepost_model::document::Document;
use milepost_model::problem::Code;
use milepost_model::target::CommandId;
use milepost_model::workflow::Workflow;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The start time of every run.
pub(crate) const START_MS: u64 = 1_800_000_000_000;
/// The origin of every request.
pub(crate) const ORIGIN: &str = "https://api.example";
/// How many inputs a run may need before it counts as looping.
const TURNS: usize = 20_000;

/// A server's reaction to a request.
#[derive(Debug, Clone)]
pub(crate) struct Reaction {
    pub(crate) after_ms: u64,
    pub(crate) outcome: AttemptOutcome,
    /// Whether the request took effect, regardless of the answer.
    pub(crate) effect: bool,
}

impl Reaction {
    pub(crate) fn after(mut self, after_ms: u64) -> Reaction {
        self.after_ms = after_ms;
        self
    }

    /// Adds a `Retry-After` delay.
    pub(crate) fn asking(mut self, pause_ms: u64) -> Reaction {
        if let AttemptOutcome::Failed { retry_after_ms, .. } = &mut self.outcome {
            *retry_after_ms = Some(pause_ms);
        }
        self
    }
}

pub(crate) fn ok(output: Value) -> Reaction {
    let answer = CallAnswer { output, status: 200, ..CallAnswer::default() };
    Reaction {
        after_ms: 10,
        outcome: AttemptOutcome::Answered { answer, duration_ms: 10 },
        effect: true,
    }
}

fn failed(trouble: FailureKind, unsent: bool, effect: bool) -> Reaction {
    let code = match trouble {
        FailureKind::Timeout => Code::UpstreamTimeout,
        FailureKind::Network
        | FailureKind::Unsendable
        | FailureKind::Withheld
        | FailureKind::Changed
        | FailureKind::Lapsed => Code::UpstreamFailed,
        FailureKind::Status(_) | FailureKind::TokenRefused => Code::UpstreamRejected,
    };
    let failure = Failure::new(code, format!("{trouble:?}"), "look at the API");
    let outcome = AttemptOutcome::Failed { failure, trouble, unsent, retry_after_ms: None };
    Reaction { after_ms: 10, outcome, effect }
}

pub(crate) fn status(status: u16) -> Reaction {
    failed(FailureKind::Status(status), false, false)
}

/// The connection breaks, which leaves the outcome unknown.
pub(crate) fn broken(effect: bool) -> Reaction {
    failed(FailureKind::Network, false, effect)
}

pub(crate) fn timeout(effect: bool) -> Reaction {
    failed(FailureKind::Timeout, false, effect)
}

/// The connection cannot be established.
pub(crate) fn unreachable() -> Reaction {
    failed(FailureKind::Network, true, false)
}

/// The world: the answers of servers, and the requests they received.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    /// Reactions by step key, one per request that is not a repetition; the last one applies to all
    /// further requests.
    pub(crate) reactions: BTreeMap<String, Vec<Reaction>>,
    /// The outcomes of inner workflows, each with its delay.
    pub(crate) children: BTreeMap<String, (u64, ChildOutcome)>,
    /// The number of requests a child run sends whenever it starts or continues.
    pub(crate) child_calls: u64,
    /// What each child run has spent so far.
    pub(crate) spent: BTreeMap<String, BudgetUsage>,
    /// Every request: its idempotency key, attempt, command, and whether it may be repeated.
    pub(crate) sent: Vec<Sent>,
    /// Child runs that were started.
    pub(crate) started: Vec<String>,
    /// Part of every digest: another catalog prepares a different request.
    pub(crate) catalog: u32,
    /// How long after it was recorded a request may still arrive.
    pub(crate) arrives_ms: u64,
    /// The person's signature.
    pub(crate) signature: Option<String>,
    /// Whether requests tell what they change.
    pub(crate) tells: bool,
    /// What one run of each inner workflow can change.
    pub(crate) bounds: BTreeMap<String, EffectBound>,
    /// Decides on unscripted answers, and on when the process dies.
    pub(crate) fate: Option<Chance>,
}

/// Pseudo-random numbers that are the same for the same seed.
#[derive(Debug, Clone)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    pub(crate) fn pick<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }

    fn reaction(&mut self, step: &str) -> Reaction {
        let n = self.below(6);
        let effect = self.one_in(2);
        let reaction = match self.below(12) {
            0 => status(503),
            1 => status(429).asking(2_000),
            2 => status(400),
            3 => broken(effect),
            4 => timeout(effect),
            5 => unreachable(),
            6 => {
                let mut gateway = status(504);
                gateway.effect = effect;
                gateway
            }
            _ => ok(json!({"n": n, "of": step})),
        };
        reaction.after(*self.pick(&[0, 1, 10, 900, 5_000]))
    }
}

/// A request as a server saw it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) idempotency_key: String,
    pub(crate) attempt: u32,
    pub(crate) step: String,
    pub(crate) request: String,
    pub(crate) repeatable: bool,
    pub(crate) effect: bool,
    pub(crate) output: Option<Value>,
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

/// What a command changes or reads.
pub(crate) fn effect(method: &str, command: &str) -> CallEffect {
    let path = command.split(' ').nth(1).unwrap_or_default();
    CallEffect {
        method: method.to_owned(),
        origin: ORIGIN.to_owned(),
        path: format!("/{}", path.split(':').next().unwrap_or_default()),
    }
}

/// The API that every command belongs to, for the bound of a run.
pub(crate) struct Api;

impl BoundLookup for Api {
    fn command(&self, command: &CommandId) -> Option<CommandEffect> {
        let command = command.to_string();
        let CallEffect { method, origin, path } = effect(method(&command), &command);
        Some(CommandEffect { method, origin, path })
    }

    fn workflow(&self, _: &str) -> Option<Arc<Workflow>> {
        None
    }
}

/// The bound of a run that is about to start.
pub(crate) fn bound(flow: &Flow, head: &RunCreated, cap: u64) -> EffectBound {
    let event = Event::RunCreated(Box::new(head.clone()));
    let state = State::begin(&JournalEntry { seq: 1, at_ms: START_MS, event }).expect("begins");
    EffectBound::of(flow.workflow(), Some(&state), &Api, cap)
}

/// Makes a person agree to a run's writes before the first one.
pub(crate) fn consenting(flow: &Flow, head: &mut RunCreated, needs: WriteRule) {
    let bound = bound(flow, head, 25);
    let writes = bound.writes.iter().map(|write| {
        let effect = write.effect.clone();
        GuardedWrite { effect, needs }
    });
    head.consent =
        Some(Box::new(ConsentTerms { writes: writes.collect(), ..ConsentTerms::default() }));
    head.bound = Some(Box::new(bound));
}

impl WorldView for Script {
    /// Zero unless a test sets it, so that a person can say at once that a request did not happen.
    fn arrives_within_ms(&self, _: u64) -> u64 {
        self.arrives_ms
    }

    fn prepare(&self, call: &StepCall, _: bool) -> Result<PreparedCall, Failure> {
        if call.command.ends_with(":gone") {
            let hint = "look for it with `milepost commands`";
            return Err(Failure::new(Code::CommandNotFound, "there is no such command", hint));
        }
        let method = method(&call.command);
        Ok(PreparedCall {
            digest: format!("{}{}{}", self.catalog, call.command, call.arguments()),
            request: format!("{method} {}", call.command),
            target: String::new(),
            write: method != "GET",
            repeatable: method != "POST",
            sent: None,
            effect: self.tells.then(|| effect(method, &call.command)),
        })
    }

    fn bound_of(&self, workflow: &str) -> Option<EffectBound> {
        self.bounds.get(workflow).cloned()
    }

    fn text_of(&self, workflow: &str) -> Option<String> {
        Some(format!("{}{workflow}", self.catalog))
    }

    fn is_signed(&self, _: &str, _: &str, signature: &str) -> bool {
        self.signature.as_deref() == Some(signature)
    }
}

impl Script {
    /// Answers a request, in the same way for the same attempt.
    fn react(&mut self, attempt: &Attempt) -> Reaction {
        let step = attempt.key.to_string();
        let of_step = self.sent.iter().filter(|sent| sent.step == step);
        let mut tries: Vec<(&str, u32)> = Vec::new();
        for sent in of_step {
            let one = (sent.idempotency_key.as_str(), sent.attempt);
            if !tries.contains(&one) {
                tries.push(one);
            }
        }
        let this = (attempt.idempotency_key.as_str(), attempt.attempt);
        let again = tries.iter().position(|one| *one == this).filter(|_| attempt.repeatable);
        let nth = again.unwrap_or(tries.len());
        let all = self.reactions.get(&step);
        let found = all.and_then(|all| all.get(nth).or(all.last())).cloned();
        let found = found.or_else(|| Some(self.fate.as_mut()?.reaction(&step)));
        let reaction = found.unwrap_or_else(|| ok(json!({"n": 9, "of": step})));
        let output = match &reaction.outcome {
            AttemptOutcome::Answered { answer, .. } => Some(answer.output.clone()),
            AttemptOutcome::Failed { .. } => None,
        };
        self.sent.push(Sent {
            idempotency_key: attempt.idempotency_key.clone(),
            attempt: attempt.attempt,
            step,
            request: attempt.request.clone(),
            repeatable: attempt.repeatable,
            effect: reaction.effect,
            output,
        });
        reaction
    }
}

/// The point at which the process dies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crash {
    /// The last entry that is on disk.
    pub(crate) after: usize,
    /// Whether the resulting effects were started, so that only their outcome is lost.
    pub(crate) acted: bool,
}

/// A run with everything around it.
#[derive(Debug, Clone)]
pub(crate) struct Rig {
    pub(crate) flow: Flow,
    pub(crate) interpreter: Interpreter,
    pub(crate) journal: Vec<JournalEntry>,
    pub(crate) world: Script,
    pub(crate) now_ms: u64,
    pub(crate) answers: Vec<(String, Reply)>,
    pub(crate) crash: Option<Crash>,
    pub(crate) crashes: usize,
    /// Effects in the order in which they were requested.
    pub(crate) effects: Vec<RunEffect>,
    /// Outcomes of requests and child runs that have not been delivered yet.
    coming: Vec<(u64, Coming)>,
    pub(crate) signals: usize,
    /// Whether inputs and decisions pass through JSON, as with a remote driver.
    pub(crate) through_json: bool,
}

/// A value after a round trip through JSON.
fn through_json<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("it can be written");
    let read = serde_json::from_str(&text).expect("it can be read");
    assert_eq!(*value, read);
    read
}

#[derive(Debug, Clone)]
enum Coming {
    Called(StepKey, u64, AttemptOutcome),
    Child(StepKey, String, ChildOutcome),
}

/// Parses a workflow that must be valid.
pub(crate) fn flow(text: &str) -> Flow {
    let world = check::World { commands: &NoCommands, env_allow: None };
    let document = Document::read(text.as_bytes(), None, world);
    let Some(workflow) = document.workflow else {
        let told: Vec<String> = document.violations.iter().map(|one| format!("{one:?}")).collect();
        panic!("{text}\n{}", told.join("\n"));
    };
    Flow::of(Arc::new(workflow))
}

pub(crate) fn created(flow: &Flow, inputs: &Value) -> RunCreated {
    RunCreated {
        run: "r".to_owned(),
        workflow: flow.workflow().id.value.to_string(),
        text_hash: "text".to_owned(),
        plan_hash: "plan".to_owned(),
        inputs: inputs.as_object().cloned().unwrap_or_default(),
        nonce: "seal".to_owned(),
        secrets: Vec::new(),
        defaulted: Vec::new(),
        env: Map::new(),
        actor: agent(),
        workspace: "here".to_owned(),
        parent: None,
        budget: BTreeMap::new(),
        presence: Presence::Terminal,
        person: None,
        deadline_ms: START_MS + 24 * 60 * 60 * 1000,
        mock: false,
        world: None,
        bound: None,
        consent: None,
    }
}

impl Rig {
    /// A run that has not started, so that the world can still be arranged.
    pub(crate) fn new(text: &str) -> Rig {
        Rig::with(text, &json!({}), |_| {})
    }

    pub(crate) fn with(text: &str, inputs: &Value, arrange: impl Fn(&mut RunCreated)) -> Rig {
        Rig::of(flow(text), inputs, arrange)
    }

    pub(crate) fn of(flow: Flow, inputs: &Value, arrange: impl Fn(&mut RunCreated)) -> Rig {
        let mut head = created(&flow, inputs);
        arrange(&mut head);
        let event = Event::RunCreated(Box::new(head));
        let first = JournalEntry { seq: 1, at_ms: START_MS, event };
        let state = State::begin(&first).expect("a run begins with its first event");
        let interpreter = Interpreter::load(flow.clone(), state);
        Rig {
            flow,
            interpreter,
            journal: vec![first],
            world: Script::default(),
            now_ms: START_MS,
            answers: Vec::new(),
            crash: None,
            crashes: 0,
            effects: Vec::new(),
            coming: Vec::new(),
            signals: 0,
            through_json: false,
        }
    }

    /// Scripts the reactions to a step's requests, in order.
    pub(crate) fn on(&mut self, key: &str, reactions: &[Reaction]) -> &mut Rig {
        self.world.reactions.insert(key.to_owned(), reactions.to_vec());
        self
    }

    pub(crate) fn child(&mut self, workflow: &str, after: u64, outcome: ChildOutcome) -> &mut Rig {
        self.world.children.insert(workflow.to_owned(), (after, outcome));
        self
    }

    /// Opens the run from its journal, as a process does when it finds the run.
    pub(crate) fn open(&mut self) -> &mut Rig {
        let state = State::fold(&self.journal).expect("what was written is legal");
        let state = state.expect("a run has begun");
        self.interpreter = Interpreter::load(self.flow.clone(), state);
        let decided = self.interpreter.declare_lost(self.now_ms, &self.world);
        self.take(decided.expect("a run can always be taken over"));
        self
    }

    /// Starts the run, and continues until it waits for somebody.
    pub(crate) fn start(&mut self) -> &mut Rig {
        self.open().settle()
    }

    fn take(&mut self, work: Decision) {
        let before = self.journal.len();
        self.journal.extend(work.entries);
        if self.world.fate.as_mut().is_some_and(|fate| fate.one_in(20)) {
            return self.lose(before, work.effects);
        }
        if let Some(crash) = self.crash.filter(|crash| crash.after <= self.journal.len()) {
            self.crash = None;
            let whole = self.journal.len() == crash.after;
            self.journal.truncate(crash.after.max(before));
            if whole && crash.acted {
                self.act(work.effects);
            }
            return self.die();
        }
        self.answers.extend(work.answers);
        self.act(work.effects);
    }

    /// Dies somewhere between writing and acting: entries that were not synced are lost, and only
    /// the first few effects were started.
    fn lose(&mut self, before: usize, mut effects: Vec<RunEffect>) {
        let written = self.journal.len() - before;
        let Some(fate) = &mut self.world.fate else { return };
        let kept = fate.below(written + 1);
        effects.truncate(if kept == written { fate.below(effects.len() + 1) } else { 0 });
        self.journal.truncate(before + kept);
        self.act(effects);
        self.die();
    }

    /// The process dies, and another one opens the run.
    pub(crate) fn die(&mut self) {
        self.coming.clear();
        self.crashes += 1;
        self.open();
    }

    fn act(&mut self, effects: Vec<RunEffect>) {
        for act in effects {
            self.effects.push(act.clone());
            match act {
                RunEffect::Call { key, attempt: seq, idempotency_key, digest, .. } => {
                    let attempt = self.attempt(&key);
                    assert_eq!(attempt.idempotency_key, idempotency_key);
                    assert_eq!(attempt.request_digest, digest);
                    let reaction = self.world.react(&attempt);
                    let at = self.now_ms + reaction.after_ms;
                    self.coming.push((at, Coming::Called(key, seq, reaction.outcome)));
                }
                RunEffect::Abort { key, attempt } => {
                    let is_of = |coming: &Coming| match coming {
                        Coming::Called(of, seq, _) => *of == key && *seq == attempt,
                        Coming::Child(..) => false,
                    };
                    if let Some(one) = self.coming.iter_mut().find(|one| is_of(&one.1)) {
                        let aborted = Coming::Called(key, attempt, broken(true).outcome);
                        *one = (self.now_ms, aborted);
                    }
                }
                RunEffect::StartChild { key, run, workflow, .. } => {
                    let done = ChildOutcome::Succeeded { output: json!({"child": workflow}) };
                    let (after, outcome) =
                        self.world.children.get(&workflow).cloned().unwrap_or((10, done));
                    let chance = self.world.fate.as_mut();
                    let outcome = match chance.map_or(9, |fate| fate.below(10)) {
                        0 => ChildOutcome::Canceled,
                        1 => {
                            ChildOutcome::Failed { failure: Failure::new(Code::RunTimeout, "", "") }
                        }
                        _ => outcome,
                    };
                    if !self.world.started.contains(&run) {
                        self.world.started.push(run.clone());
                    }
                    self.coming.push((self.now_ms + after, Coming::Child(key, run, outcome)));
                }
                // A child run in this world is too short to be paused.
                RunEffect::PauseChild { .. } => {}
                RunEffect::CancelChild { run } => {
                    for (at, coming) in &mut self.coming {
                        if let Coming::Child(_, of, outcome) = coming
                            && *of == run
                        {
                            *at = self.now_ms;
                            *outcome = ChildOutcome::Canceled;
                        }
                    }
                }
            }
        }
    }

    /// The attempt in flight, as recorded in the journal.
    fn attempt(&self, key: &StepKey) -> Attempt {
        let found = self.journal.iter().rev().find_map(|entry| match &entry.event {
            Event::AttemptStarted(attempt) if attempt.key == *key => Some(attempt.clone()),
            _ => None,
        });
        found.expect("nothing is done that is not written down")
    }

    pub(crate) fn handle(&mut self, input: InterpreterInput) {
        let input = if self.through_json { through_json(&input) } else { input };
        let decided = self.interpreter.handle(input, self.now_ms, &self.world);
        let decided = decided.expect("an interpreter writes what is legal");
        self.take(if self.through_json { through_json(&decided) } else { decided });
    }

    /// Advances time to the next thing that happens by itself.
    pub(crate) fn turn(&mut self) -> bool {
        let first = self.coming.iter().enumerate().min_by_key(|(index, (at, _))| (*at, *index));
        let coming = first.map(|(index, (at, _))| (*at, index));
        let timers = self.interpreter.state().open().filter_map(|(_, step)| step.phase.wakes_at());
        let timer = timers.min();
        match (coming, timer) {
            (Some((at, index)), timer) if timer.is_none_or(|timer| at <= timer) => {
                self.now_ms = self.now_ms.max(at);
                match self.coming.remove(index).1 {
                    Coming::Called(key, attempt, outcome) => {
                        self.handle(InterpreterInput::Called { key, attempt, outcome });
                    }
                    Coming::Child(key, run, outcome) => {
                        let more = self.world.child_calls;
                        let spent = self.world.spent.entry(run.clone()).or_default();
                        spent.http_calls += more;
                        spent.attempts += more;
                        let spent = *spent;
                        let wrote = WriteCounts::new();
                        self.send(Signal::ChildEnded { key, run, outcome, spent, wrote });
                    }
                }
                true
            }
            (_, Some(at)) => {
                self.now_ms = self.now_ms.max(at);
                self.handle(InterpreterInput::Tick);
                true
            }
            _ => false,
        }
    }

    /// Whether nothing happens by itself.
    pub(crate) fn is_still(&self) -> bool {
        let mut open = self.interpreter.state().open();
        self.coming.is_empty() && !open.any(|(_, step)| step.phase.wakes_at().is_some())
    }

    /// Continues until nothing more happens by itself.
    pub(crate) fn settle(&mut self) -> &mut Rig {
        let turns = (0..TURNS).take_while(|_| self.turn()).count();
        assert!(turns < TURNS, "the run goes round in circles");
        self
    }

    /// Lets time pass without any other input.
    pub(crate) fn pass(&mut self, ms: u64) -> &mut Rig {
        self.now_ms += ms;
        self.handle(InterpreterInput::Tick);
        self
    }

    pub(crate) fn send(&mut self, signal: Signal) -> Option<Reply> {
        self.signals += 1;
        let id = format!("s{}", self.signals);
        self.handle(InterpreterInput::Signal { id: id.clone(), signal });
        self.answer(&id)
    }

    pub(crate) fn answer(&self, id: &str) -> Option<Reply> {
        self.answers.iter().find(|(of, _)| of == id).map(|(_, reply)| reply.clone())
    }

    /// Sends a signal and waits for its reply.
    pub(crate) fn tell(&mut self, signal: Signal) -> Reply {
        let answer = self.send(signal);
        let id = format!("s{}", self.signals);
        self.settle();
        answer.or_else(|| self.answer(&id)).expect("every signal is answered")
    }

    pub(crate) fn submit(&mut self, step: &str, output: Value) -> Reply {
        self.tell(submit(step, None, output))
    }

    pub(crate) fn decide(&mut self, key: &str, approve: bool) -> Reply {
        let decided = self.decision(key, approve);
        self.tell(Signal::Decide(decided))
    }

    /// A person's decision on the current question.
    pub(crate) fn decision(&self, key: &str, approve: bool) -> DecisionSignal {
        let key = StepKey::of_walk(key);
        let step = self.state().step(&key);
        let request = step.and_then(|step| step.request.as_ref());
        DecisionSignal {
            digest: request.map(|request| request.digest.clone()).unwrap_or_default(),
            key,
            approve,
            by: person("ada"),
            comment: (!approve).then(|| "not like this".to_owned()),
            answer: None,
            presence: Presence::Terminal,
            signature: self.world.signature.clone(),
        }
    }

    pub(crate) fn say(&mut self, key: &str, decision: Settlement) -> Reply {
        let key = StepKey::of_walk(key);
        self.tell(Signal::Settle {
            key,
            asked: None,
            by: person("ada"),
            decision,
            proof: Some(Proof::at_terminal()),
        })
    }

    pub(crate) fn cancel(&mut self) -> Reply {
        self.tell(Signal::Cancel { by: person("ada"), reason: None })
    }

    pub(crate) fn state(&self) -> &State {
        self.interpreter.state()
    }

    pub(crate) fn status(&self) -> Status {
        self.interpreter.status()
    }

    pub(crate) fn waiting(&self) -> Vec<Waiting> {
        view::waiting(&self.flow, self.state())
    }

    /// Everybody does what is requested of them until the run ends.
    pub(crate) fn play(&mut self, cast: Cast) -> &mut Rig {
        for _ in 0..TURNS {
            self.settle();
            let Some(signal) = self.waiting().iter().find_map(|one| cast(self, one)) else {
                return self;
            };
            self.send(signal);
        }
        panic!("the run goes round in circles")
    }
}

/// The reaction of people and agents to a waiting run.
pub(crate) type Cast = fn(&Rig, &Waiting) -> Option<Signal>;

/// Agents submit valid output; people approve and answer truthfully about unknown outcomes.
pub(crate) fn willing(rig: &Rig, waiting: &Waiting) -> Option<Signal> {
    Some(match waiting {
        Waiting::Agent(key) => submit(key.as_str(), None, json!({"done": key.as_str()})),
        Waiting::Approval(request) => Signal::Decide(rig.decision(request.key.as_str(), true)),
        Waiting::Unknown { key, .. } => {
            let asked = rig.state().step(key).and_then(|step| step.asked);
            let (key, decision) = (key.clone(), truth(rig, key));
            Signal::Settle {
                key,
                asked,
                by: person("ada"),
                decision,
                proof: Some(Proof::at_terminal()),
            }
        }
        Waiting::Exhausted { .. } | Waiting::Budget(_) | Waiting::Variable { .. } => return None,
    })
}

/// The outcome of a request, as its server knows it.
pub(crate) fn truth(rig: &Rig, key: &StepKey) -> Settlement {
    let attempt = rig.attempt(key);
    let of_key = |sent: &&Sent| sent.idempotency_key == attempt.idempotency_key && sent.effect;
    match rig.world.sent.iter().find(of_key) {
        Some(sent) => {
            let fallback = || json!({"n": 9, "of": sent.step});
            Settlement::Happened { output: sent.output.clone().unwrap_or_else(fallback) }
        }
        None => Settlement::DidNot,
    }
}

pub(crate) fn person(name: &str) -> Actor {
    Actor { kind: ActorKind::Person, name: name.to_owned() }
}

pub(crate) fn agent() -> Actor {
    Actor { kind: ActorKind::Agent, name: String::new() }
}

pub(crate) fn submit(step: &str, attempt: Option<u32>, output: Value) -> Signal {
    let step = Some(step.to_owned());
    let (output, context) = (Some(output), Map::new());
    Signal::Submit(SubmissionSignal { step, attempt, output, context, by: agent() })
}

pub(crate) fn add(context: &Value) -> Signal {
    let context = context.as_object().cloned().unwrap_or_default();
    Signal::Submit(SubmissionSignal {
        step: None,
        attempt: None,
        output: None,
        context,
        by: agent(),
    })
}

pub(crate) fn budget(of: BudgetKind, limit: u64) -> impl Fn(&mut RunCreated) {
    move |head| {
        head.budget.insert(of, limit);
    }
}

//! A world in which a script determines what fails, and everything else succeeds at once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;
use std::sync::Arc;

use milepost_engine::command::StepCall;
use milepost_engine::event::{
    Actor, ActorKind, CallAnswer, ChildOutcome, Event, JournalEntry, Presence, Proof, RunCreated,
};
use milepost_engine::interpreter::{
    AttemptOutcome, Decision, Interpreter, InterpreterInput, PreparedCall, RunEffect, WorldView,
};
use milepost_engine::resume::{ResumePlan, ResumeRequest, plan};
use milepost_engine::signal::{DecisionSignal, Reply, Signal, SubmissionSignal};
use milepost_engine::state::{State, Status};
use milepost_engine::view::{Waiting, waiting};
use milepost_engine::{BudgetUsage, Failure, FailureKind, Flow, StepKey};
use milepost_model::check;
use milepost_model::commands::NoCommands;
use milepost_model::document::Document;
use milepost_model::problem::Code;
use milepost_model::wording::Neutral;
use serde_json::{Map, Value, json};

/// The commands of the shop: everything except `get` and `list` is a write.
pub(crate) struct Shop;

impl WorldView for Shop {
    /// Zero, so that a person can say at once that a request did not happen.
    fn arrives_within_ms(&self, _: u64) -> u64 {
        0
    }

    fn prepare(&self, call: &StepCall, _: bool) -> Result<PreparedCall, Failure> {
        let name = call.command.split(' ').next_back().unwrap_or_default();
        let write = !name.ends_with("get") && !name.ends_with("list");
        let method = if write { "POST" } else { "GET" };
        Ok(PreparedCall {
            digest: format!("{} {}", call.command, call.arguments()),
            request: format!("{method} /{}", name.replace(':', "/")),
            target: String::new(),
            write,
            repeatable: !write,
            sent: None,
            effect: None,
        })
    }

    fn text_of(&self, workflow: &str) -> Option<String> {
        Some(workflow.to_owned())
    }

    fn is_signed(&self, _: &str, _: &str, _: &str) -> bool {
        true
    }
}

/// Everything that goes wrong, by step key.
#[derive(Debug, Default, Clone)]
pub(crate) struct Script {
    /// Requests that return an error.
    pub(crate) fails: BTreeSet<String>,
    /// Requests that are never answered.
    pub(crate) lost: BTreeSet<String>,
    /// Questions that are rejected.
    pub(crate) rejects: BTreeSet<String>,
    /// Steps that are left waiting.
    pub(crate) ignores: BTreeSet<String>,
    /// Outputs that differ from the default.
    pub(crate) outputs: BTreeMap<String, Value>,
}

/// The cost of a run.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ledger {
    pub(crate) calls: u64,
    pub(crate) writes: u64,
    pub(crate) agent_steps: u64,
    pub(crate) approvals: u64,
    pub(crate) children: u64,
}

impl Ledger {
    fn of(entries: &[JournalEntry]) -> Ledger {
        let mut ledger = Ledger::default();
        for entry in entries {
            match &entry.event {
                Event::AttemptStarted(attempt) => {
                    ledger.calls += 1;
                    ledger.writes += u64::from(attempt.write);
                }
                Event::SubmissionAccepted(_) => ledger.agent_steps += 1,
                Event::ApprovalRequested(_) => ledger.approvals += 1,
                Event::ChildStarted { .. } => ledger.children += 1,
                _ => {}
            }
        }
        ledger
    }
}

pub(crate) fn flow(text: &str) -> Flow {
    let world = check::World { commands: &NoCommands, env_allow: None };
    let document = Document::read(text.as_bytes(), None, world);
    let workflow = document.workflow.unwrap_or_else(|| panic!("{text}\n{:?}", document.violations));
    Flow::of(Arc::new(workflow))
}

pub(crate) fn person() -> Actor {
    Actor { kind: ActorKind::Person, name: "ada".to_owned() }
}

pub(crate) fn agent() -> Actor {
    Actor { kind: ActorKind::Agent, name: "model".to_owned() }
}

/// A run and the world around it.
pub(crate) struct Story {
    pub(crate) interpreter: Interpreter,
    pub(crate) script: Script,
    entries: Vec<JournalEntry>,
    now_ms: u64,
    signals: u32,
}

impl Story {
    /// Runs a workflow until it ends or nothing more happens by itself.
    pub(crate) fn run(text: &str, inputs: &Value, script: Script) -> Story {
        Story::started(text, inputs, script, BTreeMap::new())
    }

    pub(crate) fn started(
        text: &str,
        inputs: &Value,
        script: Script,
        budget: BTreeMap<milepost_engine::event::BudgetKind, u64>,
    ) -> Story {
        let created = RunCreated {
            run: "run_1".to_owned(),
            workflow: "x".to_owned(),
            text_hash: "t1".to_owned(),
            plan_hash: "p1".to_owned(),
            inputs: inputs.as_object().cloned().unwrap_or_default(),
            nonce: "seal".to_owned(),
            secrets: Vec::new(),
            defaulted: Vec::new(),
            env: Map::new(),
            actor: person(),
            workspace: "w".to_owned(),
            parent: None,
            budget,
            presence: Presence::Terminal,
            person: None,
            deadline_ms: 1_000_000_000,
            mock: false,
            world: None,
            bound: None,
            consent: None,
        };
        let first = JournalEntry { seq: 1, at_ms: 0, event: Event::RunCreated(Box::new(created)) };
        let state = State::begin(&first).expect("a run begins");
        let mut interpreter = Interpreter::load(flow(text), state);
        let work = interpreter.handle(InterpreterInput::Tick, 0, &Shop).expect("a run begins");
        let mut story = Story { interpreter, script, entries: vec![first], now_ms: 0, signals: 0 };
        story.drive(work);
        story
    }

    pub(crate) fn state(&self) -> &State {
        self.interpreter.state()
    }

    pub(crate) fn status(&self) -> Status {
        self.interpreter.status()
    }

    /// A person's request with default options.
    pub(crate) fn request(&self) -> ResumeRequest {
        ResumeRequest::of(self.state(), person())
    }

    pub(crate) fn plan(&self, request: &ResumeRequest) -> Result<ResumePlan, Failure> {
        plan(self.interpreter.flow(), self.interpreter.flow(), self.state(), &Shop, request)
    }

    pub(crate) fn plan_on(
        &self,
        new: &Flow,
        request: &ResumeRequest,
    ) -> Result<ResumePlan, Failure> {
        let request = ResumeRequest { latest: true, ..request.clone() };
        plan(self.interpreter.flow(), new, self.state(), &Shop, &request)
    }

    /// Carries out a plan in a world where nothing fails any more, and returns the cost.
    pub(crate) fn resume(&mut self, plan: &ResumePlan) -> Ledger {
        let outputs = std::mem::take(&mut self.script.outputs);
        self.script = Script { outputs, ..Script::default() };
        let seen = self.entries.len();
        let mut resumption = Box::new(plan.resumption.clone());
        let needs =
            milepost_engine::resume::needs(self.interpreter.flow(), self.state(), &resumption);
        resumption.proof = matches!(needs, milepost_engine::resume::ResumeAuthority::Proof(_))
            .then(Proof::at_terminal);
        let reply = self.tell(Signal::Resume { seq: self.state().seq, resumption });
        assert_eq!(reply, vec![Reply::Done]);
        // Folding the journal yields the same state.
        let folded = State::fold(&self.entries).expect("a journal that fits");
        assert_eq!(folded.as_ref(), Some(self.state()));
        Ledger::of(&self.entries[seen..])
    }

    /// Sends a signal to the run, and lets it continue.
    pub(crate) fn tell(&mut self, signal: Signal) -> Vec<Reply> {
        let work = self.signal(signal);
        let replies = work.answers.iter().map(|(_, reply)| reply.clone()).collect();
        self.drive(work);
        replies
    }

    pub(crate) fn events(&self, name: &str) -> usize {
        self.entries.iter().filter(|entry| entry.event.name() == name).count()
    }

    /// The idempotency keys sent for a step, in order.
    pub(crate) fn keys_sent(&self, key: &str) -> Vec<String> {
        let sent = self.entries.iter().filter_map(|entry| match &entry.event {
            Event::AttemptStarted(attempt) if attempt.key.as_str() == key => {
                Some(attempt.idempotency_key.clone())
            }
            _ => None,
        });
        sent.collect()
    }

    fn signal(&mut self, signal: Signal) -> Decision {
        self.signals += 1;
        let id = self.signals.to_string();
        self.now_ms += 1;
        self.handle(InterpreterInput::Signal { id, signal })
    }

    fn handle(&mut self, input: InterpreterInput) -> Decision {
        self.interpreter.handle(input, self.now_ms, &Shop).expect("events that fit")
    }

    fn drive(&mut self, mut work: Decision) {
        let mut effects = VecDeque::new();
        loop {
            self.entries.append(&mut work.entries);
            effects.extend(work.effects.drain(..));
            work = match effects.pop_front() {
                Some(act) => self.act(act),
                None => match self.respond() {
                    Some(signal) => self.signal(signal),
                    None => match self.interpreter.wakes_at() {
                        Some(at) if self.status() == Status::Running => {
                            self.now_ms = self.now_ms.max(at);
                            self.handle(InterpreterInput::Tick)
                        }
                        _ => return,
                    },
                },
            };
            assert!(self.entries.len() < 5_000, "it does not come to an end");
        }
    }

    fn act(&mut self, act: RunEffect) -> Decision {
        self.now_ms += 1;
        match act {
            RunEffect::Call { key, attempt, .. } => {
                let outcome = self.outcome(&key);
                self.handle(InterpreterInput::Called { key, attempt, outcome })
            }
            RunEffect::StartChild { key, run, .. } => {
                let outcome = match self.script.fails.contains(key.as_str()) {
                    true => ChildOutcome::Failed { failure: failure() },
                    false => ChildOutcome::Succeeded { output: self.output(&key) },
                };
                self.signal(Signal::ChildEnded {
                    key,
                    run,
                    outcome,
                    spent: BudgetUsage::default(),
                    wrote: BTreeMap::new(),
                })
            }
            RunEffect::Abort { .. }
            | RunEffect::CancelChild { .. }
            | RunEffect::PauseChild { .. } => Decision::default(),
        }
    }

    fn outcome(&self, key: &StepKey) -> AttemptOutcome {
        let failed = |trouble| AttemptOutcome::Failed {
            failure: failure(),
            trouble,
            unsent: false,
            retry_after_ms: None,
        };
        if self.script.fails.contains(key.as_str()) {
            return failed(FailureKind::Status(422));
        }
        if self.script.lost.contains(key.as_str()) {
            return failed(FailureKind::Network);
        }
        let answer = CallAnswer { output: self.output(key), status: 200, ..CallAnswer::default() };
        AttemptOutcome::Answered { answer, duration_ms: 1 }
    }

    fn output(&self, key: &StepKey) -> Value {
        let given = self.script.outputs.get(key.as_str()).cloned();
        given.unwrap_or_else(|| json!({"ok": true, "list": [1, 2], "of": key.as_str()}))
    }

    /// The next action of the people and agents around the run.
    fn respond(&self) -> Option<Signal> {
        let all = waiting(self.interpreter.flow(), self.state());
        all.into_iter().find_map(|waiting| match waiting {
            Waiting::Approval(request) => {
                let key = request.key.clone();
                let heeded = !self.script.ignores.contains(key.as_str());
                heeded.then(|| {
                    Signal::Decide(DecisionSignal {
                        approve: !self.script.rejects.contains(key.as_str()),
                        key,
                        digest: request.digest.clone(),
                        by: person(),
                        comment: None,
                        answer: None,
                        presence: Presence::Terminal,
                        signature: None,
                    })
                })
            }
            Waiting::Agent(key) => {
                let heeded = !self.script.ignores.contains(key.as_str());
                heeded.then(|| {
                    Signal::Submit(SubmissionSignal {
                        step: Some(key.as_str().to_owned()),
                        attempt: None,
                        output: Some(self.output(&key)),
                        context: Map::new(),
                        by: agent(),
                    })
                })
            }
            Waiting::Unknown { .. }
            | Waiting::Exhausted { .. }
            | Waiting::Budget(_)
            | Waiting::Variable { .. } => None,
        })
    }
}

fn failure() -> Failure {
    Failure::new(Code::UpstreamRejected, "it says no", "ask again")
}

pub(crate) fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// A script in which these steps fail.
pub(crate) fn failing(keys: &[&str]) -> Script {
    Script { fails: names(keys), ..Script::default() }
}

/// Renders a plan as a table.
pub(crate) fn table(plan: &Result<ResumePlan, Failure>) -> String {
    let plan = match plan {
        Ok(plan) => plan,
        Err(failure) => {
            return format!(
                "{}: {}\nhint: {}\n",
                failure.code,
                failure.message(),
                failure.hint().worded(&Neutral)
            );
        }
    };
    let mut out = String::new();
    for step in &plan.steps {
        let verdict = match &step.repeats {
            Some(request) => format!("may repeat {request}"),
            None => step.verdict.to_string(),
        };
        let _ = writeln!(out, "{} ({}): {verdict}: {}", step.key, step.kind.name(), step.why);
    }
    let forecast = &plan.forecast;
    let _ = writeln!(
        out,
        "pays {} calls, {} writes, {} agent steps, {} approvals",
        forecast.calls, forecast.writes, forecast.agent_steps, forecast.approvals
    );
    let saved = &forecast.saved;
    let _ = writeln!(
        out,
        "saves {} calls, {} writes, {} agent steps",
        saved.calls, saved.writes, saved.agent_steps
    );
    out
}

/// Whether the cost is within the forecast.
pub(crate) fn fits(plan: &ResumePlan, ledger: Ledger) -> bool {
    let forecast = &plan.forecast;
    forecast.calls.holds(ledger.calls)
        && forecast.writes.holds(ledger.writes)
        && forecast.agent_steps.holds(ledger.agent_steps)
        && forecast.approvals.holds(ledger.approvals)
        && forecast.children.holds(ledger.children)
}

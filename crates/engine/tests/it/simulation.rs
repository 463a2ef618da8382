//! Random workflows in a random world, with processes that die, clocks that jump, and people and
//! agents who act twice, late or wrongly. The guarantees must always hold.
//!
//! `MILEPOST_SEED=<n>` replays one seed, and `MILEPOST_SEEDS=<n>` sets their number.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::panic::{self, AssertUnwindSafe};

use milepost_engine::consent::WriteRule;
use milepost_engine::event::{BudgetKind, Event, JournalEntry, Proof, Settlement};
use milepost_engine::interpreter::InterpreterInput;
use milepost_engine::resume::{Origin, ResumeRequest, plan};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::{State, Status};
use milepost_engine::view::Waiting;
use milepost_engine::{Flow, StepKey, next};
use serde_json::json;

use crate::rendering;
use crate::rig::{Chance, Rig, add, consenting, flow, person, submit, truth, willing};

/// The number of seeds per test run.
const SEEDS: u64 = 20_000;
/// The number of different workflows, small enough that parsing them does not dominate.
const WORKFLOWS: u64 = 1_000;
/// The number of random turns before everybody cooperates.
const TURNS: usize = 40;

/// A workflow generated from a seed: a graph with steps of all kinds.
fn workflow(seed: u64) -> String {
    let mut chance = Chance(seed);
    let count = 1 + chance.below(6);
    let mut text = format!("workflow: w\nconcurrency: {}\n", 1 + chance.below(3));
    text += "inputs: {n: {type: integer}}\nsteps:\n";
    for index in 0..count {
        let above: Vec<usize> = (0..index).filter(|_| chance.one_in(3)).collect();
        let names: Vec<String> = above.iter().map(|index| format!("s{index}")).collect();
        let _ = write!(text, "  - {{id: s{index}, ");
        if !names.is_empty() {
            let _ = write!(text, "depends_on: [{}], ", names.join(", "));
        }
        text += &common(&mut chance);
        text += &action(&mut chance, index, names.first());
        text += "}\n";
    }
    if chance.one_in(2) {
        text += "finally:\n";
        for index in 0..=chance.below(2) {
            let _ =
                writeln!(text, "  - {{id: f{index}, {}}}", action(&mut chance, 100 + index, None));
        }
    }
    text
}

/// Keys that every step may have.
fn common(chance: &mut Chance) -> String {
    let mut text = String::new();
    if chance.one_in(5) {
        let _ = write!(text, "if: inputs.n > {}, ", chance.below(6));
    }
    if chance.one_in(5) {
        text += "needs: any, ";
    }
    if chance.one_in(4) {
        text += "on_error: continue, ";
    }
    text
}

fn action(chance: &mut Chance, index: usize, above: Option<&String>) -> String {
    match chance.below(13) {
        0 => "set: {x: '${{ inputs.n + 1 }}'}".to_owned(),
        1 => format!("wait: {}s", 1 + chance.below(600)),
        2 => "run: workflow other, with: {n: '${{ inputs.n }}'}".to_owned(),
        3 => "fail: it was meant to".to_owned(),
        4 | 5 => prompt(chance),
        6 | 7 => match above.filter(|_| chance.one_in(2)) {
            Some(above) => format!("approve: {{message: Go?, on_reject: {{to: {above}, max: 2}}}}"),
            None if chance.one_in(2) => "approve: {message: Go?, expires: 2h}".to_owned(),
            None => "approve: Go on?".to_owned(),
        },
        8 => {
            let body = format!(
                "[{{id: b{index}, {}}}, {{id: c{index}, {}}}]",
                run(chance),
                prompt(chance)
            );
            format!("type: loop, loop: {{type: for, count: 2, maxIterations: 3}}, body: {body}")
        }
        9 => format!("for_each: [1, 2, 3], concurrency: {}, {}", 1 + chance.below(3), run(chance)),
        _ => run(chance),
    }
}

fn run(chance: &mut Chance) -> String {
    let verb = *chance.pick(&["get", "put", "delete", "create", "create"]);
    let mut text = format!("run: 'api x:{verb}', with: {{n: '${{{{ inputs.n }}}}'}}");
    match chance.below(6) {
        0 => text += ", retry: {max_attempts: 3, on: [503, network]}",
        1 => text += ", idempotent: true",
        2 => text += ", repeat: {until: output.n > 2, every: 2s, max_attempts: 3}",
        _ => {}
    }
    text
}

fn prompt(chance: &mut Chance) -> String {
    let mut text = "prompt: Do it, max_attempts: 2".to_owned();
    match chance.below(5) {
        0 => text += ", verify: [{run: 'api v:get', check: output.n > 1}]",
        1 => text += ", verify: [{run: 'api v:create', check: output.n > 1}]",
        2 => text += ", validation: [{type: contains, value: done, message: Do it}]",
        3 => text += ", require_confirmation: true",
        _ => {}
    }
    text
}

/// A run, the signals it acknowledged, and the signals sent to it.
struct Simulation {
    rig: Rig,
    chance: Chance,
    said: Vec<Signal>,
    /// Acknowledged signals and their replies.
    acknowledged: Vec<(Signal, Reply)>,
    heard: usize,
    signals: BTreeMap<String, Signal>,
}

impl Simulation {
    fn of(seed: u64, flow: &Flow) -> Simulation {
        let mut chance = Chance(seed ^ 0x5EED);
        let n = chance.below(6);
        let limit = chance.one_in(6).then(|| chance.below(8) as u64);
        let which =
            *chance.pick(&[BudgetKind::HttpCalls, BudgetKind::Writes, BudgetKind::Attempts]);
        let mut rig = Rig::of(flow.clone(), &json!({"n": n}), |head| {
            head.budget.extend(limit.map(|limit| (which, limit)));
            match seed % 5 {
                0 => consenting(flow, head, WriteRule::Consent),
                1 => consenting(flow, head, WriteRule::Approve),
                _ => {}
            }
        });
        rig.world.tells = seed % 5 < 2;
        rig.world.fate = Some(Chance(seed ^ 0xFA7E));
        let (said, acknowledged, signals) = (Vec::new(), Vec::new(), BTreeMap::new());
        Simulation { rig, chance, said, acknowledged, heard: 0, signals }
    }

    fn run(&mut self) {
        self.rig.open();
        for _ in 0..TURNS {
            self.turn();
            self.hear();
            if self.chance.one_in(8) {
                self.check_state();
            }
            if self.rig.state().end.is_some() && self.chance.one_in(3) {
                break;
            }
        }
        self.rig.world.fate = None;
        self.end();
        self.hear();
        self.check();
    }

    fn turn(&mut self) {
        match self.chance.below(13) {
            0 => self.jump(),
            12 => self.resume(),
            1..=4 => {
                if let Some(signal) = self.asked() {
                    self.say(signal);
                }
            }
            5 => {
                let odd = self.odd();
                self.say(odd);
            }
            _ => {
                if !self.rig.turn()
                    && let Some(signal) = self.asked()
                {
                    self.say(signal);
                }
            }
        }
        self.check_quiet();
    }

    /// Changes the clock or replaces the catalog.
    fn jump(&mut self) {
        if self.chance.one_in(3) {
            self.rig.world.catalog += 1;
            return;
        }
        let hours = 3_600_000 * self.chance.below(12) as u64;
        let now = self.rig.now_ms;
        self.rig.now_ms = if self.chance.one_in(2) { now + hours } else { now - hours };
        self.rig.handle(InterpreterInput::Tick);
    }

    /// Resumes a run that has ended, from any step.
    fn resume(&mut self) {
        let (flow, state) = (&self.rig.flow, self.rig.state());
        let request = ResumeRequest::of(state, person("ada"));
        let step = format!("s{}", self.chance.below(6));
        let request = match self.chance.below(6) {
            0 => ResumeRequest { origin: Origin::Step(step), ..request },
            1 => ResumeRequest { origin: Origin::Start, ..request },
            2 => ResumeRequest { redo: vec![step], ..request },
            _ => request,
        };
        let Ok(plan) = plan(flow, flow, state, &self.rig.world, &request) else { return };
        let (seq, resumption) = (state.seq, Box::new(plan.resumption));
        self.say(Signal::Resume { seq, resumption });
    }

    fn say(&mut self, signal: Signal) {
        self.said.push(signal.clone());
        let id = format!("s{}", self.rig.signals + 1);
        self.signals.insert(id, signal.clone());
        self.rig.send(signal);
    }

    /// Records the replies.
    fn hear(&mut self) {
        for (id, reply) in &self.rig.answers[self.heard..] {
            if let Some(signal) = self.signals.get(id) {
                self.acknowledged.push((signal.clone(), reply.clone()));
            }
        }
        self.heard = self.rig.answers.len();
    }

    /// A possible action of somebody the run is waiting for.
    fn asked(&mut self) -> Option<Signal> {
        let waiting = self.rig.waiting();
        if waiting.is_empty() {
            return None;
        }
        let rig = &self.rig;
        match self.chance.pick(&waiting) {
            Waiting::Agent(key) if self.chance.one_in(3) => {
                Some(submit(key.as_str(), None, json!("no")))
            }
            Waiting::Approval(request) if self.chance.one_in(3) => {
                Some(Signal::Decide(rig.decision(request.key.as_str(), false)))
            }
            one => obliging(rig, one),
        }
    }

    /// An unsolicited signal.
    fn odd(&mut self) -> Signal {
        let by = person("ada");
        let key = StepKey::of_walk(&format!("s{}", self.chance.below(4)));
        match self.chance.below(9) {
            0 => Signal::Cancel { by, reason: None },
            1 => Signal::Pause { by },
            2 => Signal::Unpause { by },
            3 => submit(key.as_str(), Some(1), json!("out of turn")),
            4 => Signal::Decide(self.rig.decision(key.as_str(), true)),
            5 => Signal::Settle {
                key,
                asked: None,
                by: crate::rig::agent(),
                decision: Settlement::DidNot,
                proof: Some(Proof::at_terminal()),
            },
            _ if self.said.is_empty() => add(&json!({"x": 1})),
            _ => self.chance.pick(&self.said).clone(),
        }
    }

    /// Everybody cooperates until the run ends.
    fn end(&mut self) {
        for _ in 0..2_000 {
            while self.rig.turn() {}
            self.hear();
            if self.rig.state().end.is_some() {
                return;
            }
            if self.rig.status() == Status::Paused {
                self.say(Signal::Unpause { by: person("ada") });
                continue;
            }
            let waiting = self.rig.waiting();
            let signal = waiting.iter().find_map(|one| obliging(&self.rig, one));
            let Some(signal) = signal else {
                panic!("nobody can help:\n{}", rendering::journal(&self.rig));
            };
            self.say(signal);
        }
        panic!("the run does not end:\n{}", rendering::journal(&self.rig));
    }

    /// A run in which nothing happens by itself has ended, or is waiting for somebody in
    /// particular.
    fn check_quiet(&self) {
        let (flow, state) = (&self.rig.flow, self.rig.state());
        assert_eq!(next(flow, state), None, "something is left to be done");
        assert_eq!(next(flow, state), next(flow, state), "deciding is no matter of chance");
        let status = self.rig.status();
        if self.rig.is_still() && !status.has_ended() && status != Status::Paused {
            assert_eq!(status, Status::Waiting, "{}", rendering::journal(&self.rig));
            assert!(!self.rig.waiting().is_empty(), "it waits for nobody");
        }
    }

    fn check_state(&self) {
        let folded = State::fold(&self.rig.journal).expect("what was written is legal");
        assert_eq!(folded.as_ref(), Some(self.rig.state()), "the state is the fold of the journal");
    }

    fn check(&self) {
        self.check_state();
        let terminal = |event: &Event| {
            matches!(
                event,
                Event::RunSucceeded { .. } | Event::RunFailed { .. } | Event::RunCanceled
            )
        };
        // A run ends once, and once more after each resumption.
        let mut ended = false;
        for entry in &self.rig.journal {
            let resumed = matches!(&entry.event, Event::RunResumedFrom(_));
            assert!(!ended || resumed, "after its end: {}", rendering::journal(&self.rig));
            ended = terminal(&entry.event);
        }
        assert!(ended, "it has not ended");
        self.check_order();
        self.check_effects();
        self.check_consent();
        self.check_acknowledged();
    }

    /// Nothing is sent before its dependencies are finished.
    fn check_order(&self) {
        let nodes = self.rig.flow.nodes();
        let mut over: BTreeSet<&str> = BTreeSet::new();
        for entry in &self.rig.journal {
            match &entry.event {
                Event::StepSucceeded { key, .. }
                | Event::StepFailed { key, .. }
                | Event::StepSkipped { key, .. }
                | Event::StepCanceled { key } => {
                    over.insert(key.as_str());
                }
                Event::ApprovalVoided { key, .. } => {
                    over.remove(key.as_str());
                }
                Event::WentBack { reset, .. } => {
                    reset.iter().for_each(|key| {
                        over.remove(key.as_str());
                    });
                }
                Event::RunResumedFrom(resumption) => {
                    resumption.reset.iter().for_each(|key| {
                        over.remove(key.as_str());
                    });
                }
                Event::AttemptStarted(attempt) => self.check_above(&attempt.key, &over),
                Event::ChildStarted { key, .. } => self.check_above(key, &over),
                _ => {}
            }
        }
        assert!(nodes.len() >= over.iter().filter(|key| !key.contains(['@', ':', '.'])).count());
    }

    fn check_above(&self, key: &StepKey, over: &BTreeSet<&str>) {
        let flow = &self.rig.flow;
        let Some(index) = flow.index(key.top()) else { return };
        let finally = flow.nodes()[index].finally;
        for above in flow.above(index) {
            let above = &flow.nodes()[above];
            let due = above.finally != finally || over.contains(above.key.as_str());
            assert!(due, "`{key}` was sent before `{}` was over", above.key);
        }
    }

    /// Unrepeatable requests took effect at most once, and repeated requests kept their key.
    fn check_effects(&self) {
        let mut took: BTreeMap<&str, usize> = BTreeMap::new();
        for sent in self.rig.world.sent.iter().filter(|sent| sent.effect && !sent.repeatable) {
            *took.entry(&sent.idempotency_key).or_default() += 1;
        }
        let once = took.values().all(|times| *times <= 1);
        assert!(once, "repeated: {took:?}\n{}", rendering::journal(&self.rig));
    }

    /// Everything that was acknowledged is in the journal.
    /// A write was sent only after a person had agreed to it.
    fn check_consent(&self) {
        let state = self.rig.state();
        let Some(terms) = &state.head.consent else { return };
        let (mut whole, mut open, mut alone) = (false, false, BTreeSet::new());
        // What was shown in a question of the workflow, and in those that were approved.
        let (mut shown, mut seen) = (BTreeMap::new(), BTreeSet::new());
        for entry in &self.rig.journal {
            match &entry.event {
                Event::StepSucceeded { key, .. } if *key == StepKey::consent() => whole = true,
                Event::StepSucceeded { key, .. } if key.is_reserved() => {
                    alone.insert(key.as_str().split(':').nth(1).unwrap_or_default().to_owned());
                }
                Event::ApprovalRequested(request) if request.key.is_reserved() => open = true,
                Event::ApprovalRequested(request) => {
                    let calls = request.shown.iter();
                    let calls = calls.map(|call| (call.key.clone(), call.digest.clone()));
                    shown.insert(request.key.clone(), calls.collect::<Vec<_>>());
                }
                Event::Approved(decided) if !decided.key.is_reserved() => {
                    seen.extend(shown.remove(&decided.key).unwrap_or_default());
                }
                Event::Approved(decided) | Event::Rejected(decided)
                    if decided.key.is_reserved() =>
                {
                    open = false;
                }
                Event::StepCanceled { key } if key.is_reserved() => open = false,
                Event::RunResumedFrom(_) => open = false,
                Event::AttemptStarted(attempt) if attempt.write => {
                    let own = attempt.key.as_str().replace("::", "/").replace('@', "+");
                    let agreed = match terms.writes[0].needs {
                        WriteRule::Approve => alone.contains(&own),
                        _ => whole,
                    };
                    let call = (attempt.key.clone(), attempt.request_digest.clone());
                    let agreed = agreed || seen.contains(&call);
                    let told = rendering::journal(&self.rig);
                    assert!(agreed && !open, "`{}` was not agreed to:\n{told}", attempt.key);
                }
                _ => {}
            }
        }
    }

    fn check_acknowledged(&self) {
        let any = |wanted: &dyn Fn(&Event) -> bool| {
            self.rig.journal.iter().any(|entry| wanted(&entry.event))
        };
        for (signal, reply) in &self.acknowledged {
            let kept = match (signal, reply) {
                (Signal::Submit(_), Reply::Accepted { key }) => {
                    any(&|event| matches!(event, Event::SubmissionAccepted(one) if one.key == *key))
                }
                (Signal::Submit(_), Reply::Rejected { key, .. }) => any(
                    &|event| matches!(event, Event::SubmissionRejected { key: k, .. } if k == key),
                ),
                (Signal::Decide(decided), Reply::Done) => any(&|event| match event {
                    Event::Approved(verdict) => decided.approve && verdict.digest == decided.digest,
                    Event::Rejected(verdict) => {
                        !decided.approve && verdict.digest == decided.digest
                    }
                    _ => false,
                }),
                (Signal::Settle { key, .. }, Reply::Done) => any(
                    &|event| matches!(event, Event::OutcomeDecided { key: of, .. } if of == key),
                ),
                (Signal::Resume { resumption, .. }, Reply::Done) => {
                    any(&|event| matches!(event, Event::RunResumedFrom(one) if one == resumption))
                }
                (Signal::Cancel { .. }, Reply::Done) => any(&|event| {
                    matches!(
                        event,
                        Event::CancelRequested { .. }
                            | Event::RunSucceeded { .. }
                            | Event::RunFailed { .. }
                    )
                }),
                _ => true,
            };
            assert!(kept, "{signal:?} was acknowledged with {reply:?} and is gone");
        }
    }
}

/// Does what is needed to bring a run forward.
fn obliging(rig: &Rig, waiting: &Waiting) -> Option<Signal> {
    let by = person("ada");
    Some(match waiting {
        Waiting::Unknown { key, .. } => {
            let asked = rig.state().step(key).and_then(|step| step.asked);
            Signal::Settle {
                key: key.clone(),
                asked,
                by,
                decision: truth(rig, key),
                proof: Some(Proof::at_terminal()),
            }
        }
        Waiting::Exhausted { key, .. } => {
            let asked = rig.state().step(key).and_then(|step| step.asked);
            Signal::Settle {
                key: key.clone(),
                asked,
                by,
                decision: Settlement::GiveUp,
                proof: Some(Proof::at_terminal()),
            }
        }
        Waiting::Budget(_) => Signal::Cancel { by, reason: None },
        Waiting::Variable { variable, .. } => add(&json!({ variable: true })),
        other => return willing(rig, other),
    })
}

fn check(seed: u64, flow: &Flow) -> Vec<JournalEntry> {
    let run = || {
        let mut simulation = Simulation::of(seed, flow);
        simulation.run();
        simulation.rig.journal
    };
    let journal = run();
    if seed.is_multiple_of(64) {
        assert_eq!(run(), journal, "the same seed has the same journal");
    }
    journal
}

/// Runs a seed; if a guarantee is broken, prints how to replay it.
fn checked(seed: u64, flow: &Flow) -> Vec<JournalEntry> {
    panic::catch_unwind(AssertUnwindSafe(|| check(seed, flow))).unwrap_or_else(|_| {
        let replay =
            format!("MILEPOST_SEED={seed} cargo nextest run -p milepost-engine simulation");
        panic!("{}\nseed {seed} fails; run it again with\n{replay}", workflow(seed % WORKFLOWS));
    })
}

#[test]
fn the_promises_hold_in_every_simulated_run() {
    if let Some(seed) = env::var("MILEPOST_SEED").ok().and_then(|seed| seed.parse().ok()) {
        checked(seed, &flow(&workflow(seed % WORKFLOWS)));
        return;
    }
    let seeds = env::var("MILEPOST_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let seeds: u64 = seeds.unwrap_or(SEEDS);
    let flows: Vec<Flow> = (0..WORKFLOWS.min(seeds)).map(|index| flow(&workflow(index))).collect();
    let mut met: BTreeSet<&str> = BTreeSet::new();
    for seed in 0..seeds {
        let journal = checked(seed, &flows[usize::try_from(seed % WORKFLOWS).unwrap_or(0)]);
        met.extend(journal.iter().map(|entry| entry.event.name()));
    }
    // Every kind of event occurs.
    assert!(seeds < SEEDS || met.len() == 34, "{met:?}");
}

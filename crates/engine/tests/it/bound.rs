//! What a run does is within what was computed before it started, and not much less.
//!
//! `MILEPOST_BOUNDS=<n>` sets the number of workflows, and `MILEPOST_FIRST_SEED` the first one.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write;
use std::sync::Arc;

use milepost_engine::command::StepCall;
use milepost_engine::effect_bound::{
    ANY_METHOD, BoundLookup, CallEffect, CommandEffect, EffectBound, WriteCounts, effective,
    is_override, is_read,
};
use milepost_engine::event::{CallAnswer, ChildOutcome, Event, JournalEntry, RunCreated};
use milepost_engine::interpreter::{
    AttemptOutcome, Decision, Interpreter, InterpreterInput, PreparedCall, RunEffect, WorldView,
};
use milepost_engine::signal::{DecisionSignal, Signal};
use milepost_engine::state::{End, State};
use milepost_engine::view::{self, Waiting};
use milepost_engine::{Failure, FailureKind, Flow, StepKey};
use milepost_model::problem::Code;
use milepost_model::target::CommandId;
use milepost_model::workflow::Workflow;
use serde_json::{Value, json};

use crate::rig::{Chance, START_MS, created, flow, person, submit};

/// The number of workflows per test run.
const WORKFLOWS: u64 = 300;
/// How many runs try to reach a bound.
const RUNS: u64 = 16;
const CAP: u64 = 5;

/// Workflows that run each other, as generated from a seed. The first one is the one that starts.
struct Library(BTreeMap<String, Flow>);

impl Library {
    fn of(seed: u64) -> Library {
        let mut chance = Chance(seed);
        let inner = chance.below(3);
        let names: Vec<String> = (0..=inner).map(|index| format!("w{index}")).collect();
        let flows = names.iter().enumerate().map(|(index, name)| {
            let below = names[index + 1..].to_vec();
            let text = workflow(&mut chance, name, &below);
            (name.clone(), flow(&text))
        });
        Library(flows.collect())
    }

    fn bound(&self, id: &str, head: Option<&RunCreated>) -> EffectBound {
        let state = head.map(|head| {
            let event = Event::RunCreated(Box::new(head.clone()));
            let first = JournalEntry { seq: 1, at_ms: START_MS, event };
            State::begin(&first).expect("begins")
        });
        EffectBound::of(self.0[id].workflow(), state.as_ref(), self, CAP)
    }
}

fn workflow(chance: &mut Chance, name: &str, below: &[String]) -> String {
    let mut text = format!("workflow: {name}\nconcurrency: {}\n", 1 + chance.below(3));
    text += "inputs: {n: {type: integer, default: {from: literal, value: 3}}, \
             list: {type: array, default: {from: literal, value: [1, 2]}}}\nsteps:\n\
             - {id: src, run: 'api z:get'}\n";
    let count = 1 + chance.below(4);
    for index in 0..count {
        let above = (index > 0).then(|| format!("s{}", index - 1));
        let _ = write!(text, "- {{id: s{index}, ");
        if let Some(above) = &above {
            let _ = write!(text, "depends_on: [{above}], ");
        }
        match chance.below(8) {
            0 => text += "if: inputs.n > 2, ",
            1 => text += "if: inputs.n > 4, ",
            _ => {}
        }
        text += &action(chance, index, above.as_deref(), below);
        text += "}\n";
    }
    if chance.one_in(4) {
        let _ = writeln!(text, "finally:\n- {{id: z, {}}}", call(chance));
    }
    text
}

fn action(chance: &mut Chance, index: usize, above: Option<&str>, below: &[String]) -> String {
    match chance.below(12) {
        0 => format!("for_each: [1, 2], concurrency: {}, {}", 1 + chance.below(2), call(chance)),
        1 => format!("for_each: '${{{{ inputs.list }}}}', {}", call(chance)),
        2 => format!("for_each: '${{{{ steps.src.output.list }}}}', {}", call(chance)),
        3 => {
            format!("{}, repeat: {{until: output.n > 4, every: 1s, max_attempts: 3}}", call(chance))
        }
        4 => "prompt: Do it, max_attempts: 2, verify: [{run: 'api v:create', check: output.n > 3}]"
            .to_owned(),
        5 => {
            let body = format!("[{{id: b{index}, {}}}]", call(chance));
            format!("type: loop, loop: {{type: for, count: 2, maxIterations: 3}}, body: {body}")
        }
        6 if above.is_some() => {
            let above = above.unwrap_or_default();
            format!("approve: {{message: Go?, on_reject: {{to: {above}, max: 1}}}}")
        }
        7 | 8 if !below.is_empty() => format!("run: workflow {}", chance.pick(below)),
        9 if !below.is_empty() => {
            format!("for_each: [1, 2], concurrency: 2, run: workflow {}", chance.pick(below))
        }
        _ => call(chance),
    }
}

fn call(chance: &mut Chance) -> String {
    let (name, verb) =
        (*chance.pick(&["x", "y"]), *chance.pick(&["get", "put", "create", "delete"]));
    let mut text = format!("run: 'api {name}:{verb}'");
    match chance.below(8) {
        0 => text += ", headers: {X-HTTP-Method-Override: DELETE}",
        1 => text += ", with: {_method: '${{ inputs.n > 2 ? \"PATCH\" : \"GET\" }}'}",
        2 => text += ", retry: {max_attempts: 2, on: [503, network]}",
        _ => {}
    }
    text
}

fn parts(command: &str) -> (&'static str, String) {
    let (path, verb) = command.trim_start_matches("api ").split_once(':').expect("a command");
    let method = match verb {
        "create" => "POST",
        "put" => "PUT",
        "delete" => "DELETE",
        _ => "GET",
    };
    (method, format!("/{path}"))
}

impl BoundLookup for Library {
    fn command(&self, command: &CommandId) -> Option<CommandEffect> {
        let (method, path) = parts(&command.to_string());
        Some(CommandEffect {
            method: method.to_owned(),
            origin: "https://a.example".to_owned(),
            path,
        })
    }

    fn workflow(&self, id: &str) -> Option<Arc<Workflow>> {
        self.0.get(id).map(|flow| Arc::new(flow.workflow().clone()))
    }
}

impl WorldView for Library {
    fn prepare(&self, call: &StepCall, _: bool) -> Result<PreparedCall, Failure> {
        let (own, path) = parts(&call.command);
        let named = call.with.iter().chain(&call.headers).filter(|(name, _)| is_override(name));
        let named: Vec<&str> = named.filter_map(|(_, value)| value.as_str()).collect();
        let method = effective(own, named);
        Ok(PreparedCall {
            digest: format!("{}{}", call.command, call.arguments()),
            request: format!("{method} {path}"),
            write: !is_read(&method),
            repeatable: own != "POST",
            effect: Some(CallEffect { method, origin: "https://a.example".to_owned(), path }),
            ..PreparedCall::default()
        })
    }

    fn bound_of(&self, workflow: &str) -> Option<EffectBound> {
        Some(self.bound(workflow, None))
    }

    fn text_of(&self, _: &str) -> Option<String> {
        Some(String::new())
    }

    fn is_signed(&self, _: &str, _: &str, _: &str) -> bool {
        true
    }
}

/// Runs with their child runs, each answered at random and at once.
struct World<'l> {
    library: &'l Library,
    chance: Chance,
    /// Answers that lead to as many writes as possible; `None` if they are random.
    answers: Option<usize>,
    /// Every write as the server saw it, without repetitions of the same one.
    seen: BTreeSet<(String, CallEffect)>,
    /// How many more inputs the runs may get.
    left: usize,
}

impl World<'_> {
    /// Runs a workflow to its end.
    fn run(&mut self, head: RunCreated) -> (ChildOutcome, WriteCounts) {
        let flow = self.library.0[&head.workflow].clone();
        let event = Event::RunCreated(Box::new(head));
        let first = JournalEntry { seq: 1, at_ms: START_MS, event };
        let state = State::begin(&first).expect("begins");
        let mut interpreter = Interpreter::load(flow, state);
        let mut now = START_MS;
        let mut open = Vec::new();
        let mut inputs = vec![InterpreterInput::Tick];
        while interpreter.state().end.is_none() && self.left > 0 {
            self.left -= 1;
            let input = inputs.pop().or_else(|| self.next(&interpreter, &mut open));
            let input = input.unwrap_or_else(|| {
                now = interpreter.wakes_at().unwrap_or(now).max(now);
                InterpreterInput::Tick
            });
            let decided = interpreter.handle(input, now, self.library).expect("is legal");
            let Decision { effects, .. } = decided;
            open.extend(effects);
        }
        let state = interpreter.state();
        let outcome = match &state.end {
            Some(End::Succeeded(output)) => {
                ChildOutcome::Succeeded { output: output.clone().unwrap_or_default() }
            }
            Some(End::Failed(failure)) => ChildOutcome::Failed { failure: (**failure).clone() },
            Some(End::Canceled) | None => ChildOutcome::Canceled,
        };
        (outcome, state.written.clone())
    }

    /// What happens next.
    fn next(
        &mut self,
        interpreter: &Interpreter,
        open: &mut Vec<RunEffect>,
    ) -> Option<InterpreterInput> {
        let (flow, state) = (interpreter.flow(), interpreter.state());
        if !open.is_empty() {
            let index = self.chance.below(open.len());
            return match open.remove(index) {
                RunEffect::Call { key, attempt, call, idempotency_key, .. } => {
                    let outcome = self.called(&call, idempotency_key);
                    Some(InterpreterInput::Called { key, attempt, outcome })
                }
                RunEffect::StartChild { key, run, workflow, writes, .. } => {
                    let (outcome, wrote) = self.child(state, run.clone(), &workflow, &writes);
                    let spent = milepost_engine::BudgetUsage::default();
                    let signal = Signal::ChildEnded { key, run, outcome, spent, wrote };
                    Some(InterpreterInput::Signal { id: "c".to_owned(), signal })
                }
                _ => Some(InterpreterInput::Tick),
            };
        }
        let waiting = view::waiting(flow, state).into_iter().next()?;
        let signal = match waiting {
            Waiting::Approval(request) => Signal::Decide(DecisionSignal {
                digest: request.digest.clone(),
                // A person does not agree to more than was said.
                approve: !request.key.is_reserved() && self.is_approved(state, &request.key),
                key: request.key.clone(),
                by: person("ada"),
                comment: None,
                answer: None,
                presence: milepost_engine::event::Presence::Terminal,
                signature: None,
            }),
            Waiting::Agent(key) => submit(key.as_str(), None, json!(self.left)),
            Waiting::Unknown { key, .. } => settled(&key, state, json!({"n": 9})),
            Waiting::Exhausted { key, .. } => settled(&key, state, json!("enough")),
            Waiting::Budget(_) | Waiting::Variable { .. } => return None,
        };
        Some(InterpreterInput::Signal { id: "s".to_owned(), signal })
    }

    fn is_approved(&mut self, state: &State, key: &StepKey) -> bool {
        let before = state.step(key).map_or(0, |step| step.sent_back);
        match self.answers {
            Some(_) => before > 0,
            None => self.chance.one_in(2),
        }
    }

    fn child(
        &mut self,
        above: &State,
        run: String,
        workflow: &str,
        handed: &WriteCounts,
    ) -> (ChildOutcome, WriteCounts) {
        let mut head = head(&self.library.0[workflow]);
        let n = self.answers.map_or_else(|| self.chance.below(6), |_| 5);
        head.inputs.insert("n".to_owned(), n.into());
        let own = self.library.bound(workflow, Some(&head));
        let above = above.head.bound.as_deref().expect("a bound");
        head.bound = Some(Box::new(own.within(above, handed)));
        head.run = run;
        self.run(head)
    }

    fn called(&mut self, call: &StepCall, idempotency_key: String) -> AttemptOutcome {
        let prepared = self.library.prepare(call, false).expect("is prepared");
        // What is polled or checked twice succeeds in the end, so that the run goes on.
        let last = idempotency_key.ends_with("/2") || idempotency_key.contains("~1");
        let (n, items) = match self.answers {
            Some(_) if last => (5, 7),
            Some(n) => (n, 7),
            None => (self.chance.below(6), self.chance.below(8)),
        };
        if prepared.write {
            self.seen.insert((idempotency_key, prepared.effect.expect("an effect")));
        }
        if self.answers.is_none() && self.chance.one_in(12) {
            let failure = Failure::new(Code::UpstreamRejected, "no", "look");
            return AttemptOutcome::failed(failure, FailureKind::Status(503), false);
        }
        let found: Vec<usize> = (0..items).collect();
        let output = json!({"n": n, "list": found});
        let answer = CallAnswer { output, status: 200, ..CallAnswer::default() };
        AttemptOutcome::Answered { answer, duration_ms: 1 }
    }
}

fn settled(key: &StepKey, state: &State, output: Value) -> Signal {
    Signal::Settle {
        key: key.clone(),
        asked: state.step(key).and_then(|step| step.asked),
        by: person("ada"),
        decision: milepost_engine::event::Settlement::Happened { output },
        proof: Some(milepost_engine::event::Proof::at_terminal()),
    }
}

fn head(flow: &Flow) -> RunCreated {
    created(flow, &json!({"n": 3, "list": [1, 2]}))
}

/// The numbers of writes, each under the entry that allows it.
fn observed(world: &World<'_>, bound: &EffectBound, told: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for (_, effect) in &world.seen {
        let CallEffect { method, origin, path } = effect;
        assert!(bound.admits(method, origin, path), "{effect:?} is outside {bound:?}\n{told}");
        let entry = bound.entry(effect).expect("is within");
        *counts.entry(entry.effect.name()).or_default() += 1;
    }
    counts
}

#[test]
fn what_a_run_writes_is_within_its_bound() {
    let number = |name: &str| env::var(name).ok().and_then(|count| count.parse::<u64>().ok());
    let first = number("MILEPOST_FIRST_SEED").unwrap_or(0);
    let count = number("MILEPOST_BOUNDS").unwrap_or(WORKFLOWS);
    let (mut entries, mut reached) = (0, 0);
    for seed in first..first + count {
        let library = Library::of(seed);
        let mut start = head(&library.0["w0"]);
        let bound = library.bound("w0", Some(&start));
        start.bound = Some(Box::new(bound.clone()));
        let mut most: BTreeMap<String, u64> = BTreeMap::new();
        for run in 0..RUNS {
            let chance = Chance(seed.wrapping_mul(1_000_003) ^ run);
            let answers = [0, 5].get(run as usize).copied();
            let seen = BTreeSet::new();
            let mut world = World { library: &library, chance, answers, seen, left: 5_000 };
            world.run(start.clone());
            let told = format!("seed {seed}, run {run}");
            for (name, seen) in observed(&world, &bound, &told) {
                let allowed = bound.writes.iter().find(|write| write.effect.name() == name);
                let allowed = allowed.expect("is within").most;
                assert!(seen <= allowed, "{seen} of {allowed}: {name}, {told}");
                let known = most.entry(name).or_default();
                *known = (*known).max(seen);
            }
        }
        entries += bound.writes.len();
        let is_reached = |write: &&milepost_engine::effect_bound::BoundedWrite| {
            most.get(&write.effect.name()) == Some(&write.most)
        };
        reached += bound.writes.iter().filter(is_reached).count();
    }
    assert!(reached * 10 >= entries * 9, "{reached} of {entries}");
}

fn check(text: &str, expected: &[&str]) {
    let flow = flow(text);
    let library = Library(BTreeMap::from([("w".to_owned(), flow)]));
    let bound = library.bound("w", None);
    let lines: Vec<String> = bound.writes.iter().map(ToString::to_string).collect();
    assert_eq!(lines, expected, "{text}");
}

#[test]
fn a_method_that_an_argument_names_counts_as_what_it_says() {
    let head = "workflow: w\ninputs: {m: {type: string}}\nsteps:\n";
    let of = |step: &str| format!("{head}- {{id: a, {step}}}\n");
    check(&of("run: 'api x:get'"), &[]);
    check(&of("run: 'api x:create'"), &["POST https://a.example/x (once)"]);
    for header in ["X-HTTP-Method", "x-http-method-override", "X-Method-Override"] {
        let step = of(&format!("run: 'api x:get', headers: {{{header}: delete}}"));
        check(&step, &["DELETE https://a.example/x (once)"]);
    }
    let any = "any write to https://a.example/x (once)";
    check(&of("run: 'api x:get', with: {_method: '${{ inputs.m }}'}"), &[any]);
    check(&of("run: 'api x:create', body: {_method: DELETE}"), &[any]);
    check(
        &of("run: 'api x:create', headers: {X-HTTP-Method: GET}"),
        &["POST https://a.example/x (once)"],
    );
    assert_eq!(effective("POST", ["DELETE", "PUT"]), ANY_METHOD);
}

#[test]
fn a_workflow_that_runs_itself_has_a_bound() {
    let mut flows = BTreeMap::new();
    for (name, next) in [("w", "v"), ("v", "u"), ("u", "v")] {
        let text = format!(
            "workflow: {name}\ninputs: {{n: {{type: integer}}}}\nsteps:\n\
             - {{id: a, run: 'api {name}:create'}}\n\
             - {{id: b, if: inputs.n > 1, run: workflow {next}}}\n"
        );
        flows.insert(name.to_owned(), flow(&text));
    }
    let bound = Library(flows).bound("w", None);
    let lines: Vec<String> = bound.writes.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "POST https://a.example/u (up to 6 times, then it asks again)",
            "POST https://a.example/v (up to 6 times, then it asks again)",
            "POST https://a.example/w (once)",
        ]
    );
}

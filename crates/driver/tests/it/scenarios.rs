//! Runs of every kind, each with its surroundings and its expected end. `crash.rs` interrupts them
//! everywhere.

use std::time::Duration;

use milepost_driver::RunService;
use milepost_engine::event::BudgetKind;
use milepost_engine::ports::RunFilter;
use milepost_engine::state::State;
use milepost_model::id::RunId;
use serde_json::json;

use crate::place::{Backend, Here, InMemory, OnDisk, Place, run_id};
use crate::player::{Cast, Player, choosy, obliging, stopping, willing};
use crate::rendering;
use crate::world::{Servers, Start, broken, ok, status};

/// A workflow, its surroundings, its participants, and its expected end.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    text: &'static str,
    arrange: fn(&Servers),
    pub(crate) cast: Cast,
    budget: Option<(BudgetKind, u64)>,
    end: &'static str,
}

impl Scenario {
    const fn new(name: &'static str, text: &'static str, end: &'static str) -> Scenario {
        Scenario { name, text, arrange: |_| {}, cast: willing, budget: None, end }
    }

    /// A place where the scenario has not started.
    pub(crate) fn place(&self, backend: Box<dyn Backend>) -> Place {
        let servers = Servers::new(WORKFLOWS);
        (self.arrange)(&servers);
        Place::new(backend, servers)
    }

    pub(crate) fn start(&self) -> Start {
        let inputs = json!({"names": ["x", "y"], "go": true});
        let inputs = inputs.as_object().cloned().unwrap_or_default();
        let budget = self.budget.into_iter().collect();
        Start { inputs, budget, ..Start::of(self.run(), self.text) }
    }

    #[expect(clippy::unused_self, reason = "whose run it is")]
    pub(crate) fn run(&self) -> RunId {
        run_id(1)
    }

    /// Starts or continues the scenario until it has ended, and returns the outcome.
    pub(crate) async fn play(&self, here: &Here<'_>, player: &mut Player) -> String {
        here.tend();
        let run = here.start(self.start()).await;
        let last = player.play(here, &run).await;
        if !last.status().has_ended() {
            let news = here.runs().events(&run, 0).await.expect("reads");
            panic!("{} has not ended:\n{}", self.name, rendering::events(&news.entries));
        }
        assert_eq!(rendering::end(&last.state), self.end, "{}", self.name);
        rendering::outcome(&last.state)
    }
}

/// The inner workflows.
const WORKFLOWS: &[(&str, &str)] = &[
    (
        "other",
        "
workflow: other
inputs: {x: {type: integer}}
steps:
  - {id: o, run: api o:create, body: {x: '${{ inputs.x }}'}}
final_output: '${{ inputs.x }}'
",
    ),
    (
        "asking",
        "
workflow: asking
steps:
  - {id: ok, approve: Shall I?}
  - {id: q, run: api q:create, depends_on: [ok]}
final_output: '${{ steps.ok.output }}'
",
    ),
    (
        "nested",
        "
workflow: nested
steps:
  - {id: p, prompt: Think}
  - {id: n, run: workflow asking, depends_on: [p]}
final_output: '${{ steps.n.status }}'
",
    ),
    (
        "failing",
        "
workflow: failing
steps:
  - {id: f, run: api f:create}
  - {id: x, fail: it was meant to, depends_on: [f]}
",
    ),
];

pub(crate) const ALL: &[Scenario] = &[
    Scenario::new(
        "sequence",
        "
workflow: w
steps:
  - {id: a, run: api a:get}
  - {id: b, run: api b:put, with: {of: '${{ steps.a.output.of }}'}}
  - {id: c, set: {n: '${{ steps.b.output.n }}'}}
final_output: '${{ steps.c.output }}'
",
        r#"succeeded {"n":9}"#,
    ),
    Scenario {
        arrange: |servers| {
            servers.on("a:get", &[ok(json!(1)).after(40)]);
            servers.on("b:create", &[ok(json!(2)).after(20)]);
        },
        ..Scenario::new(
            "parallel",
            "
workflow: w
concurrency: 3
steps:
  - {id: a, run: api a:get}
  - {id: b, run: api b:create}
  - {id: c, run: api c:put}
  - {id: d, run: api d:create, depends_on: [a, b, c]}
",
            "succeeded",
        )
    },
    Scenario::new(
        "list",
        "
workflow: w
inputs: {names: {type: array}, go: {type: boolean, optional: true}}
steps:
  - id: a
    for_each: '${{ inputs.names }}'
    concurrency: 2
    run: api a:create
    body: {name: '${{ item }}'}
final_output: '${{ size(steps.a.output) }}'
",
        "succeeded 2",
    ),
    Scenario::new(
        "loop",
        "
workflow: w
inputs: {names: {type: array}, go: {type: boolean, optional: true}}
steps:
  - id: l
    type: loop
    loop: {type: forEach, items: names, itemVar: name, maxIterations: 5}
    body:
      - {id: a, run: api a:create, with: {name: '${{ name }}'}}
      - {id: b, prompt: 'Look at ${{ name }}'}
",
        "succeeded",
    ),
    Scenario {
        arrange: |servers| {
            servers.on("a:get", &[status(503), broken(false), ok(json!(1))]);
            servers.on("b:create", &[status(503), ok(json!(2))]);
        },
        ..Scenario::new(
            "retry",
            "
workflow: w
steps:
  - {id: a, run: api a:get}
  - {id: b, run: api b:create, retry: {max_attempts: 3, on: [503]}}
final_output: '${{ steps.a.output + steps.b.output }}'
",
            "succeeded 3",
        )
    },
    Scenario {
        arrange: |servers| {
            let n = |n: u32| ok(json!({"n": n}));
            servers.on("a:get", &[n(1), status(503), n(2), n(3)]);
        },
        ..Scenario::new(
            "poll",
            "
workflow: w
steps:
  - {id: a, run: api a:get, repeat: {until: output.n > 2, every: 10m, timeout: 2h}}
final_output: '${{ steps.a.output.n }}'
",
            "succeeded 3",
        )
    },
    Scenario::new(
        "wait",
        "
workflow: w
steps:
  - {id: a, wait: 2h}
  - {id: b, run: api b:create}
  - {id: c, wait: 1s}
",
        "succeeded",
    ),
    Scenario::new(
        "approval",
        "
workflow: w
steps:
  - {id: a, run: api a:get}
  - {id: ok, approve: 'Send ${{ steps.a.output.n }}?', depends_on: [a]}
  - {id: b, run: api b:create, depends_on: [ok], body: {n: '${{ steps.a.output.n }}'}}
final_output: '${{ steps.b.output.n }}'
",
        "succeeded 9",
    ),
    Scenario {
        cast: choosy,
        ..Scenario::new(
            "went back",
            "
workflow: w
concurrency: 2
steps:
  - {id: a, prompt: Write it}
  - {id: b, run: api b:create, depends_on: [a]}
  - {id: ok, approve: {message: Fine?, on_reject: {to: a}}, depends_on: [a]}
  - {id: c, run: api c:create, depends_on: [ok, b]}
",
            "succeeded",
        )
    },
    Scenario {
        arrange: |servers| servers.on("c:get", &[ok(json!({"n": 1})), ok(json!({"n": 2}))]),
        cast: choosy,
        ..Scenario::new(
            "verify",
            "
workflow: w
steps:
  - id: a
    prompt: Do it
    verify: [{run: api c:get, check: output.n > 1}, {run: api d:put, check: output.n == 9}]
  - {id: b, prompt: Do that, require_confirmation: true, depends_on: [a]}
",
            "succeeded",
        )
    },
    Scenario::new(
        "child",
        "
workflow: w
steps:
  - {id: a, for_each: [1, 2], concurrency: 2, run: workflow other, with: {x: '${{ item }}'}}
  - {id: b, run: api b:create}
final_output: '${{ steps.a.output }}'
",
        "succeeded [1,2]",
    ),
    Scenario::new(
        "nested children",
        "
workflow: w
concurrency: 2
steps:
  - {id: a, run: workflow nested}
  - {id: ok, approve: Go on?}
  - {id: b, run: api b:create, with: {a: '${{ steps.a.output }}'}, depends_on: [a, ok]}
final_output: '${{ steps.a.output }}'
",
        r#"succeeded "succeeded""#,
    ),
    Scenario::new(
        "child fails",
        "
workflow: w
steps:
  - {id: a, run: workflow failing, on_error: continue}
  - {id: b, if: \"steps.a.status == 'failed'\", run: api b:create, depends_on: [a]}
final_output: '${{ steps.b.output.n }}'
",
        "succeeded 9",
    ),
    Scenario {
        cast: obliging,
        // Requests that are repeated after a crash count again, so the budget must be zero to be
        // deterministic.
        budget: Some((BudgetKind::Writes, 0)),
        ..Scenario::new(
            "budget",
            "
workflow: w
steps:
  - {id: a, run: api a:get}
  - {id: b, run: api b:create, depends_on: [a]}
",
            "canceled",
        )
    },
    Scenario {
        cast: stopping,
        ..Scenario::new(
            "cancel",
            "
workflow: w
concurrency: 2
steps:
  - {id: a, run: api a:create}
  - {id: ok, approve: Go?, depends_on: [a]}
  - {id: b, run: api b:create, depends_on: [ok]}
finally:
  - {id: z, run: api z:create, with: {a: '${{ steps.a.status }}', b: '${{ steps.b.status }}'}}
",
            "canceled",
        )
    },
    Scenario {
        cast: stopping,
        ..Scenario::new(
            "cancel below",
            "
workflow: w
concurrency: 2
steps:
  - {id: a, run: workflow nested}
  - {id: ok, approve: Go?}
finally:
  - {id: z, run: api z:create, with: {a: '${{ steps.a.status }}'}}
",
            "canceled",
        )
    },
    Scenario {
        arrange: |servers| servers.on("a:create", &[status(400)]),
        ..Scenario::new(
            "finally",
            "
workflow: w
steps:
  - {id: a, run: api a:create}
  - {id: b, run: api b:get}
finally:
  - {id: y, run: api y:delete}
  - {id: z, if: \"steps.a.status == 'failed'\", run: api z:create}
",
            "failed UPSTREAM_REJECTED",
        )
    },
    Scenario {
        arrange: |servers| servers.on("b:create", &[broken(true)]),
        ..Scenario::new(
            "unknown outcome",
            "
workflow: w
steps:
  - {id: a, run: api a:create}
  - {id: b, run: api b:create, with: {a: '${{ steps.a.output.n }}'}}
final_output: '${{ steps.b.output.n }}'
",
            "succeeded 9",
        )
    },
    Scenario::new(
        "guide",
        r#"{
  "id": "guide", "name": "Guide", "description": "For tests.", "version": "1.0.0",
  "steps": [
    {"id": "a", "title": "A", "prompt": "Do it"},
    {"id": "l", "title": "L", "type": "loop",
     "loop": {"type": "forEach", "items": "names", "maxIterations": 5},
     "body": [{"id": "b", "title": "B", "prompt": "Do that"}]},
    {"id": "c", "title": "C", "prompt": "End", "runCondition": {"var": "go", "equals": true}}
  ]
}"#,
        "succeeded",
    ),
];

/// Plays all scenarios with a backend.
fn check_all(told: &str, open: fn() -> Box<dyn Backend>) {
    for scenario in ALL {
        let place = scenario.place(open());
        let mut player = Player::new(scenario.cast);
        place.visit(async |here| {
            scenario.play(&here, &mut player).await;
            check_seen(here.runs(), &scenario.run()).await;
        });
        place.servers.check_once(&format!("{} {told}", scenario.name));
    }
}

/// Asserts that every view of a finished run agrees.
async fn check_seen(runs: &dyn RunService, run: &RunId) {
    let snapshot = runs.snapshot(run).await.expect("reads");
    let news = runs.events(run, 0).await.expect("reads");
    assert_eq!(news.status, snapshot.status());
    let folded = State::fold(news.entries.iter().map(|entry| &**entry)).expect("is legal");
    assert_eq!(folded.as_ref(), Some(&*snapshot.state), "a state is the fold of its events");
    let last = runs.events(run, snapshot.state.seq - 1).await.expect("reads");
    assert_eq!(last.entries.as_slice(), &news.entries[news.entries.len() - 1..]);
    let open = RunFilter { open_only: true, ..RunFilter::default() };
    assert!(runs.list(&open, 10).await.expect("lists").runs.is_empty(), "all have ended");
    let all = runs.list(&RunFilter::default(), 100).await.expect("lists").runs;
    let record = all.iter().find(|record| record.id == *run).expect("is listed");
    assert_eq!(record.last_seq, snapshot.state.seq);
    assert_eq!(record.standing.status.name(), snapshot.status().name());
    assert_eq!(runs.tally().await.expect("counts").inbox, 0, "every message is answered");
    runs.idle().await;
    runs.shutdown(Duration::ZERO).await.expect("nothing is left to do");
}

#[test]
fn every_scenario_ends_as_it_should_in_memory() {
    check_all("in memory", || Box::new(InMemory::default()));
}

#[test]
fn every_scenario_ends_as_it_should_on_disk() {
    check_all("on disk", || Box::new(OnDisk::new()));
}

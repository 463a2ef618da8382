//! Runs that are interrupted everywhere, and stored as golden journals.

use milepost_engine::event::ChildOutcome;
use milepost_engine::signal::Signal;
use milepost_engine::view::Waiting;
use serde_json::{Value, json};

use crate::rig::{Cast, Rig, broken, ok, person, status, willing};

/// A workflow, its world, and its participants.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    pub(crate) arrange: fn(&mut Rig),
    pub(crate) cast: Cast,
}

impl Scenario {
    /// The run before it starts.
    pub(crate) fn rig(&self) -> Rig {
        let mut rig = Rig::with(self.text, &inputs(), |_| {});
        (self.arrange)(&mut rig);
        rig
    }

    /// The run without interruptions.
    pub(crate) fn run(&self) -> Rig {
        let mut rig = self.rig();
        rig.open().play(self.cast);
        rig
    }
}

fn inputs() -> Value {
    json!({"names": ["x", "y"], "go": true})
}

fn nothing(_: &mut Rig) {}

/// Cancels the run when asked for an approval.
fn stopping(rig: &Rig, waiting: &Waiting) -> Option<Signal> {
    match waiting {
        Waiting::Approval(_) => Some(Signal::Cancel { by: person("ada"), reason: None }),
        other => willing(rig, other),
    }
}

/// Rejects every question once.
fn choosy(rig: &Rig, waiting: &Waiting) -> Option<Signal> {
    let Waiting::Approval(request) = waiting else { return willing(rig, waiting) };
    let key = &request.key;
    let sent_back = rig.state().step(key).map_or(0, |step| step.sent_back + step.refused);
    Some(Signal::Decide(rig.decision(key.as_str(), sent_back > 0)))
}

pub(crate) const ALL: &[Scenario] = &[
    Scenario {
        name: "sequence",
        text: "
workflow: w
steps:
  - {id: a, run: api a:get}
  - {id: b, run: api b:put, with: {of: '${{ steps.a.output.of }}'}}
  - {id: c, set: {n: '${{ steps.b.output.n }}'}}
final_output: '${{ steps.c.output }}'
",
        arrange: nothing,
        cast: willing,
    },
    Scenario {
        name: "parallel",
        text: "
workflow: w
concurrency: 3
steps:
  - {id: a, run: api a:get}
  - {id: b, run: api b:create}
  - {id: c, run: api c:put}
  - {id: d, run: api d:create, depends_on: [a, b, c]}
",
        arrange: |rig| {
            rig.on("a", &[ok(json!(1)).after(40)]).on("b", &[ok(json!(2)).after(20)]);
        },
        cast: willing,
    },
    Scenario {
        name: "list",
        text: "
workflow: w
inputs: {names: {type: array}, go: {type: boolean, optional: true}}
steps:
  - id: a
    for_each: '${{ inputs.names }}'
    concurrency: 2
    run: api a:create
    body: {name: '${{ item }}'}
final_output: '${{ steps.a.output }}'
",
        arrange: nothing,
        cast: willing,
    },
    Scenario {
        name: "loop",
        text: "
workflow: w
inputs: {names: {type: array}, go: {type: boolean, optional: true}}
steps:
  - id: l
    type: loop
    loop: {type: forEach, items: names, itemVar: name, maxIterations: 5}
    body:
      - {id: a, run: api a:create, with: {name: '${{ name }}'}}
      - {id: b, prompt: 'Look at ${{ name }}'}
final_output: '${{ steps.l.output }}'
",
        arrange: nothing,
        cast: willing,
    },
    Scenario {
        name: "retry",
        text: "
workflow: w
steps:
  - {id: a, run: api a:get}
  - {id: b, run: api b:create, retry: {max_attempts: 3, on: [503]}}
",
        arrange: |rig| {
            rig.on("a", &[status(503), broken(false), ok(json!(1))]);
            rig.on("b", &[status(503), ok(json!(2))]);
        },
        cast: willing,
    },
    Scenario {
        name: "repeat",
        text: "
workflow: w
steps:
  - {id: a, run: api a:get, repeat: {until: output.n > 2, every: 2s}}
final_output: '${{ steps.a.output.n }}'
",
        arrange: |rig| {
            let n = |n: u32| ok(json!({"n": n}));
            rig.on("a", &[n(1), status(503), n(2), n(3)]);
        },
        cast: willing,
    },
    Scenario {
        name: "approval",
        text: "
workflow: w
steps:
  - {id: a, run: api a:get}
  - {id: ok, approve: 'Send ${{ steps.a.output.n }}?', depends_on: [a]}
  - {id: b, run: api b:create, depends_on: [ok], body: {n: '${{ steps.a.output.n }}'}}
final_output: '${{ steps.ok.output }}'
",
        arrange: nothing,
        cast: willing,
    },
    Scenario {
        name: "verify",
        text: "
workflow: w
steps:
  - id: a
    prompt: Do it
    verify: [{run: api c:get, check: output.n > 1}, {run: api d:put, check: output.n == 9}]
  - {id: b, prompt: Do that, require_confirmation: true, depends_on: [a]}
",
        arrange: |rig| {
            rig.on("a::verify@0", &[ok(json!({"n": 1})), ok(json!({"n": 2}))]);
        },
        cast: choosy,
    },
    Scenario {
        name: "child",
        text: "
workflow: w
steps:
  - {id: a, for_each: [1, 2], run: workflow other, with: {x: '${{ item }}'}}
  - {id: b, run: api b:create}
final_output: '${{ steps.a.output }}'
",
        arrange: nothing,
        cast: willing,
    },
    // The process that started the run is gone by the time a person or an agent responds.
    Scenario {
        name: "child-waits",
        text: "
workflow: w
concurrency: 2
steps:
  - {id: a, run: workflow asking}
  - {id: ok, approve: Go on?}
  - {id: b, run: api b:create, with: {a: '${{ steps.a.output.ok }}'}, depends_on: [ok]}
final_output: '${{ steps.a.output }}'
",
        arrange: |rig| {
            let output = json!({"ok": true});
            rig.child("asking", 3_600_000, ChildOutcome::Succeeded { output });
        },
        cast: willing,
    },
    Scenario {
        name: "cancel",
        text: "
workflow: w
concurrency: 2
steps:
  - {id: a, run: api a:create}
  - {id: ok, approve: Go?, depends_on: [a]}
  - {id: b, run: api b:create, depends_on: [ok]}
finally:
  - {id: z, run: api z:create, with: {a: '${{ steps.a.status }}', b: '${{ steps.b.status }}'}}
",
        arrange: nothing,
        cast: stopping,
    },
    Scenario {
        name: "finally",
        text: "
workflow: w
steps:
  - {id: a, run: api a:create}
  - {id: b, run: api b:get}
finally:
  - {id: y, run: api y:delete}
  - {id: z, if: \"steps.a.status == 'failed'\", run: api z:create}
",
        arrange: |rig| {
            rig.on("a", &[status(400)]);
        },
        cast: willing,
    },
    Scenario {
        name: "timer",
        text: "
workflow: w
steps:
  - {id: a, wait: 10m}
  - {id: b, run: api b:create}
  - {id: c, wait: 1s}
",
        arrange: nothing,
        cast: willing,
    },
    Scenario {
        name: "at-most-once",
        text: "
workflow: w
steps:
  - {id: a, run: api a:create}
  - {id: b, run: api b:create, with: {a: '${{ steps.a.output.n }}'}}
final_output: '${{ steps.b.output }}'
",
        arrange: |rig| {
            rig.on("b", &[broken(true)]);
        },
        cast: willing,
    },
    Scenario {
        name: "back",
        text: "
workflow: w
concurrency: 2
steps:
  - {id: a, prompt: Write it}
  - {id: b, run: api b:create, depends_on: [a]}
  - {id: ok, approve: {message: Fine?, on_reject: {to: a}}, depends_on: [a]}
  - {id: c, run: api c:create, depends_on: [ok, b]}
",
        arrange: nothing,
        cast: choosy,
    },
    Scenario {
        name: "skip",
        text: "
workflow: w
inputs: {go: {type: boolean}, names: {type: array, optional: true}}
steps:
  - {id: a, if: '!inputs.go', run: api a:create}
  - {id: b, depends_on: [a], run: api b:create}
  - {id: c, if: \"steps.b.status == 'skipped'\", run: api c:create, on_error: continue}
  - {id: d, depends_on: [a, c], needs: any, set: {x: 1}}
  - {id: e, if: \"steps.c.status == 'failed'\", fail: it failed}
",
        arrange: |rig| {
            rig.on("c", &[status(422)]);
        },
        cast: willing,
    },
    Scenario {
        name: "guide",
        text: r#"{
  "id": "guide", "name": "Guide", "description": "For tests.", "version": "1.0.0",
  "steps": [
    {"id": "a", "title": "A", "prompt": "Do it"},
    {"id": "l", "title": "L", "type": "loop",
     "loop": {"type": "forEach", "items": "names", "maxIterations": 5},
     "body": [{"id": "b", "title": "B", "prompt": "Do that"}]},
    {"id": "c", "title": "C", "prompt": "End", "runCondition": {"var": "go", "equals": true}}
  ]
}"#,
        arrange: nothing,
        cast: willing,
    },
];

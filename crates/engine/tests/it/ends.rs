//! How runs wait, pause, get canceled, and end.

use expect_test::expect;
use milepost_engine::event::{ChildOutcome, Event};
use milepost_engine::interpreter::InterpreterInput;
use milepost_engine::interpreter::RunEffect;
use milepost_engine::resume::{ResumeRequest, plan};
use milepost_engine::signal::{Reply, Signal};
use serde_json::json;

use crate::rendering;
use crate::rig::{Rig, START_MS, broken, ok, person, status, willing};

const FINALLY: &str = "
workflow: w
steps:
  - {id: a, run: api a:create}
  - {id: b, run: api b:get, depends_on: [a]}
finally:
  - {id: y, run: api y:delete, with: {b: '${{ steps.b.status }}'}}
  - {id: z, if: \"steps.a.status == 'failed'\", set: {why: '${{ steps.a.error.message }}'}}
";

#[test]
fn the_end_comes_in_every_case() {
    let mut good = Rig::new(FINALLY);
    good.start();
    expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_succeeded a {"n":9,"of":"a"}
        step_succeeded a
        attempt_started b #1 GET api b:get
        attempt_succeeded b {"n":9,"of":"b"}
        step_succeeded b
        attempt_started y #1 DELETE api y:delete
        attempt_succeeded y {"n":9,"of":"y"}
        step_succeeded y
        step_skipped z: {"steps.a.status":"succeeded","if":"steps.a.status == 'failed'"}
        run_succeeded
        = succeeded
    "#]]
    .assert_eq(&rendering::journal(&good));
    let mut bad = Rig::new(FINALLY);
    bad.on("a", &[status(400)]).start();
    expect![[r#"
        attempt_started a #1 POST api a:create
        attempt_failed a Status(400), no more
        step_failed a UPSTREAM_REJECTED: Status(400)
        attempt_started y #1 DELETE api y:delete
        attempt_succeeded y {"n":9,"of":"y"}
        step_succeeded y
        step_succeeded z {"why":"Status(400)"}
        run_failed a Status(400)
        = failed UPSTREAM_REJECTED: Status(400)
    "#]]
    .assert_eq(&rendering::journal(&bad));
    let mut stopped = Rig::new(FINALLY);
    stopped.on("a", &[ok(json!(1)).after(9_000)]).open();
    stopped.cancel();
    expect![[r#"
        attempt_started a #1 POST api a:create
        cancel_requested person ada
        attempt_unknown a Network
        step_canceled a
        attempt_started y #1 DELETE api y:delete
        attempt_succeeded y {"n":9,"of":"y"}
        step_succeeded y
        step_skipped z: {"steps.a.status":"canceled","if":"steps.a.status == 'failed'"}
        run_canceled
        = canceled
    "#]]
    .assert_eq(&rendering::journal(&stopped));
}

#[test]
fn a_failure_at_the_end_is_a_failure_and_the_rest_of_it_comes() {
    let mut rig = Rig::new(FINALLY);
    rig.on("a", &[status(400)]).on("y", &[status(400)]).start();
    let ends: Vec<String> = rig.journal.iter().map(rendering::line).collect();
    assert!(ends.iter().any(|line| line.starts_with("step_succeeded z")), "{ends:?}");
}

#[test]
fn cancel_gives_a_request_up_once() {
    let mut rig = Rig::new(FINALLY);
    rig.on("a", &[ok(json!(1)).after(9_000)]).open();
    let by = person("ada");
    let first = rig.send(Signal::Cancel { by: by.clone(), reason: None });
    let second = rig.send(Signal::Cancel { by: by.clone(), reason: None });
    assert_eq!((first, second), (Some(Reply::Done), Some(Reply::Done)));
    let aborts = rig.effects.iter().filter(|act| matches!(act, RunEffect::Abort { .. })).count();
    assert_eq!(aborts, 1);
    rig.settle();
    assert_eq!(rendering::stands(&rig), "canceled");
    assert_eq!(rig.cancel(), Reply::Done);
}

#[test]
fn what_was_answered_before_the_cancel_stays_done() {
    let mut rig =
        Rig::new("workflow: w\nsteps: [{id: a, run: api a:create}, {id: b, run: api b:get}]");
    rig.on("a", &[ok(json!(1)).after(50)]).open();
    // The request cannot be aborted in time, so it completes.
    let cancel = Signal::Cancel { by: person("ada"), reason: None };
    let id = "late".to_owned();
    rig.interpreter
        .handle(
            milepost_engine::interpreter::InterpreterInput::Signal { id, signal: cancel },
            rig.now_ms,
            &rig.world,
        )
        .map(|work| rig.journal.extend(work.entries))
        .expect("a cancel is legal");
    rig.settle();
    expect![[r#"
        attempt_started a #1 POST api a:create
        cancel_requested person ada
        attempt_succeeded a 1
        step_succeeded a
        run_canceled
        = canceled
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

#[test]
fn a_cancel_leaves_the_end_alone() {
    let mut rig = Rig::new(FINALLY);
    rig.on("y", &[ok(json!(1)).after(9_000)]).open();
    while !rig.world.sent.iter().any(|sent| sent.step == "y") {
        assert!(rig.turn());
    }
    rig.cancel();
    assert!(!rig.effects.iter().any(|act| matches!(act, RunEffect::Abort { .. })));
    assert_eq!(rendering::stands(&rig), "canceled");
}

#[test]
fn an_agent_can_still_work_on_the_end() {
    let mut rig = Rig::new(
        "
workflow: w
steps: [{id: a, prompt: Do it}]
finally: [{id: z, prompt: Tidy up}]
",
    );
    rig.start();
    rig.cancel();
    assert_eq!(rendering::stands(&rig), "waiting agent z");
    assert_eq!(rendering::reply(&rig.submit("z", json!("tidy"))), "accepted z");
    assert_eq!(rendering::stands(&rig), "canceled");
}

#[test]
fn a_paused_run_begins_nothing_new() {
    let mut rig = Rig::new(
        "
workflow: w
concurrency: 2
steps:
  - {id: a, run: api a:get}
  - {id: b, run: api b:get, depends_on: [a]}
  - {id: c, run: api c:get, repeat: {until: output.done, every: 1s}}
",
    );
    rig.on("c", &[ok(json!({"done": false})), ok(json!({"done": true}))]).open();
    let by = person("ada");
    rig.tell(Signal::Pause { by: by.clone() });
    assert_eq!(rendering::stands(&rig), "paused");
    assert_eq!(rig.world.sent.len(), 2, "neither the next step nor the next pass");
    assert_eq!(rig.tell(Signal::Pause { by: by.clone() }), Reply::Done);
    rig.tell(Signal::Unpause { by: by.clone() });
    expect![[r#"
        attempt_started a #1 GET api a:get
        attempt_started c #1 GET api c:get
        paused
        attempt_succeeded a {"n":9,"of":"a"}
        step_succeeded a
        attempt_succeeded c {"done":false}
        timer_set c at 1010
        timer_fired c
        resumed
        attempt_started c #1 GET api c:get
        attempt_started b #1 GET api b:get
        attempt_succeeded c {"done":true}
        step_succeeded c
        attempt_succeeded b {"n":9,"of":"b"}
        step_succeeded b
        run_succeeded
        = succeeded
    "#]]
    .assert_eq(&rendering::journal(&rig));
    let late = rig.tell(Signal::Pause { by });
    assert_eq!(rendering::reply(&late), "refused RUN_CONFLICT: the run has ended");
}

/// Both ways of continuing after a pause reach the child runs.
#[test]
fn the_runs_of_steps_pause_and_go_on_with_the_run() {
    for resumes in [false, true] {
        let mut rig = Rig::new("workflow: w\nsteps:\n  - {id: a, run: workflow other}\n");
        let outcome = ChildOutcome::Succeeded { output: json!(1) };
        rig.child("other", 60_000, outcome).open();
        rig.send(Signal::Pause { by: person("ada") });
        let seq = rig.state().seq;
        let signal = if resumes {
            let request = ResumeRequest::of(rig.state(), person("ada"));
            let plan = plan(&rig.flow, &rig.flow, rig.state(), &rig.world, &request);
            let resumption = Box::new(plan.expect("can go on").resumption);
            Signal::Resume { seq, resumption }
        } else {
            Signal::Unpause { by: person("ada") }
        };
        rig.send(signal);
        let told: Vec<bool> = rig
            .effects
            .iter()
            .filter_map(|effect| match effect {
                RunEffect::PauseChild { resume, .. } => Some(*resume),
                _ => None,
            })
            .collect();
        assert_eq!(told, [false, true], "resumes: {resumes}");
    }
}

#[test]
fn time_passes_as_authored() {
    let mut rig = Rig::new(
        "
workflow: w
steps:
  - {id: a, wait: 5m}
  - {id: b, wait: '2027-01-15T08:10:00Z'}
  - {id: c, set: {pause: 90s}}
  - {id: d, wait: '${{ steps.c.output.pause }}'}
  - {id: e, wait: '2020-01-01T00:00:00Z'}
  - {id: f, set: {pause: soon}}
  - {id: g, wait: '${{ steps.f.output.pause }}'}
",
    );
    rig.start();
    expect![[r#"
        timer_set a at 300000
        timer_fired a
        step_succeeded a
        timer_set b at 600000
        timer_fired b
        step_succeeded b
        step_succeeded c {"pause":"90s"}
        timer_set d at 690000
        timer_fired d
        step_succeeded d
        timer_set e at -222163200000
        timer_fired e
        step_succeeded e
        step_succeeded f {"pause":"soon"}
        step_failed g EXPRESSION_FAILED: `wait` must yield a duration or a timestamp: it yields `soon`
        run_failed g `wait` must yield a duration or a timestamp: it yields `soon`
        = failed EXPRESSION_FAILED: `wait` must yield a duration or a timestamp: it yields `soon`
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

#[test]
fn a_clock_that_is_set_back_does_not_set_the_run_back() {
    let mut rig = Rig::new("workflow: w\nsteps: [{id: a, wait: 5m}, {id: b, run: api b:get}]");
    rig.open();
    rig.now_ms = START_MS - 86_400_000;
    rig.handle(milepost_engine::interpreter::InterpreterInput::Tick);
    rig.settle();
    assert_eq!(rendering::stands(&rig), "succeeded");
    assert!(rig.journal.windows(2).all(|two| two[0].at_ms <= two[1].at_ms));
}

#[test]
fn a_run_that_takes_too_long_is_stopped() {
    let mut rig = Rig::with(FINALLY, &json!({}), |head| head.deadline_ms = START_MS + 1_000);
    rig.on("a", &[ok(json!(1)).after(9_000)]).open();
    assert_eq!(rig.interpreter.wakes_at(), Some(START_MS + 1_000));
    rig.pass(1_000).settle();
    expect![[r#"
        attempt_started a #1 POST api a:create
        cancel_requested engine deadline
        attempt_unknown a Network
        step_canceled a
        attempt_started y #1 DELETE api y:delete
        attempt_succeeded y {"n":9,"of":"y"}
        step_succeeded y
        step_skipped z: {"steps.a.status":"canceled","if":"steps.a.status == 'failed'"}
        run_failed the run took longer than its workflow allows
        = failed RUN_TIMEOUT: the run took longer than its workflow allows
    "#]]
    .assert_eq(&rendering::journal(&rig));
}

/// A question on Friday can be answered on Monday: only the time in which the run itself could go
/// on counts.
#[test]
fn waiting_for_a_person_takes_none_of_a_runs_time() {
    const TEXT: &str = "workflow: w\nsteps:\n  - {id: ok, approve: Go on?}\n  \
        - {id: rest, wait: 2s, depends_on: [ok]}\n";
    for (deadline, end) in [(1_000, "failed RUN_TIMEOUT"), (3_000, "succeeded")] {
        let mut rig = Rig::with(TEXT, &json!({}), |head| head.deadline_ms = START_MS + deadline);
        rig.open();
        assert_eq!(rig.interpreter.wakes_at(), None, "nothing happens on its own");
        rig.pass(3 * 86_400_000);
        rig.handle(InterpreterInput::Tick);
        assert_eq!(rig.waiting().len(), 1, "it still asks");
        let decided = rig.decision("ok", true);
        rig.send(Signal::Decide(decided));
        let left = START_MS + 3 * 86_400_000 + deadline.min(2_000);
        assert_eq!(rig.interpreter.wakes_at(), Some(left));
        rig.pass(2_000).settle();
        assert!(rendering::stands(&rig).starts_with(end), "{}", rendering::stands(&rig));
    }
}

#[test]
fn somebody_called_deadline_is_no_deadline() {
    let mut rig = Rig::new(FINALLY);
    rig.on("a", &[ok(json!(1)).after(9_000)]).open();
    rig.tell(Signal::Cancel { by: person("deadline"), reason: None });
    assert_eq!(rendering::stands(&rig), "canceled");
}

#[test]
fn an_unknown_outcome_is_written_down_when_a_run_is_stopped() {
    let mut rig = Rig::new(FINALLY);
    rig.on("a", &[broken(true)]).start();
    assert_eq!(rendering::stands(&rig), "waiting unknown a");
    rig.cancel();
    assert_eq!(rendering::stands(&rig), "canceled");
    assert!(rig.journal.iter().any(|one| matches!(one.event, Event::AttemptUnknown { .. })));
    rig.play(willing);
}

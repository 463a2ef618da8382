//! For every workflow, and wherever it failed, the cost of a resumption matches its forecast.

use std::fmt::Write;

use milepost_engine::Failure;
use milepost_engine::resume::{Origin, ResumeRequest};
use milepost_engine::state::Status;
use milepost_model::problem::Code;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::json;

use crate::resume_world::{Script, Story, failing, fits, table};

/// A step without its id: its action, its dependencies, and whether it has a condition.
#[derive(Debug, Clone)]
struct Sketch {
    kind: usize,
    waits: Vec<prop::sample::Index>,
    condition: usize,
    tolerant: bool,
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let waits = prop::collection::vec(any::<prop::sample::Index>(), 0..3);
    (0..13_usize, waits, 0..6_usize, prop::bool::weighted(0.2))
        .prop_map(|(kind, waits, condition, tolerant)| Sketch { kind, waits, condition, tolerant })
}

/// The action of a step; every step's output has `ok` and `list`.
fn action(kind: usize, before: Option<usize>) -> String {
    match (kind, before) {
        (0, _) => "run: \"shop orders:get\"".to_owned(),
        (1, _) => "run: \"shop mails:send\"".to_owned(),
        (2, _) => "prompt: Decision on it".to_owned(),
        (3, _) => "approve: Really?".to_owned(),
        (4, _) => "set: {ok: true, list: [1, 2]}".to_owned(),
        (5, _) => "for_each: \"${{ inputs.ids }}\", run: \"shop mails:send\"".to_owned(),
        (6, Some(before)) => {
            format!(
                "for_each: \"${{{{ steps.s{before}.output.list }}}}\", run: \"shop orders:get\""
            )
        }
        (7, Some(before)) => {
            format!(
                "run: \"shop mails:send\", with: {{text: \"${{{{ steps.s{before}.output }}}}\"}}"
            )
        }
        (8, _) => {
            let check = "{run: \"shop orders:get\", check: output.ok}";
            format!("prompt: Decision on it, verify: [{check}, {check}]")
        }
        (9, _) => "run: \"shop orders:get\", retry: {max_attempts: 3, on: [422]}".to_owned(),
        (10, _) => {
            let body = "[{id: bN, run: \"shop mails:send\"}, {id: cN, prompt: Look at it}]";
            format!("type: loop, loop: {{type: for, count: 2, maxIterations: 3}}, body: {body}")
        }
        (11, _) => {
            let repeat = "repeat: {until: output.ok, every: 1s, max_attempts: 3}";
            format!("run: \"shop orders:get\", {repeat}")
        }
        (12, _) => "wait: 5s".to_owned(),
        _ => "run: \"workflow other\"".to_owned(),
    }
}

fn condition(kind: usize, before: Option<usize>) -> String {
    match (kind, before) {
        (0, Some(before)) => format!(", if: steps.s{before}.status == 'succeeded'"),
        (1, Some(before)) => format!(", if: has(steps.s{before}.output)"),
        (2, _) => ", if: inputs.loud".to_owned(),
        (3, Some(_)) => ", needs: any".to_owned(),
        _ => String::new(),
    }
}

/// The source of a workflow.
fn text(sketches: &[Sketch], concurrency: usize) -> String {
    let mut text = format!("workflow: x\nconcurrency: {concurrency}\n");
    text.push_str("inputs: {ids: {type: array}, loud: {type: boolean}}\nsteps:\n");
    for (index, sketch) in sketches.iter().enumerate() {
        let waits: Vec<usize> = match index {
            0 => Vec::new(),
            _ => sketch.waits.iter().map(|wait| wait.index(index)).collect(),
        };
        // Only steps whose own output contains a list are read as one.
        let lists = |wait: &&usize| matches!(sketches[**wait].kind, 0 | 1 | 4);
        let before = waits.iter().find(lists).copied();
        let names: Vec<String> = waits.iter().map(|wait| format!("s{wait}")).collect();
        let tolerant = if sketch.tolerant { ", on_error: continue" } else { "" };
        let _ = writeln!(
            text,
            "  - {{id: s{index}, depends_on: [{}], {}{}{tolerant}}}",
            names.join(", "),
            // Ids must be unique within a workflow.
            action(sketch.kind, before).replace('N', &index.to_string()),
            condition(sketch.condition, before),
        );
    }
    text.push_str("finally:\n  - {id: last, run: \"shop logs:create\"}\n");
    text
}

fn broken(story: &Story, how: usize, which: usize) -> ResumeRequest {
    let request = story.request();
    let step = format!("s{which}");
    match how {
        0 | 1 => request,
        2 => ResumeRequest { origin: Origin::Step(step), ..request },
        3 => ResumeRequest { redo: vec![step], ..request },
        4 => ResumeRequest { origin: Origin::Start, ..request },
        5 => {
            let inputs = json!({"ids": [1, 2, 3, 4]}).as_object().cloned().unwrap_or_default();
            ResumeRequest { inputs, ..request }
        }
        6 => ResumeRequest { origin: Origin::Step(step), only: true, ..request },
        _ => ResumeRequest {
            overrides: [(step, json!({"ok": true, "list": [1]}))].into(),
            reason: Some("known".to_owned()),
            ..request
        },
    }
}

/// Steps whose cost is known in advance.
fn plain() -> impl Strategy<Value = Sketch> {
    let waits = prop::collection::vec(any::<prop::sample::Index>(), 0..3);
    let kinds = prop::sample::select(vec![0, 1, 2, 4, 5, 8, 9, 10, 12, 13]);
    let condition = prop::sample::select(vec![2, 5, 5, 5]);
    (kinds, waits, condition).prop_map(|(kind, waits, condition)| Sketch {
        kind,
        waits,
        condition,
        tolerant: false,
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        // A fixed seed, for the same cases every time; set `PROPTEST_RNG_SEED` for others.
        rng_seed: RngSeed::Fixed(5),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_ledger_is_as_forecast(
        sketches in prop::collection::vec(sketch(), 1..9),
        fails in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        concurrency in 1..4_usize,
        (how, which) in (0..8_usize, any::<prop::sample::Index>()),
        loud in any::<bool>(),
    ) {
        let text = text(&sketches, concurrency);
        let fails: Vec<String> = fails
            .iter()
            .map(|fail| fail.index(sketches.len()))
            .flat_map(|fail| {
                [
                    format!("s{fail}"),
                    format!("s{fail}@1"),
                    format!("s{fail}@1::b{fail}"),
                ]
            })
            .collect();
        let names: Vec<&str> = fails.iter().map(String::as_str).collect();
        let script = Script { rejects: failing(&names).fails, ..failing(&names) };
        let mut story = Story::run(&text, &json!({"ids": [1, 2], "loud": loud}), script);
        prop_assert!(story.status().has_ended(), "{text}");
        let request = broken(&story, how, which.index(sketches.len()));
        let Ok(plan) = story.plan(&request) else { return Ok(()) };
        let shown = table(&Ok(plan.clone()));
        let ledger = story.resume(&plan);
        prop_assert!(fits(&plan, ledger), "{text}\n{request:?}\n{shown}\n{ledger:?}");
        let ends = if request.only { Status::Failed } else { Status::Succeeded };
        // A step that reads a missing output fails before it costs anything.
        let unread = |failure: &Failure| failure.is(Code::ExpressionFailed);
        let mut steps = story.state().steps.values();
        let unread = steps.any(|step| step.failure.as_ref().is_some_and(unread));
        let ended = unread || story.status() == ends || story.status() == Status::Succeeded;
        prop_assert!(ended, "{text}\n{shown}\n{:?}", story.state().end);
    }

    /// If nothing is left to chance, the forecast is a single number, and it equals the cost.
    #[test]
    fn the_ledger_is_exactly_as_forecast(
        sketches in prop::collection::vec(plain(), 1..9),
        fail in any::<prop::sample::Index>(),
        (how, which) in (prop::sample::select(vec![0, 2, 3, 4, 6]), any::<prop::sample::Index>()),
        loud in any::<bool>(),
    ) {
        let text = text(&sketches, 1);
        let fail = fail.index(sketches.len());
        let names = [String::new(), "@1".to_owned(), format!("@1::b{fail}")];
        let names = names.map(|part| format!("s{fail}{part}"));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let inputs = json!({"ids": [1, 2], "loud": loud});
        let mut story = Story::run(&text, &inputs, failing(&names));
        let request = broken(&story, how, which.index(sketches.len()));
        let Ok(plan) = story.plan(&request) else { return Ok(()) };
        let shown = table(&Ok(plan.clone()));
        let ledger = story.resume(&plan);
        let forecast = &plan.forecast;
        let pairs = [
            (forecast.calls, ledger.calls),
            (forecast.writes, ledger.writes),
            (forecast.agent_steps, ledger.agent_steps),
            (forecast.children, ledger.children),
        ];
        for (forecast, paid) in pairs {
            let exact = forecast.least == paid && forecast.most == Some(paid);
            prop_assert!(exact, "{text}\n{request:?}\n{shown}\n{ledger:?}");
        }
    }
}

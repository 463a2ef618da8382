//! Runs are listed newest first, one page at a time, and found by a prefix of their id.

use std::time::{Duration, Instant};

use milepost_model::id::RunId;
use milepost_store::runs::{Cursor, Forgetting, RunFilter, RunRecord, RunStatus, RunSummary, Runs};

use super::{Now, fresh, id, new_of, new_run, open, record, standing, workflow};

/// Creates runs whose state depends on their number: every third failed, every fifth is open.
fn many(runs: &Runs, count: u64) -> Vec<RunId> {
    let all: Vec<RunId> = (0..count).map(|_| id()).collect();
    for (number, run) in (0..).zip(&all) {
        let status = match number {
            number if number % 5 == 0 => RunStatus::Waiting,
            number if number % 3 == 0 => RunStatus::Failed,
            _ => RunStatus::Succeeded,
        };
        let new = new_of(RunRecord {
            workflow: workflow(if number % 2 == 0 { "even" } else { "odd" }),
            workspace: format!("/w{}", number % 4),
            standing: standing(status),
            parent: (number % 7 == 1).then(|| all[0].clone()),
            ..record(run)
        });
        runs.create(new, None, |created| assert!(!created.expect("creates").already));
    }
    runs.forget_inputs(Forgetting::default()).expect("comes behind them");
    all
}

/// All results of a filter, page by page.
fn found(runs: &Runs, filter: &RunFilter, limit: usize) -> Vec<RunId> {
    let mut found = Vec::new();
    let mut filter = filter.clone();
    loop {
        let page = runs.list(&filter, limit).expect("lists");
        assert_eq!(page.unreadable, 0);
        assert!(page.runs.len() == limit || page.next.is_none());
        found.extend(page.runs.into_iter().map(|row| row.id));
        let Some(next) = page.next else { return found };
        // Passes the cursor on, as callers do.
        filter.before = Some(next);
    }
}

#[test]
fn every_filter_finds_what_meets_it_newest_first() {
    let (_root, runs) = fresh();
    let all = many(&runs, 120);
    let check = |filter: RunFilter, meets: &dyn Fn(usize) -> bool| {
        let expected = all.iter().enumerate().filter(|(number, _)| meets(*number));
        let expected: Vec<RunId> = expected.map(|(_, run)| run.clone()).rev().collect();
        assert!(!expected.is_empty());
        for limit in [1, 7, expected.len(), expected.len() + 1, 1_000] {
            assert_eq!(found(&runs, &filter, limit), expected, "{filter:?}");
        }
    };
    let any = RunFilter::default;
    let (even, w1) = (Some(workflow("even")), Some("/w1".to_owned()));
    let failed = |number: usize| number.is_multiple_of(3) && !number.is_multiple_of(5);
    check(any(), &|_| true);
    check(RunFilter { open_only: true, ..any() }, &|number| number % 5 == 0);
    check(RunFilter { status: Some(RunStatus::Failed), ..any() }, &failed);
    check(RunFilter { workflow: even.clone(), ..any() }, &|number| number % 2 == 0);
    check(RunFilter { workspace: w1.clone(), ..any() }, &|number| number % 4 == 1);
    check(RunFilter { parent: Some(all[0].clone()), ..any() }, &|number| number % 7 == 1);
    let both = RunFilter { workspace: w1, status: Some(RunStatus::Failed), ..any() };
    check(both, &|number| number % 4 == 1 && failed(number));
    let both = RunFilter { workflow: even, open_only: true, ..any() };
    check(both, &|number| number % 10 == 0);
    let none = RunFilter { workspace: Some("/none".to_owned()), ..any() };
    assert!(found(&runs, &none, 10).is_empty());
}

#[test]
fn a_page_that_was_begun_is_not_shifted_by_newer_runs() {
    let (_root, runs) = fresh();
    let all = many(&runs, 10);
    let first = runs.list(&RunFilter::default(), 4).expect("lists");
    many(&runs, 5);
    let rest = RunFilter { before: first.next, ..RunFilter::default() };
    let mut expected = all[..6].to_vec();
    expected.reverse();
    assert_eq!(found(&runs, &rest, 3), expected);
}

#[test]
fn an_id_is_found_by_its_beginning() {
    let (_root, runs) = fresh();
    let ids =
        ["00000000000000000000000000", "0000000000000000000000000z", "7zzzzzzzzzzzzzzzzzzzzzzzzz"]
            .map(|digits| RunId::parse(&format!("run_{digits}")).expect("is one"));
    for run in &ids {
        runs.create_now(new_run(run), None).expect("creates");
    }
    let found = |text: &str| runs.find_prefix(text).expect("finds");
    assert_eq!(found("7"), ids[2..]);
    assert_eq!(found("run_7zz"), ids[2..]);
    assert_eq!(found("0"), ids[..2]);
    assert_eq!(found(ids[0].as_str()), ids[..1]);
    assert_eq!(found("run_"), ids);
    for nothing in ["", "5", "%", "7_", "' OR 1", "7zzzzzzzzzzzzzzzzzzzzzzzzzz"] {
        assert!(found(nothing).is_empty(), "{nothing}");
    }
}

#[test]
fn the_run_that_succeeded_last_is_the_one_that_ended_last() {
    let (_root, runs) = fresh();
    assert_eq!(runs.newest_succeeded(&workflow("tidy-inbox")).expect("asks"), None);
    let of = |status, ended_ms| {
        let run = id();
        let standing = RunSummary { ended_ms, ..standing(status) };
        runs.create_now(new_of(RunRecord { standing, ..record(&run) }), None).expect("creates");
        run
    };
    let last = of(RunStatus::Succeeded, Some(300));
    of(RunStatus::Succeeded, Some(200));
    of(RunStatus::Failed, Some(400));
    of(RunStatus::Running, None);
    let newest = runs.newest_succeeded(&workflow("tidy-inbox")).expect("asks").expect("is there");
    assert_eq!(newest, last);
    assert_eq!(runs.newest_succeeded(&workflow("other")).expect("asks"), None);
}

/// The fastest of several attempts, because other work uses the machine too.
fn fastest<T>(mut work: impl FnMut() -> T) -> Duration {
    let time = |work: &mut dyn FnMut() -> T| {
        let before = Instant::now();
        work();
        before.elapsed()
    };
    (0..5).map(|_| time(&mut work)).min().unwrap_or_default()
}

#[test]
fn a_hundred_thousand_runs_are_opened_and_listed_at_once() {
    let (root, runs) = fresh();
    many(&runs, 200);
    drop(runs);
    // Copies existing rows; their contents make no difference to an index.
    let db = rusqlite::Connection::open(root.path().join("runs.db")).expect("opens");
    let copies = "INSERT INTO runs(id, workflow, title, text, actor, workspace, durability, \
                  created_ms, status, updated_ms, ended_ms, last_seq, head, seal, quarantined) \
                  SELECT 'run_' || printf('%026d', value), workflow, title, text, actor, \
                  workspace, durability, created_ms, 'succeeded', updated_ms, 20, last_seq, head, \
                  seal, 1 FROM generate_series JOIN runs ON key = 1 + value % 200";
    let copies = copies.replace(
        "generate_series",
        "(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n \
         WHERE value < 100000) SELECT value FROM n)",
    );
    db.execute_batch(&copies).expect("copies");
    drop(db);
    let opened = fastest(|| open(root.path()));
    assert!(opened < Duration::from_millis(300), "opening took {opened:?}");
    let runs = open(root.path());
    let any = RunFilter::default;
    for filter in [
        any(),
        RunFilter { open_only: true, ..any() },
        RunFilter { status: Some(RunStatus::Succeeded), ..any() },
        RunFilter { status: Some(RunStatus::Failed), ..any() },
        RunFilter { workflow: Some(workflow("even")), ..any() },
        RunFilter { workspace: Some("/w1".to_owned()), ..any() },
        RunFilter { workspace: Some("/w1".to_owned()), status: Some(RunStatus::Failed), ..any() },
        RunFilter { before: Some(Cursor(50_000)), ..any() },
    ] {
        let took = fastest(|| runs.list(&filter, 20).expect("lists"));
        assert!(took < Duration::from_millis(5), "{filter:?} took {took:?}");
    }
    let took = fastest(|| runs.newest_succeeded(&workflow("even")));
    assert!(took < Duration::from_millis(5), "the newest took {took:?}");
    let took = fastest(|| runs.adrift(1, None, 10, super::glance()).expect("asks"));
    assert!(took < Duration::from_millis(5), "those adrift took {took:?}");
}

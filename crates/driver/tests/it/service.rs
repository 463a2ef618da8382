//! Guarantees of a service besides finishing runs: everything is done once, every observer sees it,
//! and processes that share a store take over from one another.

use std::time::Duration;

use milepost_driver::{RunError, RunService, Snapshot, Until, WaitOptions};
use milepost_engine::event::Event;
use milepost_engine::ports::{JournalError, MessageId, RunFilter, RunStatus};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::Status;
use milepost_engine::view::Waiting;
use milepost_model::id::RunId;
use serde_json::json;

use crate::chance::Chance;
use crate::life::{Death, Life};
use crate::place::{Here, InMemory, Place, backends, run_id};
use crate::player::{Player, cancel, decide, person, settled, submit, tell, willing};
use crate::rendering;
use crate::world::{Servers, Start, ok};

const ASKS: &str = "
workflow: w
steps:
  - {id: ok, approve: Shall I?}
  - {id: b, run: api b:create, depends_on: [ok]}
";

const PROMPT: &str = "
workflow: w
steps:
  - {id: a, prompt: Do it}
  - {id: b, run: api b:create, depends_on: [a]}
";

const SLOW: &str = "
workflow: w
steps:
  - {id: a, run: api a:create}
  - {id: b, run: api b:create, depends_on: [a]}
";

/// Runs a check at a new place of each kind.
fn everywhere(check: &impl AsyncFn(Here<'_>)) {
    for (name, backend) in backends() {
        let place = Place::new(backend, Servers::new(&[]));
        place.visit(async |here| check(here).await);
        place.servers.check_once(name);
    }
}

fn message(text: &str) -> MessageId {
    MessageId::parse(text).expect("is an id")
}

/// The approval of the question that a run asks.
fn yes(snapshot: &Snapshot) -> Signal {
    match snapshot.waiting().as_slice() {
        [Waiting::Approval(request)] => decide(request, true),
        other => panic!("asks nothing: {other:?}"),
    }
}

async fn events_of(runs: &dyn RunService, run: &RunId) -> Vec<&'static str> {
    let news = runs.events(run, 0).await.expect("reads");
    news.entries.iter().map(|entry| entry.event.name()).collect()
}

async fn count(runs: &dyn RunService, run: &RunId, event: &str) -> usize {
    events_of(runs, run).await.into_iter().filter(|name| *name == event).count()
}

#[test]
fn a_message_that_is_told_twice_is_told_once() {
    everywhere(&async |here| {
        let runs = here.runs();
        let run = here.start(Start::of(run_id(1), PROMPT)).await;
        settled(runs, &run).await;
        let signal = submit("a", None, json!("done"));
        let first =
            runs.send(&run, tell(signal.clone(), Some(message("m")))).await.expect("is sent");
        assert!(matches!(first, Some(Reply::Accepted { .. })), "{first:?}");
        let second = runs.send(&run, tell(signal, Some(message("m")))).await.expect("is sent");
        assert_eq!(second, first);
        // A different message with the same id has no effect; the first answer is kept.
        let other = runs.send(&run, tell(cancel(), Some(message("m")))).await.expect("is sent");
        assert_eq!(other, first);
        let last = settled(runs, &run).await;
        assert_eq!(last.status(), Status::Succeeded);
        assert_eq!(count(runs, &run, "submission_accepted").await, 1);
        // A message to another run under this id is refused.
        let beside = here.start(Start::of(run_id(2), PROMPT)).await;
        let refused = runs.send(&beside, tell(cancel(), Some(message("m")))).await;
        let is_other = matches!(refused, Err(RunError::Journal(JournalError::OtherRun { .. })));
        assert!(is_other, "{refused:?}");
        assert_eq!(settled(runs, &beside).await.status(), Status::Waiting);
    });
}

#[test]
fn a_run_that_is_started_twice_is_started_once() {
    everywhere(&async |here| {
        let runs = here.runs();
        let first = here.start(Start::of(run_id(1), ASKS)).await;
        // A second start with the same id does not replace the first, even with another workflow.
        let second = here.start(Start::of(run_id(1), PROMPT)).await;
        assert_eq!(first, second);
        let asked = settled(runs, &first).await;
        runs.send(&first, tell(yes(&asked), None)).await.expect("is sent");
        assert_eq!(settled(runs, &first).await.status(), Status::Succeeded);
        assert_eq!(here.start(Start::of(run_id(1), ASKS)).await, first);
        assert_eq!(count(runs, &first, "run_created").await, 1);
        assert_eq!(here.servers().sent().len(), 1);
        assert_eq!(runs.list(&RunFilter::default(), 10).await.expect("lists").runs.len(), 1);
    });
}

/// The run once it has changed since the last call, or after the timeout; the first call returns at
/// once.
async fn next(
    runs: &dyn RunService,
    run: &RunId,
    seen: &mut Option<u64>,
    patience: Duration,
) -> Snapshot {
    if let Some(after) = *seen {
        let gather = Duration::ZERO;
        let wait = WaitOptions { after, until: Until::Rest, patience, gather };
        runs.wait(run, wait).await.expect("waits");
    }
    let snapshot = runs.snapshot(run).await.expect("looks");
    *seen = Some(snapshot.state.seq);
    snapshot
}

#[test]
fn whoever_watches_sees_a_run_change() {
    everywhere(&async |here| {
        let (runs, mut seen) = (here.runs(), None);
        here.servers().on("b:create", &[ok(json!(1)).after(5_000)]);
        let run = here.start(Start::of(run_id(1), ASKS)).await;
        let asked = next(runs, &run, &mut seen, Duration::from_secs(1)).await;
        assert_eq!(asked.status(), Status::Waiting);
        // Nothing happens, so the same state is returned after the timeout.
        let before = here.now_ms();
        let same = next(runs, &run, &mut seen, Duration::from_secs(30)).await;
        assert_eq!(same.state.seq, asked.state.seq);
        assert!(here.now_ms() - before >= 30_000, "it waited");
        runs.send(&run, tell(yes(&asked), None)).await.expect("is sent");
        let mut all = vec![asked];
        while !all.last().is_some_and(|last| last.status().has_ended()) {
            all.push(next(runs, &run, &mut seen, Duration::from_mins(1)).await);
        }
        let seqs: Vec<u64> = all.iter().map(|one| one.state.seq).collect();
        assert!(seqs.is_sorted_by(|a, b| a < b), "each is later than the last: {seqs:?}");
        let stands: Vec<&str> = all.iter().map(|one| one.status().name()).collect();
        assert_eq!(stands, ["waiting", "running", "succeeded"]);
        let last = all.last().expect("is one");
        assert_eq!(runs.snapshot(&run).await.expect("looks").state, last.state);
    });
}

#[test]
fn runs_are_found_and_listed() {
    everywhere(&async |here| {
        let runs = here.runs();
        let none = runs.find("run_0").await;
        assert!(matches!(none, Err(RunError::Unknown { none_at_all: true, .. })), "{none:?}");
        for number in 1..=5 {
            here.start(Start::of(run_id(number << 40), ASKS)).await;
        }
        let run = run_id(3 << 40);
        runs.send(&run, tell(cancel(), None)).await.expect("is sent");
        assert_eq!(settled(runs, &run).await.status(), Status::Canceled);
        let mut filter = RunFilter { open_only: true, ..RunFilter::default() };
        let mut listed = Vec::new();
        loop {
            let page = runs.list(&filter, 3).await.expect("lists");
            listed.extend(page.runs.into_iter().map(|record| record.id));
            filter.before = page.next;
            if page.next.is_none() {
                break;
            }
        }
        assert_eq!(listed, [5, 4, 2, 1].map(|number| run_id(number << 40)), "newest first");
        let canceled = RunFilter { status: Some(RunStatus::Canceled), ..RunFilter::default() };
        assert_eq!(runs.list(&canceled, 9).await.expect("lists").runs[0].id, run);
        let tally = runs.tally().await.expect("counts");
        assert_eq!(tally.waiting, [("approval".to_owned(), 4)]);
        assert_eq!(tally.runs, [("canceled".to_owned(), 1), ("waiting".to_owned(), 4)]);
        let prefix = &run.as_str()[..22];
        assert_eq!(runs.find(prefix).await.expect("is the only one"), run);
        let several = runs.find("run_0").await;
        assert!(matches!(several, Err(RunError::Ambiguous { .. })), "{several:?}");
        let gone = runs.snapshot(&run_id(77)).await;
        assert!(matches!(gone, Err(RunError::Journal(JournalError::NotFound { .. }))), "{gone:?}");
        runs.health().await.expect("answers");
    });
}

#[test]
fn what_is_told_to_one_process_reaches_the_run_that_another_drives() {
    everywhere(&async |here| {
        here.servers().on("a:create", &[ok(json!(1)).after(20_000)]);
        let run = here.start(Start::of(run_id(1), SLOW)).await;
        let beside = here.beside(&Life::new(None, None));
        assert!(!beside.runs().acquire(&run).await.expect("asks"), "somebody drives it");
        assert!(!beside.runs().is_orphaned(&run).await.expect("asks"));
        let pause = Signal::Pause { by: person() };
        let told = beside.runs().send(&run, tell(pause, None)).await.expect("is sent");
        assert_eq!(told, Some(Reply::Done));
        assert_eq!(beside.runs().snapshot(&run).await.expect("looks").status(), Status::Paused);
        // The request is in flight, so the run stays as it is until the response arrives.
        let paused = settled(here.runs(), &run).await;
        assert_eq!(paused.status(), Status::Paused);
        here.runs().idle().await;
        assert_eq!(here.servers().sent().len(), 1, "nothing new begins");
        let go_on = Signal::Unpause { by: person() };
        let told = beside.runs().send(&run, tell(go_on, None)).await.expect("is sent");
        assert_eq!(told, Some(Reply::Done));
        assert_eq!(settled(here.runs(), &run).await.status(), Status::Succeeded);
        assert_eq!(settled(beside.runs(), &run).await.status(), Status::Succeeded);
    });
}

/// Starts a run with an unrepeatable write in flight, and a run that is waiting.
async fn busy(here: &Here<'_>) -> [RunId; 2] {
    here.servers().on("a:create", &[ok(json!(1)).after(20_000)]);
    let slow = here.start(Start::of(run_id(1), SLOW)).await;
    let asks = here.start(Start::of(run_id(2), ASKS)).await;
    settled(here.runs(), &asks).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    [slow, asks]
}

#[test]
fn the_runs_of_a_process_that_died_are_adopted() {
    everywhere(&async |here| {
        let life = Life::new(None, None);
        let dead = here.beside(&life);
        let [slow, asks] = busy(&dead).await;
        here.runs().adopt_orphans().await.expect("looks");
        assert_eq!(here.servers().sent().len(), 1, "it is driven, so it is no orphan");
        assert!(!here.runs().is_orphaned(&slow).await.expect("asks"));
        life.die();
        drop(dead);
        // The process is known to be gone, or its lease expires.
        while !here.runs().is_orphaned(&slow).await.expect("asks") {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let orphan = here.runs().snapshot(&slow).await.expect("looks");
        assert!(orphan.orphaned && orphan.status() == Status::Running);
        here.runs().adopt_orphans().await.expect("looks");
        let lost = settled(here.runs(), &slow).await;
        let is_asked = matches!(lost.waiting().as_slice(), [Waiting::Unknown { .. }]);
        assert!(is_asked, "nobody knows what became of its request: {:?}", lost.waiting());
        let mut player = Player::new(willing);
        assert_eq!(player.play(&here, &slow).await.status(), Status::Succeeded);
        assert_eq!(player.play(&here, &asks).await.status(), Status::Succeeded);
        assert_eq!(here.servers().sent().len(), 3);
    });
}

#[test]
fn shutdown_sees_a_write_through_and_begins_nothing_new() {
    everywhere(&async |here| {
        let left = here.beside(&Life::new(None, None));
        let [slow, asks] = busy(&left).await;
        let before = here.now_ms();
        left.runs().shutdown(Duration::from_mins(2)).await.expect("leaves");
        let took = here.now_ms() - before;
        assert!((15_000..60_000).contains(&took), "it waited for the answer: {took} ms");
        let commands = |here: &Here<'_>| {
            let sent = here.servers().sent().into_iter();
            sent.map(|sent| sent.command).collect::<Vec<_>>()
        };
        assert_eq!(commands(&here), ["api a:create"], "what follows is not begun");
        let names = events_of(here.runs(), &slow).await;
        assert!(names.contains(&"attempt_succeeded"), "the answer is written down: {names:?}");
        assert!(here.runs().is_orphaned(&slow).await.expect("asks"), "it belongs to nobody");
        assert!(!left.runs().acquire(&slow).await.expect("asks"), "who leaves takes nothing up");
        here.runs().adopt_orphans().await.expect("looks");
        assert_eq!(settled(here.runs(), &slow).await.status(), Status::Succeeded);
        let names = events_of(here.runs(), &slow).await;
        assert!(!names.contains(&"attempt_unknown"), "nothing was lost: {names:?}");
        assert_eq!(Player::new(willing).play(&here, &asks).await.status(), Status::Succeeded);
        assert_eq!(commands(&here), ["api a:create", "api b:create", "api b:create"]);
    });
}

#[test]
fn a_process_that_cannot_wait_gives_its_runs_back_at_once() {
    everywhere(&async |here| {
        let left = here.beside(&Life::new(None, None));
        let [slow, _] = busy(&left).await;
        left.runs().shutdown(Duration::from_secs(1)).await.expect("leaves");
        assert!(here.runs().is_orphaned(&slow).await.expect("asks"), "it belongs to nobody");
        let mut player = Player::new(willing);
        let last = player.play(&here, &slow).await;
        assert_eq!(rendering::end(&last.state), "succeeded");
        let names = events_of(here.runs(), &slow).await;
        assert!(names.contains(&"attempt_unknown"), "a person was asked: {names:?}");
    });
}

#[test]
fn a_run_without_its_secret_pauses_and_goes_on_once_it_is_there() {
    everywhere(&async |here| {
        let runs = here.runs();
        here.servers().withhold("b:create", true);
        let run = here.start(Start::of(run_id(1), SLOW)).await;
        let paused = settled(runs, &run).await;
        assert_eq!(paused.status(), Status::Paused);
        let news = runs.events(&run, 0).await.expect("reads");
        let by = news.entries.iter().find_map(|entry| match &entry.event {
            Event::Paused { by } => Some(by.name.as_str()),
            _ => None,
        });
        assert_eq!(by, Some("secrets"), "{}", rendering::events(&news.entries));
        assert_eq!(here.servers().sent().len(), 1, "nothing was sent without it");
        here.servers().withhold("b:create", false);
        let go_on = tell(Signal::Unpause { by: person() }, None);
        assert_eq!(runs.send(&run, go_on).await.expect("is sent"), Some(Reply::Done));
        assert_eq!(settled(runs, &run).await.status(), Status::Succeeded);
    });
}

/// A submission is accepted but cannot be judged until the paused run continues. Its sender waits,
/// without acquiring the run over and over in the meantime.
#[test]
fn waiting_for_the_verdict_of_a_paused_run_costs_nothing() {
    const VERIFIED: &str = "
workflow: w
steps:
  - {id: a, prompt: Do it, verify: [{run: api v:get, check: output.n == 9}]}
";
    everywhere(&async |here| {
        let life = Life::new(None, Some(Chance(1)));
        let beside = here.beside(&life);
        let runs = beside.runs();
        let run = beside.start(Start::of(run_id(1), VERIFIED)).await;
        settled(runs, &run).await;
        runs.send(&run, tell(Signal::Pause { by: person() }, None)).await.expect("is sent");
        let before = life.writes();
        let done = tell(submit("a", None, json!("done")), Some(message("m")));
        assert_eq!(runs.send(&run, done.clone()).await.expect("is sent"), None);
        let wrote = life.writes() - before;
        assert!(wrote < 60, "{wrote} writes while nothing happened");
        runs.send(&run, tell(Signal::Unpause { by: person() }, None)).await.expect("is sent");
        assert_eq!(settled(runs, &run).await.status(), Status::Succeeded);
        let verdict = runs.send(&run, done).await.expect("is sent");
        assert!(matches!(verdict, Some(Reply::Accepted { .. })), "{verdict:?}");
    });
}

/// A pause intended for child runs is not lost with the process that should have forwarded it.
#[test]
fn a_pause_reaches_inner_runs_though_the_process_dies() {
    const OUTER: &str = "
workflow: w
steps:
  - {id: a, run: workflow inner}
";
    const INNER: &str = "
workflow: inner
steps:
  - {id: p, wait: 5m}
  - {id: i, run: api i:create, depends_on: [p]}
";
    let run = run_id(1);
    for resumes in [false, true] {
        for after in 1..8 {
            let servers = Servers::new(&[("inner", INNER)]);
            let place = Place::new(Box::new(InMemory::default()), servers);
            place.visit(async |here| {
                here.start(Start::of(run.clone(), OUTER)).await;
                tokio::time::sleep(Duration::from_secs(7)).await;
                if resumes {
                    let pause = tell(Signal::Pause { by: person() }, None);
                    here.runs().send(&run, pause).await.expect("is sent");
                    here.runs().delivered().await;
                }
            });
            // The process dies somewhere between receiving and forwarding the pause.
            let life = Life::new(Some(Death { after, acted: true }), None);
            let by = person();
            let signal = if resumes { Signal::Unpause { by } } else { Signal::Pause { by } };
            let signal = tell(signal, Some(message("m")));
            place.live(&life, async |here| {
                here.tend();
                here.runs().send(&run, signal.clone()).await.expect("is sent");
                here.runs().delivered().await;
            });
            place.visit(async |here| {
                here.tend();
                here.runs().send(&run, signal.clone()).await.expect("is sent");
                tokio::time::sleep(Duration::from_secs(30)).await;
                let wanted = if resumes { Status::Running } else { Status::Paused };
                for record in rendering::records(here.runs()).await {
                    let snapshot = here.runs().snapshot(&record.id).await.expect("looks");
                    let all = rendering::all(here.runs()).await;
                    assert_eq!(snapshot.status(), wanted, "{resumes} {after}: {all}");
                }
            });
        }
    }
}

/// Looking at a question, deciding on it and following the run reads the journal once: taking the
/// run over reads only new events.
#[test]
fn deciding_on_a_run_loads_its_journal_once() {
    let (run, memory) = (run_id(1), InMemory::default());
    let store = memory.store();
    let place = Place::new(Box::new(memory), Servers::new(&[]));
    place.visit(async |here| {
        here.start(Start::of(run.clone(), ASKS)).await;
        settled(here.runs(), &run).await;
    });
    let before = store.loads();
    place.visit(async |here| {
        let asked = here.runs().snapshot(&run).await.expect("looks");
        here.runs().send(&run, tell(yes(&asked), None)).await.expect("is sent");
        assert_eq!(settled(here.runs(), &run).await.status(), Status::Succeeded);
    });
    assert_eq!(store.loads() - before, 1);
}

const SLEEPS: &str = "
workflow: w
steps:
  - {id: a, run: api a:create}
  - {id: w, wait: 10m}
  - {id: b, run: api b:create, depends_on: [w]}
";

/// A run that is waiting for a time is held by nobody, and continues within a second of that time.
#[test]
fn a_run_that_sleeps_belongs_to_nobody_and_wakes_in_time() {
    everywhere(&async |here| {
        let runs = here.runs();
        let started = here.now_ms();
        let run = here.start(Start::of(run_id(1), SLEEPS)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let record = runs.list(&RunFilter::default(), 1).await.expect("lists").runs.remove(0);
        assert!(record.standing.is_asleep(), "{record:?}");
        assert!(!runs.is_orphaned(&run).await.expect("asks"), "it is woken from here");
        assert_eq!(runs.snapshot(&run).await.expect("looks").status(), Status::Running);
        // Nobody holds the run, so another process could drive it.
        let beside = here.beside(&Life::new(None, None));
        let told = Signal::Pause { by: person() };
        let told = beside.runs().send(&run, tell(told, None)).await.expect("is sent");
        assert_eq!(told, Some(Reply::Done));
        let go_on = Signal::Unpause { by: person() };
        beside.runs().send(&run, tell(go_on, None)).await.expect("is sent");
        drop(beside);
        let last = settled(runs, &run).await;
        assert_eq!(last.status(), Status::Succeeded);
        let took = last.state.now_ms - started;
        assert!((600_000..601_100).contains(&took), "{took} ms");
    });
}

/// A process that serves all runs wakes those that other processes left sleeping.
#[test]
fn a_run_is_woken_by_whoever_is_there() {
    for (name, backend) in backends() {
        let place = Place::new(backend, Servers::new(&[]));
        let run = place.visit(async |here| {
            let run = here.start(Start::of(run_id(1), SLEEPS)).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            run
        });
        let began = place.visit(async |here| {
            here.tend();
            tokio::time::sleep(Duration::from_mins(5)).await;
            let began = here.runs().snapshot(&run).await.expect("looks");
            assert_eq!(began.status(), Status::Running, "{name}");
            settled(here.runs(), &run).await
        });
        assert_eq!(began.status(), Status::Succeeded, "{name}");
        let took = began.state.now_ms - began.state.began_ms;
        assert!((600_000..601_100).contains(&took), "{name}: {took} ms");
        place.servers.check_once(name);
    }
}

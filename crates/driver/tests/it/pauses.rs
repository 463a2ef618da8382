//! A run and its child runs pause and continue together, even if a process dies in between.

use std::time::Duration;

use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::Status;
use milepost_model::id::RunId;

use crate::life::{Death, Life};
use crate::place::{Backend, Here, InMemory, OnDisk, Place, run_id};
use crate::player::{person, tell};
use crate::world::{Servers, Start};

const OUTER: &str = "
workflow: outer
concurrency: 4
steps:
  - id: kids
    for_each: \"${{ [0, 1, 2, 3] }}\"
    as: n
    concurrency: 4
    run: workflow inner
    with: {n: \"${{ n }}\"}
";

const INNER: &str = "
workflow: inner
inputs: {n: {type: number}}
steps:
  - {id: a, run: api a:create, idempotent: true}
  - {id: w, wait: 5s}
  - {id: b, run: api b:create, idempotent: true, depends_on: [w]}
";

fn place(backend: Box<dyn Backend>) -> Place {
    Place::new(backend, Servers::new(&[("inner", INNER)]))
}

async fn say(here: &Here<'_>, run: &RunId, signal: Signal) -> Option<Reply> {
    here.runs().send(run, tell(signal, None)).await.expect("is sent")
}

/// Starts the outer run and pauses it after a delay. Once the pause is acknowledged, nothing is
/// sent.
fn pause(place: &Place, life: &Life, after: Duration) -> RunId {
    let run = run_id(1);
    let own = run.clone();
    place.live(life, async |here| {
        here.start(Start::of(own.clone(), OUTER)).await;
        tokio::time::sleep(after).await;
        let reply = say(&here, &own, Signal::Pause { by: person() }).await;
        assert_eq!(reply, Some(Reply::Done), "after {after:?}");
        let sent = here.servers().sent().len();
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(here.servers().sent().len(), sent, "paused after {after:?}, and it goes on");
    });
    run
}

/// Brings a run to its end in an undisturbed process.
fn finish(place: &Place, run: &RunId, told: &str) {
    place.visit(async |here| {
        here.tend();
        let mut status = None;
        for _ in 0..600 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let snapshot = here.runs().snapshot(run).await.expect("looks");
            match snapshot.status() {
                // The earlier process died before the run was unpaused.
                Status::Paused => drop(say(&here, run, Signal::Unpause { by: person() }).await),
                Status::Succeeded => return,
                other => status = Some(other),
            }
        }
        panic!("{told}: it is stuck: {status:?}");
    });
    place.servers.check_once(told);
}

fn check(backend: &dyn Fn() -> Box<dyn Backend>, after: usize, acted: bool) {
    let place = place(backend());
    let run = pause(&place, &Life::new(None, None), Duration::from_millis(300));
    let told = format!("dies after {after} writes, acted: {acted}");
    let life = Life::new(Some(Death { after, acted }), None);
    place.live(&life, async |here| {
        say(&here, &run, Signal::Unpause { by: person() }).await;
        tokio::time::sleep(Duration::from_mins(2)).await;
    });
    finish(&place, &run, &told);
}

/// The number of points in time to try.
fn moments(usual: usize) -> usize {
    let count = std::env::var("MILEPOST_PAUSES").ok().and_then(|count| count.parse().ok());
    count.unwrap_or(usual)
}

/// The process that resumes the outer run dies after each of its writes while it notifies the inner
/// runs.
#[test]
fn a_run_with_paused_children_is_never_stuck() {
    let memory = || -> Box<dyn Backend> { Box::new(InMemory::default()) };
    let disk = || -> Box<dyn Backend> { Box::new(OnDisk::new()) };
    for number in 0..moments(40) {
        check(&memory, 1 + number / 2, number % 2 == 0);
    }
    for number in 0..moments(6) {
        check(&disk, 2 + number, number % 2 == 0);
    }
}

/// A pause reaches inner runs that are just being recorded.
#[test]
fn a_pause_reaches_runs_that_are_just_beginning() {
    for after in [0, 1, 2, 5, 20, 5_020] {
        let place = place(Box::new(InMemory::default()));
        let run = pause(&place, &Life::new(None, None), Duration::from_millis(after));
        finish(&place, &run, &format!("paused after {after} ms"));
    }
}

//! Interrupts every scenario after every write of a process, before and after the resulting
//! actions. Each must reach the same end with the same effects, repeat nothing unrepeatable, and
//! ask about unknown outcomes.

use std::collections::BTreeSet;
use std::sync::Arc;

use milepost_driver::RunService;
use milepost_engine::event::{Event, JournalEntry};
use milepost_engine::ports::RunFilter;
use milepost_engine::state::{Phase, State};
use milepost_model::id::RunId;

use crate::chance::count;
use crate::life::{Death, Life};
use crate::place::{Backend, InMemory, OnDisk, Place};
use crate::player::Player;
use crate::rendering;
use crate::scenarios::{ALL, Scenario};

/// The result of a scenario without interruptions.
struct Whole {
    outcome: String,
    effects: BTreeSet<String>,
    writes: usize,
}

impl Whole {
    fn of(scenario: &Scenario, place: &Place) -> Whole {
        let (life, mut player) = (Life::new(None, None), Player::new(scenario.cast));
        let outcome = place.live(&life, async |here| scenario.play(&here, &mut player).await);
        place.servers.check_once(scenario.name);
        let (outcome, effects) = (outcome.expect("nobody died"), place.servers.effects());
        Whole { outcome, effects, writes: life.writes() }
    }
}

/// The events of all runs.
async fn journals(runs: &dyn RunService) -> Vec<(RunId, Vec<Arc<JournalEntry>>)> {
    let mut all = Vec::new();
    for record in runs.list(&RunFilter::default(), 100).await.expect("lists").runs {
        let news = runs.events(&record.id, 0).await.expect("reads");
        all.push((record.id, news.entries));
    }
    all
}

fn folded(entries: &[Arc<JournalEntry>]) -> State {
    let state = State::fold(entries.iter().map(|entry| &**entry)).expect("is legal");
    state.expect("has begun")
}

/// Unrepeatable requests that were in flight when the process died: the run, and the event that
/// started them.
fn lost(journals: &[(RunId, Vec<Arc<JournalEntry>>)]) -> Vec<(RunId, u64)> {
    let of_run = |(run, entries): &(RunId, Vec<Arc<JournalEntry>>)| {
        let state = folded(entries);
        let calls = state.open().filter_map(|(_, step)| match &step.phase {
            Phase::Calling(attempt) if !attempt.repeatable => step.attempt_seq,
            _ => None,
        });
        calls.map(|seq| (run.clone(), seq)).collect::<Vec<_>>()
    };
    journals.iter().flat_map(of_run).collect()
}

/// Whether a person was asked about the outcome of a request.
fn is_asked(journals: &[(RunId, Vec<Arc<JournalEntry>>)], (run, seq): &(RunId, u64)) -> bool {
    let entries = journals.iter().find(|(of, _)| of == run).map(|(_, entries)| entries);
    let entries = entries.expect("no run is lost");
    let key = entries.iter().find_map(|entry| match &entry.event {
        Event::AttemptStarted(attempt) if entry.seq == *seq => Some(&attempt.key),
        _ => None,
    });
    entries.iter().filter(|entry| entry.seq > *seq).any(
        |entry| matches!(&entry.event, Event::AttemptUnknown { key: of, .. } if Some(of) == key),
    )
}

/// Lets processes die one after the other, then lets one bring the run to its end. Returns how many
/// died.
fn check_crash(scenario: &Scenario, whole: &Whole, place: &Place, deaths: &[Death]) -> usize {
    let told = format!("{} {deaths:?}", scenario.name);
    let (mut player, mut died) = (Player::new(scenario.cast), 0);
    for death in deaths {
        let life = Life::new(Some(*death), None);
        let lived = place.live(&life, async |here| scenario.play(&here, &mut player).await);
        died += usize::from(lived.is_none());
    }
    let (outcome, left, journals) = place.visit(async |here| {
        let left = lost(&journals(here.runs()).await);
        let outcome = scenario.play(&here, &mut player).await;
        here.runs().idle().await;
        (outcome, left, journals(here.runs()).await)
    });
    let show =
        || journals.iter().map(|(_, entries)| rendering::events(entries)).collect::<Vec<_>>();
    assert_eq!(outcome, whole.outcome, "{told}\n{}", show().join("\n\n"));
    assert_eq!(place.servers.effects(), whole.effects, "{told}\n{}", show().join("\n\n"));
    place.servers.check_once(&told);
    for one in left {
        assert!(is_asked(&journals, &one), "{told}: {one:?}\n{}", show().join("\n\n"));
    }
    for (_, entries) in &journals {
        assert!(folded(entries).end.is_some(), "{told}: a run is left over");
    }
    died
}

fn in_memory() -> Box<dyn Backend> {
    Box::new(InMemory::default())
}

#[test]
fn every_scenario_survives_a_crash_after_every_write() {
    let mut crashes = 0;
    for scenario in ALL {
        let whole = Whole::of(scenario, &scenario.place(in_memory()));
        for after in 1..=whole.writes {
            for acted in [false, true] {
                let death = Death { after, acted };
                let died = check_crash(scenario, &whole, &scenario.place(in_memory()), &[death]);
                assert!(died == 1 || acted, "{} {death:?}: it lived on", scenario.name);
                crashes += died;
            }
        }
    }
    assert!(crashes > 350, "only {crashes}");
}

/// Results on disk are the same as in memory.
#[test]
fn every_scenario_survives_some_crashes_on_disk() {
    let some = usize::try_from(count("MILEPOST_CRASHES", 1)).unwrap_or(1);
    for (index, scenario) in ALL.iter().enumerate() {
        let whole = Whole::of(scenario, &scenario.place(in_memory()));
        let place = || scenario.place(Box::new(OnDisk::new()));
        for number in (index * 5..).take(some) {
            let death = Death { after: 1 + number % whole.writes, acted: number % 2 == 0 };
            check_crash(scenario, &whole, &place(), &[death]);
        }
    }
}

/// The process that takes a run over dies as well, and so does the next one.
#[test]
fn every_scenario_survives_crashes_one_after_the_other() {
    for scenario in ALL {
        let open = || scenario.place(in_memory());
        let whole = Whole::of(scenario, &open());
        for after in 1..=whole.writes {
            let first = Death { after, acted: true };
            let next = [1, 2, 3].map(|after| Death { after, acted: after == 3 });
            let deaths = [first, next[0], next[1], next[2]];
            check_crash(scenario, &whole, &open(), &deaths);
        }
    }
}

//! Interrupts every scenario after every entry, before and after the resulting effects. Each must
//! reach the same end with the same effects on the world.

use std::collections::{BTreeMap, BTreeSet};

use milepost_engine::event::{Event, JournalEntry};
use milepost_engine::state::{Phase, State};

use crate::rendering;
use crate::rig::{Crash, Rig};
use crate::scenarios::{ALL, Scenario};

fn effects(rig: &Rig) -> BTreeSet<&str> {
    let took = rig.world.sent.iter().filter(|sent| sent.effect);
    took.map(|sent| sent.idempotency_key.as_str()).collect()
}

/// Unrepeatable requests that were in flight when the journal ended.
fn lost(journal: &[JournalEntry]) -> Vec<String> {
    let state = State::fold(journal).expect("what was written is legal").expect("a run");
    let open = state.open().filter_map(|(key, step)| match &step.phase {
        Phase::Calling(attempt) if !attempt.repeatable => Some(key.to_string()),
        _ => None,
    });
    open.collect()
}

fn check_ledger(rig: &Rig, told: &str) {
    let mut took: BTreeMap<&str, usize> = BTreeMap::new();
    for sent in rig.world.sent.iter().filter(|sent| sent.effect && !sent.repeatable) {
        *took.entry(&sent.idempotency_key).or_default() += 1;
    }
    assert!(took.values().all(|times| *times == 1), "{told}: repeated: {took:?}");
}

fn check_crash(scenario: &Scenario, whole: &Rig, crash: Crash) {
    let told = format!("{} {crash:?}", scenario.name);
    let mut rig = scenario.rig();
    rig.crash = Some(crash);
    rig.open().play(scenario.cast);
    assert_eq!(rig.crashes, 1, "{told}");
    let (is, should) = (rendering::outcome(rig.state()), rendering::outcome(whole.state()));
    assert_eq!(is, should, "{told}\n{}", rendering::journal(&rig));
    assert_eq!(effects(&rig), effects(whole), "{told}\n{}", rendering::journal(&rig));
    assert_eq!(rig.world.started, whole.world.started, "{told}");
    check_ledger(&rig, &told);
    for key in lost(&rig.journal[..crash.after]) {
        let surfaced = rig.journal[crash.after..].iter().any(|entry| {
            matches!(&entry.event, Event::AttemptUnknown { key: of, .. } if of.as_str() == key)
        });
        assert!(surfaced, "{told}: nobody was told about {key}");
    }
    let folded = State::fold(&rig.journal).expect("legal");
    assert_eq!(folded.as_ref(), Some(rig.state()), "{told}");
}

#[test]
fn every_scenario_survives_a_crash_after_every_entry() {
    assert!(ALL.len() >= 12);
    for scenario in ALL {
        let whole = scenario.run();
        assert!(whole.status().has_ended(), "{}: {}", scenario.name, rendering::journal(&whole));
        check_ledger(&whole, scenario.name);
        for after in 1..=whole.journal.len() {
            for acted in [false, true] {
                check_crash(scenario, &whole, Crash { after, acted });
            }
        }
    }
}

/// A remote driver exchanges inputs and decisions over the wire.
#[test]
fn inputs_and_decisions_travel_as_json() {
    for scenario in ALL {
        let mut rig = scenario.rig();
        rig.through_json = true;
        rig.open().play(scenario.cast);
        let whole = scenario.run();
        assert_eq!(
            rendering::outcome(rig.state()),
            rendering::outcome(whole.state()),
            "{}",
            scenario.name
        );
        assert_eq!(rig.journal, whole.journal, "{}", scenario.name);
    }
}

#[test]
fn every_scenario_survives_two_crashes() {
    for scenario in ALL {
        let whole = scenario.run();
        for after in 1..=whole.journal.len() {
            let mut rig = scenario.rig();
            rig.crash = Some(Crash { after, acted: true });
            rig.open();
            while rig.crash.is_some() && rig.turn() {}
            // The process that opens the run dies at once, and so does the next one.
            rig.die();
            rig.die();
            rig.play(scenario.cast);
            let told = format!("{} after {after}", scenario.name);
            assert_eq!(
                rendering::outcome(rig.state()),
                rendering::outcome(whole.state()),
                "{told}"
            );
            check_ledger(&rig, &told);
        }
    }
}

//! Properties of all journals: illegal events are refused without a trace, and legal ones survive a
//! round trip.

use milepost_engine::event::{Event, JournalEntry};
use milepost_engine::state::State;
use proptest::prelude::*;

use crate::scenarios::ALL;

/// Every event of every scenario, as a pool of realistic events.
fn stock() -> Vec<Event> {
    ALL.iter().flat_map(|scenario| scenario.run().journal).map(|entry| entry.event).collect()
}

fn journals() -> Vec<Vec<JournalEntry>> {
    ALL.iter().map(|scenario| scenario.run().journal).collect()
}

#[test]
fn events_survive_being_written_and_read() {
    for entry in journals().concat() {
        let text = serde_json::to_string(&entry).expect("an entry is JSON");
        let read: JournalEntry = serde_json::from_str(&text).expect("an entry is read");
        assert_eq!(read, entry);
        let named = serde_json::to_value(&entry.event).expect("an event is JSON");
        assert_eq!(named["event"], entry.event.name());
    }
}

#[test]
fn an_event_out_of_turn_or_time_is_refused() {
    for journal in journals() {
        let state = State::fold(&journal[..2]).expect("legal").expect("a run");
        let Some(third) = journal.get(2) else { continue };
        for wrong in [
            JournalEntry { seq: third.seq + 1, ..third.clone() },
            JournalEntry { seq: third.seq - 1, ..third.clone() },
            JournalEntry { at_ms: 0, ..third.clone() },
        ] {
            let mut after = state.clone();
            assert!(after.apply(&wrong).is_err());
            assert_eq!(after, state);
        }
    }
    assert!(State::begin(&journals()[0][1]).is_err());
    assert_eq!(State::fold(&[]), Ok(None));
}

#[test]
fn nothing_comes_after_the_end() {
    for journal in journals() {
        let state = State::fold(&journal).expect("legal").expect("a run");
        for event in stock() {
            let entry = JournalEntry { seq: state.seq + 1, at_ms: state.now_ms, event };
            let mut after = state.clone();
            assert!(after.apply(&entry).is_err(), "{}", entry.event.name());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Any event on any state is accepted or refused, and a refused one leaves the state unchanged.
    #[test]
    fn an_illegal_event_leaves_no_trace(
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 1..200),
    ) {
        let (journals, stock) = (journals(), stock());
        let journal = which.get(&journals);
        let cut = 1 + cut.index(journal.len());
        let mut state = State::fold(&journal[..cut]).expect("legal").expect("a run");
        for pick in picks {
            let event = pick.get(&stock).clone();
            let entry = JournalEntry { seq: state.seq + 1, at_ms: state.now_ms, event };
            let before = state.clone();
            if state.apply(&entry).is_err() {
                prop_assert_eq!(&state, &before);
            }
        }
    }
}

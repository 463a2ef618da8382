//! Every file operation of a change fails, runs out of space, fails late, or is the last of its
//! process: afterwards, the source is either the old or the new one, complete, and the old source
//! is kept.
#![cfg(debug_assertions)]

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milepost_store::{FileFault, FilePoint, LibraryMatch, file_faults};

use super::*;
use crate::{get, open};

const FAULTS: [FileFault; 5] =
    [FileFault::Io, FileFault::Full, FileFault::Late, FileFault::Dies, FileFault::DiesAfter];

/// The sources that the library returns for the two ids used here.
type Seen = BTreeMap<&'static str, String>;

fn seen(place: &Place) -> Seen {
    let library = open(&[(SourceKind::Runtime, &place.path(""))]);
    let text = |name: &'static str| match get(&library, name) {
        Some(LibraryMatch::Workflow(entry)) => {
            Some((name, fs::read_to_string(&entry.path).expect("reads")))
        }
        Some(LibraryMatch::Invalid(invalid)) => panic!("half a text: {invalid:?}"),
        None => None,
    };
    ["a", "b"].into_iter().filter_map(text).collect()
}

type Act = fn(&Place) -> Result<(), WorkflowError>;

fn one() -> String {
    manifest("a", "One") + "# mine\r\n"
}

fn two() -> String {
    manifest("a", "Two") + "# mine too  \n"
}

/// A workflow with a current and an earlier source.
fn begun() -> Place {
    let place = Place::at(crate::in_memory());
    place.save(&manifest("a", "Zero"), ExpectedVersion::Absent).expect("writes");
    place.save(&one(), ExpectedVersion::Any).expect("writes");
    place
}

fn in_json() -> String {
    r#"{"workflow": "a", "steps": [{"id": "x", "prompt": "Look"}]}"#.to_owned()
}

const ACTS: [(&str, Act); 6] = [
    ("save", |place| place.save(&two(), version(&one())).map(drop)),
    ("save a new one", |place| {
        place.save(&manifest("b", "New"), ExpectedVersion::Absent).map(drop)
    }),
    ("save in another format", |place| {
        let text = in_json();
        let draft = WorkflowDraft { bytes: text.as_bytes(), format: Format::Json, id: None };
        place.workflows.save(&id("a"), draft, at(3, version(&one()))).map(drop)
    }),
    ("rename", |place| {
        place.workflows.rename(&id("a"), &id("b"), at(3, version(&one()))).map(drop)
    }),
    ("delete", |place| place.workflows.delete(&id("a"), at(3, version(&one()))).map(drop)),
    ("restore", |place| {
        let zero = Digest::of(manifest("a", "Zero").as_bytes());
        place.workflows.restore(&id("a"), zero, at(3, version(&one()))).map(drop)
    }),
];

/// Makes the n-th call of a change fail; returns the point it failed at, if any, and the result.
fn with_fault(
    place: &Place,
    act: Act,
    fault: FileFault,
    nth: usize,
) -> (Option<FilePoint>, Option<Result<(), WorkflowError>>) {
    let (calls, hit) = (Arc::new(AtomicUsize::new(0)), Arc::new(std::sync::Mutex::new(None)));
    let (counted, noted) = (Arc::clone(&calls), Arc::clone(&hit));
    file_faults(Some(Box::new(move |point| {
        let due = counted.fetch_add(1, Ordering::SeqCst) == nth;
        if due {
            *noted.lock().expect("is whole") = Some(point);
        }
        due.then_some(fault)
    })));
    let told = panic::catch_unwind(AssertUnwindSafe(|| act(place))).ok();
    file_faults(None);
    let hit = *hit.lock().expect("is whole");
    (hit, told)
}

fn check(name: &str, act: Act, fault: FileFault) -> usize {
    let whole = begun();
    let old = seen(&whole);
    act(&whole).expect("nothing goes wrong");
    let new = seen(&whole);
    assert_ne!(old, new, "{name}");
    for nth in 0.. {
        let place = begun();
        let (hit, told) = with_fault(&place, act, fault, nth);
        let Some(point) = hit else { return nth };
        let at = format!("{name}: {fault:?} at {point:?}, call {nth}");
        let died = matches!(fault, FileFault::Dies | FileFault::DiesAfter);
        assert_eq!(told.is_none(), died, "{at}");
        let now = seen(&place);
        assert!(now == old || now == new, "{at}: {now:?}");
        if matches!(told, Some(Ok(()))) {
            assert_eq!(now, new, "{at}: acknowledged");
        }
        // The previous source is available, whichever source is current.
        let kept = now.keys().copied().chain(["a"]).any(|name| place.texts(name).contains(&one()));
        assert!(kept, "{at}: the old text is kept");
        // Another process continues normally.
        let next = Place { workflows: WorkflowStore::open(&places(place.root.path())), ..place };
        if now == old {
            act(&next).unwrap_or_else(|error| panic!("{at}: {error:?}"));
        }
        assert_eq!(seen(&next), new, "{at}");
    }
    unreachable!("there is a last call")
}

#[test]
fn every_call_of_every_change_may_go_wrong() {
    for (name, act) in ACTS {
        for fault in FAULTS {
            let calls = check(name, act, fault);
            assert!(calls >= 4, "{name}: {calls} calls");
        }
    }
}

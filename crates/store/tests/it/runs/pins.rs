//! Sources and documents are kept as long as a run refers to them, even if other runs are removed.

use std::collections::BTreeSet;

use milepost_engine::ports::PinnedText;
use milepost_model::digest::Digest;
use milepost_store::KeptDocuments;
use milepost_store::runs::{NewRunRow, Pins, PurgeFilter, RunRecord, RunStatus, Runs};

use super::{Now, fresh, new_of, open, record, standing, workflow};

/// Records a finished run of a workflow, with the sources it refers to.
fn ended(runs: &Runs, id: &str, own: &str, referred: &[&str]) {
    let texts: Vec<PinnedText> = referred
        .iter()
        .map(|text| PinnedText { hash: Digest::of(text.as_bytes()), text: (*text).into() })
        .collect();
    let hashes = texts.iter().map(|text| text.hash).collect();
    let (workflow, standing) = (workflow(id), standing(RunStatus::Succeeded));
    let record = RunRecord { workflow, standing, ..record(&super::id()) };
    let pins = Pins { texts, hashes };
    let new = NewRunRow { text: own.to_owned(), pins, ..new_of(record) };
    assert!(!runs.create_now(new, None).expect("creates").already);
}

fn has(runs: &Runs, text: &str) -> bool {
    runs.text(Digest::of(text.as_bytes())).expect("reads").is_some()
}

fn purge(runs: &Runs, id: &str) {
    let filter = PurgeFilter { workflow: Some(workflow(id)), ..PurgeFilter::default() };
    assert_eq!(runs.purge(&filter, 0).expect("purges").runs, 1);
}

#[test]
fn a_text_goes_with_the_last_run_that_refers_to_it() {
    let (root, runs) = fresh();
    ended(&runs, "one", "own", &["helper", "record"]);
    ended(&runs, "two", "other", &["helper", "own"]);
    // A process that opens an existing database continues with it.
    let runs = {
        drop(runs);
        open(root.path())
    };
    let both = BTreeSet::from(["helper", "record", "own"].map(|text| Digest::of(text.as_bytes())));
    assert_eq!(runs.referred().expect("reads"), both);
    purge(&runs, "one");
    assert_eq!(["helper", "own", "record"].map(|text| has(&runs, text)), [true, true, false]);
    purge(&runs, "two");
    let none = ["helper", "own", "other"].map(|text| has(&runs, text));
    assert_eq!(none, [false; 3]);
    assert!(runs.referred().expect("reads").is_empty());
}

#[test]
fn a_document_is_kept_once_and_removed_when_nobody_refers_to_it() {
    let root = tempfile::tempdir().expect("makes a directory");
    let documents = KeptDocuments::at(root.path());
    let hash = Digest::of(b"openapi");
    assert_eq!(documents.retain(&BTreeSet::new()).expect("looks"), 0);
    assert!(!documents.has(hash));
    for _ in 0..2 {
        documents.keep(hash, b"openapi").expect("keeps");
    }
    assert_eq!(documents.read(hash).expect("reads").as_deref(), Some(&b"openapi"[..]));
    // The run it was kept for may be about to start.
    assert_eq!(documents.retain(&BTreeSet::new()).expect("looks"), 0);
    let file = std::fs::File::options().write(true).open(documents.file(hash)).expect("opens");
    let before = std::time::SystemTime::now() - std::time::Duration::from_hours(2);
    file.set_modified(before).expect("is set back");
    assert_eq!(documents.retain(&BTreeSet::from([hash])).expect("looks"), 0);
    assert_eq!(documents.retain(&BTreeSet::new()).expect("removes"), 1);
    assert_eq!(documents.read(hash).expect("looks"), None);
    // A document whose content does not match its hash is treated as missing.
    documents.keep(hash, b"something else").expect("keeps");
    assert_eq!(documents.read(hash).expect("reads"), None);
}

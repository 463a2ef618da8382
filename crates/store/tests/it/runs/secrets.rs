//! No file of the runs shows a known secret, and everything that was written is read as it was.

use std::fs;

use milepost_engine::ports::{RememberedInputs, Sent};
use milepost_model::id::InputName;
use milepost_model::secret::{Secret, known_secrets};

use super::messages::message;
use super::{Now, append, begun, fresh, new_run, open, texts, workflow};

const SECRET: &str = "Gr\u{fc}nspecht/0042";

fn shown(root: &std::path::Path) -> bool {
    let parts = [SECRET, "GR\u{dc}NSPECHT/0042", "R3LDvG5zcGVjaHQvMDA0M"];
    fs::read_dir(root).expect("a folder").flatten().any(|entry| {
        let bytes = fs::read(entry.path()).unwrap_or_default();
        parts.iter().any(|part| bytes.windows(part.len()).any(|some| some == part.as_bytes()))
    })
}

#[test]
fn secrets_in_rows_are_encrypted_and_restored() {
    let (root, runs) = fresh();
    let lease = begun(&runs);
    // Written before anybody knew that it is a secret, like the rows of earlier versions.
    let before = r#"{"a":"GRÜNSPECHT 0041 \u0002"}"#;
    runs.append_now(append(&lease, 1, &[before])).expect("appends");
    known_secrets::register("BIRD", &Secret::new(SECRET));
    let small = format!(r#"{{"a":"x {SECRET} y","b":"R3LDvG5zcGVjaHQvMDA0Mg==","n":1.50}}"#);
    let large = format!(r#"{{"a":"{}GRÜNSPECHT/0042"}}"#, "z".repeat(200_000));
    let secret = [small.as_str(), large.as_str()];
    runs.append_now(append(&lease, 2, &secret)).expect("appends");
    let sent = message("m1", &lease.run, &small);
    assert_eq!(runs.send_now(sent.clone()).expect("sends"), Sent::New);
    assert_eq!(runs.send_now(sent).expect("sends"), Sent::Same);
    let values = vec![(InputName::parse("bird").expect("a name"), format!("\"{SECRET}\""))];
    let workspace = "/a".to_owned();
    let what = RememberedInputs { workspace, workflow: workflow("w"), values, at_ms: 1 };
    runs.remember_inputs(what).expect("remembers");
    let whole = ["created", before, &small, &large];
    assert_eq!(texts(&runs, &lease.run), whole);
    assert!(!shown(root.path()));
    drop(runs);
    let runs = open(root.path());
    assert!(runs.check().expect("checks").is_sound());
    assert_eq!(texts(&runs, &lease.run), whole);
    let pending = runs.pending(&lease.run).expect("reads");
    assert_eq!((pending.forged, pending.messages.len()), (0, 1));
    assert_eq!(pending.messages[0].data, small.as_bytes());
    let bird = InputName::parse("bird").expect("a name");
    let last = runs.last_input("/a", &workflow("w"), &bird).expect("reads");
    assert_eq!(last, Some(format!("\"{SECRET}\"")));
    assert!(!shown(root.path()));
}

#[test]
fn a_run_that_was_created_with_a_secret_does_not_show_it() {
    let (root, runs) = fresh();
    known_secrets::register("BIRD", &Secret::new(SECRET));
    let mut new = new_run(&super::id());
    let run = new.record.id.clone();
    new.events[0].data = format!("{{\"input\":\"{SECRET}\"}}").into_bytes();
    runs.create_now(new, None).expect("creates");
    assert_eq!(texts(&runs, &run), [format!("{{\"input\":\"{SECRET}\"}}")]);
    assert!(!shown(root.path()));
}

//! A message to a run is processed once and answered once.

use milepost_engine::ports::JournalError;
use milepost_model::id::RunId;
use milepost_store::limits::{MESSAGE_BYTES, MESSAGES};
use milepost_store::runs::{AppendRows, InboxRow, MessageId, RunsError, Sent};

use super::{Now, append, begun, fresh, id, open, texts};

pub(super) fn message(id: &str, run: &RunId, data: &str) -> InboxRow {
    let id = MessageId::parse(id).expect("is one");
    InboxRow { id, run: run.clone(), at_ms: 3, data: data.as_bytes().to_vec() }
}

#[test]
fn sending_twice_is_sending_once() {
    let (root, runs) = fresh();
    let run = begun(&runs).run;
    let first = message("m1", &run, "hello");
    assert_eq!(runs.send_now(first.clone()).expect("sends"), Sent::New);
    let later = InboxRow { at_ms: 99, ..first.clone() };
    assert_eq!(runs.send_now(later).expect("sends"), Sent::Same);
    assert_eq!(runs.send_now(message("m1", &run, "bye")).expect("sends"), Sent::Other);
    let other = begun(&runs).run;
    let error = runs.send_now(message("m1", &other, "hello")).expect_err("of another run");
    assert!(matches!(error, RunsError::Journal(JournalError::OtherRun { .. })), "{error:?}");
    let error = runs.send_now(message("m2", &id(), "hello")).expect_err("there is none");
    assert!(matches!(error, RunsError::Journal(JournalError::NotFound { .. })), "{error:?}");
    drop(runs);
    let runs = open(root.path());
    let pending = runs.pending(&run).expect("reads");
    assert_eq!((pending.messages, pending.forged), (vec![first], 0));
}

#[test]
fn a_message_is_answered_with_the_events_it_leads_to() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    for id in ["m1", "m2"] {
        runs.send_now(message(id, &lease.run, "hello")).expect("sends");
    }
    assert_eq!(runs.tally().expect("reads").inbox, 2);
    let m1 = MessageId::parse("m1").expect("is one");
    let answers = vec![(m1.clone(), b"done".to_vec())];
    let refused = AppendRows { answers: answers.clone(), ..append(&lease, 9, &["heard"]) };
    runs.append_now(refused).expect_err("out of order");
    assert_eq!(runs.answer(&m1).expect("reads"), None, "not without its events");
    let what = AppendRows { answers, ..append(&lease, 1, &["heard"]) };
    runs.append_now(what).expect("appends");
    assert_eq!(runs.answer(&m1).expect("reads").as_deref(), Some(b"done".as_slice()));
    let again =
        AppendRows { answers: vec![(m1.clone(), b"again".to_vec())], ..append(&lease, 2, &[]) };
    runs.append_now(again).expect("appends");
    assert_eq!(runs.answer(&m1).expect("reads").as_deref(), Some(b"done".as_slice()));
    assert_eq!(runs.send_now(message("m1", &lease.run, "hello")).expect("sends"), Sent::Same);
    let left = runs.pending(&lease.run).expect("reads").messages;
    assert_eq!(left, [message("m2", &lease.run, "hello")]);
    assert_eq!(texts(&runs, &lease.run), ["created", "heard"]);
    assert_eq!(runs.answer(&MessageId::parse("none").expect("is one")).expect("reads"), None);
}

#[test]
fn nobody_answers_for_another_run() {
    let (_root, runs) = fresh();
    let (one, other) = (begun(&runs), begun(&runs));
    runs.send_now(message("m1", &one.run, "hello")).expect("sends");
    let m1 = MessageId::parse("m1").expect("is one");
    let what =
        AppendRows { answers: vec![(m1.clone(), b"mine".to_vec())], ..append(&other, 1, &[]) };
    runs.append_now(what).expect("appends");
    assert_eq!(runs.answer(&m1).expect("reads"), None);
    assert_eq!(runs.pending(&one.run).expect("reads").messages.len(), 1);
    assert_eq!(runs.tally().expect("reads").inbox, 1);
}

#[test]
fn messages_come_in_order_and_some_at_a_time() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    for number in 0..=MESSAGES {
        runs.send(message(&format!("m{number}"), &lease.run, "x"), |sent| {
            assert_eq!(sent.expect("sends"), Sent::New);
        });
    }
    runs.send_now(message("last", &lease.run, "x")).expect("sends");
    let found = runs.pending(&lease.run).expect("reads").messages;
    assert_eq!(found.len(), MESSAGES);
    let ids = found.iter().map(|message| message.id.as_str().to_owned());
    assert!(ids.eq((0..MESSAGES).map(|number| format!("m{number}"))));
}

#[test]
fn bounds_of_a_message() {
    let (_root, runs) = fresh();
    let run = begun(&runs).run;
    for (size, fits) in [(MESSAGE_BYTES, true), (MESSAGE_BYTES + 1, false)] {
        let large = InboxRow { data: vec![0; size], ..message(&format!("m{size}"), &run, "") };
        match runs.send_now(large) {
            Ok(sent) => assert!(fits && sent == Sent::New),
            Err(RunsError::Journal(JournalError::TooLarge { .. })) => assert!(!fits),
            Err(other) => unreachable!("{other}"),
        }
    }
    for good in ["a", "run_x/step-1/2", &"a".repeat(milepost_engine::limits::MESSAGE_ID_CHARS)] {
        assert_eq!(MessageId::parse(good).expect("is one").as_str(), good);
    }
    for bad in ["", "a b", "a\n", "é", &"a".repeat(milepost_engine::limits::MESSAGE_ID_CHARS + 1)]
    {
        assert!(MessageId::parse(bad).is_err(), "{bad}");
    }
}

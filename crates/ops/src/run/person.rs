//! How a person proves their presence when deciding.

use std::collections::HashSet;
use std::sync::Mutex;

use milepost_engine::event::{Event, Presence, Proof, RunCreated};
use milepost_engine::ports::RunFilter;
use milepost_engine::signal::DecisionSignal;
use milepost_model::id::RunId;
use milepost_store::person::{self, Person, PersonError};

use super::errors::of_journal;
use super::pin_notice;
use crate::framework::PromptError;

use crate::prelude::*;
pub(crate) use person::is_signed;

/// The key that signs decisions in new runs, if the person has set a PIN. It is an error if a key
/// existed before but is now missing: without it, any program with access to a terminal could
/// decide.
pub(crate) async fn key(writer: &Writer) -> Result<Option<String>> {
    let person = of(writer);
    let known = person.key().or_problem()?;
    if known.is_none() && (person.was_set().or_problem()? || was_signed(writer).await?) {
        let message = "a PIN was set, but `person.json` is missing";
        let hint = Hint::text("restore it from a backup, or set a PIN with ")
            .call(Invocation::of("person.set_pin"));
        return Err(Problem::new(Code::PresenceRequired, message, hint));
    }
    Ok(known)
}

/// Whether any of the latest runs requires signed decisions.
async fn was_signed(writer: &Writer) -> Result<bool> {
    let journal = &writer.reader.ports.journal;
    let last = journal.list(&RunFilter::default(), limits::SIGNED_RUNS).await.or_problem()?.runs;
    let last = last.into_iter().map(|record| record.id).collect();
    for run in writer.unsigned.without(last) {
        // An unreadable run proves nothing either way.
        let Ok(first) = journal.events(&run, 0, 1).await else { continue };
        match first.entries.into_iter().next().map(|entry| entry.event) {
            Some(Event::RunCreated(head)) if head.person.is_some() => return Ok(true),
            _ => writer.unsigned.add(run),
        }
    }
    Ok(false)
}

/// Runs known to require no signature. Every start checks the latest runs, but the first event of a
/// run never changes, so no journal needs to be read twice.
#[derive(Debug, Default)]
pub(crate) struct UnsignedRuns(Mutex<HashSet<RunId>>);

impl UnsignedRuns {
    pub(crate) fn add(&self, run: RunId) {
        let mut known = locked(&self.0);
        // Clearing the set is cheap, because the relevant runs are soon added again.
        if known.len() >= limits::UNSIGNED_RUNS {
            known.clear();
        }
        known.insert(run);
    }

    fn without(&self, mut runs: Vec<RunId>) -> Vec<RunId> {
        let known = locked(&self.0);
        runs.retain(|run| !known.contains(run));
        runs
    }
}

pub(crate) fn of(writer: &Writer) -> Person {
    Person::of(&writer.reader.locations.data)
}

/// Asks the person to prove their presence, and signs the decision.
pub(crate) async fn present(
    writer: &Writer,
    call: &dyn Caller,
    head: &RunCreated,
    decided: &mut DecisionSignal,
) -> Result<()> {
    if call.is_elicited() {
        // A run that requires stronger proof rejects the decision itself. A PIN can only be typed
        // at a terminal.
        decided.presence = Presence::Elicitation;
        return if head.person.is_none() { Ok(()) } else { Err(with_pin()) };
    }
    let word = if decided.approve { "approve" } else { "reject" };
    let deed = format!("{word} `{}` in run `{}`", decided.key, head.run);
    let text = decided.signed_text(&head.run);
    let proof = proof(writer, call, head, &deed, &text).await?;
    (decided.presence, decided.signature) = (proof.presence, proof.signature);
    Ok(())
}

/// Rejects callers other than a person; the hint shows what the person should run.
pub(crate) fn only_a_person(call: &dyn Caller, message: &str, run: Invocation) -> Result<()> {
    if call.kind() == CallerKind::Person {
        return Ok(());
    }
    Err(for_a_person(call, message, Hint::text("run ").person(run)))
}

/// The problem for an agent that tried what only a person may do. `otherwise` is what the person
/// should do, unless the agent typed the command that they have to type.
pub(crate) fn for_a_person(call: &dyn Caller, message: &str, otherwise: Hint) -> Problem {
    let Some(typed) = call.agent_command() else {
        let hint = Hint::text("stop, and ask the person to ").and(otherwise);
        return Problem::new(Code::PresenceRequired, message, hint);
    };
    let message = format!("{message}, and an agent typed it: {}", typed.because);
    let hint =
        format!("stop, and ask the person to type `{}` in a terminal of their own", typed.line);
    Problem::new(Code::PresenceRequired, message, hint)
}

/// Rejects decisions by callers other than a person.
pub(crate) fn by_a_person(call: &dyn Caller) -> Result<()> {
    only_a_person(call, "only a person can decide this", Invocation::of("inbox"))
}

/// Like [`present`], for anything else that only a person may do: `deed` is shown, and `text` is
/// signed.
pub(crate) async fn proof(
    writer: &Writer,
    call: &dyn Caller,
    head: &RunCreated,
    deed: &str,
    text: &str,
) -> Result<Proof> {
    by_a_person(call)?;
    if let Some(notice) = pin_notice::notice(&writer.reader).await {
        call.alert(&notice);
    }
    if head.person.is_none() {
        return match call.ask_in_person(&format!("{deed}?")) {
            Some(true) => Ok(Proof::at_terminal()),
            Some(false) => Err(undecided()),
            None => Err(absent()),
        };
    }
    let signature = signed(&of(writer), call, deed, text)?;
    Ok(Proof { presence: Presence::Pin, signature: Some(signature) })
}

/// Asks for the PIN and signs a text with it.
pub(crate) fn signed(person: &Person, call: &dyn Caller, deed: &str, text: &str) -> Result<String> {
    person.ready().or_problem()?;
    let pin = call.ask_pin(&format!("PIN to {deed}: ")).map_err(untyped)?;
    person.sign(&pin, text).or_problem()
}

fn with_pin() -> Problem {
    let message = "this decision needs the person's PIN, which can only be typed at a terminal";
    let hint =
        Hint::text("decide with ").call(Invocation::of("workflow.approve")).then(" in a terminal");
    Problem::new(Code::PresenceRequired, message, hint)
}

fn undecided() -> Problem {
    let hint = "run the command again when you have decided";
    Problem::new(Code::ConfirmationRequired, "not confirmed: nothing was decided", hint)
}

/// The problem when no PIN was typed.
pub(crate) fn untyped(why: PromptError) -> Problem {
    match why {
        PromptError::NoTerminal => absent(),
        PromptError::GivenUp => undecided(),
    }
}

fn absent() -> Problem {
    let message = "a person must decide this at a terminal, and there is none";
    let inbox = Invocation::of("inbox");
    let hint = Hint::text("run ").call(inbox).then(" in a terminal of your own");
    Problem::new(Code::PresenceRequired, message, hint)
}

/// Converts an error about the PIN.
pub(crate) fn of_person(error: &PersonError) -> Problem {
    let message = error.to_string();
    let hint = match error {
        PersonError::NotSet => Hint::text("set one with ").call(Invocation::of("person.set_pin")),
        PersonError::Wrong { .. } => "type the PIN that was set".into(),
        PersonError::TooSoon { .. } => "wait, then run the command again".into(),
        PersonError::TooShort => "choose a longer one".into(),
        PersonError::Damaged { .. } => "restore it from a backup".into(),
        PersonError::NoRandomness => "check the system".into(),
        PersonError::File(error) => return problems::of_file(error),
        PersonError::Chain(error) => return of_journal(error),
    };
    Problem::new(Code::PresenceRequired, message, hint)
}

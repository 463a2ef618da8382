//! How a person shows to be there when they decide.

use milepost_engine::event::{Presence, RunCreated};
use milepost_engine::signal::Decided;
use milepost_model::problem::{Code, Problem};
use milepost_store::person::{self, Person, PersonError};

use crate::call::Call;
use crate::problems;
use crate::writer::Writer;

pub(crate) use person::is_signed;

/// The key that decisions in new runs are signed with, when the person set a PIN.
pub(crate) fn key(writer: &Writer) -> Result<Option<String>, Problem> {
    of(writer).key().map_err(|error| of_person(&error))
}

pub(crate) fn of(writer: &Writer) -> Person {
    Person::of(&writer.reader.locations().data)
}

/// Lets the person show that they are there, and signs what they decided.
pub(crate) fn present(
    writer: &Writer,
    call: &dyn Call,
    head: &RunCreated,
    decided: &mut Decided,
) -> Result<(), Problem> {
    let word = if decided.approve { "approve" } else { "reject" };
    if head.person.is_none() {
        let question = format!("{word} `{}` of run `{}`?", decided.key, head.run);
        return match call.ask_in_person(&question) {
            Some(true) => {
                decided.presence = Presence::Terminal;
                Ok(())
            }
            Some(false) => {
                let hint = "nothing was decided; say yes when you mean it";
                Err(Problem::new(Code::ConfirmationRequired, "it was declined", hint))
            }
            None => Err(absent()),
        };
    }
    let question = format!("PIN to {word} `{}` of run `{}`: ", decided.key, head.run);
    let pin = call.ask_pin(&question).ok_or_else(absent)?;
    decided.presence = Presence::Pin;
    let text = decided.signed_text(&head.run);
    let signed = of(writer).sign(&pin, &text).map_err(|error| of_person(&error))?;
    decided.signature = Some(signed);
    Ok(())
}

fn absent() -> Problem {
    let message = "a decision is made by a person at a terminal, and there is none";
    let hint = "run `milepost inbox` in a terminal of your own";
    Problem::new(Code::PresenceRequired, message, hint)
}

/// An error about the PIN as a problem.
pub(crate) fn of_person(error: &PersonError) -> Problem {
    let message = error.to_string();
    let hint = match error {
        PersonError::NotSet => "set one with `milepost person set-pin`",
        PersonError::Wrong { .. } => "type the PIN that was set",
        PersonError::Locked => {
            "remove `person.json` from the data directory and set a new PIN; \
                                runs that were started with the old one have to be started anew"
        }
        PersonError::TooShort => "choose a longer one",
        PersonError::Damaged { .. } => "restore it from a backup",
        PersonError::NoRandomness => "look at the system",
        PersonError::File(error) => return problems::of_file(error),
    };
    Problem::new(Code::PresenceRequired, message, hint)
}

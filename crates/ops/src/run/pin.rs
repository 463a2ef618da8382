//! `person.set_pin`: the PIN that decisions are signed with.

use milepost_model::problem::{Code, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::person;
use crate::call::{Call, Caller, Untyped};
use crate::later::Later;
use crate::operation::Door;
use crate::writer::Writer;

/// Sets the PIN.
#[derive(Debug)]
pub struct SetPin;

/// Nothing: a PIN comes from the terminal alone.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {}

/// That it is set.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// The public key that follows from it; new runs are pinned to it.
    pub key: String,
}

impl Later for SetPin {
    type Request = Request;
    type Response = Response;
    type Hands = Writer;

    const NAME: &'static str = "person.set_pin";
    const TITLE: &'static str = "Set the PIN";
    const DESCRIPTION: &'static str =
        "Set the PIN that a person's decisions are signed with. It is asked for on the terminal.";
    const DOORS: &'static [Door] = &[Door::Command("person set-pin")];

    async fn run(writer: &Writer, call: &dyn Call, _: Request) -> Result<Response, Problem> {
        if call.caller() != Caller::Person {
            return Err(untyped(Untyped::NoTerminal));
        }
        let kept = person::of(writer);
        let known = kept.key().map_err(|error| person::of_person(&error))?;
        let old = match known {
            Some(_) => Some(call.ask_pin("the PIN that is set: ").map_err(untyped)?),
            None => None,
        };
        let pin = call.ask_pin("new PIN: ").map_err(untyped)?;
        let again = call.ask_pin("again: ").map_err(untyped)?;
        if pin.reveal() != again.reveal() {
            let hint = "nothing was changed; type the same PIN twice";
            return Err(Problem::new(Code::ParamsInvalid, "the two PINs differ", hint));
        }
        kept.set_pin(&pin, old.as_ref()).map_err(|error| person::of_person(&error))?;
        let key = kept.key().map_err(|error| person::of_person(&error))?;
        Ok(Response { key: key.unwrap_or_default() })
    }

    fn example() -> Request {
        Request {}
    }
}

fn untyped(why: Untyped) -> Problem {
    match why {
        Untyped::NoTerminal => {
            let message = "a PIN is typed by a person at a terminal, and there is none";
            Problem::new(Code::PresenceRequired, message, "run this in a terminal of your own")
        }
        Untyped::GivenUp => {
            let hint = "run it again when you have a PIN";
            Problem::new(Code::ConfirmationRequired, "no PIN was typed: nothing was changed", hint)
        }
    }
}

//! `person.set_pin`: the PIN that decisions are signed with.

use std::sync::Arc;

use milepost_store::GrantError;

use super::person;
use crate::framework::PromptError;
use crate::prelude::*;

/// Empty: a PIN is only read from the terminal.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {}

/// Confirms that the PIN is set.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The public key derived from it; new runs are pinned to it.
    pub key: String,
    /// How many grants were signed with it.
    pub grants: usize,
}

operation! {
    SetPin: "person.set_pin", "Set the PIN",
        "Set the PIN that a person's decisions are signed with. It is read from the terminal.";
    doors: [Door::Command("person set-pin")];
    run: set_pin(Writer, Request) -> Response;
    example: {};
}

async fn set_pin(writer: &Writer, call: &dyn Caller, _: Request) -> Result<Response> {
    let set = Invocation::of(SetPin::NAME);
    person::only_a_person(call, "only a person can set the PIN", set)?;
    if let Some(notice) = super::pin_notice::notice(&writer.reader).await {
        call.alert(&notice);
    }
    let kept = person::of(writer);
    let known = kept.key().or_problem()?;
    let old = match known {
        Some(_) => Some(call.ask_pin("current PIN: ").map_err(untyped)?),
        None => None,
    };
    let pin = call.ask_pin("new PIN: ").map_err(untyped)?;
    let again = call.ask_pin("again: ").map_err(untyped)?;
    if pin.reveal() != again.reveal() {
        let hint = "nothing was changed; type the same PIN twice";
        return Err(Problem::new(Code::ParamsInvalid, "the two PINs differ", hint));
    }
    // With a PIN, only signed grants count. What the person allowed before stays allowed, except
    // what was signed with a PIN that is gone: the new one does not vouch for it.
    let grants = &writer.reader.grants;
    let valid = match grants.valid() {
        Err(GrantError::PersonMissing) => Arc::default(),
        valid => valid.or_problem()?,
    };
    kept.set_pin(&pin, old.as_ref()).or_problem()?;
    if !valid.is_empty() {
        grants.sign(&valid, &pin).or_problem()?;
    }
    let key = kept.key().or_problem()?;
    Ok(Response { key: key.unwrap_or_default(), grants: valid.len() })
}

fn untyped(why: PromptError) -> Problem {
    match why {
        PromptError::NoTerminal => {
            let message = "a person must type the PIN at a terminal, and there is none";
            Problem::new(Code::PresenceRequired, message, "run this in a terminal of your own")
        }
        PromptError::GivenUp => {
            let hint = "run the command again and type a PIN";
            Problem::new(Code::ConfirmationRequired, "no PIN was typed: nothing was changed", hint)
        }
    }
}

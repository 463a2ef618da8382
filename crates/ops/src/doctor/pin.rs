//! The person's PIN: whether it is still the one that they set.

use milepost_store::person::PinState;

use super::DoctorCheck;
use crate::prelude::*;
use crate::run::pin_notice;

pub(super) async fn check(writer: &Writer) -> Option<DoctorCheck> {
    let file = writer.reader.locations.data.join("person.json");
    let state = pin_notice::state(&writer.reader).await;
    let check = match (pin_notice::told(&state), state) {
        (None, _) if !file.exists() => return None,
        (None, _) => DoctorCheck::ok("pin", "set, and not replaced without the old one"),
        (Some(what), Ok(PinState::Replaced { .. })) => {
            let fix = "if it was not you, look for the program that did it, then restore \
                       `person.json` from a backup; if it was you, this ends after 7 days";
            DoctorCheck::warning("pin", what, fix)
        }
        (Some(what), Ok(PinState::Sound | PinState::Missing) | Err(_)) => {
            let fix = Hint::text("restore it from a backup, or set a new PIN with ")
                .call(Invocation::of("person.set_pin"));
            DoctorCheck::fault("pin", what, fix)
        }
    };
    Some(check.at(&file))
}

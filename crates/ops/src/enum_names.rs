//! Serializes enums of the model as their names in responses. The model itself guarantees no
//! format, so the guarantee is made here.

use milepost_model::commands::Effect;
use milepost_model::finding::Severity;
use milepost_model::input::{InputType, Mode};
use milepost_model::step::ActionKind;
use milepost_model::workflow::Spelling;
use serde::Serializer;

use crate::prelude::*;

/// An enum whose variants have names, or an option of one.
pub(crate) trait NamedEnum: Copy {
    fn word(self) -> Option<&'static str>;
}

macro_rules! named {
    ($($name:ty),*) => {
        $(impl NamedEnum for $name {
            fn word(self) -> Option<&'static str> {
                Some(self.name())
            }
        })*
    };
}

named!(ActionKind, Effect, InputType, Mode, Severity, Spelling);

impl<T: NamedEnum> NamedEnum for Option<T> {
    fn word(self) -> Option<&'static str> {
        self.and_then(NamedEnum::word)
    }
}

/// For `#[serde(with = "crate::enum_names")]`.
pub(crate) fn serialize<T: NamedEnum, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    value.word().serialize(to)
}

//! Enums of the model in requests and responses: written and read as their names. The model itself
//! promises no format, so the promise is made here.

use milepost_model::commands::Effect;
use milepost_model::finding::Severity;
use milepost_model::input::{InputType, Mode};
use milepost_model::step::ActionKind;
use milepost_model::workflow::Spelling;
use serde::de::{Error, Unexpected};
use serde::{Deserializer, Serializer};

use crate::prelude::*;

/// An enum whose variants have names.
pub(crate) trait NamedEnum: Copy + 'static {
    /// Every variant.
    const ALL: &'static [Self];

    /// The name of a variant; no two have the same.
    fn word(self) -> &'static str;
}

macro_rules! named {
    ($($name:ty: $all:expr;)*) => {
        $(impl NamedEnum for $name {
            const ALL: &'static [$name] = &$all;

            fn word(self) -> &'static str {
                self.name()
            }
        })*
    };
}

named! {
    ActionKind: ActionKind::ALL;
    Effect: [Effect::Read, Effect::Create, Effect::Write];
    InputType: [
        InputType::String,
        InputType::Number,
        InputType::Integer,
        InputType::Boolean,
        InputType::Array,
        InputType::Object,
    ];
    Mode: [Mode::Single, Mode::Multiple];
    Severity: [Severity::Error, Severity::Warning];
    Spelling: [Spelling::Manifest, Spelling::Guide];
}

/// For `#[serde(with = "named")]`.
pub(crate) fn serialize<T: NamedEnum, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(value.word())
}

/// For `#[serde(with = "named")]`.
pub(crate) fn deserialize<'de, T: NamedEnum, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    let word = std::borrow::Cow::<'de, str>::deserialize(from)?;
    let found = T::ALL.iter().copied().find(|one| one.word() == word);
    found.ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&word), &"one of the known names"))
}

/// For `#[serde(with = "named::optional")]`.
pub(crate) mod optional {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::NamedEnum;

    #[expect(clippy::ref_option, reason = "serde calls it with a reference to the field")]
    pub(crate) fn serialize<T: NamedEnum, S: Serializer>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(NamedEnum::word).serialize(to)
    }

    pub(crate) fn deserialize<'de, T: NamedEnum, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        #[derive(Deserialize)]
        struct One<T: NamedEnum>(#[serde(with = "super")] T);
        let found = Option::<One<T>>::deserialize(from)?;
        Ok(found.map(|One(value)| value))
    }
}

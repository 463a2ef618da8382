//! The forms a text can be asked to have, really looked at: by the same judges that JSON Schema
//! has for them.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::TextFormat;

impl TextFormat {
    /// Whether a text has this form.
    pub fn accepts(self, text: &str) -> bool {
        let keyword = self.keyword();
        let judge = JUDGES.iter().find(|(name, _)| *name == keyword);
        judge.is_some_and(|(_, judge)| judge.is_valid(&Value::from(text)))
    }

    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            TextFormat::Email => "an e-mail address",
            TextFormat::Url | TextFormat::Uri => "an absolute URL",
            TextFormat::Uuid => "a UUID",
            TextFormat::Date => "a date such as `2026-07-28`",
            TextFormat::DateTime => "a date and time such as `2026-07-28T09:00:00Z`",
        }
    }

    fn keyword(self) -> &'static str {
        match self {
            TextFormat::Url | TextFormat::Uri => "uri",
            other => other.name(),
        }
    }
}

static JUDGES: LazyLock<Vec<(&'static str, jsonschema::Validator)>> = LazyLock::new(|| {
    let judge = |name: &'static str| {
        let options = jsonschema::options().should_validate_formats(true);
        let schema = json!({"type": "string", "format": name});
        Some((name, options.build(&schema).ok()?))
    };
    ["email", "uri", "uuid", "date", "date-time"].into_iter().filter_map(judge).collect()
});

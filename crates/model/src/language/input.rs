//! A workflow's inputs: their types, rules, choices and defaults.

mod fit;

pub use fit::{NotOfType, Objection};

use std::sync::LazyLock;

use milepost_syntax::mend::Mend;
use milepost_syntax::span::Span;
use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use serde_json::{Value, json};

use crate::decode::{Decode, Defs, Entries, Int, Report, Spot, shape, words};
use crate::finding::{Finding, Rule};
use crate::json_schema;
use crate::pattern::Pattern;
use crate::suggest;
use crate::target::CommandId;
use crate::templated::Dynamic;

words! {
    /// The type an input's value must have.
    #[derive(serde::Serialize)]
    #[serde(rename_all = "lowercase")]
    InputType {
        /// Text.
        String = "string",
        /// Any number.
        Number = "number",
        /// A whole number.
        Integer = "integer",
        /// True or false.
        Boolean = "boolean",
        /// A list.
        Array = "array",
        /// A map.
        Object = "object",
    }
}

impl InputType {
    /// Whether a value has this type; nothing is coerced.
    pub fn accepts(self, value: &Value) -> bool {
        match self {
            InputType::String => value.is_string(),
            InputType::Number => value.is_number(),
            InputType::Integer => value.is_i64() || value.is_u64(),
            InputType::Boolean => value.is_boolean(),
            InputType::Array => value.is_array(),
            InputType::Object => value.is_object(),
        }
    }
}

words! {
    /// How many values a person selects.
    #[derive(serde::Serialize)]
    #[serde(rename_all = "lowercase")]
    Mode {
        Single = "single",
        /// Any number.
        Multiple = "multiple",
    }
}

words! {
    /// What happens if the provider fails.
    ProviderError {
        /// The person types the value.
        Manual = "manual",
        /// The last good choices are used.
        Cached = "cached",
        /// The run does not start.
        Fail = "fail",
    }
}

words! {
    /// What happens if an argument's source has no value.
    Missing {
        /// The person is asked.
        Prompt = "prompt",
        /// The argument is omitted.
        Skip = "skip",
        /// The run does not start.
        Fail = "fail",
    }
}

words! {
    /// Where a default comes from.
    DefaultFrom {
        /// The default is a value in the document.
        Literal = "literal",
        /// The default is the value of an environment variable.
        Env = "env",
        /// The value last used.
        History = "history",
        /// The final output of another workflow's latest successful run.
        WorkflowOutput = "workflow_output",
    }
}

shape! {
    Input = "an input", slips &[
        ("description", &["desc"]),
        ("name", &["label"]),
        ("enum", &["choices", "options"]),
        ("validate", &["validation"]),
    ], homes &[
        ("validate", &["pattern", "min_length", "max_length", "minimum", "maximum"]),
        ("validate", &["min_items", "max_items", "format"]),
        ("select", &["value_field", "display_field", "id_field"]),
        ("join", &["separator", "wrap_each"]),
    ];
    "type" kind: opt InputType = "The type of the value; `string` by default.",
    "description" description: opt String = "What the value is for.",
    "name" name: opt String = "The display name.",
    "placeholder" placeholder: opt String = "The text shown in an empty field.",
    "hint" hint: opt String = "Help text shown next to the field.",
    "example" example: opt Value = "An example value.",
    "provider" provider: opt Provider = "The command that lists the choices.",
    "select" select: opt Select = "Which fields of a choice to use.",
    "mode" mode: opt Mode = "Whether people pick one value or several.",
    "join" join: opt Join = "How several values become one string.",
    "provider_args" provider_args: opt Entries<Dynamic> = "Arguments for the provider.",
    "depends_on" depends_on: opt Entries<ArgumentSource> = "Arguments from inputs or steps.",
    "cache_ttl_sec" cache_ttl_sec: opt Int<0, 604_800> = "How long choices stay fresh, in seconds.",
    "on_error" on_error: opt ProviderError = "What happens if the provider fails.",
    "optional" optional: opt bool = "Whether a run may start without it.",
    "secret" secret: opt bool = "Whether the value is secret: it is never shown or stored.",
    "enum" choices: opt Vec<Value> = "The values that are allowed.",
    "validate" validate: opt Rules = "Rules for the value.",
    "default" default: opt InputDefault = "The value to use if none is given.",
    "required" required: opt RequiredSlip = "Not used: inputs are required unless `optional`.",
}

impl Input {
    /// The type; `string` if none is given.
    pub fn input_type(&self) -> InputType {
        self.kind.unwrap_or(InputType::String)
    }

    /// Whether a run cannot start without it.
    pub fn is_required(&self) -> bool {
        self.optional != Some(true) && self.default.is_none()
    }

    /// Whether its value must not be shown.
    pub fn is_secret(&self) -> bool {
        self.secret == Some(true)
    }
}

shape! {
    /// Which fields of a choice are used.
    Select = "a selection of fields";
    "value_field" value_field: opt String = "The field to use as the value.",
    "display_field" display_field: opt String = "The field that people see.",
    "id_field" id_field: opt String = "The field that identifies a choice.",
}

shape! {
    /// How several values become one string.
    Join = "join options";
    "separator" separator: opt String = "The separator between two values; a comma by default.",
    "wrap_each" wrap_each: opt String = "The quote to put before and after each value.",
}

shape! {
    /// What a value must satisfy.
    Rules = "rules for a value", slips &[
        ("minimum", &["min"]),
        ("maximum", &["max"]),
        ("pattern", &["regex"]),
    ];
    "enum" choices: opt Vec<Value> = "The values that are allowed.",
    "pattern" pattern: opt Pattern = "A regular expression that the string must match.",
    "min_length" min_length: opt Int<0, { i64::MAX }> = "The minimum number of characters.",
    "max_length" max_length: opt Int<0, { i64::MAX }> = "The maximum number of characters.",
    "minimum" minimum: opt f64 = "The minimum value.",
    "maximum" maximum: opt f64 = "The maximum value.",
    "min_items" min_items: opt Int<0, { i64::MAX }> = "The minimum number of items.",
    "max_items" max_items: opt Int<0, { i64::MAX }> = "The maximum number of items.",
    "format" format: opt TextFormat = "The format of the string.",
}

impl Rules {
    /// What each violated rule requires of the value.
    pub fn objections(&self, value: &Value) -> Vec<(Rule, String)> {
        let mut found: Vec<(Rule, String)> = self.out_of_range(value).into_iter().collect();
        let Some(text) = value.as_str() else { return found };
        if let Some(pattern) = self.pattern.as_ref().filter(|one| !one.0.is_match(text)) {
            found.push((Rule::Pattern, format!("a value that matches `{}`", pattern.0)));
        }
        if let Some(format) = self.format.filter(|format| !format.accepts(text)) {
            found.push((Rule::Format, format.words().to_owned()));
        }
        found
    }

    fn out_of_range(&self, value: &Value) -> Option<(Rule, String)> {
        #[expect(clippy::cast_precision_loss, reason = "length limits are small")]
        let bound = |int: Option<Int<0, { i64::MAX }>>| int.map(|n| n.0 as f64);
        #[expect(clippy::cast_precision_loss, reason = "strings and lists are short")]
        let (low, high, size, unit) = match value {
            Value::Number(number) => {
                (self.minimum, self.maximum, number.as_f64().unwrap_or(0.0), "a value")
            }
            Value::String(text) => {
                let (low, high) = (bound(self.min_length), bound(self.max_length));
                (low, high, text.chars().count() as f64, "a length")
            }
            Value::Array(items) => {
                let (low, high) = (bound(self.min_items), bound(self.max_items));
                (low, high, items.len() as f64, "a length")
            }
            _ => return None,
        };
        // If no value can satisfy the rules, the rules are wrong, not the value.
        let possible = low.zip(high).is_none_or(|(low, high)| low <= high);
        let outside = low.is_some_and(|low| size < low) || high.is_some_and(|high| size > high);
        (outside && possible).then(|| {
            let range = match (low, high) {
                (Some(low), Some(high)) => format!("from {low} to {high}"),
                (Some(low), None) => format!("of at least {low}"),
                (_, high) => format!("of at most {}", high.unwrap_or_default()),
            };
            (Rule::Range, format!("{unit} {range}"))
        })
    }
}

words! {
    /// The format of a string.
    TextFormat {
        /// An e-mail address.
        Email = "email",
        /// An absolute URL.
        Url = "url",
        /// An absolute URL, under its JSON Schema name.
        Uri = "uri",
        Uuid = "uuid",
        /// A calendar date.
        Date = "date",
        /// A date and time with a time zone.
        DateTime = "date-time",
    }
}

impl TextFormat {
    /// Whether a string has this format.
    pub fn accepts(self, text: &str) -> bool {
        let keyword = self.keyword();
        let judge = JUDGES.iter().find(|(name, _)| *name == keyword);
        judge.is_some_and(|(_, judge)| judge.is_valid(&Value::from(text)))
    }

    /// The name of the format in messages.
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

/// Validators for string formats, the same ones that JSON Schema uses.
static JUDGES: LazyLock<Vec<(&'static str, jsonschema::Validator)>> = LazyLock::new(|| {
    let judge = |name: &'static str| {
        let options = jsonschema::options().should_validate_formats(true);
        let schema = json!({"type": "string", "format": name});
        Some((name, json_schema::build(&options, &schema).ok()?))
    };
    ["email", "uri", "uuid", "date", "date-time"].into_iter().filter_map(judge).collect()
});

shape! {
    /// A default as written.
    DefaultDoc = "a default such as `{from: literal, value: …}`";
    "from" from: req DefaultFrom = "Where the default comes from.",
    "value" value: opt Spot<Value> = "The value, the variable's name, or the workflow's id.",
}

#[derive(Debug, Clone, PartialEq)]
pub struct InputDefault(pub DefaultDoc);

impl Decode for InputDefault {
    const WANT: &'static str = DefaultDoc::WANT;

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let like_ours = |key: &str| {
            ["from", "value"].contains(&key) || suggest::nearest(key, ["from", "value"]).is_some()
        };
        let is_doc = match &node.kind {
            SyntaxKind::Map(entries) => {
                entries.is_empty() || entries.iter().any(|(key, _)| like_ours(&key.name))
            }
            other => *other == SyntaxKind::Bad,
        };
        if is_doc {
            return DefaultDoc::decode(node, report).map(InputDefault);
        }
        if node.kind == SyntaxKind::Null {
            let fault = Finding::error(node.at, Rule::Type, "the default is empty");
            let mend = Mend::Remove { key: node.at };
            report.add(fault.on_key().suggest("remove it, or write `optional: true`").mend(mend));
            return None;
        }
        let meant = json!({"from": "literal", "value": node.to_value()});
        Finding::error(node.at, Rule::Type, "a default must specify where it comes from")
            .expected("`{from: literal, value: …}`")
            .actual(node.noun())
            .suggest(format!("write `{meant}`"))
            .mend(Mend::Replace { at: node.at, value: meant })
            .add_to(report);
        None
    }

    fn schema(defs: &mut Defs) -> Value {
        DefaultDoc::schema(defs)
    }
}

/// The key `required`, which other languages have. Inputs here use the opposite, `optional`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredSlip;

impl Decode for RequiredSlip {
    const WANT: &'static str = "nothing";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let key = node.at;
        let fault = Finding::error(node.at, Rule::UnknownKey, "unknown key `required`")
            .on_key()
            .expected("`optional`");
        let said = match &node.kind {
            SyntaxKind::Bool(flag) => Some(*flag),
            SyntaxKind::Str(text) => text.to_ascii_lowercase().parse().ok(),
            _ => None,
        };
        report.add(match said {
            Some(false) => fault.suggest("write `optional: true`").mend(Mend::All(vec![
                Mend::Replace { at: key, value: Value::Bool(true) },
                Mend::RenameKey { key, to: "optional".into() },
            ])),
            Some(true) => fault
                .suggest("remove it: inputs are required unless `optional`")
                .mend(Mend::Remove { key }),
            None => fault.suggest("write `optional: true`, or remove it"),
        });
        None
    }

    fn schema(_: &mut Defs) -> Value {
        Value::Bool(false)
    }
}

/// The command that yields choices, and the field of its response that contains them.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    pub at: Span,
    pub command: CommandId,
    /// The field of the response that contains the choices.
    pub field: Option<String>,
}

shape! {
    /// A provider written as a map.
    ProviderDoc = "a provider";
    "id" id: req CommandId = "The command.",
    "field" field: opt String = "The field of the response that holds the choices.",
}

impl Decode for Provider {
    const WANT: &'static str = "a provider such as `shop orders:list`";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        if let SyntaxKind::Map(_) = node.kind {
            let doc = ProviderDoc::decode(node, report)?;
            return Some(Provider { at: node.at, command: doc.id, field: doc.field });
        }
        let command = CommandId::decode(node, report)?;
        Some(Provider { at: node.at, command, field: None })
    }

    fn schema(defs: &mut Defs) -> Value {
        json!({"anyOf": [CommandId::schema(defs), ProviderDoc::schema(defs)]})
    }
}

/// Where a provider argument comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum ArgumentSource {
    /// A literal value or template.
    Value(Dynamic),
    /// Another input or a step.
    From(Box<FromDoc>),
}

shape! {
    /// An argument taken from an input or a step.
    FromDoc = "a source such as `{from_input: order_id}`";
    "from_input" from_input: opt Spot<String> = "The input.",
    "from_step" from_step: opt Spot<String> = "The step.",
    "path" path: opt String = "The path within its value.",
    "required" required: opt bool = "Whether it is required.",
    "on_missing" on_missing: opt Missing = "What happens if it is missing.",
}

impl Decode for ArgumentSource {
    const WANT: &'static str = "a value or `{from_input: …}`";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let names = ["from_input", "from_step"];
        let like_ours = |key: &str| names.contains(&key) || suggest::nearest(key, names).is_some();
        if node.entries().iter().any(|(key, _)| like_ours(&key.name)) {
            let doc = FromDoc::decode(node, report)?;
            return Some(ArgumentSource::From(Box::new(doc)));
        }
        Dynamic::decode(node, report).map(ArgumentSource::Value)
    }

    fn schema(defs: &mut Defs) -> Value {
        // Any value is allowed, so the branch for sources only helps editors.
        json!({"anyOf": [FromDoc::schema(defs), {}]})
    }
}

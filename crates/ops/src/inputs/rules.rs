//! An input as people and models see it before they give it a value.

use milepost_model::input::{DefaultFrom, Input};

use crate::prelude::*;

/// Constraints on a value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct RulesView {
    /// The only accepted values.
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<Value>>,
    /// A regular expression the text must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Minimum number of characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<i64>,
    /// Maximum number of characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<i64>,
    /// Smallest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// Largest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    /// Minimum number of items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_items: Option<i64>,
    /// Maximum number of items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_items: Option<i64>,
    /// The text's format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// The source of a value when none is given.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DefaultView {
    /// `literal`, `env`, `history` or `workflow_output`.
    pub from: String,
    /// The value, the variable's name, or the workflow's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// How several values are joined into text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JoinView {
    /// Placed between two values.
    pub separator: String,
    /// Placed before and after each value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wrap_each: String,
}

impl RulesView {
    /// An input's rules, if it has any.
    pub(super) fn of(input: &Input) -> Option<RulesView> {
        let Some(rules) = &input.validate else {
            let choices = Some(input.choices.clone()?);
            return Some(RulesView { choices, ..RulesView::default() });
        };
        let view = RulesView {
            choices: input.listed_choices().cloned(),
            pattern: rules.pattern.as_ref().map(|pattern| pattern.0.as_str().to_owned()),
            min_length: rules.min_length.map(|bound| bound.0),
            max_length: rules.max_length.map(|bound| bound.0),
            minimum: rules.minimum,
            maximum: rules.maximum,
            min_items: rules.min_items.map(|bound| bound.0),
            max_items: rules.max_items.map(|bound| bound.0),
            format: rules.format.map(|format| format.name().to_owned()),
        };
        Some(view).filter(|view| *view != RulesView::default())
    }
}

pub(super) fn default_of(input: &Input) -> Option<DefaultView> {
    let default = &input.default.as_ref()?.0;
    let value = default.value.as_ref().map(|value| value.value.clone());
    // Validation rejects literal defaults for secrets, but one that slipped through must never be
    // shown.
    let hidden = default.from == DefaultFrom::Literal && input.is_secret();
    Some(DefaultView { from: default.from.name().to_owned(), value: value.filter(|_| !hidden) })
}

pub(super) fn join_of(input: &Input) -> Option<JoinView> {
    let join = input.join.as_ref()?;
    Some(JoinView {
        separator: join.separator.clone().unwrap_or_else(|| ",".to_owned()),
        wrap_each: join.wrap_each.clone().unwrap_or_default(),
    })
}

/// The `select` fields that the author set, by name.
pub(super) fn select_of(input: &Input) -> Map<String, Value> {
    let Some(select) = &input.select else { return Map::new() };
    let fields = [
        ("value_field", &select.value_field),
        ("display_field", &select.display_field),
        ("id_field", &select.id_field),
    ];
    let said = fields.into_iter().filter_map(|(name, field)| Some((name, field.as_deref()?)));
    said.map(|(name, field)| (name.to_owned(), Value::from(field))).collect()
}

//! Checks whether an output satisfies the contract of its step.

use milepost_model::step::{FieldType, Step};
use serde_json::Value;

use crate::interpreter::step_action::kind_of;
use crate::{Cause, Failure, StepKey};

/// The failure for the first field that violates the contract.
pub(crate) fn misfit(key: &StepKey, step: &Step, output: &Value) -> Option<Failure> {
    let contract = step.output_contract.as_ref()?;
    let broken = |field: &str, expected: &str, found: &str| {
        let (field, expected) = (field.to_owned(), expected.to_owned());
        Cause::Contract { key: key.clone(), field, expected, found: found.to_owned() }.into()
    };
    contract.fields.iter().find_map(|field| {
        let name = field.name.value.as_str();
        let wanted = field.kind.unwrap_or(FieldType::Any);
        match output.get(name) {
            Some(value) if is_of(value, wanted) => None,
            Some(value) => Some(broken(name, wanted.name(), kind_of(value))),
            None => Some(broken(name, wanted.name(), "missing")),
        }
    })
}

fn is_of(value: &Value, wanted: FieldType) -> bool {
    match wanted {
        FieldType::String => value.is_string(),
        FieldType::Number => value.is_number(),
        FieldType::Integer => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        FieldType::Boolean => value.is_boolean(),
        FieldType::Array => value.is_array(),
        FieldType::Object => value.is_object(),
        FieldType::Any => true,
    }
}

//! Checks arguments against their schemas. A schema is compiled on first use. If it does not
//! compile, its argument is not checked, because a mistake in a document must not prevent a call.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use milepost_model::suggest::excerpt;
use serde_json::{Map, Value};

use crate::limits;
use crate::schema::{self, Definitions, Direction, size};

/// A compiled schema, or the reason why there is none.
#[derive(Debug)]
pub(crate) enum ArgumentCheck {
    /// Any value is valid.
    Nothing,
    Schema {
        validator: Box<Validator>,
        /// The number of paths by which a value can return to the same schema at each nesting
        /// level.
        ways: usize,
    },
    /// Values cannot be checked, for this reason.
    Unchecked(String),
}

/// A value that does not match its schema.
pub(crate) struct SchemaMismatch {
    pub(crate) pointer: String,
    pub(crate) message: String,
}

impl ArgumentCheck {
    /// Compiles a schema with its definitions. In a body, properties that only occur in responses
    /// are not required.
    pub(crate) fn compile(schema: &Value, defs: &Definitions, is_body: bool) -> ArgumentCheck {
        if schema.as_object().is_none_or(Map::is_empty) && schema != &Value::Bool(false) {
            return ArgumentCheck::Nothing;
        }
        let unfolded = size::size(schema, defs);
        if unfolded.parts > limits::CHECKED_SCHEMA_PARTS {
            let reason = "its schema is too large when its references are expanded";
            return ArgumentCheck::Unchecked(reason.to_owned());
        }
        let names = schema::reachable(schema, defs);
        let reached = || defs.iter().filter(|(name, _)| names.contains(*name));
        let schemas = reached().map(|(_, definition)| definition).chain([schema]);
        let bytes: usize = schemas.map(|schema| schema.to_string().len()).sum();
        if bytes > limits::CHECKED_SCHEMA_BYTES {
            return ArgumentCheck::Unchecked("its schema is too large".to_owned());
        }
        let mut whole = schema.clone();
        if let Value::Object(map) = &mut whole
            && !names.is_empty()
        {
            let reached = reached().map(|(name, definition)| (name.clone(), definition.clone()));
            map.insert("$defs".to_owned(), Value::Object(reached.collect()));
        }
        if is_body {
            schema::one_way(&mut whole, defs, Direction::Request);
        }
        match schema::compile(&any_of(whole)) {
            Ok(validator) => {
                ArgumentCheck::Schema { validator: Box::new(validator), ways: unfolded.ways }
            }
            Err(error) => ArgumentCheck::Unchecked(excerpt(&error.to_string())),
        }
    }

    /// The violations in a value; an error with the reason if the value could not be checked.
    /// Locations in `apart` hold files, which no schema describes.
    pub(crate) fn verdict(
        &self,
        value: &Value,
        apart: &[String],
    ) -> Result<Vec<SchemaMismatch>, String> {
        let mut misfits = Vec::new();
        let (validator, ways) = match self {
            ArgumentCheck::Nothing => return Ok(misfits),
            ArgumentCheck::Unchecked(why) => return Err(why.clone()),
            ArgumentCheck::Schema { validator, ways } => (validator, *ways),
        };
        if ways > 1 && ways.saturating_pow(size::depth(value)) > limits::CHECKED_WAYS {
            return Err("its schema is too deeply recursive for this value".to_owned());
        }
        if validator.is_valid(value) {
            return Ok(misfits);
        }
        for error in validator.iter_errors(value) {
            if gave_up(&error) {
                return Err(excerpt(&error.to_string()));
            }
            if misfits.len() < limits::MISFITS && !is_about(&error, apart) {
                let pointer = error.instance_path().to_string();
                misfits.push(SchemaMismatch { pointer, message: message(&error) });
            }
        }
        Ok(misfits)
    }
}

/// Replaces every `oneOf` with `anyOf`. Documents often distinguish the alternatives only by a
/// discriminator or not at all, so a value that matches two of them is still valid.
fn any_of(schema: Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut looser = Map::new();
            for (key, value) in map {
                let data = schema::DATA_KEYWORDS.contains(&key.as_str());
                let value = if data { value } else { any_of(value) };
                if key == "oneOf" && !looser.contains_key("anyOf") {
                    looser.insert("anyOf".to_owned(), value);
                } else if key != "oneOf" {
                    looser.insert(key, value);
                }
            }
            Value::Object(looser)
        }
        Value::Array(items) => items.into_iter().map(any_of).collect(),
        other => other,
    }
}

/// Whether a pattern exceeded its limits, in which case it is unknown whether the value matches.
fn gave_up(error: &ValidationError<'_>) -> bool {
    use ValidationErrorKind::{BacktrackLimitExceeded, RegexEngineFailure};
    matches!(error.kind(), BacktrackLimitExceeded { .. } | RegexEngineFailure { .. })
}

/// The validation message, without long values that would hide the rest.
fn message(error: &ValidationError<'_>) -> String {
    if let ValidationErrorKind::Enum { options } = error.kind()
        && let Some(text) = choices(error, options)
    {
        return text;
    }
    let long = error.instance().to_string().len() > limits::SHOWN_VALUE_BYTES;
    let text = if long { error.masked_with("the value").to_string() } else { error.to_string() };
    excerpt(&text)
}

/// Lists the allowed values, if there are not too many, and suggests the closest one.
fn choices(error: &ValidationError<'_>, options: &Value) -> Option<String> {
    let options = options.as_array().filter(|all| all.len() <= limits::SHOWN_CHOICES)?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let words: Vec<String> = options.iter().map(text).collect();
    let found = excerpt(&text(error.instance()));
    let list = milepost_model::suggest::list(words.iter().map(String::as_str));
    let near = milepost_model::suggest::closest(&found, words.iter().map(String::as_str));
    let meant = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Some(format!("must be {list}, not `{found}`{meant}"))
}

fn is_about(error: &ValidationError<'_>, apart: &[String]) -> bool {
    let path = error.instance_path().as_str();
    let choice = matches!(
        error.kind(),
        ValidationErrorKind::AnyOf { .. }
            | ValidationErrorKind::OneOfNotValid { .. }
            | ValidationErrorKind::OneOfMultipleValid { .. }
    );
    apart.iter().any(|place| {
        let inside = path.strip_prefix(place.as_str());
        let above = place.strip_prefix(path);
        let boundary = |rest: &str| rest.is_empty() || rest.starts_with('/');
        inside.is_some_and(boundary) || (choice && above.is_some_and(boundary))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plain_type_is_checked_like_any_other_schema() {
        let values =
            [json!("a"), json!(1), json!(1.5), json!(1.0), json!(true), json!(null), json!([1])];
        let schemas = [
            (json!({"type": "string"}), Some("a")),
            (json!({"type": "integer", "description": "How many", "default": 3}), Some("1 1.0")),
            (json!({"type": "number", "title": "n"}), Some("1 1.5 1.0")),
            (json!({"type": "boolean", "example": "yes"}), Some("true")),
            (json!({"type": "string", "maxLength": 0}), Some("")),
            (json!({"type": ["string", "null"]}), Some("a null")),
            (json!({"type": "strin"}), None),
            (json!({"title": "anything"}), Some("a 1 1.5 1.0 true null [1]")),
            (json!(false), Some("")),
        ];
        for (schema, fitting) in &schemas {
            let check = ArgumentCheck::compile(schema, &Definitions::default(), false);
            let verdict = |value: &Value| check.verdict(value, &[]).map(|found| found.is_empty());
            let mut fits = Vec::new();
            for value in &values {
                let fitted = verdict(value);
                assert_eq!(fitted.is_ok(), fitting.is_some(), "{schema}");
                fits.extend(fitted.ok().filter(|fits| *fits).map(|_| value.to_string()));
            }
            assert_eq!(fits.join(" ").replace('"', ""), fitting.unwrap_or_default(), "{schema}");
        }
    }
}

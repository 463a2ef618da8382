//! Reports where a document deviates from the OpenAPI specification, using the published schemas.
//! Deviations are only warnings; the document is read anyway.

use jsonschema::{ValidationError, Validator};
use milepost_model::json_schema::build;

use crate::finding::{DocumentFindings, DocumentRule};
use crate::limits;
use crate::openapi::{Api, OpenApiVersion};
use crate::schema;

/// Adds the first deviations from the specification.
pub fn departures(api: &Api, findings: &mut DocumentFindings) {
    if api.document().text().len() > limits::SPECIFICATION_BYTES {
        let message = "the document is too large to check against the specification";
        return findings.add("", DocumentRule::SPECIFICATION, message);
    }
    let Some(validator) = validator(api.version()) else { return };
    let value = api.document().root().to_value();
    for error in validator.iter_errors(&value).take(limits::DEPARTURES) {
        findings.add(error.instance_path().to_string(), DocumentRule::SPECIFICATION, told(&error));
    }
}

/// The compiled schema for a version. Tests ensure that every schema compiles.
fn validator(version: OpenApiVersion) -> Option<Validator> {
    let text = match version {
        OpenApiVersion::V2 => include_str!("../schemas/openapi-2.0.json"),
        OpenApiVersion::V3_0 => include_str!("../schemas/openapi-3.0.json"),
        OpenApiVersion::V3_1 => include_str!("../schemas/openapi-3.1.json"),
        OpenApiVersion::V3_2 => include_str!("../schemas/openapi-3.2.json"),
    };
    let schema = serde_json::from_str(text).ok()?;
    build(&schema::options(), &schema).ok()
}

/// The message for an error, without the offending values, because they can be large and are
/// third-party text.
fn told(error: &ValidationError<'_>) -> String {
    let schema = error.schema_path().to_string();
    let keyword = schema.rsplit('/').find(|part| !part.bytes().all(|b| b.is_ascii_digit()));
    let masked = error.masked().to_string();
    format!("does not match the specification (`{}`): {masked}", keyword.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::validator;
    use crate::openapi::OpenApiVersion;

    #[test]
    fn every_schema_compiles() {
        for version in
            [OpenApiVersion::V2, OpenApiVersion::V3_0, OpenApiVersion::V3_1, OpenApiVersion::V3_2]
        {
            assert!(validator(version).is_some(), "{}", version.name());
        }
    }
}

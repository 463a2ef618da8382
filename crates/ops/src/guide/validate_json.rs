//! `guide.validate_json`: checks whether a string is a guide, reporting every fault at once.

use milepost_model::document::Document;
use milepost_model::finding::{Rule, Severity};
use milepost_model::violation::Violation;

use super::check::ValidationResult;
use crate::prelude::*;
use crate::reader::WORLD;

/// The text of a guide.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidateJsonRequest {
    /// The complete workflow JSON content as a string to validate
    #[schemars(length(min = 1))]
    pub workflow_json: String,
}

operation! {
    ValidateGuideJson: "guide.validate_json", "Validate a workflow's JSON",
        "Validates workflow JSON content directly, without saving it";
    doors: [Door::GuideTool("workflow_validate_json")];
    run: validate_guide_json(Reader, ValidateJsonRequest) -> ValidationResult;
    example: {"workflowJson": "{\"id\":\"test-workflow\",\"name\":\"Test Workflow\"}"};
}

async fn validate_guide_json(
    _: &Reader,
    _: &dyn Caller,
    request: ValidateJsonRequest,
) -> Result<ValidationResult> {
    let document = Document::read_guide(&request.workflow_json, WORLD);
    let is_error = |one: &&Violation| one.severity == Severity::Error;
    let errors: Vec<&Violation> = document.violations.iter().filter(is_error).collect();
    let mut verdict = ValidationResult { valid: errors.is_empty(), ..ValidationResult::default() };
    if verdict.valid {
        let remarks = document.violations.iter().filter(|one| one.rule != Rule::NotActedOn);
        verdict.suggestions = remarks.map(remark).collect();
    }
    for error in errors {
        verdict.issues.push(issue(error, &request.workflow_json));
        for suggestion in suggestions(error) {
            if !verdict.suggestions.contains(&suggestion) {
                verdict.suggestions.push(suggestion);
            }
        }
    }
    Ok(verdict)
}

fn remark(warning: &Violation) -> String {
    let suggestion = warning.suggestion.as_deref().unwrap_or("review this");
    format!("{}{}: {suggestion}", place(warning), warning.message)
}

fn issue(error: &Violation, text: &str) -> String {
    match error.rule {
        Rule::Syntax => syntax(error, text),
        Rule::Required => match wanted_key(error) {
            Some(key) => format!("{}Missing required property '{key}'", place(error)),
            None => format!("{}{}", place(error), error.message),
        },
        _ => match &error.expected {
            Some(expected) => format!("{}{}: expected {expected}", place(error), error.message),
            None => format!("{}{}", place(error), error.message),
        },
    }
}

/// The JSON pointer of a violation as a prefix; empty for the document as a whole.
fn place(violation: &Violation) -> String {
    match violation.path.as_str() {
        "" => String::new(),
        path => format!("{path}: "),
    }
}

fn syntax(error: &Violation, text: &str) -> String {
    let position = text.get(..error.at.start as usize).map_or(0, |before| before.chars().count());
    let mut message = error.message.clone();
    if let Some(first) = message.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let told = format!("JSON syntax error: {message} at position {position}");
    // In a single-line source, the position is enough.
    let line = match text.trim_end().contains('\n') {
        true => format!("{told} (line {}, column {})", error.line, error.column),
        false => told,
    };
    match &error.expected {
        Some(expected) if !is_cut_short(error) => format!("{line}: expected {expected}"),
        _ => line,
    }
}

/// Whether the source ends prematurely.
fn is_cut_short(error: &Violation) -> bool {
    error.rule == Rule::Syntax && error.message == "unexpected end of JSON input"
}

fn suggestions(error: &Violation) -> Vec<String> {
    if is_cut_short(error) {
        return vec![
            "Check for missing closing braces, brackets, or quotes".to_owned(),
            "Validate JSON syntax using a JSON validator or formatter".to_owned(),
        ];
    }
    let missing = (error.rule == Rule::Required).then(|| wanted_key(error)).flatten();
    let suggestion = match (missing, &error.suggestion) {
        (Some("description"), _) => {
            "Add required 'description' field with a meaningful description".to_owned()
        }
        (Some("steps"), _) => "Add required 'steps' array with at least one step object".to_owned(),
        (Some(key), _) => format!("Add required '{key}' field"),
        (None, Some(suggestion)) => format!("{}{suggestion}", place(error)),
        (None, None) => "Validate JSON syntax using a JSON validator or formatter".to_owned(),
    };
    match missing {
        Some(_) => vec![format!("{}{suggestion}", place(error))],
        None => vec![suggestion],
    }
}

/// The missing key named by a violation.
fn wanted_key(error: &Violation) -> Option<&str> {
    error.expected.as_deref()?.strip_prefix('`')?.strip_suffix('`')
}

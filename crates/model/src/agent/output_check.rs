//! Checks the output of an agent step against its schema and its rules.
//!
//! A rule whose condition does not hold is *not applicable*: it neither passes nor fails. A
//! composition without any applicable member is not applicable either. An output is valid if no
//! rule applies.

use serde_json::Value;

use crate::condition::Variables;
use crate::criteria::{Check, CheckKind, Criteria, RulePattern};
use crate::json_schema::{JsonSchema, Misfit};
use crate::limits;
use crate::step::Prompt;
use crate::suggest::excerpt;
use crate::walk::declared_names;

/// What is wrong with an output, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputIssue {
    /// The author's message, or what exactly does not match.
    pub message: String,
    /// The next action to take, with what was expected and what was found.
    pub suggestion: String,
}

/// A rule or schema that cannot be applied, for example because a pattern hit a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} cannot be checked against this output: {cause}")]
pub struct Undecidable {
    /// The pattern or the schema.
    pub what: String,
    /// Why it cannot be applied.
    pub cause: String,
}

/// All issues with an output; empty if it is valid. A loop has no prompt and no criteria, so any
/// output that is not blank is valid for it.
pub fn check_output(
    prompt: Option<&Prompt>,
    output: &str,
    context: &dyn Variables,
) -> Result<Vec<OutputIssue>, Undecidable> {
    if output.trim().is_empty() {
        return Ok(vec![OutputIssue {
            message: "The output is blank".to_owned(),
            suggestion: "Write what was done and what the result is.".to_owned(),
        }]);
    }
    let Some(prompt) = prompt else { return Ok(Vec::new()) };
    let mut issues = Vec::new();
    if let Some(schema) = &prompt.output_schema {
        let message = "The output does not match the step's schema";
        issues.extend(schema_issues(schema, message, output)?);
    }
    let report = report_in(prompt, output);
    let output = Judged { whole: output, text: report.as_deref().unwrap_or(output) };
    if let Some(criteria) = &prompt.criteria
        && let Judgement::Fails(found) = criteria.judge(output, context)?
    {
        issues.extend(found);
    }
    Ok(issues)
}

/// The property of an output that contains its text, if a schema of the step declares it.
const REPORT: &str = "report";

/// The text in a structured output. Rules about text are about this text, not about the JSON around
/// it.
fn report_in(prompt: &Prompt, output: &str) -> Option<String> {
    if !output.trim_start().starts_with('{') || !declared_names(prompt).contains(REPORT) {
        return None;
    }
    let value: Value = serde_json::from_str(output).ok()?;
    value.get(REPORT)?.as_str().map(str::to_owned)
}

/// An output as rules judge it.
#[derive(Clone, Copy)]
struct Judged<'o> {
    /// What was handed in, for schemas.
    whole: &'o str,
    /// The text, for all other rules.
    text: &'o str,
}

type Checked<T> = Result<T, Undecidable>;

/// The result of checking an output against criteria.
enum Judgement {
    NotApplicable,
    Passes,
    Fails(Vec<OutputIssue>),
}

impl Criteria {
    /// Describes what an output will be checked for: the messages of the rules that apply in a
    /// context.
    pub fn applicable(&self, context: &dyn Variables) -> Vec<String> {
        match self {
            Criteria::All(parts) => {
                parts.iter().flat_map(|part| part.applicable(context)).collect()
            }
            Criteria::Any(parts) => {
                let ways = parts.iter().map(|part| part.applicable(context).join(" and "));
                one_of(ways.filter(|way| !way.is_empty()).collect()).into_iter().collect()
            }
            Criteria::Not(part) => {
                part.applicable(context).iter().map(|message| denied(message)).collect()
            }
            Criteria::Check(check) if check.applies(context) => vec![check.message.clone()],
            Criteria::Check(_) => Vec::new(),
        }
    }

    fn judge(&self, output: Judged<'_>, context: &dyn Variables) -> Checked<Judgement> {
        match self {
            Criteria::All(parts) => all(parts, output, context),
            Criteria::Any(parts) => any(parts, output, context),
            Criteria::Not(part) => Ok(match part.judge(output, context)? {
                Judgement::NotApplicable => Judgement::NotApplicable,
                Judgement::Passes => Judgement::Fails(refusals(part, context)),
                Judgement::Fails(_) => Judgement::Passes,
            }),
            Criteria::Check(check) if check.applies(context) => {
                let issues = check.issues(output)?;
                Ok(if issues.is_empty() { Judgement::Passes } else { Judgement::Fails(issues) })
            }
            Criteria::Check(_) => Ok(Judgement::NotApplicable),
        }
    }
}

fn all(parts: &[Criteria], output: Judged<'_>, context: &dyn Variables) -> Checked<Judgement> {
    let (mut issues, mut applies) = (Vec::new(), false);
    for part in parts {
        match part.judge(output, context)? {
            Judgement::NotApplicable => {}
            Judgement::Passes => applies = true,
            Judgement::Fails(found) => issues.extend(found),
        }
    }
    Ok(match issues.is_empty() {
        false => Judgement::Fails(issues),
        true if applies => Judgement::Passes,
        true => Judgement::NotApplicable,
    })
}

fn any(parts: &[Criteria], output: Judged<'_>, context: &dyn Variables) -> Checked<Judgement> {
    let mut failed = Vec::new();
    for part in parts {
        match part.judge(output, context)? {
            Judgement::NotApplicable => {}
            Judgement::Passes => return Ok(Judgement::Passes),
            Judgement::Fails(found) => failed.push(found),
        }
    }
    Ok(match failed.len() {
        0 => Judgement::NotApplicable,
        1 => Judgement::Fails(failed.swap_remove(0)),
        _ => {
            let join = |part: fn(&OutputIssue) -> &str, word: &str| -> Vec<String> {
                let texts = failed.iter().map(|issues| issues.iter().map(part).collect::<Vec<_>>());
                texts.map(|texts| texts.join(word)).collect()
            };
            let message = one_of(join(|issue| &issue.message, " and ")).unwrap_or_default();
            let ways = join(|issue| &issue.suggestion, " ");
            let suggestion = format!("Do one of these: {}", ways.join(" Or: "));
            Judgement::Fails(vec![OutputIssue { message, suggestion }])
        }
    })
}

/// Joins the messages of alternatives into one.
fn one_of(mut messages: Vec<String>) -> Option<String> {
    match messages.len() {
        0 | 1 => messages.pop(),
        _ => Some(format!("one of: {}", messages.join("; "))),
    }
}

fn denied(message: &str) -> String {
    format!("must not be true: {message}")
}

/// The issues for a failed `not`: the messages of the rules that hold but must not.
fn refusals(part: &Criteria, context: &dyn Variables) -> Vec<OutputIssue> {
    let message = part.applicable(context).join("; ");
    let told = match part {
        Criteria::Check(check) => check.kind.as_refusal(),
        _ => "Change the output so that this is no longer true.".to_owned(),
    };
    vec![OutputIssue { message: denied(&message), suggestion: told }]
}

impl Check {
    fn applies(&self, context: &dyn Variables) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.holds(context))
    }

    fn issues(&self, judged: Judged<'_>) -> Checked<Vec<OutputIssue>> {
        let output = judged.text;
        let one =
            |suggestion: String| vec![OutputIssue { message: self.message.clone(), suggestion }];
        Ok(match &self.kind {
            CheckKind::Contains(text) if output.contains(text.as_str()) => Vec::new(),
            CheckKind::Contains(text) => one(absent(text, output)),
            CheckKind::Regex(pattern) => match matches(pattern, output)? {
                true => Vec::new(),
                false => one(format!("Make the output match {}.", shown(pattern))),
            },
            CheckKind::Length { min, max } => {
                let count = output.chars().count() as u64;
                let found = format!("the output has {count}");
                match (min, max) {
                    (Some(min), _) if count < *min => {
                        one(format!("Write at least {min} characters: {found}."))
                    }
                    (_, Some(max)) if count > *max => {
                        one(format!("Write at most {max} characters: {found}."))
                    }
                    _ => Vec::new(),
                }
            }
            CheckKind::Schema(schema) => schema_issues(schema, &self.message, judged.whole)?,
        })
    }
}

impl CheckKind {
    fn as_refusal(&self) -> String {
        match self {
            CheckKind::Contains(text) => format!("Remove `{}` from the output.", excerpt(text)),
            CheckKind::Regex(pattern) => {
                format!("Change the output so that it does not match {}.", shown(pattern))
            }
            CheckKind::Length { min, max } => {
                let bounds = [("fewer", min), ("more", max)];
                let bounds = bounds
                    .iter()
                    .filter_map(|(word, bound)| bound.map(|bound| format!("{word} than {bound}")));
                let bounds: Vec<String> = bounds.collect();
                format!("Write {} characters.", bounds.join(" or "))
            }
            CheckKind::Schema(_) => {
                "Change the output so that it does not match the schema.".to_owned()
            }
        }
    }
}

fn matches(pattern: &RulePattern, output: &str) -> Checked<bool> {
    let what = format!("the pattern {}", shown(pattern));
    pattern.is_match(output).map_err(|cause| Undecidable { what, cause })
}

fn shown(pattern: &RulePattern) -> String {
    format!("`/{}/{}`", excerpt(&pattern.source), pattern.flags)
}

fn absent(text: &str, output: &str) -> String {
    let wanted = excerpt(text);
    let short = output.len() <= limits::OTHER_LETTERS_BYTES;
    if short && output.to_lowercase().contains(&text.to_lowercase()) {
        return format!(
            "Write `{wanted}` exactly: the output contains it only with different capitalization."
        );
    }
    let count = output.chars().count();
    format!("Add `{wanted}`: the output ({count} characters) does not contain it.")
}

fn schema_issues(schema: &JsonSchema, message: &str, output: &str) -> Checked<Vec<OutputIssue>> {
    let one = |suggestion: String| vec![OutputIssue { message: message.to_owned(), suggestion }];
    let value: Value = match serde_json::from_str(output) {
        Ok(value) => value,
        Err(_) if output.trim_start().starts_with("```") => {
            return Ok(one("Send only the JSON, without a code fence.".to_owned()));
        }
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            let place = format!("it is invalid at line {line}, column {column}");
            return Ok(one(format!("Send JSON and nothing else: {place}.")));
        }
    };
    let gave_up = |cause| Undecidable { what: "the JSON Schema".to_owned(), cause };
    let misfits = schema.misfits(&value).map_err(gave_up)?;
    if misfits.is_empty() {
        return Ok(Vec::new());
    }
    let first = "Correct the values listed below; each is named by a JSON pointer into the output.";
    let mut issues = one(first.to_owned());
    issues.extend(misfits.iter().map(|misfit| schema_issue(misfit, &value)));
    Ok(issues)
}

fn schema_issue(misfit: &Misfit, value: &Value) -> OutputIssue {
    let place = match misfit.pointer.as_str() {
        "" => "the output as a whole",
        pointer => pointer,
    };
    let found = value.pointer(&misfit.pointer).map(ToString::to_string).unwrap_or_default();
    let suggestion = match &misfit.missing {
        Some(name) => format!("Add `{name}` to {place}."),
        None => format!("Correct {place}: it is currently `{}`.", excerpt(&found)),
    };
    OutputIssue { message: format!("{place}: {}", misfit.message), suggestion }
}

//! `milepost workflow validate`.

use std::ffi::OsStr;
use std::sync::Arc;

use milepost_model::finding::Severity;
use milepost_model::problem::Problem;
use milepost_model::violation;
use milepost_ops::workflow::mend;
use milepost_ops::workflow::validate::of_document;
use milepost_store::write_atomic;
use milepost_syntax::source::Source;
use serde_json::{Value, json};

use super::args::ValidateArgs;
use crate::diagnostics;
use crate::document::{self, LoadedDocument};
use crate::environment;
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::terminal::{Terminal, count, safe, wrap_words};
use crate::wording;

pub(super) fn run(args: &ValidateArgs, terminal: &mut Terminal) -> CliResult {
    let mut exit = Exit::DONE;
    let mut files = Vec::new();
    let (mut valid, mut invalid, mut all_fixed) = (0, 0, 0);
    for target in &args.targets {
        let mut loaded = match document::load(target) {
            Ok(loaded) => loaded,
            Err(failure) => {
                files.extend(failure.problem().map(|problem| missing(target, problem)));
                exit = worse(exit, failure.show(terminal));
                continue;
            }
        };
        let fixed = if args.fix { fix(&mut loaded, terminal)? } else { 0 };
        all_fixed += fixed;
        if loaded.document.is_valid() {
            valid += 1;
        } else {
            invalid += 1;
            exit = worse(exit, Exit::WORKFLOW_INVALID);
        }
        if terminal.is_json() {
            files.push(as_json(&loaded, args));
        } else {
            show(&loaded, fixed, args, terminal);
        }
    }
    terminal.answer(&json!({"files": files}), |terminal| {
        if args.targets.len() > 1 {
            let fixed = match all_fixed {
                0 => String::new(),
                fixed => format!(", {} fixed", count(fixed, "error")),
            };
            let documents = count(valid + invalid, "document");
            terminal.line(format!("{documents}: {valid} valid, {invalid} invalid{fixed}"));
        }
    })?;
    Ok(exit)
}

/// The entry for a target that could not be read, so that it is not missing from the list.
fn missing(target: &OsStr, problem: &Problem) -> Value {
    json!({
        "path": target.to_string_lossy(),
        "kind": null,
        "id": null,
        "valid": false,
        "violations": [],
        "problem": {
            "error_code": problem.code.name(),
            "message": problem.message,
            "suggested_action": wording::hint_text(&problem.hint),
        },
    })
}

/// The more severe of two exit codes; a missing file outweighs an invalid one.
fn worse(one: Exit, other: Exit) -> Exit {
    let weight = |exit: Exit| match exit {
        Exit::DONE => 0,
        Exit::WORKFLOW_INVALID => 1,
        Exit::NOT_FOUND => 2,
        _ => 3,
    };
    if weight(other) > weight(one) { other } else { one }
}

/// Applies unambiguous fixes and writes the result once.
fn fix(loaded: &mut LoadedDocument, terminal: &mut Terminal) -> CliResult<usize> {
    let Some(mended) = mend::mended(&loaded.document, environment::world()) else { return Ok(0) };
    match (&loaded.versioned, &loaded.file) {
        (Some(id), _) => mend::write(&environment::writer(None)?, id, &loaded.document, &mended)?,
        (None, Some(file)) => write_atomic(file, &mended.bytes, true)?,
        (None, None) if loaded.is_stdin() => {}
        (None, None) => {
            terminal.remark("note: a built-in workflow is read-only and was not changed");
        }
    }
    loaded.document = Arc::new(mended.document);
    Ok(mended.fixed)
}

fn as_json(loaded: &LoadedDocument, args: &ValidateArgs) -> Value {
    let document = &loaded.document;
    let mut file = json!({
        "path": loaded.name,
        "kind": document.spelling.map(milepost_model::workflow::Spelling::name),
        "id": document.id,
        "valid": document.is_valid(),
        "violations": violation::to_values(&document.violations),
        "unchecked": of_document(document).unchecked,
    });
    // Standard output is this JSON object, so it has to include the fixed document.
    if args.fix && loaded.is_stdin() {
        file["fixed"] = document.source.as_ref().map(Source::text).into();
    }
    file
}

fn show(loaded: &LoadedDocument, fixed: usize, args: &ValidateArgs, terminal: &mut Terminal) {
    let document = &loaded.document;
    let source = document.source.as_ref();
    // With `--fix -`, standard output is the document, fixed or not, because a filter must not
    // swallow its input.
    let is_filter = args.fix && loaded.is_stdin();
    if let Some(source) = source.filter(|_| is_filter) {
        terminal.raw(&source.with_text(source.text()));
    }
    let width = terminal.width();
    let mut say = |text: String| match is_filter {
        true => terminal.notice(text),
        false => terminal.line(text),
    };
    for violation in &document.violations {
        let text = diagnostics::render(violation, &loaded.name, source, width);
        say(format!("{text}\n"));
    }
    say(wrap_words(&verdict(loaded, fixed, args), width));
}

fn verdict(loaded: &LoadedDocument, fixed: usize, args: &ValidateArgs) -> String {
    let document = &loaded.document;
    let of = |severity| document.violations.iter().filter(|one| one.severity == severity).count();
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let mut words = Vec::new();
    match &document.workflow {
        Some(_) if errors > 0 => words.push(format!(
            "not valid: {} in validation criteria; the guide can be followed, but those \
             steps cannot be checked",
            count(errors, "error")
        )),
        Some(workflow) => {
            let (spelling, id) = (workflow.spelling.name(), &workflow.id.value);
            let steps = count(workflow.all_steps().len(), "step");
            words.push(format!("valid {spelling} `{id}` with {steps}"));
        }
        None => words.push(format!("not valid: {}", count(errors, "error"))),
    }
    if warnings > 0 {
        words.push(count(warnings, "warning"));
    }
    if fixed > 0 {
        words.push(format!("{} fixed", count(fixed, "error")));
    }
    if !document.unchecked.is_empty() {
        let commands = count(document.unchecked.len(), "command");
        words.push(format!("{commands} not checked: not in any catalog here"));
    }
    let fixable = mend::fixable(document);
    if fixable > 0 && !args.fix {
        words.push(format!("{fixable} can be fixed with `--fix`"));
    }
    format!("{}: {}", safe(&loaded.name), words.join(", "))
}

//! `milepost workflow validate`.

use std::ffi::OsStr;
use std::io::Write;
use std::sync::Arc;

use milepost_model::document::Document;
use milepost_model::finding::Severity;
use milepost_model::problem::Problem;
use milepost_model::source::Source;
use milepost_model::violation;
use milepost_ops::workflow::mend;
use milepost_ops::workflow::validate::of_document;
use milepost_store::write_atomic;
use serde_json::{Value, json};

use super::count;
use crate::args::Validate;
use crate::diagnostics;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::target::{self, Loaded};
use crate::terminal::{Terminal, safe, wrap};
use crate::wording;

pub(crate) fn run(arguments: &Validate, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    let mut files = Vec::new();
    let mut summary = Summary::default();
    for target in &arguments.targets {
        let mut loaded = match target::load(target) {
            Ok(loaded) => loaded,
            Err(failure) => {
                if arguments.json.json {
                    files.extend(failure.problem().map(|problem| missing(target, problem)));
                }
                exit = worse(exit, failure.show(terminal, arguments.json.json));
                continue;
            }
        };
        let fixed = if arguments.fix { fix(&mut loaded, terminal)? } else { 0 };
        if arguments.fix && is_stdin(&loaded) && !arguments.json.json {
            pass_on(&loaded, terminal)?;
        }
        let valid = loaded.document.is_valid();
        if !valid {
            exit = worse(exit, Exit::WorkflowInvalid);
        }
        summary.add(&loaded.document, fixed);
        if arguments.json.json {
            files.push(as_json(&loaded, arguments));
        } else {
            show(&loaded, fixed, arguments, terminal)?;
        }
    }
    if arguments.json.json {
        terminal.line(&json!({"files": files}).to_string())?;
    } else if arguments.targets.len() > 1 {
        terminal.line(&summary.words())?;
    }
    Ok(exit)
}

/// The entry of a target that could not be read: a reader of the list must not miss it.
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
            "suggested_action": wording::said(&problem.hint),
        },
    })
}

/// A file that is not there weighs more than one that is not valid.
fn worse(one: Exit, other: Exit) -> Exit {
    let weight = |exit: Exit| match exit {
        Exit::Done => 0,
        Exit::WorkflowInvalid => 1,
        Exit::NotFound => 2,
        _ => 3,
    };
    if weight(other) > weight(one) { other } else { one }
}

/// Applies certain fixes, and writes the result once.
fn fix(loaded: &mut Loaded, terminal: &mut Terminal) -> Result<usize, Failure> {
    let Some(mended) = mend::mended(&loaded.document, target::world()) else { return Ok(0) };
    match (&loaded.kept, &loaded.file) {
        (Some(id), _) => mend::write(&target::writer(None)?, id, &loaded.document, &mended)?,
        (None, Some(file)) => write_atomic(file, &mended.bytes, true)?,
        (None, None) if is_stdin(loaded) => {}
        (None, None) => {
            terminal.remark("note: a built-in workflow is read-only and stays as it is");
        }
    }
    loaded.document = Arc::new(mended.document);
    Ok(mended.fixed)
}

fn is_stdin(loaded: &Loaded) -> bool {
    loaded.name == "<stdin>"
}

/// What came from standard input goes to standard output, mended or not: a filter never eats it.
fn pass_on(loaded: &Loaded, terminal: &mut Terminal) -> Result<(), Failure> {
    if let Some(source) = &loaded.document.source {
        terminal.out().write_all(&source.with_text(source.text()))?;
    }
    Ok(())
}

fn as_json(loaded: &Loaded, arguments: &Validate) -> Value {
    let document = &loaded.document;
    let mut file = json!({
        "path": loaded.name,
        "kind": document.spelling.map(milepost_model::workflow::Spelling::name),
        "id": document.id,
        "valid": document.is_valid(),
        "violations": violation::to_values(&document.violations),
        "unchecked": of_document(document).unchecked,
    });
    // Standard output is this object, so the text has to be in it.
    if arguments.fix && is_stdin(loaded) {
        file["fixed"] = document.source.as_ref().map(Source::text).into();
    }
    file
}

fn show(
    loaded: &Loaded,
    fixed: usize,
    arguments: &Validate,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let document = &loaded.document;
    // With `--fix -` standard output is the document: remarks go to standard error.
    let to_error = arguments.fix && is_stdin(loaded);
    let say = |text: &str, terminal: &mut Terminal| -> Result<(), Failure> {
        if to_error {
            terminal.complain(text);
            return Ok(());
        }
        Ok(terminal.line(text)?)
    };
    let width = terminal.width();
    for violation in &document.violations {
        let text = diagnostics::render(violation, &loaded.name, document.source.as_ref(), width);
        say(&format!("{text}\n"), terminal)?;
    }
    say(&wrap(&verdict(loaded, fixed, arguments), width), terminal)
}

fn verdict(loaded: &Loaded, fixed: usize, arguments: &Validate) -> String {
    let document = &loaded.document;
    let of = |severity| document.violations.iter().filter(|one| one.severity == severity).count();
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let mut words = Vec::new();
    match &document.workflow {
        Some(_) if errors > 0 => words.push(format!(
            "not valid: {} in validation criteria; it can be walked, but not checked there",
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
        words.push(format!("{commands} unchecked: no catalog here knows them"));
    }
    let fixable = mend::fixable(document);
    if fixable > 0 && !arguments.fix {
        words.push(format!("{fixable} can be fixed with `--fix`"));
    }
    format!("{}: {}", safe(&loaded.name), words.join(", "))
}

#[derive(Default)]
struct Summary {
    valid: usize,
    invalid: usize,
    fixed: usize,
}

impl Summary {
    fn add(&mut self, document: &Document, fixed: usize) {
        match document.is_valid() {
            true => self.valid += 1,
            false => self.invalid += 1,
        }
        self.fixed += fixed;
    }

    fn words(&self) -> String {
        let files = count(self.valid + self.invalid, "document");
        let fixed = if self.fixed > 0 {
            format!(", {} fixed", count(self.fixed, "error"))
        } else {
            String::new()
        };
        format!("{files}: {} valid, {} not{fixed}", self.valid, self.invalid)
    }
}

//! `milepost command run`.

use std::io::{self, IsTerminal};
use std::path::Path;

use milepost_catalog::limits::DOCUMENT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_model::secret::known_secrets;
use milepost_ops::command::run::{CommandAnswer, Paginate, Request, Response, RunCommand};
use milepost_ops::command::typed_arguments::{self, TypedArguments, TypedBody};
use milepost_ops::run::view::RunView;
use milepost_store::{read_document, write_atomic};
use serde_json::{Map, Value};

use super::args::RunCommandArgs;
use super::{pairs, request_text};
use crate::argument_values::{object, stdin_text};
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::session::CliSession;
use crate::terminal::{Terminal, count, safe, safe_lines};
use crate::wording;

pub(super) fn run(args: &RunCommandArgs, terminal: &mut Terminal) -> CliResult {
    if let Some(output) = &args.output {
        check_writable(output)?;
    }
    let session = CliSession::open_confirmed(args.yes, terminal)?;
    let response = match session.run::<RunCommand>(request(args, &session)?)? {
        CommandAnswer::Called(response) => *response,
        CommandAnswer::Waiting(view) => return waiting(&view, terminal),
    };
    let written = match &args.output {
        Some(output) if !response.dry_run => Some((output, write_body(&response, output)?)),
        _ => None,
    };
    terminal.answer(&response, |terminal| {
        if response.dry_run {
            show_request(&response, terminal);
        } else if written.is_none() {
            show_body(&response, terminal);
        }
        for note in &response.notes {
            terminal.remark(format!("note: {}", safe(&wording::hint_text(note))));
        }
        if !response.dry_run {
            terminal.remark(status_line(&response));
        }
        if let Some((output, bytes)) = written {
            let output = safe(&output.display().to_string());
            terminal.remark(format!("wrote {} to {output}", count(bytes, "byte")));
        }
    })?;
    Ok(if response.ok == Some(false) { Exit::UPSTREAM } else { Exit::DONE })
}

/// The call waits for the person, who may be the one who typed it.
fn waiting(view: &RunView, terminal: &mut Terminal) -> CliResult {
    terminal.answer(view, |terminal| {
        for waiting in &view.waiting {
            terminal.line(safe(&waiting.message));
        }
        terminal.line(format!("answer with: milepost approve {}", view.run_id));
    })?;
    Ok(Exit::WAITING_ON_PERSON)
}

fn request(args: &RunCommandArgs, session: &CliSession) -> CliResult<Request> {
    let command = args.command.command();
    let with = match args.with.as_deref() {
        None => Map::new(),
        Some(given) => {
            let bytes = match given.strip_prefix('@') {
                Some(path) => read_document(Path::new(path), DOCUMENT_BYTES)?,
                None => given.as_bytes().to_vec(),
            };
            object("--with", &bytes, Code::ArgumentsInvalid)?
        }
    };
    let typed = TypedArguments {
        texts: pairs(&args.parameters)?,
        with,
        body: args.body.as_deref().map(body).transpose()?,
        content_type: args.content_type.clone(),
    };
    let read = typed_arguments::read(session.operations.reader(), &session.user, &command, typed)?;
    let paginate = match (args.paginate, args.max_items) {
        (_, Some(max_items)) => Some(Paginate::Items { max_items }),
        (true, None) => Some(Paginate::All(true)),
        (false, None) => None,
    };
    Ok(Request {
        command,
        with: read.with,
        body: read.body,
        dry_run: args.dry,
        paginate,
        content_type: args.content_type.clone(),
        accept: args.accept.clone(),
        profile: args.profile.clone(),
        timeout_s: args.timeout,
    })
}

fn body(given: &str) -> CliResult<TypedBody> {
    Ok(match given.strip_prefix('@') {
        Some(path) => TypedBody::File(path.to_owned()),
        None if given == "-" => TypedBody::Text(stdin_text(DOCUMENT_BYTES)?),
        None => TypedBody::Text(given.to_owned()),
    })
}

/// Checks that the output can be written before anything is sent, so that a response is not lost
/// because its folder does not exist.
fn check_writable(output: &Path) -> CliResult<()> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_none_or(Path::is_dir) && !output.is_dir() {
        return Ok(());
    }
    let message = format!("`{}` cannot be written", output.display());
    let hint = "use a file in an existing folder; nothing was sent";
    Err(Problem::new(Code::FileNotFound, message, hint).into())
}

/// Writes the body to a file, as it would be shown, and returns its size in bytes.
fn write_body(response: &Response, output: &Path) -> CliResult<usize> {
    let bytes = match (&response.body_path, &response.body) {
        (Some(path), _) => read_document(Path::new(path), usize::MAX - 1)?,
        (None, Some(body)) => known_secrets::shown(&text(body)).into_owned().into_bytes(),
        (None, None) => Vec::new(),
    };
    write_atomic(output, &bytes, true)?;
    Ok(bytes.len())
}

/// The body as it is shown and written to a file.
fn text(body: &Value) -> String {
    match body {
        Value::String(text) => text.clone(),
        other => format!("{other:#}\n"),
    }
}

fn show_body(response: &Response, terminal: &mut Terminal) {
    if let Some(path) = &response.body_path {
        let bytes = count(response.body_bytes.unwrap_or_default(), "byte");
        terminal.remark(format!("note: the response is not text and is stored here ({bytes}):"));
        return terminal.line(safe(path));
    }
    let Some(body) = &response.body else { return };
    let text = text(body);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    // A pipe gets the exact response; a terminal gets a sanitized one.
    match io::stdout().is_terminal() {
        true => terminal.line(safe_lines(text)),
        false => terminal.raw(format!("{text}\n").as_bytes()),
    }
}

fn show_request(response: &Response, terminal: &mut Terminal) {
    terminal.line(safe_lines(&request_text(&response.request)));
    if let Some(curl) = &response.curl {
        terminal.line(format!("\n{}", safe_lines(curl)));
    }
}

/// `HTTP 200 · 12 ms`, plus attempts and pages if there were several.
fn status_line(response: &Response) -> String {
    let mut words = vec![format!("HTTP {}", response.status.unwrap_or_default())];
    words.extend(response.duration_ms.map(|ms| format!("{ms} ms")));
    words.extend(response.attempts.filter(|n| *n > 1).map(|n| format!("{n} attempts")));
    words.extend(response.pages.map(|pages| count(pages, "page")));
    if response.more == Some(true) {
        words.push("more available".to_owned());
    }
    words.join(" · ")
}

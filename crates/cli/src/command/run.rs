//! `milepost command run`.

use std::io::{self, IsTerminal};
use std::path::Path;

use milepost_catalog::limits::DOCUMENT_BYTES;
use milepost_model::problem::{Code, Problem};
use milepost_ops::command::run::{Paginate, Request, Response, Run as Operation};
use milepost_ops::command::typed::{self, Typed, TypedBody};
use milepost_store::{read_document, write_atomic};
use serde_json::Value;

use super::args::Run;
use super::{http, object, pairs, standard_input};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{Session, print};
use crate::terminal::{Terminal, count, safe};
use crate::wording;

pub(crate) fn run(arguments: &Run, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.named.json.json;
    if let Some(output) = &arguments.output {
        writable(output)?;
    }
    let session = Session::open(Person::new(arguments.yes, json))?;
    let response = session.run::<Operation>(request(arguments, &session)?)?;
    let exit = if response.ok == Some(false) { Exit::Upstream } else { Exit::Done };
    let kept = match &arguments.output {
        Some(output) if !response.dry_run => Some(keep(&response, output)?),
        _ => None,
    };
    if json {
        print(&response, terminal)?;
        return Ok(exit);
    }
    if response.dry_run {
        show_request(&response, terminal)?;
    } else if kept.is_none() {
        show_body(&response, terminal)?;
    }
    for note in &response.notes {
        terminal.remark(&format!("note: {}", safe(&wording::said(note))));
    }
    if !response.dry_run {
        terminal.remark(&went(&response));
    }
    if let (Some(bytes), Some(output)) = (kept, &arguments.output) {
        let output = safe(&output.display().to_string());
        terminal.remark(&format!("wrote {} to {output}", count(bytes, "byte")));
    }
    Ok(exit)
}

fn request(arguments: &Run, session: &Session) -> Result<Request, Failure> {
    let command = arguments.named.command();
    let typed = Typed {
        texts: pairs(&arguments.parameters)?,
        with: object(arguments.with.as_deref())?,
        body: arguments.body.as_deref().map(body).transpose()?,
        content_type: arguments.content_type.clone(),
    };
    let reader = session.operations.reader();
    let meant = typed::read(reader, &session.person, &command, typed)?;
    let paginate = match (arguments.paginate, arguments.max_items) {
        (_, Some(max_items)) => Some(Paginate::Items { max_items }),
        (true, None) => Some(Paginate::All(true)),
        (false, None) => None,
    };
    Ok(Request {
        command,
        with: meant.with,
        body: meant.body,
        dry_run: arguments.dry,
        paginate,
        content_type: arguments.content_type.clone(),
        accept: arguments.accept.clone(),
        profile: arguments.profile.clone(),
        timeout_s: arguments.timeout,
    })
}

fn body(given: &str) -> Result<TypedBody, Failure> {
    match given.strip_prefix('@') {
        Some(path) => Ok(TypedBody::File(path.to_owned())),
        None if given == "-" => Ok(TypedBody::Text(standard_input(DOCUMENT_BYTES)?)),
        None => Ok(TypedBody::Text(given.to_owned())),
    }
}

/// Before anything is sent: an answer must not be lost for want of a folder.
fn writable(output: &Path) -> Result<(), Failure> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_none_or(Path::is_dir) && !output.is_dir() {
        return Ok(());
    }
    let message = format!("`{}` cannot be written", output.display());
    let hint = "name a file in a folder that exists; nothing was sent";
    Err(Problem::new(Code::FileNotFound, message, hint).into())
}

/// Writes the body to a file, and says how many bytes it has.
fn keep(response: &Response, output: &Path) -> Result<usize, Failure> {
    let bytes = match (&response.body_path, &response.body) {
        (Some(path), _) => read_document(Path::new(path), usize::MAX - 1)?,
        (None, Some(body)) => text(body).into_bytes(),
        (None, None) => Vec::new(),
    };
    write_atomic(output, &bytes, true)?;
    Ok(bytes.len())
}

/// The body as a person reads it, and as a file holds it.
fn text(body: &Value) -> String {
    match body {
        Value::String(text) => text.clone(),
        other => format!("{other:#}\n"),
    }
}

fn show_body(response: &Response, terminal: &mut Terminal) -> Result<(), Failure> {
    if let Some(path) = &response.body_path {
        let bytes = count(response.body_bytes.unwrap_or_default(), "byte");
        terminal.remark(&format!("note: the answer is not text; {bytes} are kept here:"));
        terminal.line(&safe(path))?;
        return Ok(());
    }
    let Some(body) = &response.body else { return Ok(()) };
    let text = text(body);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    // A pipe gets what was answered; a terminal only what it may show.
    match io::stdout().is_terminal() {
        true => terminal.line(&safe(text))?,
        false => terminal.exact(&format!("{text}\n"))?,
    }
    Ok(())
}

fn show_request(response: &Response, terminal: &mut Terminal) -> Result<(), Failure> {
    // The lines of a body of parts end as on the wire, which would be shown as signs.
    let text = http::text(&response.request).replace("\r\n", "\n");
    terminal.line(&safe(&text))?;
    if let Some(curl) = &response.curl {
        terminal.line(&format!("\n{}", safe(curl)))?;
    }
    Ok(())
}

/// `HTTP 200 · 12 ms`, and what else there is to say.
fn went(response: &Response) -> String {
    let mut words = vec![format!("HTTP {}", response.status.unwrap_or_default())];
    words.extend(response.duration_ms.map(|ms| format!("{ms} ms")));
    words.extend(response.attempts.filter(|tries| *tries > 1).map(|n| format!("{n} tries")));
    words.extend(response.pages.map(|pages| count(pages, "page")));
    if response.more == Some(true) {
        words.push("there is more".to_owned());
    }
    words.join(" · ")
}

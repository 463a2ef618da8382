//! Standard output for results, standard error for everything else, and the capabilities of the
//! terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use milepost_model::problem::{Code, Problem};
use milepost_model::secret::known_secrets;
pub(crate) use milepost_model::suggest::count;
use milepost_model::untrusted;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::exit::Exit;
use crate::failure::{CliError, CliResult};
use crate::{table, wording, wrap};

/// The two streams of the process.
pub(crate) struct Terminal {
    out: anstream::AutoStream<io::StdoutLock<'static>>,
    err: Remarks,
    /// Whether results are printed as JSON.
    json: bool,
    /// Whether the reader is gone or writing failed. The command still does its work, because the
    /// exit code must not depend on how much was read.
    closed: bool,
    /// The error from writing the result.
    output_error: Option<io::Error>,
    /// Whether remarks are omitted.
    quiet: bool,
    width: usize,
    /// Whether standard output and standard error are terminals, where prose is wrapped.
    wraps: (bool, bool),
}

/// Whether `--quiet` was given. Set once, before anything is printed.
static QUIET: AtomicBool = AtomicBool::new(false);

pub(crate) fn set_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// The environment variable that marks a command as part of a demo.
pub(crate) const WITHIN_DEMO: &str = "MILEPOST_WITHIN_DEMO";

/// Whether this command is part of a demo, whose runs are not the user's own.
static IN_DEMO: LazyLock<bool> = LazyLock::new(|| std::env::var_os(WITHIN_DEMO).is_some());

/// Where remarks go.
enum Remarks {
    Stderr(anstream::AutoStream<io::Stderr>),
    /// Interleaved with the results.
    Stdout,
}

impl Terminal {
    pub(crate) fn new(json: bool) -> Terminal {
        Terminal {
            out: anstream::AutoStream::auto(io::stdout().lock()),
            err: Remarks::Stderr(anstream::AutoStream::auto(io::stderr())),
            json,
            closed: false,
            output_error: None,
            quiet: is_quiet(),
            width: width(),
            wraps: (io::stdout().is_terminal(), io::stderr().is_terminal()),
        }
    }

    /// The same streams in text mode, with remarks on standard output.
    pub(crate) fn merged(&self) -> Terminal {
        Terminal { err: Remarks::Stdout, closed: self.closed, ..Terminal::new(false) }
    }

    /// A terminal that prints nothing.
    pub(crate) fn silent() -> Terminal {
        Terminal { err: Remarks::Stdout, closed: true, ..Terminal::new(false) }
    }

    /// Whether results are printed as JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints the result of a command: as JSON if requested, otherwise with `show`.
    pub(crate) fn answer<T: Serialize>(
        &mut self,
        response: &T,
        show: impl FnOnce(&mut Terminal),
    ) -> CliResult {
        if self.json {
            self.print_json(response)?;
        } else {
            show(self);
        }
        Ok(Exit::DONE)
    }

    /// Prints a JSON value on one line.
    pub(crate) fn print_json(&mut self, value: &impl Serialize) -> CliResult<()> {
        let json = wording::scoped(|| serde_json::to_string(value)).map_err(|error| {
            let message = format!("cannot serialize the result: {error}");
            Problem::new(Code::Internal, message, "report this, including the command you ran")
        })?;
        // Masked first, because masking undoes the escapes in a string that contains a secret.
        self.line(untrusted::escape_json(&known_secrets::shown(&json)));
        Ok(())
    }

    /// Prints a table that fits the terminal.
    pub(crate) fn table(&mut self, headings: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        self.line(table::render(headings, &rows.collect::<Vec<_>>(), self.width));
    }

    /// Writes a line of the result.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        let text = known_secrets::shown(text.as_ref());
        let text = match text.starts_with(NEXT) {
            true => typeable(&text, *IN_DEMO),
            false => text,
        };
        self.write(|terminal| writeln!(terminal.out, "{text}"));
    }

    /// Writes paragraphs as part of the result, wrapped for a terminal.
    pub(crate) fn page(&mut self, text: &str) {
        let text = &*known_secrets::shown(text);
        if self.wraps.0 { self.line(wrap::page(text, self.width)) } else { self.line(text) }
    }

    /// Writes bytes as they are, except for secrets, for a pipe or a file.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let bytes = &*known_secrets::shown_bytes(bytes);
        // Bypasses the color filter. This thread holds the reentrant lock, so it can be taken
        // again.
        self.write(|_| io::stdout().write_all(bytes));
    }

    fn write(&mut self, write: impl FnOnce(&mut Terminal) -> io::Result<()>) {
        if self.closed {
            return;
        }
        if let Err(error) = write(self) {
            self.closed = true;
            // A reader that stops early, as in `milepost … | head`, is not a failure.
            self.output_error = Some(error).filter(|e| e.kind() != io::ErrorKind::BrokenPipe);
        }
    }

    /// Whether nobody reads the result any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Fails if part of the result could not be written.
    pub(crate) fn check_output(&mut self) -> CliResult<()> {
        self.output_error.take().map_or(Ok(()), |error| Err(CliError::Output(error)))
    }

    /// Prints what the user must not miss: errors, and the subject of a question.
    pub(crate) fn notice(&mut self, text: impl AsRef<str>) {
        // If standard error is closed, there is nobody to notify.
        let text = known_secrets::shown(text.as_ref());
        let text = typeable(&text, *IN_DEMO);
        let is_terminal = match self.err {
            Remarks::Stderr(_) => self.wraps.1,
            Remarks::Stdout => self.wraps.0,
        };
        let text = &*if is_terminal { wrap::remark(&text, self.width) } else { text };
        match &mut self.err {
            // In a single write, because several processes may share a terminal.
            Remarks::Stderr(err) => drop(err.write_all(format!("{text}\n").as_bytes())),
            Remarks::Stdout => self.line(text),
        }
    }

    /// Prints anything else: progress, additional information, what to do next. `--quiet` omits it.
    pub(crate) fn remark(&mut self, text: impl AsRef<str>) {
        if !(self.quiet && matches!(self.err, Remarks::Stderr(_))) {
            self.notice(text);
        }
    }

    /// Prints warnings about a command that succeeded anyway.
    pub(crate) fn warnings(&mut self, warnings: &[String]) {
        for warning in warnings {
            self.remark(format!("warning: {}", safe(warning)));
        }
    }

    /// The width of the terminal in columns, or a default.
    pub(crate) fn width(&self) -> usize {
        self.width
    }
}

/// The start of the line that shows what to do next.
const NEXT: &str = "next: ";
/// Commands that work the same inside and outside a demo, or that lead out of it.
const EVERYWHERE: [&str; 4] = ["demo", "docs", "init", "mcp"];

/// Rewrites the commands in a message so that they work for the user. A demo's runs are reachable
/// only through `milepost demo -- …`.
fn typeable(text: &str, in_demo: bool) -> Cow<'_, str> {
    const PROGRAM: &str = "milepost ";
    if !in_demo || !text.contains(PROGRAM) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (index, part) in text.split(PROGRAM).enumerate() {
        if index > 0 {
            let named =
                [NEXT, "with: ", "later: ", "; ", "`"].iter().any(|lead| shown.ends_with(lead));
            shown.push_str(PROGRAM);
            if named && !EVERYWHERE.iter().any(|word| part.starts_with(word)) {
                shown.push_str("demo -- ");
            }
        }
        shown.push_str(part);
    }
    Cow::Owned(shown)
}

/// The width of the terminal in columns, or a default.
pub(crate) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let asked = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.or_else(asked).filter(|width| (20..=400).contains(width)).unwrap_or(100)
}

/// Escapes third-party text for a part of a line.
pub(crate) fn safe(text: &str) -> String {
    // Masked first, because an escaped or shortened secret would not be found later.
    untrusted::escape(&known_secrets::shown(text)).into_owned()
}

/// Escapes third-party text that is the result of a command, and keeps its lines.
pub(crate) fn safe_lines(text: &str) -> String {
    let text = known_secrets::shown(text);
    let lines = text.split('\n').map(untrusted::escape);
    lines.collect::<Vec<_>>().join("\n")
}

/// Quotes a word for a shell if necessary.
pub(crate) fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

pub(crate) fn wrap_words(text: &str, width: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    let mut used = 0;
    for (index, word) in text.split(' ').enumerate() {
        let fits = used + 1 + word.width() <= width;
        if index > 0 {
            wrapped.push(if fits { ' ' } else { '\n' });
        }
        used = if fits && index > 0 { used + 1 + word.width() } else { word.width() };
        wrapped.push_str(word);
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::typeable;

    #[test]
    fn within_a_demo_commands_reach_its_runs() {
        let told = |text| typeable(text, true).into_owned();
        assert_eq!(told("next: milepost approve run_1"), "next: milepost demo -- approve run_1");
        assert_eq!(
            told("hint: see `milepost runs`, or `milepost demo`"),
            "hint: see `milepost demo -- runs`, or `milepost demo`"
        );
        assert_eq!(told("more: milepost docs RUN_NOT_FOUND"), "more: milepost docs RUN_NOT_FOUND");
        assert_eq!(told("a milepost stands here"), "a milepost stands here");
        assert_eq!(typeable("next: milepost runs", false), "next: milepost runs");
    }
}

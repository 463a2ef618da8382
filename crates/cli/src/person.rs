//! The person at the terminal, as an operation sees them: told how far it is, asked for a yes.

use std::io::{self, IsTerminal, Write};

use milepost_model::secret::Secret;
use milepost_ops::{Call, Caller, Untyped};

use crate::hidden;
use crate::limits;
use crate::prose;
use crate::spinner::Spinner;
use crate::terminal::{is_quiet, safe, width};

/// A person who called a command.
pub(crate) struct Person {
    /// They said yes beforehand.
    yes: bool,
    /// What shows that something goes on, where somebody watches.
    spinner: Option<Spinner>,
}

impl Person {
    /// Who may have said yes already, and who may want nothing but the result.
    pub(crate) fn new(yes: bool, json: bool) -> Person {
        Person { yes, spinner: Spinner::for_watcher(json) }
    }

    /// Whether they see what goes on as it goes on.
    pub(crate) fn watches(&self) -> bool {
        self.spinner.is_some()
    }

    /// They see what goes on while it is waited for.
    pub(crate) fn sees(&self, what: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.say(what);
        }
    }

    /// Waits with them; from a moment on they see that something goes on.
    pub(crate) async fn wait<F: Future>(&self, work: F) -> F::Output {
        let Some(spinner) = &self.spinner else { return work.await };
        spinner.begin();
        let mut work = std::pin::pin!(work);
        let soon = tokio::time::timeout(limits::SPINNER_DELAY, &mut work);
        let output = if let Ok(output) = soon.await {
            output
        } else {
            spinner.turn();
            work.await
        };
        spinner.stop();
        output
    }

    /// Nothing goes on any more.
    fn settle(&self) {
        if let Some(spinner) = &self.spinner {
            spinner.stop();
        }
    }

    fn tell(&self, text: &str) {
        // A closed standard error leaves nobody to tell.
        let tell = || drop(writeln!(io::stderr(), "{}", shown(text)));
        match &self.spinner {
            Some(spinner) => spinner.aside(tell),
            None => tell(),
        }
    }
}

impl Call for Person {
    fn progress(&self, message: &str) {
        self.sees(&safe(message).replace('\n', " "));
    }

    fn warn(&self, message: &str) {
        if !is_quiet() {
            self.tell(&format!("warning: {}", safe(message)));
        }
    }

    fn ask(&self, question: &str) -> Option<bool> {
        if self.yes {
            return Some(true);
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return None;
        }
        self.settle();
        let question = shown(&format!("{} [y/N] ", safe(question)));
        let line = hidden::shown_line_of(io::stdin(), io::stdin().lock(), io::stderr(), &question);
        match read(line) {
            Ok(answer) => Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")),
            Err(Untyped::GivenUp) => Some(false),
            Err(Untyped::NoTerminal) => None,
        }
    }

    fn ask_in_person(&self, question: &str) -> Option<bool> {
        self.settle();
        match asked(&shown(&format!("{} [y/N] ", safe(question))), Echo::On) {
            Ok(answer) => Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")),
            Err(Untyped::GivenUp) => Some(false),
            Err(Untyped::NoTerminal) => None,
        }
    }

    fn ask_pin(&self, question: &str) -> Result<Secret, Untyped> {
        self.settle();
        asked(&shown(&safe(question)), Echo::Off).map(Secret::new)
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn caller(&self) -> Caller {
        Caller::Person
    }
}

/// A line that is typed on the terminal of this process; nothing where there is none.
pub(crate) fn line(question: &str) -> Option<String> {
    asked(&shown(&safe(question)), Echo::On).ok()
}

/// Whether somebody can be asked.
#[cfg(unix)]
pub(crate) fn has_terminal() -> bool {
    std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty").is_ok()
}

/// There is no such terminal here.
#[cfg(not(unix))]
pub(crate) fn has_terminal() -> bool {
    false
}

/// A question or a warning in lines that fit the terminal it is read on.
fn shown(text: &str) -> String {
    match io::stderr().is_terminal() {
        true => prose::fitted(text, width()).into_owned(),
        false => text.to_owned(),
    }
}

/// Whether what is typed can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Echo {
    On,
    Off,
}

/// What was typed, unless whoever was asked left.
fn read(line: io::Result<String>) -> Result<String, Untyped> {
    line.map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => hidden::interrupted(),
        io::ErrorKind::UnexpectedEof => Untyped::GivenUp,
        _ => Untyped::NoTerminal,
    })
}

/// Asks on the terminal that controls this process: not on standard input, which anything may
/// write to.
#[cfg(unix)]
fn asked(question: &str, echo: Echo) -> Result<String, Untyped> {
    let terminal = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty");
    let terminal = terminal.map_err(|_| Untyped::NoTerminal)?;
    read(match echo {
        Echo::Off => hidden::line_of(&terminal, &terminal, &terminal, question),
        Echo::On => hidden::shown_line_of(&terminal, &terminal, &terminal, question),
    })
}

/// There is no such terminal here.
#[cfg(not(unix))]
fn asked(_: &str, _: Echo) -> Result<String, Untyped> {
    Err(Untyped::NoTerminal)
}

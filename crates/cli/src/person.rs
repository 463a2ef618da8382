//! The person at the terminal, as an operation sees them: told how far it is, asked for a yes.

use std::io::{self, BufRead, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use milepost_model::secret::Secret;
use milepost_ops::{Call, Caller};

use crate::terminal::safe;

/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(100);

/// A person who called a command.
pub(crate) struct Person {
    /// They said yes beforehand.
    yes: bool,
    /// What shows that something goes on, where somebody watches.
    spinner: Option<ProgressBar>,
}

impl Person {
    /// Who may have said yes already, and who may want nothing but the result.
    pub(crate) fn new(yes: bool, json: bool) -> Person {
        let watches = !json && io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}");
        let spinner = style.ok().filter(|_| watches).map(|style| {
            let bar = ProgressBar::new_spinner().with_style(style);
            bar.enable_steady_tick(TURN);
            bar
        });
        Person { yes, spinner }
    }

    /// Nothing goes on any more.
    pub(crate) fn settle(&self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }

    fn tell(&self, text: &str) {
        // A closed standard error leaves nobody to tell.
        let tell = || drop(writeln!(io::stderr(), "{text}"));
        match &self.spinner {
            Some(spinner) => spinner.suspend(tell),
            None => tell(),
        }
    }
}

impl Call for Person {
    fn progress(&self, message: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(safe(message).replace('\n', " "));
        }
    }

    fn warn(&self, message: &str) {
        self.tell(&format!("warning: {}", safe(message)));
    }

    fn ask(&self, question: &str) -> Option<bool> {
        if self.yes {
            return Some(true);
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return None;
        }
        self.settle();
        drop(write!(io::stderr(), "{} [y/N] ", safe(question)));
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).ok()?;
        Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    fn ask_in_person(&self, question: &str) -> Option<bool> {
        self.settle();
        let answer = asked(&format!("{} [y/N] ", safe(question)), Echo::On)?;
        Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    fn ask_pin(&self, question: &str) -> Option<Secret> {
        self.settle();
        asked(&safe(question), Echo::Off).map(Secret::new)
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn caller(&self) -> Caller {
        Caller::Person
    }
}

/// Whether what is typed can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Echo {
    On,
    Off,
}

/// Asks on the terminal that controls this process: not on standard input, which anything may
/// write to.
#[cfg(unix)]
fn asked(question: &str, echo: Echo) -> Option<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let mut terminal = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    let before = tcgetattr(&terminal).ok()?;
    if echo == Echo::Off {
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Flush, &quiet).ok()?;
    }
    let told = terminal.write_all(question.as_bytes());
    let mut line = String::new();
    let read = told.and_then(|()| io::BufReader::new(&terminal).read_line(&mut line));
    if echo == Echo::Off {
        let _ = tcsetattr(&terminal, OptionalActions::Flush, &before);
        drop(terminal.write_all(b"\n"));
    }
    let read = read.ok().filter(|bytes| *bytes > 0);
    read.map(|_| line.trim_end_matches(['\r', '\n']).to_owned())
}

/// There is no such terminal here.
#[cfg(not(unix))]
fn asked(_: &str, _: Echo) -> Option<String> {
    None
}

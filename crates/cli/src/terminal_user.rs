//! The person at the terminal, as seen by operations: someone to show progress to and ask for
//! confirmation.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use milepost_model::secret::{Secret, known_secrets};
use milepost_ops::{AgentCommand, Caller, CallerKind, PromptError};

use crate::calling_agent::CallingAgent;
use crate::limits;
use crate::table::cut;
use crate::terminal::{is_quiet, safe, width};
use crate::tty::{self, Echo};
use crate::wrap;

pub(crate) struct TerminalUser {
    /// Whether the user confirmed everything in advance with `--yes`.
    yes: bool,
    /// Shows progress in interactive use.
    spinner: Option<Spinner>,
    /// The agent that typed the command, if one did; determined when it first matters.
    agent: OnceLock<Option<CallingAgent>>,
}

impl TerminalUser {
    pub(crate) fn new(yes: bool, json: bool) -> TerminalUser {
        TerminalUser { yes, spinner: Spinner::for_watcher(json), agent: OnceLock::new() }
    }

    pub(crate) fn sees_progress(&self) -> bool {
        self.spinner.is_some()
    }

    /// Sets the message that is shown while waiting.
    pub(crate) fn show_progress(&self, what: &str) {
        if let Some(spinner) = &self.spinner {
            spinner.say(what);
        }
    }

    /// Waits for a future; the spinner appears after a short delay.
    pub(crate) async fn wait<F: Future>(&self, work: F) -> F::Output {
        let Some(spinner) = &self.spinner else { return work.await };
        spinner.begin();
        let mut work = std::pin::pin!(work);
        let soon = tokio::time::timeout(limits::SPINNER_DELAY, &mut work);
        let output = if let Ok(output) = soon.await {
            output
        } else {
            spinner.show();
            work.await
        };
        spinner.stop();
        output
    }

    fn agent(&self) -> Option<CallingAgent> {
        *self.agent.get_or_init(CallingAgent::find)
    }

    fn stop_spinner(&self) {
        if let Some(spinner) = &self.spinner {
            spinner.stop();
        }
    }
}

/// Whether the user answered yes; `None` if there is no terminal to ask on.
fn is_yes(answer: Result<String, PromptError>) -> Option<bool> {
    match answer {
        Ok(answer) => Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")),
        Err(PromptError::GivenUp) => Some(false),
        Err(PromptError::NoTerminal) => None,
    }
}

impl Caller for TerminalUser {
    fn progress(&self, message: &str) {
        self.show_progress(&safe(message).replace('\n', " "));
    }

    fn warn(&self, message: &str) {
        if is_quiet() {
            return;
        }
        // If standard error is closed, there is nobody to notify.
        let warning = wrapped(&format!("warning: {}", safe(message)));
        let print = || drop(writeln!(io::stderr(), "{warning}"));
        match &self.spinner {
            Some(spinner) => spinner.suspend(print),
            None => print(),
        }
    }

    fn ask(&self, question: &str) -> Option<bool> {
        if let Some(CallingAgent::Known(_)) = self.agent() {
            return None;
        }
        if self.yes {
            return Some(true);
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return None;
        }
        self.stop_spinner();
        let question = wrapped(&format!("{} [y/N] ", safe(question)));
        let (terminal, keys) = (io::stdin(), io::stdin().lock());
        is_yes(typed(tty::read_line(terminal, keys, io::stderr(), &question, Echo::On)))
    }

    fn ask_in_person(&self, question: &str) -> Option<bool> {
        self.stop_spinner();
        is_yes(ask_tty(&format!("{} [y/N] ", safe(question)), Echo::On))
    }

    fn is_at_terminal(&self) -> bool {
        has_terminal()
    }

    fn ask_pin(&self, question: &str) -> Result<Secret, PromptError> {
        self.stop_spinner();
        ask_tty(&safe(question), Echo::Off).map(Secret::new)
    }

    fn alert(&self, message: &str) {
        self.stop_spinner();
        let alert = wrapped(&format!("warning: {}", safe(message)));
        // The question appears on the terminal even if standard error goes to a file.
        let shown = open_tty().and_then(|mut terminal| writeln!(terminal, "{alert}"));
        if shown.is_err() {
            // If standard error is closed, there is nobody to notify.
            drop(writeln!(io::stderr(), "{alert}"));
        }
    }

    fn agent_command(&self) -> Option<AgentCommand> {
        self.agent().map(CallingAgent::command)
    }

    fn kind(&self) -> CallerKind {
        match self.agent() {
            Some(_) => CallerKind::Agent,
            None => CallerKind::Person,
        }
    }
}

/// Asks for a line on this process's terminal; `None` if there is no terminal or no answer.
pub(crate) fn ask_line(question: &str) -> Option<String> {
    ask_tty(&safe(question), Echo::On).ok()
}

/// Whether there is a terminal to ask on.
pub(crate) fn has_terminal() -> bool {
    open_tty().is_ok()
}

/// The controlling terminal of this process.
#[cfg(unix)]
fn open_tty() -> io::Result<std::fs::File> {
    std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty")
}

#[cfg(not(unix))]
fn open_tty() -> io::Result<std::fs::File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Wraps a question or a warning if it goes to a terminal.
fn wrapped(text: &str) -> String {
    let text = known_secrets::shown(text);
    match io::stderr().is_terminal() {
        true => wrap::remark(&text, width()).into_owned(),
        false => text.into_owned(),
    }
}

/// The typed line, unless the user left the prompt.
fn typed(line: io::Result<String>) -> Result<String, PromptError> {
    line.map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => tty::interrupted(),
        io::ErrorKind::UnexpectedEof => PromptError::GivenUp,
        _ => PromptError::NoTerminal,
    })
}

/// Asks on the controlling terminal of this process, not on standard input, which any program may
/// write to.
#[cfg(unix)]
fn ask_tty(question: &str, echo: Echo) -> Result<String, PromptError> {
    let terminal = open_tty().map_err(|_| PromptError::NoTerminal)?;
    let question = wrapped(question);
    typed(tty::read_line(&terminal, &terminal, &terminal, &question, echo))
}

#[cfg(not(unix))]
fn ask_tty(_: &str, _: Echo) -> Result<String, PromptError> {
    Err(PromptError::NoTerminal)
}

/// The progress line: what is happening, and for how long. It appears only while the command is
/// waiting, and only after a short delay.
struct Spinner {
    style: ProgressStyle,
    state: Mutex<SpinnerState>,
}

struct SpinnerState {
    /// The full message. `shown` is the part that fits the line.
    message: String,
    shown: String,
    since: Instant,
    /// When waiting started; `None` while the command is not waiting.
    waiting_since: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Spinner {
    /// A spinner, if standard error is a terminal. Pipes, CI and `NO_COLOR` get plain lines.
    fn for_watcher(json: bool) -> Option<Spinner> {
        let plain = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let watches = !json && !is_quiet() && io::stderr().is_terminal();
        if !watches || plain("CI") || plain("NO_COLOR") {
            return None;
        }
        let style = ProgressStyle::with_template("{spinner} {msg}  {elapsed}").ok()?;
        let message = "working".to_owned();
        let (shown, since) = (message.clone(), Instant::now());
        let state = SpinnerState { message, shown, since, waiting_since: None, bar: None };
        Some(Spinner { style, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, SpinnerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the start of waiting.
    fn begin(&self) {
        self.state().waiting_since = Some(Instant::now());
    }

    /// Sets the message. The displayed time restarts only if the message changes.
    fn say(&self, message: &str) {
        let mut state = self.state();
        if state.message != message {
            message.clone_into(&mut state.message);
            state.shown = cut(message, width().saturating_sub(limits::SPINNER_RESERVED_COLUMNS));
            state.since = Instant::now();
            if let Some(bar) = &state.bar {
                bar.set_message(state.shown.clone());
                bar.reset_elapsed();
            }
        }
        // Work that never yields gives the spinner no other chance to appear.
        let is_late =
            state.waiting_since.is_some_and(|since| since.elapsed() >= limits::SPINNER_DELAY);
        drop(state);
        if is_late {
            self.show();
        }
    }

    /// Shows the spinner until it is stopped.
    fn show(&self) {
        let mut state = self.state();
        if state.bar.is_some() {
            return;
        }
        let bar = ProgressBar::new_spinner().with_elapsed(state.since.elapsed());
        bar.set_style(self.style.clone());
        bar.set_message(state.shown.clone());
        bar.enable_steady_tick(limits::SPINNER_TICK);
        state.bar = Some(bar);
    }

    /// Removes the spinner because waiting has ended or a question needs the line.
    fn stop(&self) {
        let mut state = self.state();
        state.waiting_since = None;
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Hides the spinner while something else is written to the terminal.
    fn suspend(&self, write: impl FnOnce()) {
        match &self.state().bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

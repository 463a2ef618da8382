//! The progress line for whoever watches: what is going on, and for how long. It appears only while
//! something is waited for, and only after a moment.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::limits;
use crate::table::cut;
use crate::terminal::{is_quiet, width};

pub(crate) struct Spinner {
    style: ProgressStyle,
    state: Mutex<SpinnerState>,
}

struct SpinnerState {
    /// The message in full, and as it fits the line.
    message: String,
    shown: String,
    since: Instant,
    /// When waiting began, while it lasts.
    waiting_since: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Spinner {
    /// A spinner for a terminal. Pipes, CI and `NO_COLOR` get plain lines.
    pub(crate) fn for_watcher(json: bool) -> Option<Spinner> {
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

    /// Waiting begins.
    pub(crate) fn begin(&self) {
        self.state().waiting_since = Some(Instant::now());
    }

    /// Sets the message. Its time counts from the first call with it.
    pub(crate) fn say(&self, message: &str) {
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
        // Work that never yields has no other occasion to show it.
        let is_late =
            state.waiting_since.is_some_and(|since| since.elapsed() >= limits::SPINNER_DELAY);
        drop(state);
        if is_late {
            self.show();
        }
    }

    /// Shows it until it is stopped.
    pub(crate) fn show(&self) {
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

    /// Waiting has ended, or a question needs the line.
    pub(crate) fn stop(&self) {
        let mut state = self.state();
        state.waiting_since = None;
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Hides it while something is written to the terminal.
    pub(crate) fn suspend(&self, write: impl FnOnce()) {
        match &self.state().bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

//! What shows that something goes on, where somebody watches: one line with what it is and for how
//! long. It appears only while it is waited for, and not before that takes a moment.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::limits;
use crate::table::cut;
use crate::terminal::{is_quiet, width};

/// A line that turns while something is waited for.
pub(crate) struct Spinner {
    style: ProgressStyle,
    now: Mutex<Now>,
}

struct Now {
    /// What goes on as it was said, as it is shown, and since when.
    said: String,
    what: String,
    since: Instant,
    /// Since when it is waited for, while it is.
    waits: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Spinner {
    /// One for somebody who watches. Pipes, CI and those who want no decoration get plain lines.
    pub(crate) fn for_watcher(json: bool) -> Option<Spinner> {
        let plain = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let watches = !json && !is_quiet() && io::stderr().is_terminal();
        if !watches || plain("CI") || plain("NO_COLOR") {
            return None;
        }
        let style = ProgressStyle::with_template("{spinner} {msg}  {elapsed}").ok()?;
        let what = "working".to_owned();
        let (said, since) = (what.clone(), Instant::now());
        let now = Now { said, what, since, waits: None, bar: None };
        Some(Spinner { style, now: Mutex::new(now) })
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waiting begins.
    pub(crate) fn begin(&self) {
        let mut now = self.now();
        now.waits = Some(Instant::now());
    }

    /// Says what goes on. The time counts from when it began.
    pub(crate) fn say(&self, what: &str) {
        let mut now = self.now();
        if now.said != what {
            what.clone_into(&mut now.said);
            now.what = cut(what, width().saturating_sub(limits::SPINNER_RESERVED_COLUMNS));
            now.since = Instant::now();
            if let Some(bar) = &now.bar {
                bar.set_message(now.what.clone());
                bar.reset_elapsed();
            }
        }
        // Work that does not pause gives no other occasion.
        let late = now.waits.is_some_and(|since| since.elapsed() >= limits::SPINNER_DELAY);
        drop(now);
        if late {
            self.turn();
        }
    }

    /// Shows it until it is stopped.
    pub(crate) fn turn(&self) {
        let mut now = self.now();
        if now.bar.is_some() {
            return;
        }
        let bar = ProgressBar::new_spinner().with_elapsed(now.since.elapsed());
        bar.set_style(self.style.clone());
        bar.set_message(now.what.clone());
        bar.enable_steady_tick(limits::SPINNER_TICK);
        now.bar = Some(bar);
    }

    /// Waiting has ended, or somebody is asked: the line is free.
    pub(crate) fn stop(&self) {
        let mut now = self.now();
        now.waits = None;
        if let Some(bar) = now.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Does something that writes to the terminal.
    pub(crate) fn aside(&self, work: impl FnOnce()) {
        match &self.now().bar {
            Some(bar) => bar.suspend(work),
            None => work(),
        }
    }
}

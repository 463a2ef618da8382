//! Where this process stores its runs. This is the only place that chooses a journal.

use std::path::Path;
use std::sync::Arc;

use milepost_driver::RunWatcher;
use milepost_driver::clock::now_ms;
use milepost_engine::ports::{Dispatch, History, Journal};
use milepost_store::runs::{JournalOptions, SqliteJournal};

/// Access to the stored runs. It is opened lazily, and reading creates nothing. Clones share
/// everything.
#[derive(Debug, Clone)]
pub(crate) struct RunPorts {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) dispatch: Arc<dyn Dispatch>,
    pub(crate) history: Arc<dyn History>,
    pub(crate) watcher: Arc<RunWatcher>,
}

impl RunPorts {
    /// The runs in a data directory.
    pub(crate) fn at(data: &Path) -> RunPorts {
        let journal = Arc::new(SqliteJournal::at(data.to_owned(), options()));
        RunPorts {
            watcher: Arc::new(RunWatcher::new(Arc::clone(&journal) as Arc<dyn Journal>)),
            dispatch: Arc::clone(&journal) as Arc<dyn Dispatch>,
            history: Arc::clone(&journal) as Arc<dyn History>,
            journal,
        }
    }
}

fn options() -> JournalOptions {
    #[cfg_attr(not(debug_assertions), expect(unused_mut, reason = "mutated only in tests"))]
    let mut options = JournalOptions { clock: Some(now_ms), ..JournalOptions::default() };
    #[cfg(debug_assertions)]
    if let Ok(wanted) = std::env::var("MILEPOST_FAIL") {
        options.open.faults = milepost_store::runs::faults(&wanted);
    }
    options
}

//! The threads of a server, started when something has to wait for the first time: a server that
//! only answers guides has none.

use std::io;
use std::sync::{Arc, OnceLock};

use tokio::runtime::{Builder, Runtime};

/// One runtime for a whole process. Clones are the same one.
#[derive(Debug, Clone)]
pub struct LazyRuntime {
    workers: usize,
    started: Arc<OnceLock<Runtime>>,
}

impl LazyRuntime {
    /// One that will have so many threads for calls.
    pub fn new(workers: usize) -> LazyRuntime {
        LazyRuntime { workers, started: Arc::default() }
    }

    /// The runtime, which is started if it was not yet.
    pub fn get(&self) -> io::Result<&Runtime> {
        if let Some(started) = self.started.get() {
            return Ok(started);
        }
        let built =
            Builder::new_multi_thread().worker_threads(self.workers).enable_all().build()?;
        // Of two that start it at once, one wins, and the other's threads end.
        Ok(self.started.get_or_init(|| built))
    }

    /// The runtime, if it was needed.
    pub fn started(&self) -> Option<&Runtime> {
        self.started.get()
    }
}

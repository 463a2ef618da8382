//! The threads of a server, started the first time something has to wait. A server that serves only
//! guides never starts them.

use std::io;
use std::sync::{Arc, OnceLock};

use tokio::runtime::{Builder, Runtime};

use crate::limits;

/// One runtime for a whole process. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct LazyRuntime {
    started: Arc<OnceLock<Runtime>>,
}

impl LazyRuntime {
    /// Returns the runtime, starting it if necessary.
    pub fn get(&self) -> io::Result<&Runtime> {
        if let Some(started) = self.started.get() {
            return Ok(started);
        }
        let built =
            Builder::new_multi_thread().worker_threads(limits::WORKERS).enable_all().build()?;
        // If two threads start it at once, one wins and the other's runtime is dropped.
        Ok(self.started.get_or_init(|| built))
    }

    /// Returns the runtime if it has been started.
    pub fn started(&self) -> Option<&Runtime> {
        self.started.get()
    }
}

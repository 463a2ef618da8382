//! Continues orphaned runs alongside a server, with that server's operations.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use crate::limits;
use crate::runtime::LazyRuntime;
use crate::workflows::WorkflowServer;

/// A thread that continues orphaned runs. Nothing is opened until a run exists.
pub(crate) struct OrphanThread {
    /// Dropped when the server stops.
    open: mpsc::Sender<()>,
    thread: thread::JoinHandle<()>,
}

impl OrphanThread {
    pub(crate) fn start(server: WorkflowServer, runtime: LazyRuntime) -> io::Result<OrphanThread> {
        let (open, closed) = mpsc::channel();
        let thread = thread::Builder::new().name("orphaned-runs".to_owned()).spawn(move || {
            while !server.operations().has_runs() {
                if closed.recv_timeout(limits::TEND_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
            if let Ok(runtime) = runtime.get() {
                let task = runtime.spawn(async move { server.operations().tend_runs().await });
                // Nothing is ever sent: `recv` returns when the sender is dropped.
                let _ = closed.recv();
                task.abort();
            }
        })?;
        Ok(OrphanThread { open, thread })
    }

    /// Stops acquiring runs.
    pub(crate) fn stop(self) {
        drop(self.open);
        // A panic ends the thread as well.
        drop(self.thread.join());
    }
}

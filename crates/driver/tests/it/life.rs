//! The lifetime of a simulated process: how far it gets before it dies. It does nothing afterwards.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::chance::Chance;

/// The point at which a process dies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Death {
    /// The number of writes that are durable. The last of them is not acknowledged.
    pub(crate) after: usize,
    /// Whether the last write is acknowledged after all and the resulting action starts; the
    /// process then dies before it learns the outcome.
    pub(crate) acted: bool,
}

/// The lifetime of one process. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Life {
    inner: Arc<Inner>,
}

struct Last(Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for Last {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Last")
    }
}

#[derive(Debug)]
struct Inner {
    death: Option<Death>,
    writes: AtomicUsize,
    /// Set when the last write was acknowledged: the process dies before the next one.
    fading: AtomicBool,
    dead: AtomicBool,
    over: Notify,
    /// Actions of the operating system when the process ends.
    last: Mutex<Vec<Last>>,
    /// A random delay of writes, if any.
    pace: Option<Mutex<Chance>>,
}

impl Life {
    pub(crate) fn new(death: Option<Death>, pace: Option<Chance>) -> Life {
        let inner = Inner {
            death,
            writes: AtomicUsize::new(0),
            fading: AtomicBool::new(false),
            dead: AtomicBool::new(false),
            over: Notify::new(),
            last: Mutex::default(),
            pace: pace.map(Mutex::new),
        };
        Life { inner: Arc::new(inner) }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.inner.dead.load(Ordering::SeqCst)
    }

    /// The number of writes so far.
    pub(crate) fn writes(&self) -> usize {
        self.inner.writes.load(Ordering::SeqCst)
    }

    /// Registers an action to run when the process ends.
    pub(crate) fn at_the_end(&self, last: impl FnOnce() + Send + 'static) {
        let mut all = self.inner.last.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Last(Box::new(last)));
    }

    pub(crate) fn die(&self) {
        self.inner.dead.store(true, Ordering::SeqCst);
        let last = self.inner.last.lock().map(|mut last| std::mem::take(&mut *last));
        last.unwrap_or_default().into_iter().for_each(|Last(end)| end());
        self.inner.over.notify_waiters();
        self.inner.over.notify_one();
    }

    /// Waits until the process has died.
    pub(crate) async fn ended(&self) {
        while !self.is_dead() {
            self.inner.over.notified().await;
        }
    }

    /// Returns if the process is alive, and never returns if it is dead.
    pub(crate) async fn lives(&self) {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }

    /// Called before a write.
    pub(crate) async fn writes_next(&self) {
        self.dawdle().await;
        if self.inner.fading.load(Ordering::SeqCst) {
            self.die();
        }
        self.lives().await;
    }

    /// Called after a write, before it is acknowledged.
    pub(crate) async fn wrote(&self) {
        let writes = self.inner.writes.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(death) = self.inner.death.filter(|death| death.after == writes) {
            match death.acted {
                true => self.inner.fading.store(true, Ordering::SeqCst),
                false => self.die(),
            }
        }
        self.lives().await;
        self.dawdle().await;
        self.lives().await;
    }

    /// Called after a request reached its server, before its response is seen.
    pub(crate) async fn acted(&self) {
        if self.inner.fading.load(Ordering::SeqCst) {
            // Actions that started at the same time take effect as well.
            tokio::time::sleep(Duration::from_millis(1)).await;
            self.die();
        }
        self.lives().await;
    }

    /// Delays briefly, so that other tasks can interleave.
    async fn dawdle(&self) {
        let Some(pace) = &self.inner.pace else { return };
        let choice = pace.lock().unwrap_or_else(PoisonError::into_inner).below(6);
        match choice {
            0 => tokio::time::sleep(Duration::from_millis(3)).await,
            1 | 2 => tokio::task::yield_now().await,
            _ => {}
        }
    }
}

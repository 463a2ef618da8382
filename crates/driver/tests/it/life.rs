//! The life of a process: how far it gets before it dies, and that it does nothing afterwards.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::chance::Chance;

/// When a process dies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Death {
    /// How many writes of it are durable, the last of them unacknowledged.
    pub(crate) after: usize,
    /// Whether that write is acknowledged after all, and what follows from it begins: the process
    /// dies before it hears how that ended.
    pub(crate) acted: bool,
}

/// The life of one process. A clone is the same.
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
    /// The last write was acknowledged: the next one is never made.
    fading: AtomicBool,
    dead: AtomicBool,
    over: Notify,
    /// What the system does when the process ends.
    last: Mutex<Vec<Last>>,
    /// How long writes take, when that is a matter of chance.
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

    /// How many writes were made.
    pub(crate) fn writes(&self) -> usize {
        self.inner.writes.load(Ordering::SeqCst)
    }

    /// Does something when the process ends.
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

    /// Waits for the end.
    pub(crate) async fn ended(&self) {
        while !self.is_dead() {
            self.inner.over.notified().await;
        }
    }

    /// Returns while the process lives, and never when it is dead.
    pub(crate) async fn lives(&self) {
        if self.is_dead() {
            std::future::pending::<()>().await;
        }
    }

    /// Before something is written.
    pub(crate) async fn writes_next(&self) {
        self.dawdle().await;
        if self.inner.fading.load(Ordering::SeqCst) {
            self.die();
        }
        self.lives().await;
    }

    /// After something was written, and before anybody hears of it.
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

    /// After a request reached its server, and before anybody hears of its answer.
    pub(crate) async fn acted(&self) {
        if self.inner.fading.load(Ordering::SeqCst) {
            // Whatever began at the same moment has its effect as well.
            tokio::time::sleep(Duration::from_millis(1)).await;
            self.die();
        }
        self.lives().await;
    }

    /// Takes a moment, so that other tasks get in between.
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

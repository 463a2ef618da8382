//! How drivers are notified that a run is due.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use milepost_model::id::RunId;

use super::{HolderId, JournalFuture};

/// Called whenever a run may be due, possibly spuriously.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Notifies drivers that a run is due.
///
/// "Due now" means that a message has arrived in the inbox of a run that another process is
/// driving. "Due at a time" means [`RunSummary::wake_ms`](super::RunSummary), which is written
/// together with the events that set the timer, so that the two always agree;
/// [`Journal::orphaned`](super::Journal::orphaned) finds the runs whose time has come. A wake-up
/// carries no data and only prompts a look at the journal: it may be lost, duplicated or forged.
pub trait Dispatch: Send + Sync + fmt::Debug {
    /// Reports that a run is due now, so that its driver checks it.
    fn notify<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, ()>;

    /// Calls `wake` on every notification, for as long as the subscription lives.
    fn subscribe<'a>(&'a self, holder: &'a HolderId, wake: Wake)
    -> JournalFuture<'a, Subscription>;
}

/// A subscription to wake-ups, which ends when this is dropped.
pub struct Subscription {
    _kept: Box<dyn Any + Send + Sync>,
}

impl Subscription {
    /// Wraps anything an implementation needs to keep alive while it listens.
    pub fn new(kept: impl Any + Send + Sync) -> Subscription {
        Subscription { _kept: Box::new(kept) }
    }
}

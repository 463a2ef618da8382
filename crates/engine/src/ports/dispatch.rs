//! Telling the processes that drive runs that one of them is due.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use milepost_model::id::RunId;

use super::{HolderId, JournalFuture};

/// Called whenever a run may be due. It may be called without a reason.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Tells drivers that a run is due.
///
/// "Due now" is a message in the inbox of a run that another process drives. "Due at a time" is
/// [`Standing::wake_ms`](super::Standing), which is written with the events that set the timer, so
/// that the two can never disagree; [`Journal::orphaned`](super::Journal::orphaned) finds the runs
/// whose time has come. A wake-up says nothing but "look": it may be lost, doubled or forged.
pub trait Dispatch: Send + Sync + fmt::Debug {
    /// A run is due now: whoever drives it looks.
    fn notify<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, ()>;

    /// Calls `wake` whenever somebody notifies, for as long as the subscription lives.
    fn subscribe<'a>(&'a self, holder: &'a HolderId, wake: Wake)
    -> JournalFuture<'a, Subscription>;
}

/// Wake-ups end when this is dropped.
pub struct Subscription {
    _kept: Box<dyn Any + Send + Sync>,
}

impl Subscription {
    /// Keeps whatever an implementation needs to listen.
    pub fn new(kept: impl Any + Send + Sync) -> Subscription {
        Subscription { _kept: Box::new(kept) }
    }
}

//! The correlation id, which links a failure reported to a client to its log entries.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock};

use tokio::task::futures::TaskLocalFuture;

tokio::task_local! {
    static CURRENT: Correlation;
}

/// Correlates the work done for one request. Clones share the id.
#[derive(Debug, Clone, Default)]
pub struct Correlation {
    /// Generated on first use: most work never needs it.
    id: Arc<OnceLock<String>>,
}

impl Correlation {
    /// The correlation of the current work, or else a new one.
    pub fn current() -> Correlation {
        CURRENT.try_with(Clone::clone).unwrap_or_default()
    }

    /// The id: 128 bits, unique to one piece of work. It protects nothing, so the random keys of
    /// the standard library's hash maps are random enough.
    pub fn id(&self) -> &str {
        self.id.get_or_init(|| {
            let random = RandomState::new();
            format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1))
        })
    }

    /// Runs a future with this correlation as the current one.
    pub fn scope<F: Future>(&self, work: F) -> TaskLocalFuture<Correlation, F> {
        CURRENT.scope(self.clone(), work)
    }

    /// Runs a closure with this correlation as the current one.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self.clone(), work)
    }
}

/// The id of the current correlation, or a new one.
pub fn id() -> String {
    Correlation::current().id().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_has_one_id_and_other_work_another() {
        let work = Correlation::current();
        let inside = work.scope(async { (id(), Correlation::current().within(id)) }).await;
        assert_eq!(inside, (work.id().to_owned(), work.id().to_owned()));
        assert_eq!(work.id().len(), 32);
        assert!(work.id() != id() && id() != id());
    }
}

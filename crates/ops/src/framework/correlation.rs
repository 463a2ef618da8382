//! The number by which what a client is told of a failure and what the log says of it are found to
//! be the same.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock};

use tokio::task::futures::TaskLocalFuture;

tokio::task_local! {
    static CURRENT: Correlation;
}

/// What is done for one request, as far as it has to be found again. A clone is the same.
#[derive(Debug, Clone, Default)]
pub struct Correlation {
    /// Made when somebody first asks for it: most work has nothing to tell.
    id: Arc<OnceLock<String>>,
}

impl Correlation {
    /// That of the work that is under way here, else a new one.
    pub fn current() -> Correlation {
        CURRENT.try_with(Clone::clone).unwrap_or_default()
    }

    /// The number: 128 bits that tell one piece of work from all others. They guard nothing, so
    /// the keys with which the standard library protects its maps are random enough.
    pub fn id(&self) -> &str {
        self.id.get_or_init(|| {
            let random = RandomState::new();
            format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1))
        })
    }

    /// Work that this is of.
    pub fn scope<F: Future>(&self, work: F) -> TaskLocalFuture<Correlation, F> {
        CURRENT.scope(self.clone(), work)
    }

    /// Does work that this is of.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self.clone(), work)
    }
}

/// The number of what is under way, or a new one where nothing is.
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

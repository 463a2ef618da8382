//! What the writer knows of the run that it wrote to last. As long as nobody has written anything
//! since, its rows are as they were left: they need not be read and checked again.

use std::cell::RefCell;

use milepost_engine::ports::Lease;

use super::db::Db;
use super::error::RunsError;
use super::event::Last;
use super::run::RunRow;

/// A run, its lease and the end of its chain; nothing once something was taken back.
#[derive(Default)]
pub(super) struct Known(RefCell<Option<Kept>>);

struct Kept {
    moment: Moment,
    lease: Lease,
    row: RunRow,
    last: Last,
}

/// A moment of the database: two that are the same have nothing written between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    /// Rows that this connection has changed.
    own: u64,
    /// Changes with every change that another connection commits.
    others: i64,
}

impl Moment {
    fn now(db: Db<'_>) -> Result<Moment, RunsError> {
        let others = db.first("PRAGMA data_version", [], |row| row.get(0))?;
        Ok(Moment { own: db.changes(), others: others.unwrap_or_default() })
    }
}

impl Known {
    /// The run of a lease that is held for certain. Whoever writes to it says anew how it is then.
    pub(super) fn take(
        &self,
        db: Db<'_>,
        lease: &Lease,
    ) -> Result<Option<(RunRow, Last)>, RunsError> {
        let Some(kept) = self.0.take().filter(|kept| kept.lease == *lease) else { return Ok(None) };
        let same = Moment::now(db)? == kept.moment;
        Ok(same.then_some((kept.row, kept.last)))
    }

    /// Keeps a run as it was just written.
    pub(super) fn keep(
        &self,
        db: Db<'_>,
        lease: Lease,
        row: RunRow,
        last: Last,
    ) -> Result<(), RunsError> {
        let moment = Moment::now(db)?;
        self.0.replace(Some(Kept { moment, lease, row, last }));
        Ok(())
    }

    /// What was written was taken back.
    pub(super) fn forget(&self) {
        self.0.take();
    }
}

//! A driver's background work: sends heartbeats, wakes runs when they are due, and acquires
//! orphaned ones.

use std::sync::Arc;

use milepost_engine::ports::{JournalError, Takeover};
use milepost_model::id::RunId;

use crate::driver::{Driver, DriverInner};
use crate::heartbeat::HeartbeatPermit;
use crate::sleepers::DueRun;
use crate::{RunError, limits, locked};

impl Driver {
    /// Returns a permit to start new work now. If the last heartbeat has expired, sends a new one
    /// first.
    pub(crate) async fn permit(&self) -> Result<HeartbeatPermit, JournalError> {
        self.announce().await?;
        loop {
            if let Some(permit) = self.inner.heartbeat.permit() {
                return Ok(permit);
            }
            self.beat().await?;
        }
    }

    /// Sends a heartbeat and waits for its acknowledgment.
    async fn beat(&self) -> Result<(), JournalError> {
        let DriverInner { heartbeat, journal, holder, .. } = &*self.inner;
        let sent = heartbeat.sends();
        let counts_for = journal.beat(holder).await?;
        heartbeat.acknowledged(sent, counts_for);
        Ok(())
    }

    /// Announces this process and subscribes to wake-ups, once it drives its first run.
    async fn announce(&self) -> Result<(), JournalError> {
        let first = || async {
            let DriverInner { heartbeat, journal, holder, .. } = &*self.inner;
            let sent = heartbeat.sends();
            let counts_for = journal.announce(holder).await?;
            heartbeat.acknowledged(sent, counts_for);
            self.go_on_beating();
            self.go_on_waking();
            self.subscribe().await;
            Ok(())
        };
        self.inner.announced.get_or_try_init(first).await.map(drop)
    }

    /// Sends heartbeats for as long as this process is driving a run, and detects when it has been
    /// suspended.
    fn go_on_beating(&self) {
        let weak = Arc::downgrade(&self.inner);
        let heartbeat = Arc::clone(&self.inner.heartbeat);
        heartbeat.looks();
        tokio::spawn(async move {
            // Announcing this process was the first heartbeat.
            let mut period = heartbeat.period();
            loop {
                tokio::time::sleep(period).await;
                let Some(inner) = weak.upgrade() else { return };
                let driver = Driver { inner };
                driver.tick().await;
                period = heartbeat.period();
            }
        });
    }

    async fn tick(&self) {
        let DriverInner { heartbeat, watcher, journal, holder, acquiring, .. } = &*self.inner;
        heartbeat.looks();
        if let Ok(_nobody) = acquiring.try_write()
            && watcher.is_empty()
        {
            heartbeat.rests();
        }
        if !watcher.is_empty() {
            // A heartbeat that cannot be written is skipped; anything that needs a permit sends its
            // own.
            let _ = self.beat().await;
        }
        if heartbeat.has_returned() {
            let _nobody = acquiring.write().await;
            // If this process holds a lease without driving its run, the answer to its request for
            // the lease was lost.
            if journal.disown(holder, watcher.driven_runs()).await.is_err() {
                heartbeat.returns_again();
            }
        }
    }

    /// Wakes runs when they are due, with one timer for all of them.
    fn go_on_waking(&self) {
        let weak = Arc::downgrade(&self.inner);
        let watcher = Arc::clone(&self.inner.watcher);
        let clock = Arc::clone(&self.inner.clock);
        tokio::spawn(async move {
            let sleepers = &watcher.sleepers;
            loop {
                let nap = sleepers.nap(clock());
                let is_told = tokio::select! {
                    () = sleepers.told.notified() => true,
                    () = sleepers.changed.notified() => false,
                    () = tokio::time::sleep(nap.unwrap_or_default()), if nap.is_some() => false,
                };
                let Some(inner) = weak.upgrade() else { return };
                let driver = Driver { inner };
                if is_told {
                    driver.hear_sleepers().await;
                }
                driver.wake_due().await;
            }
        });
    }

    /// Wakes the runs that are due.
    async fn wake_due(&self) {
        let (due, others) = self.inner.watcher.sleepers.due(self.now_ms());
        for DueRun { run, wake_ms } in due {
            let turn = Arc::clone(&self.inner.waking).acquire_owned().await;
            let delivery = self.inner.watcher.deliver();
            let driver = self.clone();
            tokio::spawn(async move {
                // If another process woke the run first, it stays with that process.
                if let Err(error) = driver.acquire_at(&run, wake_ms).await
                    && error.passes()
                {
                    driver.wake_later(&run, wake_ms);
                }
                driver.inner.watcher.sleepers.tried(&run);
                drop((delivery, turn));
            });
        }
        if others {
            // If this fails, the next sweep tries again.
            let _ = self.adopt().await;
        }
    }

    /// Acquires sleeping runs that have received messages, so that the sender does not have to wait
    /// for them to wake.
    async fn hear_sleepers(&self) {
        let DriverInner { journal, watcher, .. } = &*self.inner;
        // On an error, the sender of the message acquires the run itself.
        let found = journal.orphaned(None, limits::LEFT_ALONE, Takeover::Free).await;
        for run in found.unwrap_or_default() {
            if watcher.sleepers.contains(&run) {
                let _ = self.acquire_run(&run).await;
            }
        }
    }

    /// Reschedules a run that could not be woken on time.
    fn wake_later(&self, run: &RunId, wake_ms: u64) {
        let later = u64::try_from(limits::WRITE_AGAIN.as_millis()).unwrap_or(u64::MAX);
        let now_ms = wake_ms.saturating_sub(later);
        self.inner.watcher.sleepers.add(run, wake_ms, now_ms, self.now_ms());
    }

    /// Acquires orphaned runs, and finds out when the next run is due. Some runs cannot be driven
    /// by this process, because their world is missing or a newer version wrote them. They do not
    /// hold up the others: the next sweep continues after them.
    pub(crate) async fn adopt(&self) -> Result<(), RunError> {
        if self.ends() {
            return Ok(());
        }
        let DriverInner { journal, heartbeat, swept, watcher, .. } = &*self.inner;
        let (mut swept, mut left_alone) = (swept.lock().await, 0);
        loop {
            let takeover = heartbeat.takeover();
            let page = journal.orphaned(swept.as_ref(), limits::ADOPTED, takeover).await?;
            for run in &page {
                // A run that cannot be acquired is reported when somebody asks for it.
                let is_ours = self.acquire_run(run).await.unwrap_or(false);
                left_alone += usize::from(!is_ours);
            }
            *swept = page.last().filter(|_| page.len() == limits::ADOPTED).cloned();
            if swept.is_none() || left_alone >= limits::LEFT_ALONE {
                break;
            }
        }
        if heartbeat.was_set_back() {
            for run in journal.dated_ahead(limits::LEFT_ALONE).await? {
                if !watcher.sleepers.contains(&run) {
                    // If it cannot be acquired, it becomes due when the clock reaches its time
                    // again.
                    let _ = self.acquire_run(&run).await;
                }
            }
        }
        let next_wake = journal.next_wake().await?;
        if next_wake.is_some() {
            // Let other processes know that this one will wake sleeping runs.
            self.announce().await?;
        }
        watcher.sleepers.watch(next_wake);
        Ok(())
    }

    /// Subscribes to wake-ups. Without a subscription, messages are found by polling.
    async fn subscribe(&self) {
        let inner = &self.inner;
        let weak = Arc::downgrade(&inner.watcher);
        let wake = Arc::new(move || {
            if let Some(watcher) = weak.upgrade() {
                watcher.wake();
            }
        });
        if let Ok(subscription) = inner.dispatch.subscribe(&inner.holder, wake).await {
            *locked(&inner.subscription) = Some(subscription);
        }
    }
}

//! What a driver does beside driving: it says that it is alive, wakes runs whose time has come, and
//! takes up those that nobody drives.

use std::sync::{Arc, PoisonError};

use milepost_engine::ports::{JournalError, Takeover};
use milepost_model::id::RunId;

use crate::driver::{Driver, DriverInner};
use crate::heartbeat::HeartbeatPermit;
use crate::sleepers::DueRun;
use crate::{RunError, limits};

impl Driver {
    /// The right to begin something now. Where the last sign of life has run out, another one is
    /// acknowledged first.
    pub(crate) async fn permit(&self) -> Result<HeartbeatPermit, JournalError> {
        self.announce().await?;
        loop {
            if let Some(permit) = self.inner.heartbeat.permit() {
                return Ok(permit);
            }
            self.beat().await?;
        }
    }

    /// Says that this process is alive, and waits until that is known.
    async fn beat(&self) -> Result<(), JournalError> {
        let DriverInner { heartbeat, journal, holder, .. } = &*self.inner;
        let sent = heartbeat.sends();
        let counts_for = journal.beat(holder).await?;
        heartbeat.acknowledged(sent, counts_for);
        Ok(())
    }

    /// Lets others know of this process, and listens for them, from the first run on.
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

    /// Says that this process is alive for as long as it drives something, and notices when it was
    /// away.
    fn go_on_beating(&self) {
        let weak = Arc::downgrade(&self.inner);
        let heartbeat = Arc::clone(&self.inner.heartbeat);
        heartbeat.looks();
        tokio::spawn(async move {
            // The first sign of life has just been given.
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
            // One that cannot be written is missed; what may not begin without it waits for one.
            let _ = self.beat().await;
        }
        if heartbeat.has_returned() {
            let _nobody = acquiring.write().await;
            // Whatever is held and not driven was taken by a request whose answer was lost.
            if journal.disown(holder, watcher.driven_runs()).await.is_err() {
                heartbeat.returns_again();
            }
        }
    }

    /// Wakes runs when their time comes: one timer for all of them.
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

    /// Wakes the runs whose time has come.
    async fn wake_due(&self) {
        let (due, others) = self.inner.watcher.sleepers.due(self.now_ms());
        for DueRun { run, wake_ms } in due {
            let turn = Arc::clone(&self.inner.waking).acquire_owned().await;
            let delivery = self.inner.watcher.deliver();
            let driver = self.clone();
            tokio::spawn(async move {
                // One that another process woke first is that one's.
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
            // Looked for again with the next sweep.
            let _ = self.adopt().await;
        }
    }

    /// Takes up those of the sleeping runs that somebody told something, so that who tells them
    /// need not stay until they wake.
    async fn hear_sleepers(&self) {
        let DriverInner { journal, watcher, .. } = &*self.inner;
        // What cannot be found out now is done by whoever told them.
        let found = journal.orphaned(None, limits::LEFT_ALONE, Takeover::Free).await;
        for run in found.unwrap_or_default() {
            if watcher.sleepers.contains(&run) {
                let _ = self.acquire_run(&run).await;
            }
        }
    }

    /// Wakes a run a little later than at its time, because it could not be done then.
    fn wake_later(&self, run: &RunId, wake_ms: u64) {
        let later = u64::try_from(limits::WRITE_AGAIN.as_millis()).unwrap_or(u64::MAX);
        let now_ms = wake_ms.saturating_sub(later);
        self.inner.watcher.sleepers.add(run, wake_ms, now_ms, self.now_ms());
    }

    /// Drives whatever nobody drives, and learns when the next run is due. Runs that this process
    /// cannot drive, because their world is not here or a later version wrote them, take no others'
    /// turn: the next look goes on behind them.
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
                    // One that cannot be acquired is due once the clock has come so far again.
                    let _ = self.acquire_run(&run).await;
                }
            }
        }
        let next_wake = journal.next_wake().await?;
        if next_wake.is_some() {
            // Others can see that somebody is there to wake what sleeps.
            self.announce().await?;
        }
        watcher.sleepers.watch(next_wake);
        Ok(())
    }

    /// Listens for wake-ups. Without it, messages are found by looking now and then.
    async fn subscribe(&self) {
        let inner = &self.inner;
        let weak = Arc::downgrade(&inner.watcher);
        let wake = Arc::new(move || {
            if let Some(watcher) = weak.upgrade() {
                watcher.wake();
            }
        });
        if let Ok(subscription) = inner.dispatch.subscribe(&inner.holder, wake).await {
            let mut kept = inner.subscription.lock().unwrap_or_else(PoisonError::into_inner);
            *kept = Some(subscription);
        }
    }
}

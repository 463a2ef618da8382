//! The end of a server, in two steps: nothing new, then nothing at all.

use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Open,
    /// What is under way is answered; streams that wait for nothing in particular end.
    Closing,
    /// What is still under way is answered with a fault.
    Cut,
}

/// How far the end of a server has come. Clones are of the same server.
#[derive(Debug, Clone)]
pub(super) struct Shutdown(watch::Sender<Phase>);

impl Default for Shutdown {
    fn default() -> Shutdown {
        Shutdown(watch::Sender::new(Phase::Open))
    }
}

impl Shutdown {
    pub(super) fn close(&self) {
        self.0.send_replace(Phase::Closing);
    }

    pub(super) fn cut(&self) {
        self.0.send_replace(Phase::Cut);
    }

    /// Done when nothing new is to begin.
    pub(super) async fn closing(&self) {
        self.reached(Phase::Closing).await;
    }

    /// Done when nothing is waited for any longer.
    pub(super) async fn is_cut(&self) {
        self.reached(Phase::Cut).await;
    }

    async fn reached(&self, phase: Phase) {
        let mut receiver = self.0.subscribe();
        // The sender is ours: it is there for as long as we wait.
        let _ = receiver.wait_for(|now| *now >= phase).await;
    }
}

//! One call of a tool: its caller as the operation sees them, and its answer.

use std::sync::{Mutex, PoisonError};

use milepost_ops::Call;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio::sync::mpsc;

/// The client behind a call.
pub(super) struct Told {
    context: RequestContext<RoleServer>,
    /// A yes that was given before the call was made.
    yes: bool,
    warnings: Mutex<Vec<String>>,
    progress: Option<mpsc::UnboundedSender<String>>,
}

impl Told {
    /// A caller, and what tells them how far the work is.
    pub(super) fn new(context: RequestContext<RoleServer>, yes: bool) -> (Told, Teller) {
        let token = context.meta.get_progress_token();
        let (progress, steps) = match token.is_some() {
            true => {
                let (progress, steps) = mpsc::unbounded_channel();
                (Some(progress), Some(steps))
            }
            false => (None, None),
        };
        let teller = Teller { peer: context.peer.clone(), token, steps };
        (Told { context, yes, warnings: Mutex::default(), progress }, teller)
    }

    /// What the people who run the server should know.
    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call for Told {
    fn progress(&self, message: &str) {
        if let Some(progress) = &self.progress {
            // Nobody is left to be told when the teller is gone.
            let _ = progress.send(message.to_owned());
        }
    }

    fn warn(&self, message: &str) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(message.replace(['\n', '\r'], " "));
    }

    fn ask(&self, _question: &str) -> Option<bool> {
        self.yes.then_some(true)
    }

    fn cancelled(&self) -> bool {
        self.context.ct.is_cancelled()
    }
}

/// Sends notes of progress for as long as a call is under way.
pub(super) struct Teller {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    steps: Option<mpsc::UnboundedReceiver<String>>,
}

impl Teller {
    /// Never ends: it is dropped with the call.
    pub(super) async fn tell(mut self) {
        let mut count = 0.0;
        if let (Some(token), Some(steps)) = (&self.token, &mut self.steps) {
            while let Some(message) = steps.recv().await {
                count += 1.0;
                let note = ProgressNotificationParam::new(token.clone(), count);
                // A client that cannot be told is one that cannot be answered either.
                let _ = self.peer.notify_progress(note.with_message(message)).await;
            }
        }
        std::future::pending::<()>().await;
    }
}

//! One call of a tool: its caller as the operation sees them, and its answer.

use std::sync::{Mutex, PoisonError};

use milepost_ops::Call;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio::sync::mpsc;

use super::principal;
use crate::limits;

/// The client behind a call.
pub(super) struct Told {
    context: RequestContext<RoleServer>,
    /// The questions that were answered with yes before the call was made.
    yes: Vec<String>,
    principal: Option<String>,
    warnings: Mutex<Vec<String>>,
    progress: Option<mpsc::Sender<String>>,
}

impl Told {
    /// A caller, and what tells them how far the work is where they want to know.
    pub(super) fn new(
        context: RequestContext<RoleServer>,
        yes: Vec<String>,
        wants_notes: bool,
    ) -> (Told, Option<Teller>) {
        let token = context.meta.get_progress_token().filter(|_| wants_notes);
        let (progress, teller) = match token {
            Some(token) => {
                let (progress, steps) = mpsc::channel(limits::NOTES);
                (Some(progress), Some(Teller { peer: context.peer.clone(), token, steps }))
            }
            None => (None, None),
        };
        let principal = principal::of(&context);
        (Told { context, yes, principal, warnings: Mutex::default(), progress }, teller)
    }

    /// What the people who run the server should know.
    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call for Told {
    fn progress(&self, message: &str) {
        if let Some(progress) = &self.progress {
            // A note that finds no room is left out: the next one says more.
            let _ = progress.try_send(message.to_owned());
        }
    }

    fn warn(&self, message: &str) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(message.replace(['\n', '\r'], " "));
    }

    fn ask(&self, question: &str) -> Option<bool> {
        self.yes.iter().any(|asked| asked == question).then_some(true)
    }

    fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    fn cancelled(&self) -> bool {
        self.context.ct.is_cancelled()
    }
}

/// Sends notes of progress, while the work that they are of goes on elsewhere.
pub(super) struct Teller {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    steps: mpsc::Receiver<String>,
}

impl Teller {
    /// Ends when the caller is gone and all of it is told.
    pub(super) async fn tell(mut self) {
        let mut count = 0.0;
        while let Some(message) = self.steps.recv().await {
            count += 1.0;
            let note = ProgressNotificationParam::new(self.token.clone(), count);
            // A client that cannot be told is one that cannot be answered either.
            let _ = self.peer.notify_progress(note.with_message(message)).await;
        }
    }
}

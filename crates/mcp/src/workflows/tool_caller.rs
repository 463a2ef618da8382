//! One call of a tool: its caller as the operation sees them.

use std::sync::{Arc, Mutex, PoisonError};

use milepost_model::wording::Wording;
use milepost_ops::Caller;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::mpsc;

use super::ToolStyle;
use super::client::McpClient;
use super::suggested_call::Tools;
use crate::limits;

/// The client behind a call.
pub(super) struct ToolCaller<'c> {
    client: McpClient<'c>,
    /// The questions that were answered with yes before the call was made.
    yes: &'c [String],
    style: ToolStyle,
    principal: Option<String>,
    warnings: Mutex<Vec<String>>,
    progress: Option<mpsc::Sender<String>>,
}

impl<'c> ToolCaller<'c> {
    /// A caller, and what tells them how far the work is where they want to know.
    pub(super) fn new(
        client: McpClient<'c>,
        yes: &'c [String],
        style: ToolStyle,
        wants_notes: bool,
    ) -> (ToolCaller<'c>, Option<ProgressSender>) {
        let context = client.context().filter(|_| wants_notes);
        let token = context.and_then(|context| Some((context, context.meta.get_progress_token()?)));
        let (progress, teller) = match token {
            Some((context, token)) => {
                let (progress, steps) = mpsc::channel(limits::NOTES);
                (Some(progress), Some(ProgressSender { peer: context.peer.clone(), token, steps }))
            }
            None => (None, None),
        };
        let principal = client.principal();
        (ToolCaller { client, yes, style, principal, warnings: Mutex::default(), progress }, teller)
    }

    /// What the people who run the server should know.
    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller for ToolCaller<'_> {
    fn wording(&self) -> Option<Arc<dyn Wording>> {
        Some(Arc::new(Tools(self.style)))
    }

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
        self.client.is_gone()
    }
}

/// Sends notes of progress, while the work that they are of goes on elsewhere.
pub(super) struct ProgressSender {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    steps: mpsc::Receiver<String>,
}

impl ProgressSender {
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

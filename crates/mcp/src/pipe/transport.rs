//! What `rmcp` sees of the pipe.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::Outbox;
use crate::{limits, request};

/// The pipe as `rmcp` sees it. Clones are the same pipe: a session that never began leaves it open
/// for the next one.
#[derive(Clone)]
pub(super) struct RmcpTransport {
    inbox: Arc<tokio::sync::Mutex<mpsc::Receiver<RxJsonRpcMessage<RoleServer>>>>,
    outbox: Outbox,
    closed: Arc<AtomicBool>,
}

impl RmcpTransport {
    pub(super) fn new(
        outbox: Outbox,
    ) -> (RmcpTransport, mpsc::Sender<RxJsonRpcMessage<RoleServer>>) {
        let (sender, inbox) = mpsc::channel(limits::UNREAD_REQUESTS);
        let inbox = Arc::new(tokio::sync::Mutex::new(inbox));
        (RmcpTransport { inbox, outbox, closed: Arc::default() }, sender)
    }

    /// Whether nothing more will come.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

impl Transport<RoleServer> for RmcpTransport {
    type Error = Infallible;

    /// A message takes its place in the order at once; whoever sends it goes on when there is room
    /// for the next one.
    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.outbox.message(&request::greeted(item, true));
        let outbox = self.outbox.clone();
        async move {
            outbox.room().await;
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.inbox.lock().await.recv().await;
        if message.is_none() {
            self.closed.store(true, Ordering::Release);
            // Ending the session ends what is under way in it: every answer goes out first.
            self.outbox.settled().await;
        }
        message
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

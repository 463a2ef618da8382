//! What `rmcp` sees of the pipe, and what is under way on it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::{Notify, mpsc};

use crate::request;

/// Requests that were read and are not yet with `rmcp`.
const UNREAD: usize = 64;

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
        let (sender, inbox) = mpsc::channel(UNREAD);
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

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.outbox.message(&request::greeted(item, true));
        std::future::ready(Ok(()))
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

/// Where answers go, and which of them are still to come. Requests carry it along, for what may
/// only follow their answer.
#[derive(Clone)]
pub(crate) struct Outbox {
    shared: Arc<Shared>,
}

/// The requests that are under way, each with the batch it came in.
type Open = HashMap<RequestId, Option<Arc<Mutex<Batch>>>>;

struct Shared {
    lines: std::sync::mpsc::Sender<Vec<u8>>,
    open: Mutex<Open>,
    /// Something has been answered.
    answered: Notify,
}

/// Answers of one batch, which leave together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    answers: Vec<Option<Vec<u8>>>,
    places: HashMap<RequestId, usize>,
    /// All of it was read.
    complete: bool,
}

impl Outbox {
    pub(super) fn new(lines: std::sync::mpsc::Sender<Vec<u8>>) -> Outbox {
        Outbox {
            shared: Arc::new(Shared { lines, open: Mutex::default(), answered: Notify::new() }),
        }
    }

    /// Notes that a request is under way; `false` when one with its id is already.
    pub(super) fn open(&self, id: &RequestId, batch: Option<&Arc<Mutex<Batch>>>) -> bool {
        let mut open = lock(&self.shared.open);
        if open.contains_key(id) {
            return false;
        }
        if let Some(batch) = batch {
            let mut batch = lock(batch);
            let place = batch.answers.len();
            batch.answers.push(None);
            batch.places.insert(id.clone(), place);
        }
        open.insert(id.clone(), batch.cloned());
        true
    }

    /// Whether a request with this id is under way.
    pub(super) fn is_open(&self, id: &RequestId) -> bool {
        lock(&self.shared.open).contains_key(id)
    }

    /// The client no longer wants the answer of a request; there may still be one.
    pub(super) fn give_up(&self, id: &RequestId) {
        let batch = lock(&self.shared.open).remove(id).flatten();
        if let Some(batch) = batch {
            self.fill(&batch, id, Vec::new());
        }
        self.shared.answered.notify_waiters();
    }

    /// A message of `rmcp`.
    fn message(&self, item: &TxJsonRpcMessage<RoleServer>) {
        let id = match item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        // What the types of the protocol hold is JSON.
        let Ok(text) = serde_json::to_vec(item) else { return };
        let Some(id) = id else { return self.line(text) };
        // Held until it has gone out: what waits for that comes after it.
        let mut open = lock(&self.shared.open);
        let Some(batch) = open.remove(id) else { return };
        match batch {
            Some(batch) => self.fill(&batch, id, text),
            None => self.line(text),
        }
        drop(open);
        self.shared.answered.notify_waiters();
    }

    /// Puts an answer to its place in a batch; the last one sends them all.
    fn fill(&self, batch: &Arc<Mutex<Batch>>, id: &RequestId, text: Vec<u8>) {
        let mut batch = lock(batch);
        if let Some(place) = batch.places.remove(id)
            && let Some(answer) = batch.answers.get_mut(place)
        {
            *answer = Some(text);
        }
        self.send_if_whole(&mut batch);
    }

    /// An answer of the edge, into the batch it belongs to.
    pub(super) fn answer(&self, text: Vec<u8>, batch: Option<&Arc<Mutex<Batch>>>) {
        match batch {
            None => self.line(text),
            Some(batch) => lock(batch).answers.push(Some(text)),
        }
    }

    /// All of a batch was read.
    pub(super) fn complete(&self, batch: &Arc<Mutex<Batch>>) {
        let mut batch = lock(batch);
        batch.complete = true;
        self.send_if_whole(&mut batch);
    }

    fn send_if_whole(&self, batch: &mut Batch) {
        if !batch.complete || batch.answers.iter().any(Option::is_none) {
            return;
        }
        let answers = std::mem::take(&mut batch.answers);
        let answers: Vec<Vec<u8>> =
            answers.into_iter().flatten().filter(|text| !text.is_empty()).collect();
        if !answers.is_empty() {
            let mut line = vec![b'['];
            line.extend(answers.join(&b','));
            line.push(b']');
            self.line(line);
        }
    }

    fn line(&self, mut text: Vec<u8>) {
        text.push(b'\n');
        // A client that is gone needs no answer.
        let _ = self.shared.lines.send(text);
    }

    /// Waits until every request has its answer.
    pub(super) async fn settled(&self) {
        self.until(HashMap::is_empty).await;
    }

    /// Waits until the answer of a request is on its way.
    pub(crate) async fn answered(&self, id: &RequestId) {
        self.until(|open| !open.contains_key(id)).await;
    }

    async fn until(&self, holds: impl Fn(&Open) -> bool) {
        loop {
            let answered = self.shared.answered.notified();
            if holds(&lock(&self.shared.open)) {
                return;
            }
            answered.await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

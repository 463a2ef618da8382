//! A pipe's outgoing messages, and the requests that are still to be answered.
//!
//! Both are bounded. The reader waits while the client is not reading its answers, or while many
//! requests are in flight, because unread answers and open requests use memory. Nothing is dropped,
//! and queueing an answer never blocks.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use milepost_model::secret::known_secrets;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, TxJsonRpcMessage};
use tokio::sync::Notify;

use crate::limits;
use crate::lock::lock;
use crate::rpc_error::RpcError;
use crate::stdio::ServeError;

/// The queue of outgoing messages. A request carries a handle to it, for messages that must not be
/// sent before its answer.
#[derive(Clone, Default)]
pub(crate) struct Outbox {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Signaled when a line is ready to be written, or when no more lines will be added.
    filled: Condvar,
    /// Signaled when there is room again: `drained` for the reading thread, `room` for async tasks.
    drained: Condvar,
    room: Notify,
    open: Mutex<Open>,
    /// Signaled when a request has been answered, for threads and for async tasks.
    closed_one: Condvar,
    answered: Notify,
}

/// Lines that have not been written yet.
#[derive(Default)]
struct Queue {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// No more lines will be added.
    is_closed: bool,
    /// Writing has failed: the client is gone.
    is_dead: bool,
}

impl Queue {
    fn push(&mut self, text: Vec<u8>) {
        // A client that has disconnected needs no answers.
        if !self.is_dead {
            self.bytes += text.len();
            self.lines.push_back(text);
        }
    }

    fn has_room(&self) -> bool {
        self.is_dead
            || self.bytes < limits::OUTBOX_BYTES && self.lines.len() < limits::OUTBOX_MESSAGES
    }
}

/// The requests in flight.
#[derive(Default)]
struct Open {
    requests: HashMap<RequestId, OpenRequest>,
    /// The total size of these requests as received.
    bytes: usize,
}

struct OpenRequest {
    /// The batch that the request came in.
    batch: Option<Arc<Mutex<Batch>>>,
    bytes: usize,
}

impl Open {
    fn remove(&mut self, id: &RequestId) -> Option<OpenRequest> {
        let removed = self.requests.remove(id)?;
        self.bytes -= removed.bytes;
        Some(removed)
    }

    fn is_few(&self) -> bool {
        self.requests.len() < limits::OPEN_REQUESTS && self.bytes < limits::OPEN_BYTES
    }
}

/// The answers to one batch, which are sent together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    answers: Vec<Option<Vec<u8>>>,
    places: HashMap<RequestId, usize>,
    /// Whether the whole batch has been read.
    complete: bool,
}

impl Outbox {
    /// Waits until the client has read enough of its answers. Blocks the thread.
    pub(super) fn wait_for_room(&self) {
        let queue = lock(&self.shared.queue);
        if !queue.has_room() {
            self.shared.filled.notify_one();
        }
        drop(self.shared.drained.wait_while(queue, |queue| !queue.has_room()));
    }

    /// Like [`Outbox::wait_for_room`], without blocking.
    pub(super) async fn room(&self) {
        loop {
            let room = self.shared.room.notified();
            if lock(&self.shared.queue).has_room() {
                return;
            }
            room.await;
        }
    }

    /// If many requests are in flight, waits until one of them is answered, but only briefly,
    /// because they may be waiting for something in the next line. Blocks the thread.
    pub(super) fn pace(&self) {
        let open = lock(&self.shared.open);
        let (one, many) = (&self.shared.closed_one, |open: &mut Open| !open.is_few());
        drop(one.wait_timeout_while(open, limits::OPEN_PAUSE, many));
    }

    /// Registers a request of this many bytes as in flight, unless its id is already in use or too
    /// many requests are in flight.
    pub(super) fn open(
        &self,
        id: &RequestId,
        bytes: usize,
        batch: Option<&Arc<Mutex<Batch>>>,
    ) -> Result<(), RpcError> {
        let mut open = lock(&self.shared.open);
        if open.requests.contains_key(id) {
            return Err(RpcError::in_use());
        }
        if open.requests.len() >= limits::OPEN_REQUESTS_MAX {
            return Err(RpcError::too_many_requests(limits::OPEN_REQUESTS_MAX));
        }
        if let Some(batch) = batch {
            let mut batch = lock(batch);
            let place = batch.answers.len();
            batch.answers.push(None);
            batch.places.insert(id.clone(), place);
        }
        open.bytes += bytes;
        open.requests.insert(id.clone(), OpenRequest { batch: batch.cloned(), bytes });
        Ok(())
    }

    /// Whether a request with this id is in flight.
    pub(super) fn is_open(&self, id: &RequestId) -> bool {
        lock(&self.shared.open).requests.contains_key(id)
    }

    /// Forgets a request that the client canceled; a late answer to it is dropped.
    pub(super) fn give_up(&self, id: &RequestId) {
        let removed = lock(&self.shared.open).remove(id);
        if let Some(OpenRequest { batch: Some(batch), .. }) = removed {
            self.fill(&batch, id, Vec::new());
        }
        self.told_answered();
    }

    /// Queues a message from `rmcp`.
    pub(super) fn message(&self, item: &TxJsonRpcMessage<RoleServer>) {
        let id = match item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        // This cannot fail: the protocol types always serialize.
        let Ok(text) = serde_json::to_vec(item) else { return };
        let Some(id) = id else { return self.line(text) };
        // Locked until the answer is queued, so that anything waiting for the answer is queued
        // after it.
        let mut open = lock(&self.shared.open);
        let Some(OpenRequest { batch, .. }) = open.remove(id) else { return };
        match batch {
            Some(batch) => self.fill(&batch, id, text),
            None => self.line(text),
        }
        drop(open);
        self.told_answered();
    }

    fn told_answered(&self) {
        self.shared.closed_one.notify_all();
        self.shared.answered.notify_waiters();
    }

    /// Puts an answer in its place in a batch; the last one sends them all.
    fn fill(&self, batch: &Arc<Mutex<Batch>>, id: &RequestId, text: Vec<u8>) {
        let mut batch = lock(batch);
        if let Some(place) = batch.places.remove(id)
            && let Some(answer) = batch.answers.get_mut(place)
        {
            *answer = Some(text);
        }
        self.send_if_whole(&mut batch);
    }

    /// Queues an answer from the framing, or adds it to its batch.
    pub(super) fn answer(&self, text: Vec<u8>, batch: Option<&Arc<Mutex<Batch>>>) {
        match batch {
            None => self.line(text),
            Some(batch) => lock(batch).answers.push(Some(text)),
        }
    }

    /// Queues an answer in order without waking the writer; it is sent with the next one or by
    /// [`Outbox::flush`].
    pub(super) fn answer_later(&self, text: Vec<u8>) {
        let mut text = known_secrets::shown_owned(text);
        text.push(b'\n');
        lock(&self.shared.queue).push(text);
    }

    /// Wakes the writer if there are lines to write.
    pub(super) fn flush(&self) {
        if !lock(&self.shared.queue).lines.is_empty() {
            self.shared.filled.notify_one();
        }
    }

    /// Marks a batch as completely read.
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

    fn line(&self, text: Vec<u8>) {
        self.answer_later(text);
        self.shared.filled.notify_one();
    }

    /// Closes the queue: no more lines will be added.
    pub(super) fn close(&self) {
        lock(&self.shared.queue).is_closed = true;
        self.shared.filled.notify_one();
    }

    /// Writes lines as they arrive until the queue is closed, flushing after each group.
    pub(super) fn write_to(&self, mut stdout: impl Write) -> Result<(), ServeError> {
        while let Some(unsent) = self.next_lines() {
            let written = stdout.write_all(&unsent).and_then(|()| stdout.flush());
            if let Err(error) = written {
                let mut queue = lock(&self.shared.queue);
                *queue = Queue { is_dead: true, ..Queue::default() };
                drop(queue);
                self.told_room();
                return Err(ServeError::Write(error));
            }
        }
        Ok(())
    }

    /// Removes from the queue as many lines as are written at once.
    fn next_lines(&self) -> Option<Vec<u8>> {
        let queue = lock(&self.shared.queue);
        let is_empty = |queue: &mut Queue| queue.lines.is_empty() && !queue.is_closed;
        let waited = self.shared.filled.wait_while(queue, is_empty);
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
        let mut unsent = queue.lines.pop_front()?;
        while unsent.len() < limits::UNSENT_BYTES
            && let Some(line) = queue.lines.pop_front()
        {
            unsent.extend_from_slice(&line);
        }
        queue.bytes -= unsent.len();
        let has_room = queue.has_room();
        drop(queue);
        if has_room {
            self.told_room();
        }
        Some(unsent)
    }

    fn told_room(&self) {
        self.shared.drained.notify_all();
        self.shared.room.notify_waiters();
    }

    /// Waits until every request has been answered.
    pub(super) async fn settled(&self) {
        self.until(|open| open.requests.is_empty()).await;
    }

    /// Waits until the answer to a request has been queued.
    pub(crate) async fn answered(&self, id: &RequestId) {
        self.until(|open| !open.requests.contains_key(id)).await;
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A writer that blocks on each write until the test receives it.
    struct Held(mpsc::SyncSender<Vec<u8>>);

    impl Write for Held {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let gone = |_| std::io::ErrorKind::BrokenPipe;
            self.0.send(bytes.to_vec()).map_err(gone)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn fill(outbox: &Outbox) -> usize {
        let line = vec![b'x'; 1_000];
        let mut count = 0;
        while lock(&outbox.shared.queue).has_room() {
            outbox.line(line.clone());
            count += 1;
        }
        count
    }

    #[test]
    fn whoever_reads_waits_for_a_client_that_does_not_and_goes_on_when_it_does() {
        let outbox = Outbox::default();
        let sent = fill(&outbox);
        let reader = thread::spawn({
            let outbox = outbox.clone();
            move || outbox.wait_for_room()
        });
        thread::sleep(Duration::from_millis(50));
        assert!(!reader.is_finished());
        let (held, parts) = mpsc::sync_channel(0);
        let writer = thread::spawn({
            let outbox = outbox.clone();
            move || outbox.write_to(Held(held)).is_ok()
        });
        let first = parts.recv().expect("is written");
        reader.join().expect("goes on");
        outbox.close();
        let all: usize = first.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        assert_eq!(all, sent * 1_001);
        assert!(writer.join().expect("ends"));
    }

    #[test]
    fn nobody_waits_for_a_client_that_is_gone() {
        let outbox = Outbox::default();
        fill(&outbox);
        let (held, parts) = mpsc::sync_channel(0);
        drop(parts);
        assert!(outbox.write_to(Held(held)).is_err());
        outbox.wait_for_room();
        outbox.line(vec![0; limits::OUTBOX_BYTES]);
        outbox.wait_for_room();
    }

    #[test]
    fn a_request_too_many_is_refused_and_one_of_many_waits_a_moment() {
        let outbox = Outbox::default();
        let id = |number: usize| RequestId::Number(i64::try_from(number).expect("fits"));
        for number in 0..limits::OPEN_REQUESTS_MAX {
            assert_eq!(outbox.open(&id(number), 1, None), Ok(()));
        }
        assert_eq!(outbox.open(&id(0), 1, None), Err(RpcError::in_use()));
        let too_many = RpcError::too_many_requests(limits::OPEN_REQUESTS_MAX);
        assert_eq!(outbox.open(&id(limits::OPEN_REQUESTS_MAX), 1, None), Err(too_many));
        let began = std::time::Instant::now();
        outbox.pace();
        assert!(began.elapsed() >= limits::OPEN_PAUSE);
        (0..limits::OPEN_REQUESTS_MAX).for_each(|number| outbox.give_up(&id(number)));
        assert_eq!(lock(&outbox.shared.open).bytes, 0);
    }
}

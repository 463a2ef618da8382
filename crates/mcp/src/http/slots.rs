//! Which connections are kept when there are too many: a client that does not read, or has not
//! shown a token, gives way to one that works. Some places are always left: streams, on which a
//! client only listens, and the requests of one named caller cannot take all of them.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

use crate::limits;
use crate::lock::lock;

/// The connections of a server, by the order in which they were accepted.
#[derive(Debug)]
pub(super) struct Slots {
    open: Mutex<BTreeMap<u64, Arc<Connection>>>,
    accepted: AtomicU64,
    /// Notified when a connection ends, or becomes one that can be closed for another.
    freed: Notify,
    limit: usize,
}

/// What is known about a connection.
#[derive(Debug)]
pub(super) struct Connection {
    slots: Weak<Slots>,
    /// Whether one of its requests was admitted with a token.
    is_admitted: AtomicBool,
    /// Who sent its latest request, if the token names somebody.
    caller: Mutex<Option<String>>,
    /// Whether the request in flight is a stream on which the client only listens.
    listens: AtomicBool,
    /// Requests that are not answered completely.
    in_flight: AtomicUsize,
    /// Since when it has been idle, or has not read what was written to it.
    quiet: Mutex<Quiet>,
    closing: Notify,
}

#[derive(Debug, Clone, Copy)]
struct Quiet {
    since: Instant,
    is_stalled: bool,
}

/// A connection's place among the open ones, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    id: u64,
    pub(super) connection: Arc<Connection>,
}

impl Slots {
    pub(super) fn new(limit: usize) -> Arc<Slots> {
        let (open, accepted, freed) = Default::default();
        Arc::new(Slots { open, accepted, freed, limit })
    }

    /// Finds a place for a new connection. If there is none, another connection is closed, or this
    /// waits until one can be closed.
    pub(super) async fn take(self: &Arc<Slots>) -> Slot {
        loop {
            let freed = self.freed.notified();
            if let Some(slot) = self.try_take() {
                return slot;
            }
            // A connection that stops reading notifies nobody.
            let _ = tokio::time::timeout(limits::SLOT_LOOKS, freed).await;
        }
    }

    fn try_take(self: &Arc<Slots>) -> Option<Slot> {
        let mut open = lock(&self.open);
        let newcomers = open.values().filter(|one| !one.is_admitted.load(Ordering::Relaxed));
        let is_full = open.len() >= self.limit;
        if is_full || newcomers.count() >= limits::NEWCOMERS.min(self.limit) {
            let now = Instant::now();
            let listening = open.values().filter(|one| one.only_listens()).count();
            let too_many_listen = listening > self.share();
            let rank = |one: &Connection| one.rank(now, too_many_listen);
            let candidates = open.iter().filter_map(|(id, one)| Some((rank(one)?, *id)));
            match candidates.min() {
                Some((rank, id)) if is_full || rank.is_newcomer() => {
                    let closed = open.remove(&id);
                    closed.iter().for_each(|closed| closed.closing.notify_one());
                }
                _ if is_full => return None,
                _ => {}
            }
        }
        let id = self.accepted.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection::new(Arc::downgrade(self)));
        open.insert(id, Arc::clone(&connection));
        Some(Slot { slots: Arc::clone(self), id, connection })
    }

    /// How many places streams, or the requests of one named caller, may take.
    fn share(&self) -> usize {
        self.limit - self.limit / limits::PLACES_LEFT
    }

    /// The number of connections on which a caller has a request in flight.
    fn busy(&self, caller: &str) -> usize {
        let open = lock(&self.open);
        let theirs = open.values().filter(|one| one.in_flight.load(Ordering::Relaxed) > 0);
        theirs.filter(|one| lock(&one.caller).as_deref() == Some(caller)).count()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock(&self.slots.open).remove(&self.id);
        self.slots.freed.notify_waiters();
    }
}

/// How soon a connection is closed for another one: first those that showed no token, then those
/// that do not read, then idle ones, then, if there are too many of them, those that only listen;
/// within a kind, the one that has been quiet for the longest time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(u8, std::cmp::Reverse<Duration>);

impl Rank {
    fn is_newcomer(self) -> bool {
        self.0 == 0
    }
}

impl Connection {
    fn new(slots: Weak<Slots>) -> Connection {
        Connection {
            slots,
            is_admitted: AtomicBool::new(false),
            caller: Mutex::default(),
            listens: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            quiet: Mutex::new(Quiet { since: Instant::now(), is_stalled: false }),
            closing: Notify::new(),
        }
    }

    /// Records that a request on this connection was admitted with a token, which may name its
    /// caller. Returns false if this caller has too many requests in flight.
    pub(super) fn admit(&self, caller: Option<&str>) -> bool {
        let slots = self.slots.upgrade();
        if lock(&self.caller).as_deref() != caller {
            *lock(&self.caller) = caller.map(str::to_owned);
        }
        if let (Some(caller), Some(slots)) = (caller, slots)
            && slots.busy(caller) > slots.share()
        {
            return false;
        }
        self.is_admitted.store(true, Ordering::Relaxed);
        true
    }

    /// Records that the request in flight is a stream on which the client only listens.
    pub(super) fn listens(&self) {
        self.listens.store(true, Ordering::Relaxed);
    }

    fn only_listens(&self) -> bool {
        self.listens.load(Ordering::Relaxed) && self.in_flight.load(Ordering::Relaxed) > 0
    }

    /// Completes when another connection needs the place of this one.
    pub(super) async fn closing(&self) {
        self.closing.notified().await;
    }

    /// `None` for a connection that works.
    fn rank(&self, now: Instant, too_many_listen: bool) -> Option<Rank> {
        let Quiet { since, is_stalled } = *lock(&self.quiet);
        let quiet = std::cmp::Reverse(now.duration_since(since));
        if !self.is_admitted.load(Ordering::Relaxed) {
            return Some(Rank(0, quiet));
        }
        if is_stalled && quiet.0 >= limits::STALLED {
            return Some(Rank(1, quiet));
        }
        if self.in_flight.load(Ordering::Relaxed) == 0 {
            return Some(Rank(2, quiet));
        }
        (too_many_listen && self.only_listens()).then_some(Rank(3, quiet))
    }

    /// Registers a request, which is in flight until the result is dropped.
    pub(super) fn begin(self: &Arc<Connection>) -> InFlight {
        self.listens.store(false, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    fn moved(&self, is_stalled: bool) {
        let mut quiet = lock(&self.quiet);
        // Waiting longer does not start the waiting again.
        if !(is_stalled && quiet.is_stalled) && self.is_admitted.load(Ordering::Relaxed) {
            quiet.since = Instant::now();
        }
        quiet.is_stalled = is_stalled;
    }
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct InFlight(Arc<Connection>);

impl InFlight {
    /// Keeps the request in flight until its answer has been sent.
    pub(super) fn until_sent(self, body: Body) -> Body {
        Body::new(TrackedBody { body, _request: self })
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.0.moved(false);
    }
}

struct TrackedBody {
    body: Body,
    _request: InFlight,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection that fails if its client reads nothing for too long.
pub(super) struct PatientStream {
    stream: TcpStream,
    connection: Arc<Connection>,
    /// When waiting for the client ends; set while it does not read.
    patience: Option<Pin<Box<Sleep>>>,
}

impl PatientStream {
    pub(super) fn new(stream: TcpStream, connection: Arc<Connection>) -> PatientStream {
        PatientStream { stream, connection, patience: None }
    }

    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: Poll<std::io::Result<T>>,
    ) -> Poll<std::io::Result<T>> {
        if poll.is_ready() {
            self.patience = None;
            self.connection.moved(false);
            return poll;
        }
        self.connection.moved(true);
        let fresh = || Box::pin(tokio::time::sleep(limits::WRITE_TIMEOUT));
        ready!(self.patience.get_or_insert_with(fresh).as_mut().poll(context));
        Poll::Ready(Err(std::io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for PatientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for PatientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.written(context, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

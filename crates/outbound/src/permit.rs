//! Checks as late as possible whether a request may still be sent.
//!
//! A process can be suspended at any point and resume minutes later in the middle of a request. The
//! check is therefore made before a connection is used, again when the first byte of the body is
//! about to be sent, and between the parts of a large body.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::limits;

type Question = Arc<dyn Fn() -> bool + Send + Sync>;

/// Decides whether a request may start, and whether one in progress may continue.
#[derive(Clone)]
pub struct RequestPermit {
    begins: Question,
    goes_on: Question,
}

impl RequestPermit {
    /// Creates a permit. `begins` is called only before the body is sent, `goes_on` at every check.
    pub fn new(
        begins: impl Fn() -> bool + Send + Sync + 'static,
        goes_on: impl Fn() -> bool + Send + Sync + 'static,
    ) -> RequestPermit {
        RequestPermit { begins: Arc::new(begins), goes_on: Arc::new(goes_on) }
    }

    /// Whether a request may start now.
    pub(crate) fn begins(&self) -> bool {
        (self.begins)() && (self.goes_on)()
    }

    /// Wraps a body so that the permit is checked before each part is sent. The returned flag is
    /// set if sending was refused before it started.
    pub(crate) fn guarded(&self, rest: Bytes) -> (reqwest::Body, Arc<AtomicBool>) {
        let (permit, withheld) = (self.clone(), Arc::default());
        let refused = Arc::clone(&withheld);
        (reqwest::Body::wrap(GuardedBody { rest, begun: false, permit, refused }), withheld)
    }
}

impl fmt::Debug for RequestPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}

struct GuardedBody {
    rest: Bytes,
    begun: bool,
    permit: RequestPermit,
    refused: Arc<AtomicBool>,
}

#[derive(Debug, thiserror::Error)]
#[error("the process was suspended for too long")]
struct Away;

impl http_body::Body for GuardedBody {
    type Data = Bytes;
    type Error = Away;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Away>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let may = if self.begun { (self.permit.goes_on)() } else { self.permit.begins() };
        if !may {
            if !self.begun {
                self.refused.store(true, Ordering::SeqCst);
            }
            return Poll::Ready(Some(Err(Away)));
        }
        self.begun = true;
        let part = self.rest.len().min(limits::BODY_PART_BYTES);
        let part = self.rest.split_to(part);
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

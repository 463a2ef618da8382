//! Whether a request may still be sent, asked as late as there is somebody to ask.
//!
//! A process can be stopped anywhere, and finds itself minutes later in the middle of a request. So
//! the question is asked before a connection is used, once more when the first byte of the body is
//! about to leave, and between the parts of a large body.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::limits;

type Question = Arc<dyn Fn() -> bool + Send + Sync>;

/// Whether a request may begin, and whether one that has begun may go on.
#[derive(Clone)]
pub struct SendPermit {
    begins: Question,
    goes_on: Question,
}

impl SendPermit {
    /// Asked again each time.
    pub fn new(
        begins: impl Fn() -> bool + Send + Sync + 'static,
        goes_on: impl Fn() -> bool + Send + Sync + 'static,
    ) -> SendPermit {
        SendPermit { begins: Arc::new(begins), goes_on: Arc::new(goes_on) }
    }

    /// Whether a request may begin now.
    pub(crate) fn begins(&self) -> bool {
        (self.begins)() && (self.goes_on)()
    }

    /// A body that asks before it is sent, and what tells afterwards whether it was not begun.
    pub(crate) fn guarded(&self, rest: Bytes) -> (reqwest::Body, Arc<AtomicBool>) {
        let (permit, withheld) = (self.clone(), Arc::default());
        let refused = Arc::clone(&withheld);
        (reqwest::Body::wrap(GuardedBody { rest, begun: false, permit, refused }), withheld)
    }
}

impl fmt::Debug for SendPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}

struct GuardedBody {
    rest: Bytes,
    begun: bool,
    permit: SendPermit,
    refused: Arc<AtomicBool>,
}

#[derive(Debug, thiserror::Error)]
#[error("the process was away for too long")]
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

//! Send failures, and whether the request may have arrived.
//!
//! Library errors are inspected here and dropped, because they quote URLs, which may contain
//! secrets.

use std::error::Error;
use std::io;
use std::time::Duration;

use milepost_model::secret::Mask;

use crate::guard::GuardRefusal;
use crate::limits;
use crate::resolver::NoAddress;

/// A request that failed without a response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{method} {url}: {fault}")]
pub struct SendError {
    pub method: Box<str>,
    /// The last URL requested, with secrets masked.
    pub url: Box<str>,
    pub fault: SendFault,
    pub delivery: Delivery,
}

impl SendError {
    /// Whether the server certainly never saw the request, so that even a write may be repeated.
    pub fn certainly_not_sent(&self) -> bool {
        self.delivery == Delivery::NotSent
    }
}

/// Whether a request arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    NotSent,
    /// The request may have arrived.
    Unknown,
    /// The request arrived: there was a response, but it was incomplete or unusable.
    Answered,
}

/// What went wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendFault {
    /// The guard refused the target.
    #[error("not sent: {0}")]
    Refused(GuardRefusal),
    /// The redirect target was refused.
    #[error("the redirect to `{target}` was not followed: {why}")]
    RedirectRefused {
        /// The target without its query.
        target: String,
        why: RedirectRefusal,
    },
    #[error("more than {limit} redirects")]
    TooManyRedirects { limit: usize },
    /// A part of the request cannot be sent.
    #[error("{0}")]
    Invalid(InvalidRequest),
    #[error("cannot resolve `{name}`{}", colon(detail))]
    Dns { name: String, detail: String },
    #[error("cannot connect{}", colon(detail))]
    Connect { kind: io::ErrorKind, detail: String },
    /// The server could not prove its identity, or does not speak TLS.
    #[error("no secure connection{}", colon(detail))]
    Tls { detail: String },
    #[error("no complete response within {} ms", after.as_millis())]
    Timeout { after: Duration },
    /// The connection was lost before the response was complete.
    #[error("the connection was lost{}", colon(detail))]
    Lost { detail: String },
    /// The response exceeds a size limit.
    #[error("more than {limit} bytes of response {part}")]
    TooLarge { part: AnswerPart, limit: usize },
    #[error("the response is not valid HTTP{}", colon(detail))]
    Protocol { detail: String },
    /// The body is not compressed in the way its header declares.
    #[error("the body cannot be decompressed{}", colon(detail))]
    Unpack { detail: String },
    /// The permit to send expired because the process was suspended for too long.
    #[error("not sent: this process was suspended for too long")]
    Lapsed,
    /// The request contains a secret that nobody allowed for its origin.
    #[error("not sent: it contains the secret `{name}`, which may not be sent there")]
    Secret { name: String },
    /// The client could not be set up.
    #[error("the HTTP client cannot be set up{}", colon(detail))]
    Setup { detail: String },
}

impl SendFault {
    /// Whether another attempt could succeed.
    pub fn is_passing(&self) -> bool {
        matches!(
            self,
            SendFault::Dns { .. }
                | SendFault::Connect { .. }
                | SendFault::Timeout { .. }
                | SendFault::Lost { .. }
        )
    }

    /// Masks the strings that come from the request or the server.
    pub(crate) fn masked(mut self, mask: &Mask) -> SendFault {
        // Truncate after masking: a partial secret would not be recognized.
        let hide = |text: &mut String| {
            *text = mask.text(text).chars().take(limits::DETAIL_CHARS).collect();
        };
        match &mut self {
            SendFault::Refused(why) => hide_refusal(why, hide),
            SendFault::RedirectRefused { target, why } => {
                hide(target);
                if let RedirectRefusal::Refused(why) = why {
                    hide_refusal(why, hide);
                }
            }
            SendFault::Invalid(InvalidRequest::Method { method: text }) => hide(text),
            SendFault::Invalid(
                InvalidRequest::Header { name } | InvalidRequest::Reserved { name },
            ) => hide(name),
            SendFault::Dns { name, detail } => [name, detail].into_iter().for_each(hide),
            SendFault::Connect { detail, .. }
            | SendFault::Tls { detail }
            | SendFault::Lost { detail }
            | SendFault::Protocol { detail }
            | SendFault::Unpack { detail }
            | SendFault::Setup { detail } => hide(detail),
            SendFault::TooManyRedirects { .. }
            | SendFault::Timeout { .. }
            | SendFault::TooLarge { .. }
            | SendFault::Secret { .. }
            | SendFault::Lapsed => {}
        }
        self
    }
}

fn hide_refusal(refusal: &mut GuardRefusal, hide: impl Fn(&mut String)) {
    match refusal {
        GuardRefusal::Scheme { scheme: text } | GuardRefusal::Name { name: text } => hide(text),
        GuardRefusal::Address { name: Some(name), .. } => hide(name),
        GuardRefusal::Address { name: None, .. }
        | GuardRefusal::UserInfo
        | GuardRefusal::NoHost => {}
    }
}

/// A part of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnswerPart {
    #[error("headers")]
    Headers,
    /// The decompressed body.
    #[error("body")]
    Body,
}

/// Why a redirect was not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedirectRefusal {
    #[error("its target is not a URL")]
    NoUrl,
    #[error("it leads from https to http")]
    Downgrade,
    #[error("it would send a secret to another origin")]
    CarriesSecret,
    #[error("{0}")]
    Refused(GuardRefusal),
}

/// A part of a request that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequest {
    #[error("`{method}` is not a supported method")]
    Method { method: String },
    /// A header name or value contains invalid characters.
    #[error("the header `{name}` cannot be sent: its name or value has forbidden characters")]
    Header { name: String },
    /// A header that is reserved for the connection.
    #[error("the header `{name}` cannot be set: it is reserved for the connection")]
    Reserved { name: String },
}

/// A fault, and whether the request may have arrived.
pub(crate) type SendFailure = (SendFault, Delivery);

/// Classifies a failed request.
pub(crate) fn of_request(error: &reqwest::Error) -> SendFailure {
    let delivery = if error.is_connect() || error.is_builder() {
        Delivery::NotSent
    } else {
        Delivery::Unknown
    };
    let detail = || detail(error);
    let fault = if let Some(refusal) = find::<GuardRefusal>(error) {
        SendFault::Refused(refusal.clone())
    } else if let Some(NoAddress { name, .. }) = find::<NoAddress>(error) {
        SendFault::Dns { name: name.clone(), detail: detail() }
    } else if find::<rustls::Error>(error).is_some() {
        SendFault::Tls { detail: detail() }
    } else if error.is_timeout() {
        SendFault::Timeout { after: limits::CONNECT_TIMEOUT }
    } else if error.is_connect() {
        let kind = find::<io::Error>(error).map_or(io::ErrorKind::Other, io::Error::kind);
        SendFault::Connect { kind, detail: detail() }
    } else if find::<hyper::Error>(error).is_some_and(hyper::Error::is_parse) {
        SendFault::Protocol { detail: detail() }
    } else {
        SendFault::Lost { detail: detail() }
    };
    (fault, delivery)
}

/// Classifies a failure while reading the body.
pub(crate) fn of_body(error: &reqwest::Error) -> SendFailure {
    let detail = detail(error);
    let fault = match find::<hyper::Error>(error) {
        Some(_) => SendFault::Lost { detail },
        None => SendFault::Unpack { detail },
    };
    (fault, Delivery::Answered)
}

/// Finds the first error of a type in a chain of sources. The error that an `io::Error` wraps is
/// skipped by `source`, so it is checked separately.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut errors = std::iter::successors(Some(error), |&error| {
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    });
    errors.find_map(|error| error.downcast_ref())
}

/// The innermost error's message, because the outer ones contain no details.
fn detail(error: &reqwest::Error) -> String {
    let sources = std::iter::successors(error.source(), |&error| error.source());
    let innermost = sources.last().map(ToString::to_string).unwrap_or_default();
    milepost_model::suggest::without_error_number(&innermost)
}

pub(crate) fn colon(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!(": {detail}") }
}

//! What can go wrong on the way to an answer, and whether the request can have arrived.
//!
//! Errors of libraries are read here and dropped: they quote URLs, and URLs may hold secrets.

use std::error::Error;
use std::io;
use std::time::Duration;

use milepost_model::secret::Mask;

use crate::guard::Refusal;
use crate::limits;
use crate::redirect::Unfollowed;
use crate::resolver::NoAddress;

/// A request without an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{method} {url}: {fault}")]
pub struct SendError {
    /// The method of the request.
    pub method: Box<str>,
    /// The URL that was asked last, secrets masked.
    pub url: Box<str>,
    /// What went wrong.
    pub fault: Fault,
    /// Whether the request arrived.
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
    /// Certainly not.
    NotSent,
    /// It may have.
    Unknown,
    /// Certainly: there is an answer, but not a whole or usable one.
    Answered,
}

/// What went wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The guard does not let it go there.
    #[error("not sent: {0}")]
    Refused(Refusal),
    /// The server points to somewhere that is not followed.
    #[error("the redirect to `{target}` is not followed: {why}")]
    RedirectRefused {
        /// Where it points, without its query.
        target: String,
        /// Why not.
        why: RedirectRefusal,
    },
    /// Redirects went on and on.
    #[error("more than {limit} redirects")]
    TooManyRedirects {
        /// How many are followed.
        limit: usize,
    },
    /// A part of the request cannot be sent.
    #[error("{0}")]
    Invalid(Invalid),
    /// A name without an address.
    #[error("cannot find the address of `{name}`{}", colon(detail))]
    Dns {
        /// The name.
        name: String,
        /// What the system says.
        detail: String,
    },
    /// No connection was made.
    #[error("cannot connect{}", colon(detail))]
    Connect {
        /// The kind of failure.
        kind: io::ErrorKind,
        /// What the system says.
        detail: String,
    },
    /// The other side could not prove who it is, or does not speak TLS.
    #[error("no secure connection{}", colon(detail))]
    Tls {
        /// What the library says.
        detail: String,
    },
    /// It took too long.
    #[error("no whole answer within {} ms", after.as_millis())]
    Timeout {
        /// How long was waited.
        after: Duration,
    },
    /// The connection ended before the answer did.
    #[error("the connection was lost{}", colon(detail))]
    Lost {
        /// What the system says.
        detail: String,
    },
    /// The answer is larger than it may be.
    #[error("the {part} of the answer are larger than {limit} bytes")]
    TooLarge {
        /// Which part.
        part: Part,
        /// How large it may be.
        limit: usize,
    },
    /// The answer is no HTTP.
    #[error("the answer is not HTTP{}", colon(detail))]
    Protocol {
        /// What the library says.
        detail: String,
    },
    /// The body is not packed as its header says.
    #[error("the body cannot be unpacked{}", colon(detail))]
    Unpack {
        /// What the library says.
        detail: String,
    },
    /// Nobody may send it any more: its process was away for too long.
    #[error("not sent: this process had been stopped for too long")]
    Lapsed,
    /// The client could not be set up.
    #[error("the HTTP client cannot be set up{}", colon(detail))]
    Setup {
        /// What the library says.
        detail: String,
    },
}

impl Fault {
    /// Whether another try could end otherwise.
    pub fn is_passing(&self) -> bool {
        match self {
            Fault::Dns { .. }
            | Fault::Connect { .. }
            | Fault::Timeout { .. }
            | Fault::Lost { .. } => true,
            Fault::Refused(_)
            | Fault::RedirectRefused { .. }
            | Fault::TooManyRedirects { .. }
            | Fault::Invalid(_)
            | Fault::Tls { .. }
            | Fault::TooLarge { .. }
            | Fault::Protocol { .. }
            | Fault::Unpack { .. }
            | Fault::Lapsed
            | Fault::Setup { .. } => false,
        }
    }

    /// The same with the texts that come from the request or the server masked.
    pub(crate) fn masked(mut self, mask: &Mask) -> Fault {
        // Cut after masking: half a secret would not be found.
        let hide = |text: &mut String| {
            *text = mask.text(text).chars().take(limits::DETAIL_CHARS).collect();
        };
        match &mut self {
            Fault::Refused(why) => hide_refusal(why, hide),
            Fault::RedirectRefused { target, why } => {
                hide(target);
                if let RedirectRefusal::Refused(why) = why {
                    hide_refusal(why, hide);
                }
            }
            Fault::Invalid(Invalid::Method { method: text }) => hide(text),
            Fault::Invalid(Invalid::Header { name } | Invalid::Reserved { name }) => hide(name),
            Fault::Dns { name, detail } => [name, detail].into_iter().for_each(hide),
            Fault::Connect { detail, .. }
            | Fault::Tls { detail }
            | Fault::Lost { detail }
            | Fault::Protocol { detail }
            | Fault::Unpack { detail }
            | Fault::Setup { detail } => hide(detail),
            Fault::TooManyRedirects { .. }
            | Fault::Timeout { .. }
            | Fault::TooLarge { .. }
            | Fault::Lapsed => {}
        }
        self
    }
}

fn hide_refusal(refusal: &mut Refusal, hide: impl Fn(&mut String)) {
    match refusal {
        Refusal::Scheme { scheme: text } | Refusal::Name { name: text } => hide(text),
        Refusal::Address { name: Some(name), .. } => hide(name),
        Refusal::Address { name: None, .. } | Refusal::UserInfo | Refusal::NoHost => {}
    }
}

/// A part of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its headers.
    Headers,
    /// Its body, unpacked.
    Body,
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Part::Headers => "headers",
            Part::Body => "bytes",
        })
    }
}

/// Why a redirect is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedirectRefusal {
    /// Because of what it asks for.
    #[error("{0}")]
    Unfollowed(Unfollowed),
    /// Because of where it leads.
    #[error("{0}")]
    Refused(Refusal),
}

/// A part of a request that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The method is none.
    #[error("`{method}` is not a method that can be sent")]
    Method {
        /// The method.
        method: String,
    },
    /// A header's name or value has characters that no header can have.
    #[error("the header `{name}` cannot be sent: its name or value has forbidden characters")]
    Header {
        /// The name.
        name: String,
    },
    /// A header that the connection needs for itself.
    #[error("the header `{name}` cannot be given: it belongs to the connection")]
    Reserved {
        /// The name.
        name: String,
    },
}

/// A fault, and whether the request arrived all the same.
pub(crate) type Failure = (Fault, Delivery);

/// What a failed request means.
pub(crate) fn of_request(error: &reqwest::Error) -> Failure {
    let delivery = if error.is_connect() || error.is_builder() {
        Delivery::NotSent
    } else {
        Delivery::Unknown
    };
    let detail = || detail(error);
    let fault = if let Some(refusal) = find::<Refusal>(error) {
        Fault::Refused(refusal.clone())
    } else if let Some(NoAddress { name, .. }) = find::<NoAddress>(error) {
        Fault::Dns { name: name.clone(), detail: detail() }
    } else if find::<rustls::Error>(error).is_some() {
        Fault::Tls { detail: detail() }
    } else if error.is_timeout() {
        Fault::Timeout { after: limits::CONNECT_TIMEOUT }
    } else if error.is_connect() {
        let kind = find::<io::Error>(error).map_or(io::ErrorKind::Other, io::Error::kind);
        Fault::Connect { kind, detail: detail() }
    } else {
        of_http(error, detail())
    };
    (fault, delivery)
}

fn of_http(error: &reqwest::Error, detail: String) -> Fault {
    match find::<hyper::Error>(error) {
        Some(http) if http.is_parse() => Fault::Protocol { detail },
        _ => Fault::Lost { detail },
    }
}

/// What a body that broke off means.
pub(crate) fn of_body(error: &reqwest::Error) -> Failure {
    let detail = detail(error);
    let fault = match find::<hyper::Error>(error) {
        Some(_) => Fault::Lost { detail },
        None => Fault::Unpack { detail },
    };
    (fault, Delivery::Answered)
}

/// The first error of a type in a chain. What an `io::Error` wraps is not its source but itself.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

/// The words of the innermost error: those above it only say that there is one.
fn detail(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = match error.source() {
        Some(source) => source,
        None => return String::new(),
    };
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn colon(detail: &str) -> String {
    if detail.is_empty() { String::new() } else { format!(": {detail}") }
}

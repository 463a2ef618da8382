//! Sends a request once: through the guard, within the limits, following redirects.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use milepost_catalog::request::header_bytes;
use milepost_model::secret::Mask;
use reqwest::header::{HeaderName, HeaderValue, LOCATION};
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::Instant;
use url::Url;

use crate::fault::{
    AnswerPart, Delivery, InvalidRequest, RedirectRefusal, SendError, SendFailure, SendFault,
};
use crate::fault::{of_body, of_request};
use crate::guard::{Policy, Reach};
use crate::limits;
use crate::outgoing::{Credentials, Outgoing, masked_url};
use crate::permit::RequestPermit;
use crate::redirect;
use crate::resolver::{DnsLookup, GuardedResolver, SystemLookup};
use crate::secrets::SecretGuard;
use crate::trace;

/// The HTTP client of one catalog: one policy, one set of connections.
pub struct Client {
    policy: Policy,
    lookup: Arc<dyn DnsLookup>,
    lanes: Lanes,
    in_flight: Semaphore,
}

/// Separate clients for public addresses and for hosts that the user allowed, so that a request
/// never reuses a connection that it would not have been allowed to open. Clients with TLS are also
/// separate, because loading the system's certificates takes time and is needed only for TLS.
type Lanes = [OnceCell<reqwest::Client>; 4];

/// How a request is sent.
#[derive(Debug, Clone)]
pub struct SendOptions {
    /// The total time limit, including redirects and the body.
    pub timeout: Duration,
    /// The maximum size of the decompressed response body.
    pub body_bytes: usize,
    /// What to do with a larger body.
    pub oversize: Oversize,
    /// Credentials to add, if the request goes to their origin.
    pub credentials: Option<Credentials>,
    /// Secrets contained in the request itself.
    pub mask: Mask,
    /// The path in logs and metrics: the template, which contains no values.
    pub route: Option<String>,
    /// The number of the attempt, starting at 1.
    pub attempt: u32,
    /// Disables logging and metrics, because exporting the log must not add to it.
    pub untold: bool,
    /// Decides whether the request may still be sent; `None` means always.
    pub permit: Option<RequestPermit>,
    /// Searches the finished request for secrets that may not be sent to its origin.
    pub guard: Option<Arc<dyn SecretGuard>>,
}

impl Default for SendOptions {
    fn default() -> SendOptions {
        SendOptions {
            timeout: limits::TIMEOUT,
            body_bytes: limits::BODY_BYTES,
            oversize: Oversize::Fail,
            credentials: None,
            mask: Mask::guard(),
            route: None,
            attempt: 1,
            untold: false,
            permit: None,
            guard: None,
        }
    }
}

impl SendOptions {
    fn all_secrets(&self) -> Mask {
        let mut mask = self.mask.clone();
        if let Some(credentials) = &self.credentials {
            mask.extend(&credentials.mask);
        }
        mask
    }
}

/// What to do with a body that exceeds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oversize {
    /// Return an error.
    Fail,
    /// Truncate it and mark the response.
    Cut,
}

/// An HTTP response.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// The headers in order, with lowercase names.
    pub headers: Vec<(String, String)>,
    /// The decompressed body.
    pub body: Bytes,
    pub truncated: bool,
    /// The final URL after redirects. It may contain secrets from the request URL, but never an
    /// added credential.
    pub url: Url,
    pub redirects: usize,
    pub elapsed: Duration,
}

impl Response {
    /// The first header with this name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Omits all values, because a response may contain secrets such as a token.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("headers", &headers)
            .field("body_bytes", &self.body.len())
            .field("truncated", &self.truncated)
            .field("redirects", &self.redirects)
            .finish_non_exhaustive()
    }
}

/// How far a request has progressed, for reporting a failure or timeout.
struct Progress {
    asked: Option<Url>,
    delivery: Delivery,
}

impl Client {
    /// Creates a client with this policy.
    pub fn new(policy: Policy) -> Client {
        Client::with_lookup(policy, Arc::new(SystemLookup))
    }

    /// Creates a client that uses this DNS lookup.
    pub fn with_lookup(policy: Policy, lookup: Arc<dyn DnsLookup>) -> Client {
        Client {
            policy,
            lookup,
            lanes: Lanes::default(),
            in_flight: Semaphore::new(limits::IN_FLIGHT),
        }
    }

    /// Where requests may go.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Sends a request once and reads its response, regardless of its status.
    pub async fn send(
        &self,
        request: &Outgoing,
        sending: &SendOptions,
    ) -> Result<Response, SendError> {
        let mask = sending.all_secrets();
        let began = Instant::now();
        let mut progress = Progress { asked: None, delivery: Delivery::NotSent };
        let exchange = self.exchange(request, sending, &mask, &mut progress);
        let result = tokio::time::timeout(sending.timeout, exchange).await;
        let late = || Err((SendFault::Timeout { after: sending.timeout }, progress.delivery));
        let result = result.unwrap_or_else(|_| late()).map_err(|(fault, delivery)| SendError {
            method: mask.text(&request.method).into(),
            url: masked_url(progress.asked.as_ref().unwrap_or(&request.url), &mask).as_str().into(),
            fault: fault.masked(&mask),
            delivery,
        });
        if !sending.untold {
            trace::sent(request, sending, &mask, &result, began.elapsed());
        }
        result
    }

    /// Sends the request and follows its redirects.
    async fn exchange(
        &self,
        request: &Outgoing,
        sending: &SendOptions,
        mask: &Mask,
        progress: &mut Progress,
    ) -> Result<Response, SendFailure> {
        let began = Instant::now();
        let permit = self.in_flight.acquire().await;
        let _permit = permit.map_err(|error| (setup(&error), Delivery::NotSent))?;
        progress.delivery = Delivery::Unknown;
        let mut request = Cow::Borrowed(request);
        for redirects in 0..=limits::REDIRECTS {
            progress.asked = (redirects > 0).then(|| request.url.clone());
            let hop = self.hop(&request, sending).await;
            let answer = hop.map_err(|failure| after_redirects(failure, &request, redirects))?;
            progress.delivery = Delivery::Answered;
            let status = answer.status().as_u16();
            let follows = redirect::is_followed(&request.method, status);
            let location = answer.headers().get(LOCATION).filter(|_| follows);
            let Some(location) = location.map(text) else {
                let read = read(answer, sending).await?;
                let (url, elapsed) = (request.url.clone(), began.elapsed());
                return Ok(Response { url, redirects, elapsed, ..read });
            };
            let next = redirect::follow(&request, &location, mask);
            let next = next.map_err(|why| {
                let target = redirect::target(&request.url, &location);
                (SendFault::RedirectRefused { target, why }, Delivery::Answered)
            })?;
            request = Cow::Owned(next);
        }
        Err((SendFault::TooManyRedirects { limit: limits::REDIRECTS }, Delivery::Answered))
    }

    async fn hop(
        &self,
        request: &Outgoing,
        sending: &SendOptions,
    ) -> Result<reqwest::Response, SendFailure> {
        let not_sent = |fault| (fault, Delivery::NotSent);
        let reach =
            self.policy.check(&request.url).map_err(|why| not_sent(SendFault::Refused(why)))?;
        let body = request.body.clone();
        let request = match &sending.credentials {
            Some(credentials) => credentials.placed_on(request),
            None => Cow::Borrowed(request),
        };
        if let Some(name) = sending.guard.as_ref().and_then(|guard| guard.refuses(&request)) {
            return Err(not_sent(SendFault::Secret { name }));
        }
        let mut request = build(&request).map_err(|why| not_sent(SendFault::Invalid(why)))?;
        let client = self.connections(reach, request.url()).await.map_err(not_sent)?;
        let Some(permit) = &sending.permit else {
            return client.execute(request).await.map_err(|error| of_request(&error));
        };
        let withheld = request.body().is_some().then(|| {
            let (guarded, withheld) = permit.guarded(body);
            *request.body_mut() = Some(guarded);
            withheld
        });
        if !permit.begins() {
            return Err(not_sent(SendFault::Lapsed));
        }
        client.execute(request).await.map_err(|error| {
            match withheld.is_some_and(|withheld| withheld.load(Ordering::SeqCst)) {
                true => not_sent(SendFault::Lapsed),
                false => of_request(&error),
            }
        })
    }

    async fn connections(&self, reach: Reach, url: &Url) -> Result<&reqwest::Client, SendFault> {
        let secure = url.scheme() == "https";
        let lane = usize::from(reach == Reach::Anywhere) * 2 + usize::from(secure);
        let lookup = || GuardedResolver { lookup: Arc::clone(&self.lookup), reach };
        let build = async || if secure { with_tls(lookup) } else { without_tls(lookup) };
        self.lanes[lane].get_or_try_init(build).await
    }
}

/// A client with TLS. On a system without certificates it trusts no server.
fn with_tls(lookup: impl Fn() -> GuardedResolver) -> Result<reqwest::Client, SendFault> {
    builder(lookup()).build().or_else(|_| without_tls(&lookup))
}

/// A client without certificates, for connections without TLS.
fn without_tls(lookup: impl Fn() -> GuardedResolver) -> Result<reqwest::Client, SendFault> {
    let built = builder(lookup()).tls_certs_only([]).build();
    built.map_err(|error| setup(&error.without_url()))
}

fn builder(lookup: GuardedResolver) -> reqwest::ClientBuilder {
    // Fails only if a provider is already installed, which is just as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    let builder = reqwest::Client::builder();
    #[cfg(any(target_os = "android", target_os = "linux"))]
    let builder = builder.tcp_user_timeout(limits::UNDELIVERED);
    builder
        .user_agent(concat!("milepost/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(lookup)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .tcp_nodelay(true)
        .connect_timeout(limits::CONNECT_TIMEOUT)
        .pool_max_idle_per_host(limits::IDLE_CONNECTIONS)
        .pool_idle_timeout(limits::IDLE_TIMEOUT)
        .http2_max_header_list_size(limits::HEADER_BYTES as u32)
}

fn setup(error: &dyn std::error::Error) -> SendFault {
    SendFault::Setup { detail: error.to_string() }
}

/// Adjusts a failure after redirects: the first request did arrive, and if the target is refused,
/// the redirect is at fault.
fn after_redirects(failure: SendFailure, request: &Outgoing, redirects: usize) -> SendFailure {
    match failure {
        failure if redirects == 0 => failure,
        (SendFault::Refused(why), _) => {
            let target = redirect::target(&request.url, "");
            let why = RedirectRefusal::Refused(why);
            (SendFault::RedirectRefused { target, why }, Delivery::Answered)
        }
        (fault, _) => (fault, Delivery::Unknown),
    }
}

fn build(request: &Outgoing) -> Result<reqwest::Request, InvalidRequest> {
    let method = reqwest::Method::from_bytes(request.method.as_bytes());
    let method = method.ok().filter(|method| *method != reqwest::Method::CONNECT);
    let method = method.ok_or_else(|| InvalidRequest::Method { method: request.method.clone() })?;
    let mut built = reqwest::Request::new(method, request.url.clone());
    for (name, value) in &request.headers {
        let wrong = || InvalidRequest::Header { name: name.clone() };
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        if is_reserved(&header, value, request.body.len()) {
            return Err(InvalidRequest::Reserved { name: name.clone() });
        }
        if header == reqwest::header::CONTENT_LENGTH {
            continue;
        }
        let value = HeaderValue::from_bytes(&header_bytes(value)).map_err(|_| wrong())?;
        built.headers_mut().append(header, value);
    }
    if !request.body.is_empty() {
        *built.body_mut() = Some(request.body.clone().into());
    }
    Ok(built)
}

/// Headers that determine where a request ends or who reads it. If a document could set them, it
/// could smuggle another request past an intermediary.
fn is_reserved(name: &HeaderName, value: &str, body_bytes: usize) -> bool {
    match name.as_str() {
        "content-length" => value.trim().parse() != Ok(body_bytes),
        "host" | "connection" | "transfer-encoding" | "upgrade" | "te" | "trailer"
        | "keep-alive" | "expect" | "http2-settings" => true,
        other => other.starts_with("proxy-"),
    }
}

/// Reads a response within the limits. The body is measured after decompression.
async fn read(
    mut answer: reqwest::Response,
    sending: &SendOptions,
) -> Result<Response, SendFailure> {
    let too_large = |part, limit| (SendFault::TooLarge { part, limit }, Delivery::Answered);
    let headers = answer.headers().iter();
    let headers: Vec<(String, String)> =
        headers.map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > limits::HEADER_BYTES {
        return Err(too_large(AnswerPart::Headers, limits::HEADER_BYTES));
    }
    let limit = sending.body_bytes;
    let mut body = BytesMut::new();
    let mut truncated = false;
    while let Some(chunk) = answer.chunk().await.map_err(|error| of_body(&error))? {
        if chunk.len() > limit - body.len() {
            if sending.oversize == Oversize::Fail {
                return Err(too_large(AnswerPart::Body, limit));
            }
            body.extend_from_slice(&chunk[..limit - body.len()]);
            truncated = true;
            break;
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Response {
        status: answer.status().as_u16(),
        headers,
        body: body.freeze(),
        truncated,
        url: answer.url().clone(),
        redirects: 0,
        elapsed: Duration::ZERO,
    })
}

/// The value of a header, as UTF-8 if valid, otherwise as Latin-1.
fn text(value: &HeaderValue) -> String {
    let bytes = value.as_bytes();
    let latin = || bytes.iter().map(|byte| char::from(*byte)).collect();
    std::str::from_utf8(bytes).map_or_else(|_| latin(), str::to_owned)
}

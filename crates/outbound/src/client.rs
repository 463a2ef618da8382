//! Sending one request, once: through the guard, within the limits, along its redirects.

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
use crate::permit::SendPermit;
use crate::redirect;
use crate::resolver::{DnsLookup, GuardedResolver, SystemLookup};
use crate::trace;

/// The HTTP client of one catalog: one policy, one set of connections.
pub struct Client {
    policy: Policy,
    lookup: Arc<dyn DnsLookup>,
    lanes: Lanes,
    in_flight: Semaphore,
}

/// Connections to addresses of the internet, and those to hosts that the user named: kept apart,
/// so that none is used where it would not have been made. Those with TLS are apart as well,
/// because reading the system's certificates takes time that others need not spend.
type Lanes = [OnceCell<reqwest::Client>; 4];

/// How one request is sent.
#[derive(Debug, Clone)]
pub struct SendOptions {
    /// How long it may take in all, redirects and body included.
    pub timeout: Duration,
    /// Bytes of the answer's body, unpacked.
    pub body_bytes: usize,
    /// What to do with a larger one.
    pub oversize: Oversize,
    /// Credentials that are placed on it, where they belong.
    pub credentials: Option<Credentials>,
    /// Secrets that stand in the request itself.
    pub mask: Mask,
    /// What its path is called where it is told of: the template, which holds nobody's values.
    pub route: Option<String>,
    /// Which try it is, from 1.
    pub attempt: u32,
    /// Nothing is told of it: what carries the log away must not fill it.
    pub untold: bool,
    /// Whether it may still be sent; it may, unless somebody is to be asked.
    pub permit: Option<SendPermit>,
}

impl Default for SendOptions {
    fn default() -> SendOptions {
        SendOptions {
            timeout: limits::TIMEOUT,
            body_bytes: limits::BODY_BYTES,
            oversize: Oversize::Fail,
            credentials: None,
            mask: Mask::new(),
            route: None,
            attempt: 1,
            untold: false,
            permit: None,
        }
    }
}

impl SendOptions {
    /// Every secret that this request knows.
    fn all_secrets(&self) -> Mask {
        let mut mask = self.mask.clone();
        if let Some(credentials) = &self.credentials {
            mask.extend(&credentials.mask);
        }
        mask
    }
}

/// What to do with a body that is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oversize {
    /// It is an error.
    Fail,
    /// It is cut and marked as such.
    Cut,
}

/// An answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// Its headers in order, names in small letters.
    pub headers: Vec<(String, String)>,
    /// Its body, unpacked.
    pub body: Bytes,
    pub truncated: bool,
    /// The URL that answered: the last one, after redirects. May hold secrets of the request's
    /// own URL, never a placed credential.
    pub url: Url,
    pub redirects: usize,
    pub elapsed: Duration,
}

impl Response {
    /// The first header of a name, in any letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// No values: what an API answers may hold secrets, such as a token.
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

/// How far a request has come, for the moment it fails or its time is up.
struct Progress {
    asked: Option<Url>,
    delivery: Delivery,
}

impl Client {
    /// A client with this policy.
    pub fn new(policy: Policy) -> Client {
        Client::with_lookup(policy, Arc::new(SystemLookup))
    }

    /// A client that finds addresses in another way.
    pub fn with_lookup(policy: Policy, lookup: Arc<dyn DnsLookup>) -> Client {
        Client {
            policy,
            lookup,
            lanes: Lanes::default(),
            in_flight: Semaphore::new(limits::IN_FLIGHT),
        }
    }

    /// Where its requests may go.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Sends a request once and reads its answer. An answer of any status is one.
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

    /// The request and every redirect from there.
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
            let location = answer.headers().get(LOCATION).filter(|_| redirect::is_redirect(status));
            let Some(location) = location.map(text) else {
                let read = read(answer, sending).await?;
                let (url, elapsed) = (request.url.clone(), began.elapsed());
                return Ok(Response { url, redirects, elapsed, ..read });
            };
            let next = redirect::follow(&request, status, &location, mask);
            let next = next.map_err(|why| {
                let target = redirect::target(&request.url, &location);
                let why = RedirectRefusal::Unfollowed(why);
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
            Some(credentials) => build(&credentials.placed_on(request)),
            None => build(request),
        };
        let mut request = request.map_err(|why| not_sent(SendFault::Invalid(why)))?;
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

/// Connections with TLS. On a system without certificates they trust nobody.
fn with_tls(lookup: impl Fn() -> GuardedResolver) -> Result<reqwest::Client, SendFault> {
    builder(lookup()).build().or_else(|_| without_tls(&lookup))
}

/// Connections that trust nobody, for those who need not.
fn without_tls(lookup: impl Fn() -> GuardedResolver) -> Result<reqwest::Client, SendFault> {
    let built = builder(lookup()).tls_certs_only([]).build();
    built.map_err(|error| setup(&error.without_url()))
}

fn builder(lookup: GuardedResolver) -> reqwest::ClientBuilder {
    // Fails only when one is installed already, which is as good.
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

/// What a failure means for the whole when redirects were followed before: the first request did
/// arrive, and a place that is refused is the redirect's fault.
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

/// Headers that decide where a request ends or who reads it; given by a document they could
/// smuggle another request past a server in between.
fn is_reserved(name: &HeaderName, value: &str, body_bytes: usize) -> bool {
    match name.as_str() {
        "content-length" => value.trim().parse() != Ok(body_bytes),
        "host" | "connection" | "transfer-encoding" | "upgrade" | "te" | "trailer"
        | "keep-alive" | "expect" | "http2-settings" => true,
        other => other.starts_with("proxy-"),
    }
}

/// Reads an answer within the limits. The body is counted as it comes out of its packing.
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

/// A header's value: UTF-8 as servers write it today, else Latin-1 as they once did.
fn text(value: &HeaderValue) -> String {
    let bytes = value.as_bytes();
    let latin = || bytes.iter().map(|byte| char::from(*byte)).collect();
    std::str::from_utf8(bytes).map_or_else(|_| latin(), str::to_owned)
}

//! Sends the log as spans to an OpenTelemetry collector that the user configured, through the
//! shared HTTP client and its limits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use milepost_model::problem::{Code, Problem};
use milepost_model::secret::known_secrets;
use milepost_outbound::{Client, Outgoing, Policy, SendOptions};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::layer::Layer;
use url::Url;

use super::{Output, variable};
use crate::limits;

/// Environment variables with the address of a collector, for spans or for all signals.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const SERVICE: &str = "OTEL_SERVICE_NAME";

/// Sends spans, and flushes the remaining ones when dropped.
pub(super) struct Collector(SdkTracerProvider);

impl Drop for Collector {
    fn drop(&mut self) {
        // An unreachable collector is not a reason to fail, because the work is already done.
        let _ = self.0.shutdown_with_timeout(limits::OTLP_FLUSH);
    }
}

/// The exporter for the collector named in the environment, if any.
pub(super) fn collector() -> Result<Option<(Collector, Output)>, Problem> {
    let Some((name, endpoint)) = ENDPOINTS.iter().find_map(|name| Some((name, variable(name)?)))
    else {
        return Ok(None);
    };
    let wrong = |why: String| {
        let hint = "write it as http://localhost:4318, or unset it";
        Problem::new(
            Code::ParamsInvalid,
            format!("`{name}` is not set to a valid collector address: {why}"),
            hint,
        )
    };
    let url = Url::parse(&endpoint).map_err(|error| wrong(error.to_string()))?;
    let sender = Sender::new(&url).map_err(|error| wrong(error.to_string()))?;
    let exporter = SpanExporter::builder().with_http().with_http_client(sender).build();
    let exporter = exporter.map_err(|error| wrong(error.to_string()))?;
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let mut resource = Resource::builder().with_attribute(version);
    if variable(SERVICE).is_none() {
        resource = resource.with_service_name("milepost");
    }
    let provider = SdkTracerProvider::builder()
        .with_resource(resource.build())
        .with_batch_exporter(exporter)
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("milepost"))
        .with_location(false)
        .with_threads(false);
    Ok(Some((Collector(provider), layer.boxed())))
}

/// The HTTP client, for callers without a runtime.
struct Sender {
    client: Arc<Client>,
    runtime: Runtime,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

impl Sender {
    fn new(endpoint: &Url) -> std::io::Result<Sender> {
        let mut policy = Policy::public();
        policy.allow_url(endpoint);
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Sender { client: Arc::new(Client::new(policy)), runtime })
    }
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl HttpClient for Sender {
    fn send_bytes<'s, 'a>(&'s self, request: Request<Bytes>) -> Answer<'a>
    where
        's: 'a,
        Self: 'a,
    {
        let client = Arc::clone(&self.client);
        // Spans are sent on a separate thread, so nothing waits for this.
        let sending = self.runtime.spawn(async move { sent(&client, request).await });
        Box::pin(async move { sending.await? })
    }
}

async fn sent(client: &Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let (head, body) = request.into_parts();
    // The spans are encoded with their lengths, which must not change.
    let body = known_secrets::overwritten(body.into()).into();
    let header =
        |name: &str, value: &[u8]| (name.to_owned(), String::from_utf8_lossy(value).into_owned());
    let outgoing = Outgoing {
        method: head.method.as_str().to_owned(),
        url: Url::parse(&head.uri.to_string())?,
        headers: head.headers.iter().map(|(name, v)| header(name.as_str(), v.as_bytes())).collect(),
        body,
    };
    let sending = SendOptions {
        body_bytes: limits::OTLP_ANSWER_BYTES,
        untold: true,
        ..SendOptions::default()
    };
    let answer = client.send(&outgoing, &sending).await?;
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    Ok(response.body(answer.body)?)
}

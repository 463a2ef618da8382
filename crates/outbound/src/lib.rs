//! The HTTP client: guards, limits, authentication and redaction.
//!
//! Everything that Milepost sends goes through [`Client::send`]: the URL, every address that its
//! name resolves to and every redirect pass the [`guard`], and the response is bounded in size and
//! time. [`ApiClient`] adds what a catalog needs: credentials bound to its origin, and retries.
//!
//! No error or debug output from this crate contains a secret.

pub mod address;
mod api;
mod auth;
mod client;
mod fault;
pub mod guard;
pub mod limits;
mod oauth;
mod outgoing;
mod permit;
mod redirect;
mod resolver;
mod retry;
mod secrets;
mod trace;

pub use api::{ApiCall, ApiClient, ApiResponse, CallError};
pub use auth::{
    AuthError, Authenticator, ClientCredential, ClientStyle, Credential, CredentialValue,
};
pub use client::{Client, Oversize, Response, SendOptions};
pub use fault::{AnswerPart, Delivery, InvalidRequest, RedirectRefusal, SendError, SendFault};
pub use guard::{GuardRefusal, Policy};
pub use outgoing::{Credentials, Outgoing, masked, masked_url};
pub use permit::RequestPermit;
pub use resolver::{Addresses, DnsLookup, SystemLookup};
pub use retry::CallRetry;
pub use secrets::{SecretGuard, SecretSource, SecretSourceError};

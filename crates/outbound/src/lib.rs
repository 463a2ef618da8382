//! The one HTTP client: its guards, limits, authentication and redaction.
//!
//! Everything that Milepost sends goes through [`Client::send`]: the URL, every address its name
//! stands for and every redirect pass the [`guard`]; the answer is bounded in bytes and time.
//! [`Api`] adds what a catalog needs: credentials bound to its origin, and retries.
//!
//! Nothing that this crate returns as an error or prints for debugging holds a secret.

pub mod address;
mod api;
mod auth;
mod client;
mod fault;
pub mod guard;
mod http_date;
pub mod limits;
mod oauth;
mod outgoing;
mod permit;
mod redirect;
mod resolver;
mod retry;
mod secrets;
mod trace;

pub use api::{Api, Call, CallError, Called};
pub use auth::{Auth, AuthError, Choice, ClientCredential, ClientStyle, Credential, Named};
pub use client::{Client, Oversize, Response, Sending};
pub use fault::{Delivery, Fault, Invalid, Part, RedirectRefusal, SendError};
pub use guard::{Policy, Refusal};
pub use outgoing::{Credentials, Outgoing, Place, masked, masked_url};
pub use permit::Permit;
pub use redirect::Unfollowed;
pub use resolver::{Addresses, Lookup, SystemLookup};
pub use retry::{Attempt, Outcome, Retry};
pub use secrets::{SecretError, Secrets};

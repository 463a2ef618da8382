//! All client limits. Every limit is inclusive.

use std::time::Duration;

/// Maximum number of redirects followed for one request.
pub const REDIRECTS: usize = 3;
/// Maximum size of a decompressed response body in bytes, unless a request overrides it.
pub const BODY_BYTES: usize = 8 * 1024 * 1024;
/// Maximum total size of the header names and values in a response, in bytes.
pub const HEADER_BYTES: usize = 64 * 1024;
/// Time limit for connecting, including the DNS lookup and the TLS handshake.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the operating system keeps trying to deliver sent data, if this can be configured. Data
/// in a socket buffer must not arrive long after the caller has given up on it.
pub const UNDELIVERED: Duration = Duration::from_secs(20);
/// The number of body bytes after which the permit to send is checked again.
pub const BODY_PART_BYTES: usize = 64 * 1024;
/// Total time limit for a request, including redirects and the body, unless the request overrides
/// it.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of concurrent requests per client; further requests wait.
pub const IN_FLIGHT: usize = 64;
/// Maximum number of idle connections kept per host.
pub const IDLE_CONNECTIONS: usize = IN_FLIGHT;
/// How long an idle connection is kept.
pub const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum number of addresses considered for one name.
pub const ADDRESSES: usize = 64;
/// Maximum number of characters from a system or library message quoted in an error.
pub const DETAIL_CHARS: usize = 200;

/// Maximum number of attempts that a caller may request.
pub const ATTEMPTS_MAX: u32 = 100;
/// The first delay between two attempts.
pub const BACKOFF_FIRST: Duration = Duration::from_millis(500);
/// The longest delay between two attempts, unless the server requests a specific one.
pub const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// The longest delay that a server may request with `Retry-After`.
pub const RETRY_AFTER_MAX: Duration = Duration::from_mins(1);

/// Maximum size of a token server's response or discovery document, in bytes.
pub const TOKEN_BYTES: usize = 256 * 1024;
/// How long before its expiry a token is replaced. A token that is valid for less than ten times as
/// long is replaced after nine tenths of its lifetime.
pub const TOKEN_MARGIN: Duration = Duration::from_secs(30);
/// The longest time that a token is kept, even if its server allows more.
pub const TOKEN_LIFE_MAX: Duration = Duration::from_hours(24);
/// Maximum number of tokens kept per catalog, one for each set of scopes.
pub const TOKENS: usize = 64;

//! Every bound of the client, named once. A limit is inclusive.

use std::time::Duration;

/// Redirects that are followed for one request.
pub const REDIRECTS: usize = 3;
/// Bytes of an answer's body, unpacked, unless a request says otherwise.
pub const BODY_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of the names and values of an answer's headers.
pub const HEADER_BYTES: usize = 64 * 1024;
/// How long connecting may take, finding the address and the TLS handshake included.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the system goes on trying to deliver what a process has sent, where it can be told:
/// what stands in a socket must not arrive long after everybody has given it up.
pub const UNDELIVERED: Duration = Duration::from_secs(20);
/// Bytes of a body after which it is asked again whether the rest may be sent.
pub const BODY_PART_BYTES: usize = 64 * 1024;
/// How long a request may take in all, redirects and body included, unless it says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// Requests of one client that are under way at once; others wait.
pub const IN_FLIGHT: usize = 64;
/// Connections to one host that are kept for the next request.
pub const IDLE_CONNECTIONS: usize = IN_FLIGHT;
/// How long a connection is kept for the next request.
pub const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// Addresses of one name that are looked at.
pub const ADDRESSES: usize = 64;
/// Characters of a system's or library's own words in an error.
pub const DETAIL_CHARS: usize = 200;

/// Tries that a caller may ask for.
pub const ATTEMPTS_MAX: u32 = 100;
/// The first pause between two tries.
pub const BACKOFF_FIRST: Duration = Duration::from_millis(500);
/// The longest pause that is not asked for by the server.
pub const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// The longest pause that a server may ask for with `Retry-After`.
pub const RETRY_AFTER_MAX: Duration = Duration::from_mins(1);

/// Bytes of a token server's answer or of its description.
pub const TOKEN_BYTES: usize = 256 * 1024;
/// How long before its end a token is replaced; a token that lives shorter than ten times this is
/// replaced after nine tenths of its life.
pub const TOKEN_MARGIN: Duration = Duration::from_secs(30);
/// The longest a token is kept whatever its server says.
pub const TOKEN_LIFE_MAX: Duration = Duration::from_hours(24);
/// Tokens that one catalog keeps: one for each set of scopes.
pub const TOKENS: usize = 64;

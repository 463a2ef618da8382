//! The revisions of MCP that open with a handshake, and which of them a client gets.

use serde_json::json;

use crate::rpc_error::{RpcError, SERVER_ERROR};

milepost_model::named_enum! {
    /// A revision of MCP, named by its date as in `protocolVersion`; the oldest comes first.
    pub Revision {
        V20241105 = "2024-11-05",
        V20250326 = "2025-03-26",
        V20250618 = "2025-06-18",
        V20251125 = "2025-11-25",
    }
}

impl Revision {
    /// The revision offered to clients that are newer than this server.
    pub const NEWEST: Revision = Revision::V20251125;

    /// Whether a line may contain an array of messages.
    pub fn has_batches(self) -> bool {
        self <= Revision::V20250326
    }
}

/// Which tools are served to which clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Surface {
    /// Depends on the handshake; a client newer than this server gets our newest revision.
    #[default]
    Auto,
    /// The five guide tools, regardless of the revision; an unknown revision is refused.
    Workflowlookup,
    /// The tools for writing and running workflows, regardless of the revision.
    Workflows,
    /// Both sets of tools.
    All,
}

/// How a session behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionOptions {
    /// Which tools are served to which clients.
    pub surface: Surface,
    /// The only revision to accept; `None` accepts all of them.
    pub protocol: Option<Revision>,
}

impl SessionOptions {
    /// The revision with which to answer a client's `protocolVersion`.
    pub fn negotiate(&self, requested: &str) -> Result<Revision, RpcError> {
        let spoken = match &self.protocol {
            Some(one) => std::slice::from_ref(one),
            None => Revision::ALL,
        };
        if let Some(revision) = spoken.iter().find(|revision| revision.name() == requested) {
            return Ok(*revision);
        }
        match (self.surface, self.protocol) {
            (Surface::Auto | Surface::Workflows | Surface::All, None) if is_later(requested) => {
                Ok(Revision::NEWEST)
            }
            _ => Err(unsupported(spoken, requested)),
        }
    }
}

impl Surface {
    /// Whether a client with this revision is served only the guide contract.
    pub(crate) fn is_guide(self, revision: Revision) -> bool {
        match self {
            Surface::Workflowlookup => true,
            Surface::Auto => revision == Revision::V20241105,
            Surface::Workflows | Surface::All => false,
        }
    }
}

fn unsupported(spoken: &[Revision], requested: &str) -> RpcError {
    let spoken: Vec<&str> = spoken.iter().map(|revision| revision.name()).collect();
    let data = json!({ "supportedVersions": spoken, "requestedVersion": requested });
    RpcError::new(SERVER_ERROR, "Unsupported protocol version", data)
}

/// Whether a version is a date later than our newest revision.
fn is_later(version: &str) -> bool {
    let is_date = version.len() == 10
        && version.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
        && ("01"..="12").contains(&&version[5..7])
        && ("01"..="31").contains(&&version[8..]);
    // Dates in this format sort as text.
    is_date && version > Revision::NEWEST.name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_real_date_after_our_newest_is_later() {
        for later in ["2025-11-26", "2026-07-28", "9999-12-31"] {
            assert!(is_later(later), "{later}");
        }
        for other in [
            "2025-11-25",
            "2024-10-01",
            "banana",
            "",
            "2026-13-01",
            "2026-00-01",
            "2026-01-32",
            "2026-1-01",
            "2026-07-28x",
            "2026/07/28",
            "DRAFT-2026",
            "２０２６-1",
        ] {
            assert!(!is_later(other), "{other}");
        }
    }
}

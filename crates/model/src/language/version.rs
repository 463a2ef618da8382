//! Workflow version labels, and requirements on the server's version.

use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use semver::{Version, VersionReq};
use serde_json::{Value, json};

use crate::decode::{Decode, Defs, Report, text, wrong};
use crate::finding::{Finding, Rule};

/// A version as defined by Semantic Versioning 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SemVer(pub Version);

impl Decode for SemVer {
    const WANT: &'static str = "a version such as `1.0.0`";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        // `version: 1.0` is a number in YAML, but the intended version is clear.
        let text = match node.kind {
            SyntaxKind::Int(_) | SyntaxKind::Float(_) => match report.written(node) {
                Some(written) => written,
                None => return wrong(node, report),
            },
            _ => text(node, Self::WANT, report)?,
        };
        if let (Ok(version), SyntaxKind::Str(_)) = (Version::parse(&text), &node.kind) {
            return Some(SemVer(version));
        }
        let fault =
            Finding::error(node.at, Rule::Format, format!("`{text}` is not a valid version"))
                .expected(Self::WANT)
                .actual(format!("`{text}`"));
        let digits = text.trim_start_matches(['v', 'V']);
        let meant = [digits.to_owned(), format!("{digits}.0"), format!("{digits}.0.0")]
            .into_iter()
            .find(|text| Version::parse(text).is_ok());
        report.add(fault.write_instead(node.at, meant, "use three numbers: `1.0.0`"));
        None
    }

    fn schema(_: &mut Defs) -> Value {
        json!({
            "type": "string",
            "pattern": "^\\d+\\.\\d+\\.\\d+(-[0-9A-Za-z.-]+)?(\\+[0-9A-Za-z.-]+)?$",
        })
    }
}

/// A requirement on the server's version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement(pub VersionReq);

impl Requirement {
    /// Whether a server version satisfies the requirement.
    pub fn accepts(&self, version: &Version) -> bool {
        self.0.matches(version)
    }
}

impl Decode for Requirement {
    const WANT: &'static str = "a version requirement such as `>=0.1`";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let text = String::decode(node, report)?;
        let requirement = VersionReq::parse(&text).ok().map(Requirement);
        if requirement.is_none() {
            Finding::error(node.at, Rule::Format, format!("`{text}` is not a valid requirement"))
                .expected(Self::WANT)
                .suggest("write a requirement such as `>=0.1`")
                .add_to(report);
        }
        requirement
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": "string", "examples": [">=0.1"]})
    }
}

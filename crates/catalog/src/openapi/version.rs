//! The version of the OpenAPI specification that a document follows.

use milepost_syntax::json::document::JsonNode;

use crate::finding::{DocumentFindings, DocumentRule};

milepost_model::named_enum! {
    /// The OpenAPI versions that are treated differently.
    pub OpenApiVersion {
        V2 = "2.0",
        V3_0 = "3.0",
        V3_1 = "3.1",
        V3_2 = "3.2",
    }
}

impl OpenApiVersion {
    /// The version that a document declares; adds a warning if it had to be guessed.
    pub(crate) fn of(
        root: JsonNode<'_>,
        warnings: &mut DocumentFindings,
    ) -> Option<OpenApiVersion> {
        if let Some(node) = root.get("swagger") {
            let text = node.scalar()?;
            return matches!(&*text, "2.0" | "2" | "2.0.0").then_some(OpenApiVersion::V2);
        }
        let node = root.get("openapi")?;
        let text = node.scalar()?;
        if node.text().is_none() {
            let message = format!("the version is a number, read as {text}: put it in quotes");
            warnings.add("/openapi", DocumentRule::VERSION, message);
        }
        let version = match text.split('.').collect::<Vec<_>>()[..] {
            ["3" | "3 "] | ["3", "0", ..] => OpenApiVersion::V3_0,
            ["3", "1", ..] => OpenApiVersion::V3_1,
            ["3", "2", ..] => OpenApiVersion::V3_2,
            ["3", ..] => {
                let message = format!("unknown version {text}; it was read as 3.2");
                warnings.add("/openapi", DocumentRule::VERSION, message);
                OpenApiVersion::V3_2
            }
            _ => return None,
        };
        Some(version)
    }

    /// The name under which the document kind is stored.
    pub fn kind(self) -> &'static str {
        match self {
            OpenApiVersion::V2 => "openapi_2",
            OpenApiVersion::V3_0 | OpenApiVersion::V3_1 | OpenApiVersion::V3_2 => "openapi_3",
        }
    }
}

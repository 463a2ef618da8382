//! A document's security schemes and requirements.

use std::collections::BTreeMap;

use milepost_syntax::json::document::JsonNode;

use super::{Api, ApiOperation, OpenApiVersion, names_of, texts};
use crate::command::{Location, SecurityRequirement, SecurityScheme};

impl Api {
    /// The security schemes that the document declares, by name.
    pub fn schemes(&self) -> BTreeMap<String, SecurityScheme> {
        let schemes = match self.version {
            OpenApiVersion::V2 => self.root().get("securityDefinitions"),
            _ => self.root().get("components").and_then(|all| all.get("securitySchemes")),
        };
        let schemes = schemes.into_iter().flat_map(JsonNode::entries);
        let schemes = schemes.filter_map(|(name, node)| {
            let node = self.resolve(node).ok()?;
            Some((name.into_owned(), scheme(node)?))
        });
        schemes.collect()
    }

    /// An operation's security requirements; any one of them is enough.
    pub(crate) fn security(&self, operation: &ApiOperation<'_>) -> Vec<SecurityRequirement> {
        let list = operation.get("security").or_else(|| self.root().get("security"));
        let requirements = list.into_iter().flat_map(JsonNode::items).map(|requirement| {
            let schemes = requirement.entries();
            let schemes = schemes.map(|(name, scopes)| (name.into_owned(), texts(Some(scopes))));
            SecurityRequirement { schemes: schemes.collect() }
        });
        requirements.collect()
    }
}

fn scheme(node: JsonNode<'_>) -> Option<SecurityScheme> {
    let word = |key: &str| node.get(key).and_then(JsonNode::text).map(std::borrow::Cow::into_owned);
    let kind = word("type")?;
    Some(match &*kind {
        "apiKey" => SecurityScheme::ApiKey {
            name: word("name")?,
            location: match word("in")?.as_str() {
                "query" => Location::Query,
                "cookie" => Location::Cookie,
                _ => Location::Header,
            },
        },
        "basic" => SecurityScheme::Basic,
        "http" => match word("scheme").unwrap_or_default().to_ascii_lowercase().as_str() {
            "basic" => SecurityScheme::Basic,
            "bearer" => SecurityScheme::Bearer,
            other => SecurityScheme::Other { kind: format!("http {other}") },
        },
        "oauth2" => client_credentials(node).unwrap_or(SecurityScheme::Other { kind }),
        "openIdConnect" => SecurityScheme::OpenIdConnect { url: word("openIdConnectUrl")? },
        _ => SecurityScheme::Other { kind },
    })
}

/// The OAuth 2 client credentials flow, called `application` in 2.0.
fn client_credentials(node: JsonNode<'_>) -> Option<SecurityScheme> {
    let flow = match node.get("flow").and_then(JsonNode::text).as_deref() {
        Some("application") => node,
        _ => node.get("flows")?.get("clientCredentials")?,
    };
    let token_url = flow.get("tokenUrl")?.text()?.into_owned();
    Some(SecurityScheme::ClientCredentials { token_url, scopes: names_of(flow, "scopes") })
}

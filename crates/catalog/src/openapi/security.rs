//! How callers authenticate.

use std::collections::BTreeMap;

use super::{Api, Operation, Version};
use crate::command::{Location, Requirement, Scheme};
use crate::document::Node;

impl Api {
    /// The ways to authenticate that the document knows, by name.
    pub fn schemes(&self) -> BTreeMap<String, Scheme> {
        let schemes = match self.version {
            Version::V2 => self.root().get("securityDefinitions"),
            _ => self.root().get("components").and_then(|all| all.get("securitySchemes")),
        };
        let schemes = schemes.into_iter().flat_map(Node::entries);
        let schemes = schemes.filter_map(|(name, node)| {
            let node = self.resolve(node).ok()?;
            Some((name.into_owned(), scheme(node)?))
        });
        schemes.collect()
    }

    /// The ways to authenticate for an operation, any one of which will do.
    pub(crate) fn security(&self, operation: &Operation<'_>) -> Vec<Requirement> {
        let list = operation.get("security").or_else(|| self.root().get("security"));
        let Some(list) = list else { return Vec::new() };
        let requirements = list.items().map(|requirement| Requirement {
            schemes: requirement
                .entries()
                .map(|(name, scopes)| {
                    let scopes = scopes.items().filter_map(Node::text).map(Into::into);
                    (name.into_owned(), scopes.collect())
                })
                .collect(),
        });
        requirements.collect()
    }
}

fn scheme(node: Node<'_>) -> Option<Scheme> {
    let word = |key: &str| node.get(key).and_then(Node::text).map(std::borrow::Cow::into_owned);
    let kind = word("type")?;
    Some(match &*kind {
        "apiKey" => Scheme::ApiKey {
            name: word("name")?,
            location: match word("in")?.as_str() {
                "query" => Location::Query,
                "cookie" => Location::Cookie,
                _ => Location::Header,
            },
        },
        "basic" => Scheme::Basic,
        "http" => match word("scheme").unwrap_or_default().to_ascii_lowercase().as_str() {
            "basic" => Scheme::Basic,
            "bearer" => Scheme::Bearer,
            other => Scheme::Other { kind: format!("http {other}") },
        },
        "oauth2" => client_credentials(node).unwrap_or(Scheme::Other { kind }),
        "openIdConnect" => Scheme::OpenIdConnect { url: word("openIdConnectUrl")? },
        _ => Scheme::Other { kind },
    })
}

/// The flow in which a program asks for a token of its own: `application` in 2.0.
fn client_credentials(node: Node<'_>) -> Option<Scheme> {
    let flow = match node.get("flow").and_then(Node::text).as_deref() {
        Some("application") => node,
        _ => node.get("flows")?.get("clientCredentials")?,
    };
    let scopes = flow.get("scopes").into_iter().flat_map(Node::entries);
    Some(Scheme::ClientCredentials {
        token_url: flow.get("tokenUrl")?.text()?.into_owned(),
        scopes: scopes.map(|(name, _)| name.into_owned()).collect(),
    })
}

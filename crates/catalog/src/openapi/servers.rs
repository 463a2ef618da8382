//! API servers.

use milepost_syntax::json::document::JsonNode;

use super::{Api, ApiOperation, OpenApiVersion, texts};
use crate::limits;

impl Api {
    /// The URLs of the servers that the document declares, with variables replaced by their
    /// defaults; they may be relative to the document's source.
    pub fn servers(&self) -> Vec<String> {
        match self.version {
            OpenApiVersion::V2 => self.servers_of_2(self.root().get("schemes")),
            _ => servers(self.root().get("servers")),
        }
    }

    /// An operation's servers: its own, or else those of its path item, or else the API's.
    pub(crate) fn servers_of(&self, operation: &ApiOperation<'_>) -> Vec<String> {
        if self.version == OpenApiVersion::V2 {
            let schemes = operation.get("schemes").or_else(|| self.root().get("schemes"));
            return self.servers_of_2(schemes);
        }
        let own = [operation.get("servers"), operation.item.get("servers")];
        let own = own.into_iter().map(servers).find(|servers| !servers.is_empty());
        own.unwrap_or_else(|| self.servers())
    }

    fn servers_of_2(&self, schemes: Option<JsonNode<'_>>) -> Vec<String> {
        let word = |key: &str| self.root().get(key).and_then(JsonNode::text).unwrap_or_default();
        let (host, base) = (word("host"), word("basePath"));
        let base = match base.trim_end_matches('/') {
            "" => String::new(),
            base if base.starts_with('/') => base.to_owned(),
            base => format!("/{base}"),
        };
        if host.is_empty() {
            let url = if base.is_empty() { "/".to_owned() } else { base };
            return vec![url];
        }
        let mut schemes = texts(schemes);
        if schemes.is_empty() {
            schemes.push("https".to_owned());
        }
        // Prefer HTTPS: a server for which both schemes are listed accepts either.
        schemes.sort_by_key(|scheme| scheme != "https");
        schemes.iter().map(|scheme| format!("{scheme}://{host}{base}")).collect()
    }
}

fn servers(list: Option<JsonNode<'_>>) -> Vec<String> {
    let Some(list) = list else { return Vec::new() };
    list.items().take(limits::SERVERS).filter_map(server).collect()
}

fn server(node: JsonNode<'_>) -> Option<String> {
    let mut url = node.get("url")?.text()?.trim().to_owned();
    for (name, variable) in node.get("variables").into_iter().flat_map(JsonNode::entries) {
        let first = || variable.get("enum")?.items().find_map(JsonNode::scalar);
        let default = variable.get("default").and_then(JsonNode::scalar).or_else(first);
        url = url.replace(&format!("{{{name}}}"), &default.unwrap_or_default());
    }
    Some(url)
}

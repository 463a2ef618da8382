//! Inspects a whole document: what it is, which operations are usable and what is wrong with it.

use std::collections::BTreeSet;

use milepost_syntax::json::document::JsonNode;
use url::Url;

use crate::finding::{DocumentFinding, DocumentFindings, DocumentRule};
use crate::naming::{self, AssignedNames};
use crate::openapi::{Api, ApiOperation, OpenApiVersion};
use crate::refs;
use crate::table::Row;
use crate::text::{self, WordList};

/// The result of inspecting a document.
#[derive(Debug)]
pub struct Inspection {
    /// Every usable operation; names are assigned later.
    rows: Vec<Row>,
    /// For each row, whether the operation returns a list.
    lists: Vec<bool>,
    pub operation_count: usize,
    /// Parts that were left out or guessed.
    pub warnings: Vec<DocumentFinding>,
    /// Reasons why the document cannot be imported.
    pub violations: Vec<DocumentFinding>,
}

impl Inspection {
    /// Inspects the whole document in one pass.
    pub fn of(api: &Api) -> Inspection {
        let mut warnings = DocumentFindings::default();
        let mut violations = DocumentFindings::default();
        for note in api.notes() {
            warnings.add(&note.path, note.rule, &note.message);
        }
        info(api, &mut warnings);
        paths(api, &mut warnings, &mut violations);
        let operations = api.operations(&mut warnings);
        let rows: Vec<Row> =
            operations.iter().map(|operation| api.row(operation, &mut warnings)).collect();
        let lists = operations.iter().map(|operation| answers_list(api, operation)).collect();
        same_ids(&rows, &mut warnings);
        refs::dangling(api.document(), &mut warnings);
        if rows.is_empty() && violations.is_empty() {
            let message = "the document has no usable operations";
            warnings.add("/paths", DocumentRule::NO_OPERATIONS, message);
        }
        Inspection {
            rows,
            lists,
            operation_count: api.operation_count(),
            warnings: warnings.into_list(),
            violations: violations.into_list(),
        }
    }

    /// Returns the table with names assigned, keeping previously assigned ones.
    pub fn into_rows(mut self, kept: &AssignedNames) -> Vec<Row> {
        naming::assign(&mut self.rows, &self.lists, kept);
        self.rows
    }

    /// The number of commands that the document yields.
    pub fn command_count(&self) -> usize {
        self.rows.len()
    }
}

fn info(api: &Api, warnings: &mut DocumentFindings) {
    let (path, message) = match api.document().root().get("info") {
        Some(info) if info.is_map() && api.title().is_some() => return,
        Some(info) if info.is_map() => ("/info/title", "the API has no title"),
        _ => ("/info", "the document has no `info`"),
    };
    warnings.add(path, DocumentRule::INFO, message);
}

fn paths(api: &Api, warnings: &mut DocumentFindings, violations: &mut DocumentFindings) {
    let root = api.document().root();
    let modern = api.version() >= OpenApiVersion::V3_1;
    let hooks = root.get("webhooks").map_or(0, JsonNode::len);
    if hooks > 0 {
        let message = format!("webhooks skipped: {hooks}; they are called by the API");
        warnings.add("/webhooks", DocumentRule::WEBHOOKS, message);
    }
    let message = match root.get("paths") {
        Some(paths) if paths.is_map() => return,
        None if modern && ["webhooks", "components"].iter().any(|key| root.get(key).is_some()) => {
            return;
        }
        Some(paths) if !paths.is_null() => {
            "`paths` must be a map from path to operations".to_owned()
        }
        _ => format!("OpenAPI {} requires `paths`, a map of paths", api.version().name()),
    };
    violations.add("/paths", DocumentRule::PATHS, message);
}

fn same_ids(rows: &[Row], warnings: &mut DocumentFindings) {
    let mut ids: Vec<(String, &Row)> = rows
        .iter()
        .filter_map(|row| Some((row.operation_id.as_deref()?.to_ascii_lowercase(), row)))
        .collect();
    ids.sort_by(|(one, _), (other, _)| one.cmp(other));
    for pair in ids.windows(2) {
        if pair[0].0 == pair[1].0 {
            let id = pair[1].1.operation_id.as_deref().unwrap_or_default();
            let message = format!(
                "operationId `{id}` is also used by {} {}; the commands get different names",
                pair[0].1.method.name(),
                pair[0].1.path,
            );
            let pointer = format!("{}/operationId", pair[1].1.pointer);
            warnings.add(pointer, DocumentRule::OPERATION_ID, message);
        }
    }
}

/// Names of properties that often wrap a list.
pub(crate) const WRAPPERS: WordList = WordList(
    "data items results values records entries content elements list rows objects resources \
     collection value response result",
);

/// Whether an operation returns a list, bare or wrapped.
fn answers_list(api: &Api, operation: &ApiOperation<'_>) -> bool {
    let last = operation.path.split('/').rfind(|part| !part.is_empty());
    let last = last.filter(|part| !part.contains('{')).map(without_format).and_then(text::kebab);
    let Some(schema) = api.success_schema(operation) else {
        return last.as_deref().is_some_and(naming::is_plural);
    };
    is_list(api, schema, last.as_deref().unwrap_or_default(), 0)
}

/// Strips the format extension that some APIs put in a path: `Calls.json` becomes `Calls`.
fn without_format(part: &str) -> &str {
    match part.rsplit_once('.') {
        Some((name, "json" | "xml" | "csv" | "yaml")) => name,
        _ => part,
    }
}

fn is_list(api: &Api, schema: JsonNode<'_>, last: &str, depth: usize) -> bool {
    let kind = schema.get("type").and_then(JsonNode::text);
    if kind.as_deref() == Some("array") || (kind.is_none() && schema.get("items").is_some()) {
        return true;
    }
    let deeper = |node: JsonNode<'_>| {
        depth < 3 && api.resolve(node).is_ok_and(|node| is_list(api, node, last, depth + 1))
    };
    if schema.get("allOf").is_some_and(|parts| parts.items().any(deeper)) {
        return true;
    }
    let Some(properties) = schema.get("properties") else { return false };
    properties.entries().any(|(name, property)| {
        let named = WRAPPERS.contains(&name) || text::kebab(&name).as_deref() == Some(last);
        let array = |node: JsonNode<'_>| {
            let node = api.resolve(node).ok();
            node.and_then(|node| node.get("type")?.text()).as_deref() == Some("array")
        };
        named && array(property)
    })
}

/// A catalog's base URL, and the problems with the servers in the document.
#[derive(Debug, Default)]
pub struct ResolvedBaseUrl {
    /// The URL; `None` if the user has to supply one.
    pub url: Option<Url>,
    /// Servers that were skipped.
    pub warnings: Vec<DocumentFinding>,
    /// Reasons why no server is usable.
    pub violations: Vec<DocumentFinding>,
}

impl ResolvedBaseUrl {
    /// Uses the given URL, or else the document's first usable server.
    pub fn of(api: &Api, given: Option<&str>, source: Option<&Url>) -> ResolvedBaseUrl {
        let (mut warnings, mut violations) = <(DocumentFindings, DocumentFindings)>::default();
        let url = match given {
            Some(given) => {
                let refused = |why| {
                    let message = format!("the base URL `{}` {why}", shown(given));
                    violations.add("/base_url", DocumentRule::SERVER, message);
                };
                usable(given, None).map_err(refused).ok()
            }
            None => first_server(api, source, &mut warnings, &mut violations),
        };
        ResolvedBaseUrl { url, warnings: warnings.into_list(), violations: violations.into_list() }
    }
}

/// A document's first usable server.
fn first_server(
    api: &Api,
    source: Option<&Url>,
    warnings: &mut DocumentFindings,
    violations: &mut DocumentFindings,
) -> Option<Url> {
    let pointer = if api.version() == OpenApiVersion::V2 { "/host" } else { "/servers" };
    let mut refused = None;
    for (index, server) in api.servers().iter().enumerate() {
        let why = match usable(server, source) {
            Ok(url) => return Some(url),
            Err(why) => why,
        };
        let pointer = format!("{pointer}/{index}");
        let message = format!("the server `{}` {why}", shown(server));
        if matches!(why, Unusable::Relative | Unusable::Template) {
            warnings.add(pointer, DocumentRule::SERVER, message);
        } else {
            refused.get_or_insert((pointer, message));
        }
    }
    if let Some((pointer, message)) = refused {
        violations.add(pointer, DocumentRule::SERVER_SCHEME, message);
    } else {
        let message = "the document has no usable server URL: set a base URL \
            before running a command";
        warnings.add(pointer, DocumentRule::SERVER, message);
    }
    None
}

/// Why a server cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// The URL is relative and there is no source URL to resolve it against.
    #[error("is relative and cannot be resolved")]
    Relative,
    /// A variable in the URL has no value.
    #[error("has a variable without a value")]
    Template,
    /// The URL is not an HTTP URL.
    #[error("is not an http or https URL")]
    Scheme,
    /// The URL contains a user name or password.
    #[error("contains a user name or password: store them as secrets")]
    Credentials,
    #[error("is not a URL")]
    Malformed,
}

/// Masks the user name and password in a URL, so that it can be shown.
pub fn shown(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return text::line(text, 200) };
    if url.username().is_empty() && url.password().is_none() {
        return text::line(text, 200);
    }
    // A URL with a user name has a host, so both calls succeed.
    let _ = url.set_username("…").and_then(|()| url.set_password(None));
    text::line(url.as_str(), 200)
}

/// Parses a server URL, dropping its query and fragment.
pub fn usable(server: &str, source: Option<&Url>) -> Result<Url, Unusable> {
    if server.contains(['{', '}']) {
        return Err(Unusable::Template);
    }
    let mut url = match Url::parse(server) {
        Ok(url) => url,
        Err(url::ParseError::RelativeUrlWithoutBase) => {
            let source = source.ok_or(Unusable::Relative)?;
            source.join(server).map_err(|_| Unusable::Malformed)?
        }
        Err(_) => return Err(Unusable::Malformed),
    };
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(Unusable::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Unusable::Credentials);
    }
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

/// The distinct first segments of the names: `orders`, `customers`.
pub fn prefixes(rows: &[Row]) -> Vec<String> {
    let prefixes = rows.iter().filter_map(|row| row.name.split(':').next());
    prefixes.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
}

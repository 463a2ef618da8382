//! Requests checked as a strict server would: every fault at once.

use serde_json::Value;

use super::MockRequest;
use super::body::{self, Read, is_json, is_of};
use super::operation::{Operation, Slot};
use super::schema::Way;
use super::wire::{self, Places};
use crate::command::{Content, Location, Parameter, Requirement, Scheme};
use crate::limits;
use crate::request::media::essence;

/// What a request says, checked.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// Its body, when that is a value.
    pub(super) body: Option<Value>,
}

/// What is wrong in a request, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) place: String,
    pub(super) message: String,
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Parameters or body do not fit.
    Invalid(Vec<Fault>),
    /// The body is of a media type that the operation does not take.
    MediaType { sent: String, taken: Vec<String> },
    /// No credential came along.
    Unauthenticated,
}

/// Checks a request for an operation.
pub(super) fn check(
    operation: &mut Operation<'_>,
    request: &MockRequest<'_>,
    path: &[(String, String)],
) -> Result<Checked, Refusal> {
    let mut faults = Vec::new();
    parameters(operation, request, path, &mut faults);
    let body = body(operation, request, &mut faults)?;
    faults.truncate(limits::MOCK_FAULTS);
    if faults.is_empty() { Ok(Checked { body }) } else { Err(Refusal::Invalid(faults)) }
}

fn parameters(
    operation: &mut Operation<'_>,
    request: &MockRequest<'_>,
    path: &[(String, String)],
    faults: &mut Vec<Fault>,
) {
    // OpenAPI says that header parameters of these names are ignored.
    const IGNORED: [&str; 3] = ["accept", "content-type", "authorization"];
    let places = Places { path, query: &request.query, headers: &request.headers };
    let command = operation.command();
    for (index, parameter) in command.parameters.iter().enumerate() {
        let lower = parameter.name.to_ascii_lowercase();
        if parameter.location == Location::Header && IGNORED.contains(&lower.as_str()) {
            continue;
        }
        let place = format!("{}.{}", parameter.location.name(), parameter.name);
        let schema = operation.schema(Slot::Parameter(index), &parameter.schema, Way::Request);
        match wire::read(parameter, &schema, places) {
            None if parameter.required => {
                faults.push(Fault { place, message: "is required".to_owned() });
            }
            // `?pretty=` says that a parameter is there, for whoever allows it without a value.
            Some(_) if is_bare(parameter, request) => {}
            Some(value) if parameter.location != Location::QueryString => {
                let found = schema.faults(&value).into_iter();
                faults.extend(
                    found.map(|(at, message)| Fault { place: place.clone() + &at, message }),
                );
            }
            None | Some(_) => {}
        }
    }
}

/// Whether an optional parameter of a query came without a value.
fn is_bare(parameter: &Parameter, request: &MockRequest<'_>) -> bool {
    let mut values = request.query.iter().filter(|(name, _)| *name == parameter.name).peekable();
    let optional = parameter.location == Location::Query && !parameter.required;
    optional && values.peek().is_some() && values.all(|(_, value)| value.is_empty())
}

fn body(
    operation: &mut Operation<'_>,
    request: &MockRequest<'_>,
    faults: &mut Vec<Fault>,
) -> Result<Option<Value>, Refusal> {
    let command = operation.command();
    let Some(body) = &command.body else { return Ok(None) };
    if request.body.is_empty() {
        if body.required {
            faults.push(Fault { place: "body".into(), message: "is required".to_owned() });
        }
        return Ok(None);
    }
    let Some((index, content, sent)) = content(&body.contents, request) else {
        if body.contents.is_empty() {
            return Ok(serde_json::from_slice(request.body).ok());
        }
        return Err(Refusal::MediaType {
            sent: request.header("content-type").unwrap_or_default().to_owned(),
            taken: body.contents.iter().map(|content| content.media_type.clone()).collect(),
        });
    };
    let schema = operation.schema(Slot::Body(index), &content.schema, Way::Request);
    match body::read(request.body, &sent, &schema) {
        Read::Value(value) => {
            let found = schema.faults(&value).into_iter();
            faults.extend(found.map(|(at, message)| Fault { place: format!("body{at}"), message }));
            Ok(Some(value))
        }
        Read::Opaque => Ok(None),
        Read::Broken(message) => {
            faults.push(Fault { place: "body".into(), message });
            Ok(None)
        }
    }
}

/// The content that a request's media type is of; without one, the first that is JSON.
fn content<'c>(
    contents: &'c [Content],
    request: &MockRequest<'_>,
) -> Option<(usize, &'c Content, String)> {
    let mut all = contents.iter().enumerate();
    let Some(sent) = request.header("content-type") else {
        let json = all.clone().find(|(_, content)| is_json(&essence(&content.media_type)));
        let (index, content) = json.or_else(|| all.next())?;
        return Some((index, content, content.media_type.clone()));
    };
    let kind = essence(sent);
    let exact = all.clone().find(|(_, content)| essence(&content.media_type) == kind);
    let found = exact.or_else(|| all.find(|(_, c)| is_of(&kind, &essence(&c.media_type))));
    found.map(|(index, content)| (index, content, sent.to_owned()))
}

/// Whether a request has the credentials of one of some requirements.
pub(super) fn is_authenticated(
    requirements: &[Requirement],
    schemes: &[(String, Scheme)],
    request: &MockRequest<'_>,
) -> bool {
    let holds = |name: &String| match schemes.iter().find(|(known, _)| known == name) {
        Some((_, Scheme::ApiKey { name, location })) => has_key(request, name, *location),
        Some(_) | None => request.header("authorization").is_some_and(|value| !value.is_empty()),
    };
    let met = |requirement: &Requirement| requirement.schemes.iter().all(|(name, _)| holds(name));
    requirements.is_empty() || requirements.iter().any(met)
}

fn has_key(request: &MockRequest<'_>, name: &str, location: Location) -> bool {
    match location {
        Location::Header => request.header(name).is_some(),
        Location::Cookie => {
            request.header("cookie").is_some_and(|cookies| cookies.contains(&format!("{name}=")))
        }
        Location::Path | Location::Query | Location::QueryString => {
            request.query.iter().any(|(key, _)| key == name)
        }
    }
}

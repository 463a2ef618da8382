//! Checks requests as a strict server would, reporting every fault at once.

use milepost_catalog::command::{
    ApiParameter, Content, Location, SecurityRequirement, SecurityScheme,
};
use milepost_catalog::request::media::{MediaKind, essence, matches};
use serde_json::Value;

use crate::body::{DecodedBody, decode};
use crate::limits;
use crate::parameter;
use crate::schema::{SchemaCache, SchemaSlot};
use crate::{Call, MockRequest};

/// The location of a fault in a request, and what is wrong there.
pub(crate) type RequestFault = (String, String);

/// Why a request is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestRefusal {
    /// The parameters or the body are invalid.
    Invalid(Vec<RequestFault>),
    /// The operation does not accept the body's media type.
    MediaType { sent: String, taken: Vec<String> },
    /// No credential was sent.
    Unauthenticated,
}

/// Checks a call and returns its parsed body, if there is one.
pub(crate) fn check(
    schemas: &mut SchemaCache,
    call: &Call<'_>,
) -> Result<Option<Value>, RequestRefusal> {
    let mut faults = Vec::new();
    parameters(schemas, call, &mut faults);
    let body = body(schemas, call, &mut faults)?;
    faults.truncate(limits::FAULTS);
    if faults.is_empty() { Ok(body) } else { Err(RequestRefusal::Invalid(faults)) }
}

fn parameters(schemas: &mut SchemaCache, call: &Call<'_>, faults: &mut Vec<RequestFault>) {
    // OpenAPI requires header parameters with these names to be ignored.
    const IGNORED: [&str; 3] = ["accept", "content-type", "authorization"];
    for (index, parameter) in call.command.parameters.iter().enumerate() {
        let lower = parameter.name.to_ascii_lowercase();
        if parameter.location == Location::Header && IGNORED.contains(&lower.as_str()) {
            continue;
        }
        let place = format!("{}.{}", parameter.location.name(), parameter.name);
        let is_whole_query = parameter.location == Location::QueryString;
        let slot = SchemaSlot::Parameter(index);
        let schema = schemas.get(call.route, slot, &parameter.schema, &call.command.defs);
        match parameter::read(parameter, &schema, call) {
            None if parameter.required => {
                faults.push((place, "a value is required".to_owned()));
            }
            // `?pretty=` only states that an optional parameter is present, so its empty value is
            // not checked.
            Some(value) if !is_bare(parameter, call.request) && !is_whole_query => {
                let found = schema.faults(&value).into_iter();
                faults.extend(found.map(|(at, message)| (place.clone() + &at, message)));
            }
            None | Some(_) => {}
        }
    }
}

/// Whether an optional query parameter was sent without a value.
fn is_bare(parameter: &ApiParameter, request: &MockRequest<'_>) -> bool {
    let mut values = request.query.iter().filter(|(name, _)| *name == parameter.name).peekable();
    let optional = parameter.location == Location::Query && !parameter.required;
    optional && values.peek().is_some() && values.all(|(_, value)| value.is_empty())
}

fn body(
    schemas: &mut SchemaCache,
    call: &Call<'_>,
    faults: &mut Vec<RequestFault>,
) -> Result<Option<Value>, RequestRefusal> {
    let Some(body) = &call.command.body else { return Ok(None) };
    let request = call.request;
    let mut fault = |at: &str, message| faults.push((format!("body{at}"), message));
    if request.body.is_empty() {
        if body.required {
            fault("", "a body is required".to_owned());
        }
        return Ok(None);
    }
    let Some((index, content, sent)) = content(&body.contents, request) else {
        if body.contents.is_empty() {
            return Ok(serde_json::from_slice(request.body).ok());
        }
        return Err(RequestRefusal::MediaType {
            sent: request.header("content-type").unwrap_or_default().to_owned(),
            taken: body.contents.iter().map(|content| content.media_type.clone()).collect(),
        });
    };
    let slot = SchemaSlot::Body(index);
    let schema = schemas.get(call.route, slot, &content.schema, &call.command.defs);
    match decode(request.body, sent, &schema) {
        DecodedBody::Value(value) => {
            schema.faults(&value).into_iter().for_each(|(at, message)| fault(&at, message));
            Ok(Some(value))
        }
        DecodedBody::Opaque => Ok(None),
        DecodedBody::Broken(message) => {
            fault("", message);
            Ok(None)
        }
    }
}

/// The content for a request's media type; without a media type, the first JSON content, or else
/// the first content.
fn content<'c>(
    contents: &'c [Content],
    request: &'c MockRequest<'_>,
) -> Option<(usize, &'c Content, &'c str)> {
    let mut all = contents.iter().enumerate();
    let Some(sent) = request.header("content-type") else {
        let is_json = |content: &Content| MediaKind::of(&content.media_type).is_json();
        let json = all.clone().find(|(_, content)| is_json(content));
        let (index, content) = json.or_else(|| all.next())?;
        return Some((index, content, &content.media_type));
    };
    let exact = all.clone().find(|(_, content)| essence(&content.media_type) == essence(sent));
    let found = exact.or_else(|| all.find(|(_, content)| matches(&content.media_type, sent)));
    found.map(|(index, content)| (index, content, sent))
}

/// Whether a request carries the credentials for at least one requirement.
pub(crate) fn is_authenticated(
    requirements: &[SecurityRequirement],
    schemes: &[(String, SecurityScheme)],
    request: &MockRequest<'_>,
) -> bool {
    let holds = |name: &String| match schemes.iter().find(|(known, _)| known == name) {
        Some((_, SecurityScheme::ApiKey { name, location })) => has_key(request, name, *location),
        Some(_) | None => request.header("authorization").is_some_and(|value| !value.is_empty()),
    };
    let met =
        |requirement: &SecurityRequirement| requirement.schemes.iter().all(|(name, _)| holds(name));
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

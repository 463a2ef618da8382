//! A command prepared for many calls: its template is parsed once, and its schemas are compiled on
//! first use.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use url::Url;

use super::accept::{accept, answers};
use super::assign::{ArgumentNames, Assigned};
use super::check::{ArgumentCheck, SchemaMismatch};
use super::media::{self, MediaKind};
use super::misuse::{ArgumentPlace, Misuse, Reason};
use super::parameter::{has_semicolon, written};
use super::path::{self, PathTemplate};
use super::{Arguments, Payload, Request, RequestNote, body, header};
use crate::command::{ApiCommand, ApiParameter, Content, Location, Style};
use crate::limits;
use crate::schema;

/// A command that can be called many times.
#[derive(Debug)]
pub struct PreparedCommand {
    command: Arc<ApiCommand>,
    template: PathTemplate,
    accept: String,
    /// The check for each parameter.
    checks: Vec<OnceLock<ArgumentCheck>>,
    /// The body's prepared contents.
    contents: Vec<PreparedContent>,
}

#[derive(Debug, Default)]
struct PreparedContent {
    check: OnceLock<ArgumentCheck>,
    properties: OnceLock<Vec<String>>,
}

/// A request under construction.
#[derive(Default)]
struct Draft {
    path: HashMap<String, String>,
    query: Vec<String>,
    headers: Vec<(String, String)>,
    cookies: Vec<String>,
    misuses: Vec<Misuse>,
    notes: Vec<RequestNote>,
}

impl PreparedCommand {
    /// Prepares a command. A path placeholder that the document does not declare is treated as a
    /// string, and a path parameter without a placeholder is dropped.
    pub fn new(mut command: Arc<ApiCommand>) -> PreparedCommand {
        let template = PathTemplate::parse(&command.path);
        let is_in_path = |parameter: &ApiParameter| parameter.location == Location::Path;
        let placed = |parameter: &ApiParameter| {
            !is_in_path(parameter) || template.names().any(|name| name == parameter.name)
        };
        let described = |name: &str| {
            command.parameters.iter().any(|known| is_in_path(known) && known.name == name)
        };
        let mut missing: Vec<&str> = template.names().filter(|name| !described(name)).collect();
        missing.dedup();
        if !missing.is_empty() || !command.parameters.iter().all(placed) {
            let mut parameters: Vec<ApiParameter> =
                command.parameters.iter().filter(|known| placed(known)).cloned().collect();
            parameters.extend(missing.into_iter().map(ApiParameter::undeclared));
            Arc::make_mut(&mut command).parameters = parameters;
        }
        let checks = command.parameters.iter().map(|_| OnceLock::new()).collect();
        let contents = command.body.iter().flat_map(|body| &body.contents);
        let contents = contents.map(|_| PreparedContent::default()).collect();
        PreparedCommand { accept: accept(&command), template, checks, contents, command }
    }

    pub fn command(&self) -> &Arc<ApiCommand> {
        &self.command
    }

    /// Builds a request, or returns everything that is wrong with the arguments.
    pub fn build(&self, base: &Url, arguments: &Arguments) -> Result<Request, Vec<Misuse>> {
        let mut draft = Draft::default();
        draft.headers.push(("Accept".to_owned(), self.accept(arguments, &mut draft.misuses)));
        let content = self.choose(arguments, &mut draft.misuses);
        let properties = content.map_or(&[][..], |at| self.properties(at));
        let names = ArgumentNames { parameters: &self.command.parameters, properties };
        let with = arguments.with.iter().map(|(name, value)| (name.as_str(), value));
        let Assigned { values, properties } = names.assign(with, &mut draft.misuses);
        for (index, given) in values.into_iter().enumerate() {
            self.place(index, given.map(|(_, value)| value), &mut draft);
        }
        let body = self.body(content, arguments, &properties, &mut draft);
        let url = if draft.misuses.is_empty() { self.url(base, &mut draft) } else { None };
        match url {
            Some(url) if draft.misuses.is_empty() => {
                if !draft.cookies.is_empty() {
                    draft.headers.push(("Cookie".to_owned(), draft.cookies.join("; ")));
                }
                Ok(Request {
                    method: self.command.method,
                    url,
                    headers: draft.headers,
                    body,
                    path_template: self.command.path.clone(),
                    notes: draft.notes,
                })
            }
            _ => {
                draft.misuses.truncate(limits::MISUSES);
                Err(draft.misuses)
            }
        }
    }

    fn accept(&self, arguments: &Arguments, misuses: &mut Vec<Misuse>) -> String {
        let Some(asked) = &arguments.accept else { return self.accept.clone() };
        if !media::is_media_type(asked) {
            let known = answers(&self.command).into_iter().map(str::to_owned).collect();
            misuses.push(Misuse::MediaType { asked: asked.clone(), what: "response", known });
        }
        asked.clone()
    }

    /// Chooses the body content to send: the requested one, or else one that supports the given
    /// files, or else the simplest.
    pub(super) fn choose(&self, arguments: &Arguments, misuses: &mut Vec<Misuse>) -> Option<usize> {
        let contents = &self.command.body.as_ref()?.contents;
        let kind = |content: &Content| MediaKind::of(&content.media_type);
        if let Some(asked) = &arguments.content_type {
            let found = contents.iter().position(|offered| {
                media::is_media_type(asked) && media::matches(&offered.media_type, asked)
            });
            if found.is_none() {
                let known = contents.iter().map(|content| content.media_type.clone()).collect();
                misuses.push(Misuse::MediaType { asked: asked.clone(), what: "body", known });
            }
            return found;
        }
        let named = arguments.files.as_deref();
        let holds =
            |value: &Value| !body::attached_places(MediaKind::Multipart, value, named).is_empty();
        let files = arguments.body.iter().chain(arguments.with.values()).any(holds);
        let rank = |content: &Content| {
            let kind = kind(content);
            (files && !matches!(kind, MediaKind::Multipart | MediaKind::Bytes), kind)
        };
        (0..contents.len()).min_by_key(|at| rank(&contents[*at]))
    }

    pub(super) fn content(&self, at: usize) -> Option<&Content> {
        self.command.body.as_ref()?.contents.get(at)
    }

    pub(super) fn properties(&self, at: usize) -> &[String] {
        let found = || {
            let schema = self.content(at).map(|content| &content.schema);
            let found = schema.map(|schema| schema::properties(schema, &self.command.defs));
            found.into_iter().flatten().map(|(name, _)| name.to_owned()).collect()
        };
        self.contents[at].properties.get_or_init(found)
    }

    /// Checks a parameter and adds it to the request.
    fn place(&self, index: usize, given: Option<Cow<'_, Value>>, draft: &mut Draft) {
        let parameter = &self.command.parameters[index];
        let defs = &self.command.defs;
        let own = parameter.location == Location::Header && header::is_own(&parameter.name);
        let default = || {
            let default = schema::resolve(&parameter.schema, defs).get("default");
            default.filter(|_| parameter.required).map(Cow::Borrowed)
        };
        let Some(value) = given.or_else(default).filter(|_| !own) else {
            if parameter.required && !own && !draft.is_ambiguous(&parameter.name) {
                draft.misuses.push(Misuse::Missing {
                    name: parameter.name.clone(),
                    location: parameter.location,
                    kind: schema::describe(&parameter.schema, defs),
                });
            }
            return;
        };
        let place = || ArgumentPlace::parameter(&parameter.name, parameter.location);
        let compile = || ArgumentCheck::compile(&parameter.schema, defs, false);
        let verdict = self.checks[index].get_or_init(compile).verdict(&value, &[]);
        if draft.accepts(verdict, place)
            && let Err(reason) = draft.put(parameter, &value)
        {
            draft.misuses.push(Misuse::Unsendable { place: place(), reason });
        }
    }

    fn body(
        &self,
        content: Option<usize>,
        arguments: &Arguments,
        properties: &[(&str, &str, &Value)],
        draft: &mut Draft,
    ) -> Option<Payload> {
        let Some((at, content)) = content.and_then(|at| Some((at, self.content(at)?))) else {
            if arguments.body.is_some() && self.command.body.is_none() {
                draft.misuses.push(Misuse::NoBody);
            }
            return None;
        };
        let Some(value) = merged(arguments.body.as_ref(), properties, &mut draft.misuses) else {
            let required = self.command.body.as_ref().is_some_and(|body| body.required);
            if required && arguments.body.is_none() {
                let contents = self.command.body.iter().flat_map(|body| &body.contents);
                let media_types = contents.map(|one| one.media_type.clone()).collect();
                draft.misuses.push(Misuse::MissingBody { media_types });
            }
            return None;
        };
        let asked = arguments.content_type.as_deref();
        let defs = &self.command.defs;
        let kind = MediaKind::of(asked.unwrap_or_else(|| media::concrete(&content.media_type)));
        let compile = || ArgumentCheck::compile(&content.schema, defs, true);
        let check = self.contents[at].check.get_or_init(compile);
        // This comes before the schema check, which does not consider files or media types.
        let files = arguments.files.as_deref();
        let payload = body::payload(content, asked, &value, files, defs);
        let payload = payload.map_err(|misuse| draft.misuses.push(misuse)).ok()?;
        // The schema describes the value that XML or bytes represent, not their text.
        let opaque = value.is_string()
            && matches!(kind, MediaKind::Xml | MediaKind::Bytes | MediaKind::JsonLines);
        if opaque {
            return Some(payload);
        }
        let verdict = check.verdict(&value, &body::attached_places(kind, &value, files));
        draft.accepts(verdict, || ArgumentPlace::Body { property: None }).then_some(payload)
    }

    fn url(&self, base: &Url, draft: &mut Draft) -> Option<Url> {
        let fill = |name: &str| draft.path.get(name).map_or("", String::as_str);
        let (path, query) = self.template.fill(fill);
        if let Some((segment, reason)) =
            path::bad_segment(&path, |segment| self.template.blame(segment).is_none())
        {
            draft.misuses.push(match self.template.blame(segment) {
                Some(name) => {
                    let place = ArgumentPlace::parameter(name, Location::Path);
                    Misuse::Unsendable { place, reason }
                }
                None => Misuse::Path { path: self.command.path.clone() },
            });
            return None;
        }
        draft.query.insert(0, query);
        draft.query.retain(|part| !part.is_empty());
        path::join(base, &path, &draft.query.join("&"))
            .map_err(|misuse| draft.misuses.push(misuse))
            .ok()
    }
}

impl Draft {
    /// Whether an ambiguous argument may refer to this parameter, in which case it is not reported
    /// as missing too.
    fn is_ambiguous(&self, parameter: &str) -> bool {
        let is_it =
            |misuse: &Misuse| matches!(misuse, Misuse::Ambiguous { name, .. } if name == parameter);
        self.misuses.iter().any(is_it)
    }

    /// Records the result of a check and returns whether the value may be sent.
    fn accepts(
        &mut self,
        verdict: Result<Vec<SchemaMismatch>, String>,
        place: impl Fn() -> ArgumentPlace,
    ) -> bool {
        let misfits = verdict.unwrap_or_else(|why| {
            self.notes.push(RequestNote::Unchecked { place: place(), why });
            Vec::new()
        });
        let fits = misfits.is_empty();
        self.misuses.extend(misfits.into_iter().map(|SchemaMismatch { pointer, message }| {
            Misuse::Invalid { place: place(), pointer, message }
        }));
        fits
    }

    /// Serializes a value and adds it to its location in the request.
    fn put(&mut self, parameter: &ApiParameter, value: &Value) -> Result<(), Reason> {
        let Some(text) = written(parameter, value) else {
            let in_path = parameter.location == Location::Path;
            return if in_path { Err(Reason::EmptySegment) } else { Ok(()) };
        };
        match parameter.location {
            Location::Path => {
                self.path.insert(parameter.name.clone(), text);
            }
            Location::Query | Location::QueryString => self.query.push(text),
            Location::Header if !parameter.name.eq_ignore_ascii_case("cookie") => {
                header::check(&parameter.name, &text)?;
                self.headers.push((parameter.name.clone(), text));
            }
            Location::Header | Location::Cookie => {
                header::check_cookie(&text)?;
                if parameter.style == Style::Cookie && has_semicolon(value) {
                    return Err(Reason::Semicolon);
                }
                self.cookies.push(text);
            }
        }
        Ok(())
    }
}

/// Merges separately given properties into the body.
fn merged<'a>(
    body: Option<&'a Value>,
    properties: &[(&str, &str, &Value)],
    misuses: &mut Vec<Misuse>,
) -> Option<Cow<'a, Value>> {
    let Some((first, ..)) = properties.first() else { return body.map(Cow::Borrowed) };
    let mut map = match body {
        None => Map::new(),
        Some(Value::Object(map)) => map.clone(),
        Some(other) => {
            let found = schema::type_of(other);
            misuses.push(Misuse::BodyNotObject { name: (*first).to_owned(), found });
            return None;
        }
    };
    for (name, property, value) in properties {
        if map.insert((*property).to_owned(), (*value).clone()).is_some() {
            misuses.push(Misuse::Twice {
                name: format!("body.{property}"),
                other: (*name).to_owned(),
                what: "body property",
            });
        }
    }
    Some(Cow::Owned(Value::Object(map)))
}

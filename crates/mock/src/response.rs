//! Chooses one of an operation's responses and its media type, and renders it as bytes.

use std::sync::Arc;

use milepost_catalog::command::{ApiCommand, Content, Method};
use milepost_catalog::request::media::{self, MediaKind, concrete, essence};
use serde_json::{Value, json};

use crate::MockResponse;
use crate::generate::Generated;
use crate::resource::plain_text;
use crate::schema::{CompiledSchema, SchemaSlot};
use crate::xml;

/// The header that marks responses that could not be verified against their schema.
pub(crate) const MARK: &str = "x-milepost-mock";
/// The header that gives the reason for a response, because the body may have no field for it.
const REASON: &str = "x-milepost-mock-reason";
/// A minimal image.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 13, b'I', b'D', b'A', b'T',
    0x78, 0x9c, 0x63, 0, 1, 0, 0, 5, 0, 1, 0x0d, 0x0a, 0x2d, 0xb4, 0, 0, 0, 0, b'I', b'E', b'N',
    b'D', 0xae, 0x42, 0x60, 0x82,
];

/// Which of a command's responses to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseChoice {
    pub(crate) status: u16,
    /// The index of the command's response; `content` is an index into its contents.
    pub(crate) response: Option<usize>,
    pub(crate) content: Option<usize>,
}

/// The response to a successful operation.
pub(crate) fn success(command: &ApiCommand, accept: Option<&str>) -> ResponseChoice {
    let preferred: &[u16] = match command.method {
        Method::Post => &[201, 200, 202, 204],
        Method::Delete => &[204, 200, 202],
        _ => &[200, 201, 202, 204],
    };
    let exact = |status: &u16| position(command, &status.to_string()).map(|at| (*status, at));
    let any = || numbered(command).find(|(status, _)| (200..300).contains(status));
    let range = || position(command, "2XX").map(|at| (preferred[0], at));
    let default = || position(command, "default").map(|at| (200, at));
    let other = || numbered(command).find(|(status, _)| *status < 400);
    let last = || numbered(command).next();
    let found = preferred.iter().find_map(exact);
    let found = found.or_else(any).or_else(range).or_else(default).or_else(other).or_else(last);
    match found {
        Some((status, response)) => with_content(command, status, response, accept),
        None => ResponseChoice { status: 200, response: None, content: None },
    }
}

/// The response for a status: documented by number, by range, or as the default.
pub(crate) fn of_status(
    command: &ApiCommand,
    status: u16,
    accept: Option<&str>,
) -> Option<ResponseChoice> {
    let range = format!("{}XX", status / 100);
    let response = [status.to_string(), range, "default".to_owned()];
    let response = response.iter().find_map(|name| position(command, name))?;
    Some(with_content(command, status, response, accept))
}

/// The response for the first of `statuses` that is documented by number; if none is, the response
/// that a range or the default documents for the first one.
pub(crate) fn of_first(
    command: &ApiCommand,
    statuses: &[u16],
    accept: Option<&str>,
) -> Option<ResponseChoice> {
    let exact = statuses.iter().find(|status| position(command, &status.to_string()).is_some());
    exact.or(statuses.first()).and_then(|status| of_status(command, *status, accept))
}

fn numbered(command: &ApiCommand) -> impl Iterator<Item = (u16, usize)> + '_ {
    let responses = command.responses.iter().enumerate();
    responses.filter_map(|(at, response)| Some((response.status.parse().ok()?, at)))
}

fn position(command: &ApiCommand, status: &str) -> Option<usize> {
    command.responses.iter().position(|response| response.status.eq_ignore_ascii_case(status))
}

fn with_content(
    command: &ApiCommand,
    status: u16,
    response: usize,
    accept: Option<&str>,
) -> ResponseChoice {
    // Responses with these statuses never have a body, even if a document declares one.
    let bare = matches!(status, 100..=199 | 204 | 205 | 304);
    let contents = &command.responses[response].contents;
    let content = if bare { None } else { preferred(contents, accept) };
    ResponseChoice { status, response: Some(response), content }
}

/// The content that the client prefers; JSON if it has no preference.
fn preferred(contents: &[Content], accept: Option<&str>) -> Option<usize> {
    let ranges: Vec<(String, f32)> = accept.unwrap_or("*/*").split(',').map(range).collect();
    let liking = |content: &Content| {
        let kind = essence(&content.media_type);
        let quality = ranges.iter().filter(|(range, _)| media::matches(range, &kind));
        let quality = quality.map(|(_, quality)| *quality).fold(0.0, f32::max);
        let rank = match kind.as_str() {
            "application/json" => 3,
            kind if MediaKind::of(kind).is_json() => 2,
            kind if kind.starts_with("text/") => 1,
            _ => 0,
        };
        ((quality * 1000.0) as i64, rank)
    };
    let all = contents.iter().enumerate().rev();
    all.max_by_key(|(_, content)| liking(content)).map(|(index, _)| index)
}

fn range(text: &str) -> (String, f32) {
    let quality = text.split(';').skip(1).find_map(|part| part.trim().strip_prefix("q="));
    (essence(text), quality.and_then(|q| q.trim().parse().ok()).unwrap_or(1.0))
}

/// A media type used in the command's responses, preferably JSON.
fn any_media_type(command: &ApiCommand) -> Option<&str> {
    let contents = command.responses.iter().flat_map(|response| &response.contents);
    let mut kinds = contents.map(|content| content.media_type.as_str());
    let first = kinds.clone().next();
    kinds.find(|kind| MediaKind::of(kind).is_json()).or(first)
}

/// The chosen response with its value.
#[derive(Debug)]
pub(crate) struct ResponseDraft {
    pub(crate) choice: ResponseChoice,
    /// The value, and the schema that it must fit; `None` for a response without a body.
    pub(crate) body: Option<(Generated, Arc<CompiledSchema>)>,
}

impl ResponseChoice {
    /// The chosen content, and the cache slot for its schema.
    pub(crate) fn content<'c>(&self, command: &'c ApiCommand) -> Option<(SchemaSlot, &'c Content)> {
        let (response, content) = (self.response?, self.content?);
        let found = command.responses.get(response)?.contents.get(content)?;
        Some((SchemaSlot::Response(response, content), found))
    }
}

impl ResponseDraft {
    /// Renders the response for the wire.
    pub(crate) fn response(self, command: &ApiCommand) -> MockResponse {
        let mut answer = MockResponse::empty(self.choice.status);
        if let Some((generated, _)) = self.body {
            let content = self.choice.content(command);
            let media_type = content.map_or("application/json", |(_, content)| &content.media_type);
            let (content_type, body) = render(media_type, &generated.value);
            answer.set_header("content-type", content_type);
            answer.body = body;
            if !generated.verified {
                answer.set_header(MARK, "unverified");
            }
        } else if answer.status == 204 {
            // OpenAPI 2.0 documents declare one media type for all responses, even those without a
            // body.
            let media_type = any_media_type(command).unwrap_or("application/json");
            answer.set_header("content-type", media_type);
        }
        let documented = self.choice.response.and_then(|at| command.responses.get(at));
        let mut headers = documented.into_iter().flat_map(|response| &response.headers);
        let told = headers.any(|name| name.eq_ignore_ascii_case("location"));
        if (300..400).contains(&answer.status) && (told || answer.status != 304) {
            answer.set_header("location", "/");
        }
        answer
    }

    /// Puts an explanation into the response if it has a suitable field.
    pub(crate) fn explain(&mut self, text: &str) {
        const PLACES: &[&str] =
            &["detail", "message", "error_description", "description", "error", "title", "reason"];
        let Some((generated, schema)) = &mut self.body else { return };
        for above in ["", "/error", "/errors/0", "/meta", "/status"] {
            for place in PLACES {
                let mut explained = generated.value.clone();
                match explained.pointer_mut(&format!("{above}/{place}")) {
                    Some(target) if target.is_string() => *target = Value::from(text),
                    _ => continue,
                }
                if schema.fits(&explained) {
                    generated.value = explained;
                    return;
                }
            }
        }
    }
}

impl MockResponse {
    /// A response without a body.
    pub(crate) fn empty(status: u16) -> MockResponse {
        MockResponse { status, headers: Vec::new(), body: Vec::new(), delay_ms: 0, drop: false }
    }

    /// A JSON problem that the document does not describe; `more` must be an object.
    pub(crate) fn problem(status: u16, title: &str, mut more: Value) -> MockResponse {
        let mut body = json!({"type": "about:blank", "title": title, "status": status});
        if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object_mut()) {
            body.append(more);
        }
        let mut answer = MockResponse::empty(status);
        answer.set_header("content-type", "application/problem+json");
        answer.body = body.to_string().into_bytes();
        answer
    }

    pub(crate) fn set_header(&mut self, name: &str, value: impl Into<String>) {
        self.headers.push((name.to_owned(), value.into()));
    }

    /// Gives the reason in a header.
    pub(crate) fn set_reason(&mut self, reason: &str) {
        let visible = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
        self.set_header(REASON, reason.chars().take(300).map(visible).collect::<String>());
    }
}

/// Renders a value in a media type; returns the content type and the bytes.
fn render(media_type: &str, value: &Value) -> (String, Vec<u8>) {
    if matches!(essence(media_type).as_str(), "image/*" | "image/png") {
        return ("image/png".to_owned(), PNG.to_vec());
    }
    let content_type = concrete(media_type);
    let text = match MediaKind::of(content_type) {
        MediaKind::Json | MediaKind::JsonLike => value.to_string(),
        MediaKind::JsonLines => format!("{value}\n"),
        MediaKind::Text if essence(content_type) == "text/event-stream" => {
            format!("data: {value}\n\n")
        }
        MediaKind::Form => {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            for (name, value) in value.as_object().into_iter().flatten() {
                form.append_pair(name, &plain_text(value));
            }
            form.finish()
        }
        MediaKind::Xml => xml::document(value),
        MediaKind::Text | MediaKind::Multipart | MediaKind::Bytes => plain_text(value),
    };
    (content_type.to_owned(), text.into_bytes())
}

//! Which of an operation's answers is given, in which media type, and its bytes.

use serde_json::{Map, Value, json};

use super::MockResponse;
use super::body::{is_json, is_of};
use super::check::Fault;
use super::generate::{Examples, Made, Recipe, make};
use super::operation::{Operation, Slot};
use super::schema::{Schema, Way};
use crate::command::{Command, Content, Method, Response};
use crate::request::media::essence;

/// The header that tells of answers that could not be made to fit.
pub(super) const MARK: &str = "x-milepost-mock";
/// The header that tells why, when an answer has no room for it.
const REASON: &str = "x-milepost-mock-reason";
/// The smallest picture there is.
const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 13, b'I', b'D', b'A', b'T',
    0x78, 0x9c, 0x63, 0, 1, 0, 0, 5, 0, 1, 0x0d, 0x0a, 0x2d, 0xb4, 0, 0, 0, 0, b'I', b'E', b'N',
    b'D', 0xae, 0x42, 0x60, 0x82,
];

/// An answer that is chosen and not yet made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) status: u16,
    /// Which response of the command, and which content of it.
    pub(super) response: Option<usize>,
    pub(super) content: Option<usize>,
}

/// The answer of an operation that went well.
pub(super) fn success(command: &Command, accept: Option<&str>) -> Chosen {
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
        None => Chosen { status: 200, response: None, content: None },
    }
}

/// The answer of a status: documented by number, by range, or as the default.
pub(super) fn of_status(command: &Command, status: u16, accept: Option<&str>) -> Option<Chosen> {
    let range = format!("{}XX", status / 100);
    let response = [status.to_string(), range, "default".to_owned()];
    let response = response.iter().find_map(|name| position(command, name))?;
    Some(with_content(command, status, response, accept))
}

/// The answer of the first status that is documented by number, else by range or as the default.
pub(super) fn of_first(
    command: &Command,
    statuses: &[u16],
    accept: Option<&str>,
) -> Option<Chosen> {
    let exact = statuses.iter().find(|status| position(command, &status.to_string()).is_some());
    exact.or(statuses.first()).and_then(|status| of_status(command, *status, accept))
}

fn numbered(command: &Command) -> impl Iterator<Item = (u16, usize)> + '_ {
    let responses = command.responses.iter().enumerate();
    responses.filter_map(|(at, response)| Some((response.status.parse().ok()?, at)))
}

fn position(command: &Command, status: &str) -> Option<usize> {
    command.responses.iter().position(|response| response.status.eq_ignore_ascii_case(status))
}

fn with_content(command: &Command, status: u16, response: usize, accept: Option<&str>) -> Chosen {
    // These have no body, whatever a document says.
    let bare = matches!(status, 100..=199 | 204 | 205 | 304);
    let contents = &command.responses[response].contents;
    let content = if bare { None } else { preferred(contents, accept) };
    Chosen { status, response: Some(response), content }
}

/// The content that a client likes best; JSON when it does not care.
fn preferred(contents: &[Content], accept: Option<&str>) -> Option<usize> {
    let ranges: Vec<(String, f32)> = accept.unwrap_or("*/*").split(',').map(range).collect();
    let liking = |content: &Content| {
        let kind = essence(&content.media_type);
        let quality = ranges.iter().filter(|(range, _)| is_of(&kind, range) || range == &kind);
        let quality = quality.map(|(_, quality)| *quality).fold(0.0, f32::max);
        let rank = match kind.as_str() {
            "application/json" => 3,
            kind if is_json(kind) => 2,
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

/// A media type that the answers of a command have, JSON first.
fn any_media_type(command: &Command) -> Option<&str> {
    let contents = command.responses.iter().flat_map(|response| &response.contents);
    let mut kinds = contents.map(|content| content.media_type.as_str());
    let first = kinds.clone().next();
    kinds.find(|kind| is_json(&essence(kind))).or(first)
}

/// A chosen answer with its value.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) chosen: Chosen,
    /// The value and the schema it has to fit; nothing for an answer without body.
    pub(super) body: Option<(Made, std::sync::Arc<Schema>)>,
}

/// Makes the value of a chosen answer: from its example when that fits, else from its schema.
pub(super) fn draft(operation: &mut Operation<'_>, chosen: Chosen, recipe: Recipe<'_>) -> Draft {
    let command = operation.command();
    let body = content(&command, &chosen).map(|(slot, content)| {
        let schema = operation.schema(slot, &content.schema, Way::Answer);
        let example = content.example.as_ref().filter(|_| recipe.examples == Examples::All);
        let made = match example.filter(|example| schema.fits(example)) {
            Some(example) => Made { value: example.clone(), verified: true },
            None => make(&schema, recipe),
        };
        (made, schema)
    });
    Draft { chosen, body }
}

fn content<'c>(command: &'c Command, chosen: &Chosen) -> Option<(Slot, &'c Content)> {
    let (response, content) = (chosen.response?, chosen.content?);
    let found = command.responses.get(response)?.contents.get(content)?;
    Some((Slot::Answer(response, content), found))
}

impl Draft {
    /// As it goes on the wire.
    pub(super) fn response(self, command: &Command) -> MockResponse {
        let mut answer = MockResponse::empty(self.chosen.status);
        let documented = self.chosen.response.and_then(|at| command.responses.get(at));
        let Some((made, _)) = self.body else {
            // Documents of 2.0 promise one media type for all answers, those without body included.
            if answer.status == 204 {
                let promised = any_media_type(command).unwrap_or("application/json");
                answer.headers.push(("content-type".to_owned(), promised.to_owned()));
            }
            answer.redirect(documented);
            return answer;
        };
        let media_type =
            content(command, &self.chosen).map(|(_, content)| content.media_type.as_str());
        let (content_type, body) = render(media_type.unwrap_or("application/json"), &made.value);
        answer.headers.push(("content-type".to_owned(), content_type));
        answer.body = body;
        if !made.verified {
            answer.headers.push((MARK.to_owned(), "unverified".to_owned()));
        }
        answer.redirect(documented);
        answer
    }

    /// Puts words into an answer where it has a place for them.
    pub(super) fn explain(&mut self, text: &str) {
        const PLACES: &[&str] =
            &["detail", "message", "error_description", "description", "error", "title", "reason"];
        let Some((made, schema)) = &mut self.body else { return };
        let holds = |value: &Value, at: &str| value.pointer(at).is_some_and(Value::is_string);
        let nested = ["", "/error", "/errors/0", "/meta", "/status"];
        for above in nested {
            for place in PLACES {
                let at = format!("{above}/{place}");
                if !holds(&made.value, &at) {
                    continue;
                }
                let mut explained = made.value.clone();
                if let Some(target) = explained.pointer_mut(&at) {
                    *target = Value::from(text);
                }
                if schema.fits(&explained) {
                    made.value = explained;
                    return;
                }
            }
        }
    }
}

impl MockResponse {
    /// An answer without body.
    pub(super) fn empty(status: u16) -> MockResponse {
        MockResponse { status, headers: Vec::new(), body: Vec::new(), delay_ms: 0, drop: false }
    }

    /// A problem in JSON that no document speaks of.
    pub(super) fn problem(status: u16, title: &str, more: Map<String, Value>) -> MockResponse {
        let mut body = json!({"type": "about:blank", "title": title, "status": status});
        if let Some(object) = body.as_object_mut() {
            object.extend(more);
        }
        let mut answer = MockResponse::empty(status);
        let content_type = "application/problem+json".to_owned();
        answer.headers.push(("content-type".to_owned(), content_type));
        answer.body = body.to_string().into_bytes();
        answer
    }

    /// Says why in a header.
    pub(super) fn because(&mut self, reason: &str) {
        let visible = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
        let reason: String = reason.chars().take(300).map(visible).collect();
        self.headers.push((REASON.to_owned(), reason));
    }

    fn redirect(&mut self, documented: Option<&Response>) {
        let told = documented.is_some_and(|response| {
            response.headers.iter().any(|name| name.eq_ignore_ascii_case("location"))
        });
        if (300..400).contains(&self.status) && (told || self.status != 304) {
            self.headers.push(("location".to_owned(), "/".to_owned()));
        }
    }
}

/// The faults of a request as JSON.
pub(super) fn faults_json(faults: &[Fault]) -> Value {
    let one = |fault: &Fault| json!({"place": fault.place, "message": fault.message});
    Value::Array(faults.iter().map(one).collect())
}

/// A value in a media type: the header and the bytes.
fn render(media_type: &str, value: &Value) -> (String, Vec<u8>) {
    let kind = essence(media_type);
    let text = || match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match kind.as_str() {
        "*/*" | "application/*" => ("application/json".to_owned(), value.to_string().into_bytes()),
        kind if is_json(kind) => (media_type.to_owned(), value.to_string().into_bytes()),
        "text/*" => ("text/plain".to_owned(), text().into_bytes()),
        "image/*" | "image/png" => ("image/png".to_owned(), PNG.to_vec()),
        "text/event-stream" => (media_type.to_owned(), format!("data: {value}\n\n").into_bytes()),
        "application/x-ndjson" | "application/jsonl" | "application/stream+json" => {
            (media_type.to_owned(), format!("{value}\n").into_bytes())
        }
        "application/x-www-form-urlencoded" => {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            for (name, value) in value.as_object().into_iter().flatten() {
                form.append_pair(name, &super::resource::id_text(value));
            }
            (media_type.to_owned(), form.finish().into_bytes())
        }
        kind if kind.ends_with("/xml") || kind.ends_with("+xml") => {
            (media_type.to_owned(), super::xml::document(value).into_bytes())
        }
        _ => (media_type.to_owned(), text().into_bytes()),
    }
}

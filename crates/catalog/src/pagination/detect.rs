//! Detects how a command paginates from its parameters and its response schema. Names are compared
//! ignoring punctuation and case: `next_page_token` equals `nextPageToken`.

use std::collections::VecDeque;

use serde_json::Value;

use super::names::{
    ASIDES, CURSORS, LAST_ITEMS, LISTS, MORE, NEXT_CURSOR_PATHS, NEXT_CURSORS, NEXT_URLS, OFFSETS,
    PAGES, SIZES,
};
use super::{PageCount, PageSize, PagingScheme};
use crate::command::{ApiCommand, Location, Method};
use crate::finding::below;
use crate::limits;
use crate::schema;
use crate::text::{WordList, bare_word};

/// A command's pagination scheme, if it has one.
pub fn detect(command: &ApiCommand) -> Option<PagingScheme> {
    // A request that changes something must not be repeated to get more pages. `POST` is allowed
    // because many APIs use it for searches.
    if !matches!(command.method, Method::Get | Method::Query | Method::Post) {
        return None;
    }
    let fields = fields(command);
    let arguments = arguments(command);
    let more = best(&fields, MORE).map(|field| field.pointer.clone());
    if let Some(cursor) = arguments.iter().find(|argument| is_cursor(&argument.word))
        && let Some(at) = next_cursor(&fields, cursor)
    {
        return Some(PagingScheme::Cursor { parameter: cursor.name.clone(), at, more });
    }
    if command.method == Method::Post {
        return None;
    }
    let last = arguments.iter().find(|argument| LAST_ITEMS.contains(&argument.word));
    if let Some(last) = last.filter(|_| more.is_some()) {
        let (parameter, field) = (last.name.clone(), "id".to_owned());
        return Some(PagingScheme::LastItem { parameter, field, more });
    }
    if let Some(at) = next_url(&fields) {
        return Some(PagingScheme::NextUrl { at });
    }
    let headers = command.responses.iter().flat_map(|response| &response.headers);
    if headers.into_iter().any(|name| name.eq_ignore_ascii_case("link")) {
        return Some(PagingScheme::Link);
    }
    // Page numbers and offsets only make sense for a list.
    let is_list = fields.iter().any(Field::is_list) || fields.is_empty();
    is_list.then(|| numbered(&arguments)).flatten()
}

fn is_cursor(word: &str) -> bool {
    CURSORS.contains(word) || matches!(word, "offset" | "page")
}

fn numbered(arguments: &[Argument<'_>]) -> Option<PagingScheme> {
    let with_word = |words: WordList| {
        arguments.iter().find(move |one| words.contains(&one.word) && one.is_integer())
    };
    let size = with_word(SIZES).map(|size| PageSize {
        parameter: size.name.clone(),
        default: size.number("default"),
        maximum: size.number("maximum"),
    });
    let page = with_word(PAGES);
    let one = page.or_else(|| with_word(OFFSETS))?;
    let from_one = page.is_some() || one.word == "startindex";
    let first = one.number("default").or(one.number("minimum")).unwrap_or(u64::from(from_one));
    let (parameter, by_page) = (one.name.clone(), page.is_some());
    Some(PagingScheme::Counted(PageCount { parameter, first, size, by_page }))
}

/// An argument that pagination may use.
struct Argument<'c> {
    name: String,
    word: String,
    schema: &'c Value,
    command: &'c ApiCommand,
}

impl Argument<'_> {
    fn types(&self) -> Vec<&str> {
        schema::types(self.schema, &self.command.defs)
    }

    fn is_integer(&self) -> bool {
        let types = self.types();
        types.is_empty() || types.contains(&"integer") || types.contains(&"number")
    }

    fn number(&self, keyword: &str) -> Option<u64> {
        schema::resolve(self.schema, &self.command.defs).get(keyword).and_then(Value::as_u64)
    }
}

/// Query parameters and, for `POST` searches, body properties.
fn arguments(command: &ApiCommand) -> Vec<Argument<'_>> {
    let mut found = Vec::new();
    for parameter in &command.parameters {
        if parameter.location == Location::Query {
            let shared = command.parameters.iter().filter(|other| other.name == parameter.name);
            let name = match shared.count() {
                1 => parameter.name.clone(),
                _ => format!("query.{}", parameter.name),
            };
            let word = bare_word(&parameter.name);
            found.push(Argument { name, word, schema: &parameter.schema, command });
        }
    }
    let contents = command.body.iter().flat_map(|body| &body.contents);
    let json = contents.into_iter().find(|content| content.media_type.contains("json"));
    if let Some(content) = json {
        for (name, schema) in schema::properties(&content.schema, &command.defs) {
            if !found.iter().any(|known| known.name == name) {
                let word = bare_word(name);
                found.push(Argument { name: name.to_owned(), word, schema, command });
            }
        }
    }
    found
}

/// A response field.
struct Field {
    /// The names of the enclosing fields and of the field itself, each preceded by a dot.
    path: String,
    pointer: String,
    /// The possible types; empty if any type is allowed.
    types: Vec<String>,
    is_uri: bool,
}

impl Field {
    fn is(&self, wanted: &[&str]) -> bool {
        self.types.is_empty() || self.types.iter().any(|name| wanted.contains(&name.as_str()))
    }

    fn is_named(&self, word: &str) -> bool {
        self.path.rsplit('.').next() == Some(word)
    }

    fn is_at(&self, path: &str) -> bool {
        self.path.strip_prefix('.') == Some(path)
    }

    fn is_list(&self) -> bool {
        self.types.iter().any(|name| name == "array")
    }

    /// Whether the field can be a cursor: a string or a number.
    fn is_plain(&self) -> bool {
        self.is(&["string", "integer", "number"])
    }
}

/// The fields of the success response, nearest to the root first.
fn fields(command: &ApiCommand) -> Vec<Field> {
    let success = |status: &str| status.starts_with('2') || status == "default";
    let responses = command.responses.iter().filter(|response| success(&response.status));
    let mut contents = responses.flat_map(|response| &response.contents);
    let Some(content) = contents.find(|content| content.media_type.contains("json")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut open = VecDeque::from([(&content.schema, String::new(), String::new())]);
    while let Some((schema, path, pointer)) = open.pop_front() {
        if found.len() >= limits::PAGE_FIELDS {
            break;
        }
        let types = schema::types(schema, &command.defs);
        let format = schema::resolve(schema, &command.defs).get("format").and_then(Value::as_str);
        found.push(Field {
            types: types.iter().map(|&name| name.to_owned()).collect(),
            is_uri: format.is_some_and(|format| format.starts_with("uri")),
            path: path.clone(),
            pointer: pointer.clone(),
        });
        let depth = pointer.matches('/').count();
        if depth < limits::PAGE_FIELD_DEPTH && !types.contains(&"array") {
            for (name, schema) in schema::properties(schema, &command.defs) {
                let path = format!("{path}.{}", bare_word(name));
                open.push_back((schema, path, below(&pointer, name)));
            }
        }
    }
    found
}

fn best(fields: &[Field], words: WordList) -> Option<&Field> {
    words.iter().find_map(|word| fields.iter().find(|field| field.is_named(word)))
}

fn next_cursor(fields: &[Field], cursor: &Argument<'_>) -> Option<String> {
    let plain = |field: &&Field| field.is_plain() && !field.is_uri;
    let named = |word: &str| fields.iter().filter(plain).find(|field| field.is_named(word));
    // A numeric page parameter is incremented unless the response names the next page.
    let numbered = cursor.is_integer() && !cursor.types().is_empty();
    let words = if numbered { WordList("nextpage nextoffset") } else { NEXT_CURSORS };
    if let Some(field) = words.iter().find_map(named) {
        return Some(field.pointer.clone());
    }
    if numbered || cursor.word == "page" {
        return None;
    }
    let on_path = |path: &str| fields.iter().filter(plain).find(|field| field.is_at(path));
    let special = NEXT_CURSOR_PATHS.iter().find_map(on_path);
    // As a last resort, a field with the same name as the parameter is the next cursor.
    special.or_else(|| on_path(&cursor.word)).map(|field| field.pointer.clone())
}

fn next_url(fields: &[Field]) -> Option<String> {
    let text_at = |path| fields.iter().find(|field| field.is(&["string"]) && field.is_at(path));
    NEXT_URLS.iter().find_map(text_at).map(|field| field.pointer.clone())
}

/// JSON pointer to the list in a response: the response itself, a field with a typical name, the
/// only list, or a list nested in a map.
pub fn items(body: &Value) -> Option<String> {
    items_below(body, 0)
}

fn items_below(body: &Value, depth: usize) -> Option<String> {
    let map = match body {
        Value::Array(_) => return Some(String::new()),
        Value::Object(map) => map,
        _ => return None,
    };
    let pointer = |key: &str| below("", key);
    let called =
        |name: &str| map.iter().find(|(key, value)| value.is_array() && bare_word(key) == name);
    if let Some((key, _)) = LISTS.iter().find_map(called) {
        return Some(pointer(key));
    }
    let mut lists = map.iter().filter(|(_, value)| value.is_array());
    if let (Some((key, _)), None) = (lists.next(), lists.next()) {
        return Some(pointer(key));
    }
    if depth + 1 >= limits::PAGE_FIELD_DEPTH {
        return None;
    }
    LISTS.iter().find_map(|name| {
        let (key, value) =
            map.iter().find(|(key, value)| value.is_object() && bare_word(key) == name)?;
        Some(format!("{}{}", pointer(key), items_below(value, depth + 1)?))
    })
}

/// A metadata value at the top level of a response, or in a metadata map.
pub(super) fn aside<'b>(body: &'b Value, words: WordList) -> Option<&'b Value> {
    let map = body.as_object()?;
    let here = |map: &'b serde_json::Map<String, Value>| {
        map.iter().find(|(key, _)| words.contains(&bare_word(key))).map(|(_, value)| value)
    };
    here(map).or_else(|| {
        let asides = map.iter().filter(|(key, _)| ASIDES.contains(&bare_word(key)));
        asides.filter_map(|(_, value)| value.as_object()).find_map(here)
    })
}

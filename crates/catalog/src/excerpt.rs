//! The part of a document that one command needs, extracted without reading the rest.
//!
//! A large document is split into places once, and the places are stored next to it. An excerpt is
//! a self-contained document in which everything that the command refers to, directly or
//! indirectly, is at the same pointer as in the full document. If that cannot be guaranteed, there
//! is no excerpt.

use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memmem;
use milepost_syntax::json::document::{JsonDocument, JsonNode};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

use crate::limits;

/// The positions of a document's parts in its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// Length of the whole text in bytes.
    length: u32,
    entries: Vec<Place>,
}

/// The key of an entry, the start and end of its value, and the places within it if the value is a
/// large map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place(String, u32, u32, Vec<Place>);

/// Where security schemes are declared; operations refer to them by name rather than by `$ref`.
const SCHEMES: [&str; 2] = ["/components/securitySchemes", "/securityDefinitions"];

impl Places {
    /// Finds a document's places; `None` if the document is small enough to be read whole.
    pub fn of(document: &JsonDocument) -> Option<Places> {
        let length = document.text().len();
        let large = length >= limits::EXCERPT_DOCUMENT_BYTES;
        let length = u32::try_from(length).ok().filter(|_| large)?;
        Some(Places { length, entries: parts(document.root(), limits::EXCERPT_DEPTH) })
    }

    /// Length in bytes of the text that these places belong to.
    pub fn length(&self) -> u64 {
        u64::from(self.length)
    }

    /// Extracts what the value at a pointer needs; without a pointer, only what applies to the API
    /// as a whole. `read` returns the text in a byte range.
    pub fn excerpt(
        &self,
        pointer: Option<&str>,
        read: impl FnMut(Range<u64>) -> Option<String>,
    ) -> Option<String> {
        // Top-level entries that are not split apply to every operation.
        let open = self.entries.iter().filter(|place| place.3.is_empty()).collect();
        let mut cutting = Cutting { places: self, read, open, taken: BTreeMap::new(), bytes: 0 };
        SCHEMES.into_iter().chain(pointer).try_for_each(|pointer| cutting.want(pointer))?;
        cutting.take()?;
        let mut text = String::with_capacity(2 * cutting.bytes);
        write_map(&mut text, &self.entries, &cutting.taken);
        Some(text)
    }

    /// The place that contains the value, or the large map that is the value.
    fn place(&self, pointer: &str) -> Option<&Place> {
        let (mut here, mut found) = (&self.entries, None);
        for token in pointer.strip_prefix('/')?.split('/') {
            let key = token.replace("~1", "/").replace("~0", "~");
            let place = here.iter().find(|place| place.0 == key)?;
            found = Some(place);
            if place.3.is_empty() {
                break;
            }
            here = &place.3;
        }
        found
    }
}

/// The places of a map's entries; large maps are split further.
fn parts(map: JsonNode<'_>, depth: usize) -> Vec<Place> {
    let place = |(key, node): (std::borrow::Cow<'_, str>, JsonNode<'_>)| {
        let Range { start, end } = node.range();
        let is_large = node.is_map() && end - start > limits::EXCERPT_PART_BYTES && depth > 1;
        let parts = if is_large { parts(node, depth - 1) } else { Vec::new() };
        Place(key.into_owned(), start as u32, end as u32, parts)
    };
    map.entries().map(place).collect()
}

/// An excerpt under construction.
struct Cutting<'p, R> {
    places: &'p Places,
    read: R,
    /// Places that still have to be read.
    open: Vec<&'p Place>,
    /// The text of the places read so far, by start offset.
    taken: BTreeMap<u32, String>,
    bytes: usize,
}

impl<R: FnMut(Range<u64>) -> Option<String>> Cutting<'_, R> {
    /// Requests the value at a pointer. A dangling pointer is also dangling in the excerpt. Returns
    /// `None` for the root pointer, because that needs the whole document.
    fn want(&mut self, pointer: &str) -> Option<()> {
        if pointer.is_empty() {
            return None;
        }
        self.open.extend(self.places.place(pointer));
        Some(())
    }

    /// Reads all requested places, and everything that they refer to.
    fn take(&mut self) -> Option<()> {
        while let Some(Place(_, from, to, parts)) = self.open.pop() {
            self.open.extend(parts);
            if !parts.is_empty() || self.taken.contains_key(from) {
                continue;
            }
            self.bytes += to.checked_sub(*from)? as usize;
            if self.bytes > limits::EXCERPT_BYTES {
                return None;
            }
            let text = (self.read)(u64::from(*from)..u64::from(*to))?;
            self.follow(&text)?;
            self.taken.insert(*from, text);
        }
        Some(())
    }

    /// Requests everything that `text` may refer to: every string in it that looks like a
    /// reference.
    fn follow(&mut self, text: &str) -> Option<()> {
        // An escaped `#` would be missed by the search below. In practice, documents do not contain
        // one.
        if memmem::find(text.as_bytes(), b"\\u0023").is_some() {
            return None;
        }
        for at in memmem::find_iter(text.as_bytes(), b"\"#") {
            let mut strings = serde_json::Deserializer::from_str(&text[at..]).into_iter();
            // A match inside a string does not parse and is not a reference.
            let Some(Ok(reference)) = strings.next() else { continue };
            let reference: String = reference;
            let fragment = reference.strip_prefix('#').unwrap_or_default();
            self.want(fragment)?;
            if fragment.contains('%') {
                // As in `JsonDocument::fragment`, the fragment may be encoded as a whole or segment
                // by segment.
                let decode = |token| percent_decode_str(token).decode_utf8_lossy();
                self.want(&decode(fragment))?;
                // An encoded slash belongs to the key.
                let tokens = fragment.split('/').map(|token| decode(token).replace('/', "~1"));
                self.open.extend(self.places.place(&tokens.collect::<Vec<_>>().join("/")));
            }
        }
        Some(())
    }
}

/// Writes the places that were read, together with the maps that enclose them.
fn write_map(out: &mut String, entries: &[Place], taken: &BTreeMap<u32, String>) {
    out.push('{');
    let mut first = true;
    for Place(key, from, to, parts) in entries {
        let text = taken.get(from).filter(|_| parts.is_empty());
        let inside = taken.range(*from..*to).next().is_some();
        if text.is_none() && !inside {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        out.push_str(&serde_json::Value::from(key.as_str()).to_string());
        out.push(':');
        match text {
            Some(text) => out.push_str(text),
            None => write_map(out, parts, taken),
        }
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::ParsedDocument;

    /// A document that is large enough to be split, containing the given paths and schemas.
    fn document(paths: &str, schemas: &str) -> JsonDocument {
        let filler = "x".repeat(limits::EXCERPT_DOCUMENT_BYTES);
        let text = format!(
            r#"{{"openapi": "3.0.0", "security": [{{"key": []}}],
                "paths": {{{paths}, "/filler": {{"get": {{"description": "{filler}"}}}}}},
                "components": {{
                    "schemas": {{{schemas}, "filler": {{"description": "{filler}"}}}},
                    "securitySchemes": {{"key": {{"type": "http", "scheme": "bearer"}}}}}}}}"#
        );
        ParsedDocument::read_owned(text.into_bytes()).expect("a document").document
    }

    fn excerpt(document: &JsonDocument, pointer: Option<&str>) -> Option<String> {
        let places = Places::of(document).expect("large");
        let text = serde_json::to_string(&places).expect("JSON");
        let places: Places = serde_json::from_str(&text).expect("places");
        assert_eq!(places.length(), document.text().len() as u64);
        let read = |range: Range<u64>| {
            Some(document.text()[range.start as usize..range.end as usize].to_owned())
        };
        places.excerpt(pointer, read)
    }

    fn check(paths: &str, schemas: &str, expected: &[&str]) {
        let whole = document(paths, schemas);
        let text = excerpt(&whole, Some("/paths/~1a")).expect("an excerpt");
        let part = ParsedDocument::read_owned(text.into_bytes()).expect("a document").document;
        for pointer in ["/openapi", "/security", "/components/securitySchemes/key", "/paths/~1a"] {
            let raw = |document: &JsonDocument| document.pointer(pointer).map(JsonNode::to_value);
            assert_eq!(raw(&part), raw(&whole), "{pointer}");
            assert!(raw(&part).is_some(), "{pointer}");
        }
        let all = part.pointer("/components/schemas").into_iter().flat_map(JsonNode::entries);
        let names: Vec<String> = all.map(|(name, _)| name.into_owned()).collect();
        assert_eq!(names, expected, "{paths}");
        assert!(part.pointer("/paths/~1filler").is_none());
    }

    #[test]
    fn an_excerpt_has_what_is_referred_to() {
        let schemas = r##""one": {"items": {"$ref": "#/components/schemas/two"}},
            "two": {"allOf": [{"$ref": "#/components/schemas/one"}]},
            "a/b": {"type": "string"}, "c d": {"type": "null"}, "other": {}"##;
        let path = |reference: &str| format!(r#""/a": {{"get": {{"$ref": "{reference}"}}}}"#);
        for (reference, expected) in [
            ("#/components/schemas/one", &["one", "two"][..]),
            ("#/components/schemas/two/allOf/0", &["one", "two"]),
            (r"#\/components\/schemas\/other", &["other"]),
            ("#/components/schemas/a~1b", &["a/b"]),
            ("#/components/schemas/a%2Fb", &["a/b"]),
            ("#/components/schemas/c%20d", &["c d"]),
            ("#%2Fcomponents%2Fschemas%2Fother", &["other"]),
            ("#/components/schemas/nothing", &[]),
            ("#anchor", &[]),
            ("other.json#/components/schemas/other", &[]),
        ] {
            check(&path(reference), schemas, expected);
        }
        // A discriminator mapping, and text that only looks like a reference.
        check(r##""/a": {"mapping": {"x": "#/components/schemas/other"}}"##, schemas, &["other"]);
        check(r##""/a": {"description": "say \"#/components/schemas/one\""}"##, schemas, &[]);
    }

    #[test]
    fn what_cannot_be_cut_is_not() {
        for reference in ["#", r"\u0023/components/schemas/one"] {
            let whole = document(&format!(r#""/a": {{"$ref": "{reference}"}}"#), r#""one": {}"#);
            assert_eq!(excerpt(&whole, Some("/paths/~1a")), None, "{reference}");
        }
        let whole = document(r#""/a": {}"#, r#""one": {}"#);
        let places = Places::of(&whole).expect("large");
        assert_eq!(places.excerpt(None, |_| None), None);
        let small = ParsedDocument::read(b"{\"openapi\": \"3.0.0\"}").expect("a document");
        assert_eq!(Places::of(&small.document), None);
    }

    #[test]
    fn what_is_said_of_the_whole_is_always_there() {
        let whole = document(r#""/a": {}"#, r#""one": {}"#);
        let text = excerpt(&whole, None).expect("an excerpt");
        let expected = concat!(
            r#"{"openapi":"3.0.0","security":[{"key": []}],"components":{"securitySchemes":"#,
            r#"{"key": {"type": "http", "scheme": "bearer"}}}}"#,
        );
        assert_eq!(text, expected);
    }
}

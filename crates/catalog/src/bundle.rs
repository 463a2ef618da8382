//! Bundles a document that spans several files: each referenced file is embedded, and the
//! references are rewritten to point at the embedded copy. The caller decides which files are read,
//! and how.

use std::collections::BTreeMap;

use milepost_syntax::json::document::{JsonDocument, JsonNode};
use serde_json::{Map, Value};

use crate::document::{ParsedDocument, Unreadable};
use crate::finding::{DocumentFinding, DocumentFindings, DocumentRule, part};
use crate::limits;

/// The key under which the other files are embedded.
const FILES: &str = "x-milepost-files";

/// The result of fetching a referenced file.
#[derive(Debug)]
pub enum FetchedFile {
    Bytes(Vec<u8>),
    /// Reading the file is forbidden, so the document that refers to it is rejected.
    Refused(String),
    /// The file could not be read or its host is not allowed; everything that needs it is left out.
    Missing(String),
}

/// A bundle under construction.
#[derive(Debug)]
pub struct Bundle {
    main: ParsedDocument,
    files: BTreeMap<String, ParsedDocument>,
    wanted: Vec<String>,
    asked: Vec<String>,
    warnings: DocumentFindings,
    violations: DocumentFindings,
}

/// A document without references to other files.
#[derive(Debug)]
pub struct Bundled {
    pub reading: ParsedDocument,
    /// Whether other files were embedded.
    pub changed: bool,
    /// References that could not be resolved.
    pub warnings: Vec<DocumentFinding>,
    /// References to files that must not be read.
    pub violations: Vec<DocumentFinding>,
}

impl Bundle {
    /// Starts a bundle by finding the references that point outside the document.
    pub fn new(main: ParsedDocument) -> Bundle {
        let wanted = outward(&main.document, "");
        Bundle {
            main,
            files: BTreeMap::new(),
            asked: wanted.clone(),
            wanted,
            warnings: DocumentFindings::default(),
            violations: DocumentFindings::default(),
        }
    }

    /// The next file to read: a path relative to the document, or a URL.
    pub fn wanted(&mut self) -> Option<String> {
        self.wanted.pop()
    }

    /// Adds the result of fetching a file returned by [`Bundle::wanted`].
    pub fn add(&mut self, file: &str, fetched: FetchedFile) {
        let pointer = format!("/{FILES}/{}", part(file));
        let leads = |why| format!("a reference points to `{file}`: {why}");
        let bytes = match fetched {
            FetchedFile::Bytes(bytes) => bytes,
            FetchedFile::Refused(why) => {
                return self.violations.add(pointer, DocumentRule::REF_REFUSED, leads(why));
            }
            FetchedFile::Missing(why) => {
                return self.warnings.add(pointer, DocumentRule::REF, leads(why));
            }
        };
        match ParsedDocument::read(&bytes) {
            Ok(reading) => {
                for next in outward(&reading.document, file) {
                    if !self.asked.contains(&next) && self.asked.len() < limits::FILES {
                        self.asked.push(next.clone());
                        self.wanted.push(next);
                    }
                }
                self.files.insert(file.to_owned(), reading);
            }
            Err(error) => {
                let message = format!("`{file}` cannot be read: {error}");
                self.warnings.add(pointer, DocumentRule::REF, message);
            }
        }
    }

    /// Assembles the bundled document.
    pub fn finish(self) -> Result<Bundled, Unreadable> {
        let (warnings, violations) = (self.warnings.into_list(), self.violations.into_list());
        if self.files.is_empty() {
            let (reading, changed) = (self.main, false);
            return Ok(Bundled { reading, changed, warnings, violations });
        }
        let mut root = turned(self.main.document.root(), "", &self.files);
        let mut files = Map::new();
        for (name, reading) in &self.files {
            files.insert(name.clone(), turned(reading.document.root(), name, &self.files));
        }
        if let Value::Object(root) = &mut root {
            root.insert(FILES.to_owned(), Value::Object(files));
        }
        let mut reading = ParsedDocument::read(root.to_string().as_bytes())?;
        reading.notes.extend(self.main.notes);
        Ok(Bundled { reading, changed: true, warnings, violations })
    }
}

/// The files that a document's references point to, without duplicates.
fn outward(document: &JsonDocument, file: &str) -> Vec<String> {
    let mut found = Vec::new();
    // Most documents are self-contained, and a text search is enough to tell.
    if file.is_empty() && !may_lead_out(document.text()) {
        return found;
    }
    let mut open = vec![document.root()];
    while let Some(node) = open.pop() {
        if let Some(reference) = crate::refs::target(node)
            && let Some((other, _)) = elsewhere(file, &reference)
            && !found.contains(&other)
            && found.len() < limits::FILES
        {
            found.push(other);
        }
        open.extend(node.items());
        open.extend(node.entries().map(|(_, node)| node));
    }
    found
}

fn may_lead_out(text: &str) -> bool {
    let key = memchr::memmem::Finder::new("\"$ref\"");
    key.find_iter(text.as_bytes()).any(|at| {
        let value = text[at + 6..].trim_start().strip_prefix(':').map(str::trim_start);
        value.is_some_and(|value| value.starts_with('"') && !value.starts_with("\"#"))
    })
}

/// The file and fragment that a reference points to; `None` for one within the main document.
fn elsewhere(file: &str, reference: &str) -> Option<(String, String)> {
    let (target, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    if target.is_empty() && file.is_empty() {
        return None;
    }
    let target = if target.is_empty() { file.to_owned() } else { joined(file, target) };
    Some((target, fragment.to_owned()))
}

/// Resolves a path or URL relative to a file.
fn joined(file: &str, target: &str) -> String {
    let is_url = |text: &str| text.contains("://") || text.starts_with("file:");
    if is_url(target) {
        return target.to_owned();
    }
    if is_url(file) {
        let url = url::Url::parse(file).and_then(|url| url.join(target));
        return url.map_or_else(|_| target.to_owned(), String::from);
    }
    if target.starts_with('/') {
        return target.to_owned();
    }
    let target = percent_encoding::percent_decode_str(target).decode_utf8_lossy();
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Copies a value, rewriting its references to point at the embedded files.
fn turned(node: JsonNode<'_>, file: &str, files: &BTreeMap<String, ParsedDocument>) -> Value {
    if node.is_list() {
        return node.items().map(|item| turned(item, file, files)).collect();
    }
    if !node.is_map() {
        return node.to_value();
    }
    let entries = node.entries().map(|(key, value)| {
        let reference = value.text().filter(|_| key == "$ref");
        let turned = match reference.and_then(|reference| elsewhere(file, &reference)) {
            Some((other, fragment)) if files.contains_key(&other) => {
                let other = part(&other).replace('%', "%25").replace('#', "%23");
                Value::from(format!("#/{FILES}/{other}{fragment}"))
            }
            _ => turned(value, file, files),
        };
        (key.into_owned(), turned)
    });
    Value::Object(entries.collect())
}

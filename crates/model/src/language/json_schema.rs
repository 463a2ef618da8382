//! JSON Schemas inside documents, checked when the document is read, without network or file
//! access.

use std::collections::{HashMap, HashSet};

use jsonschema::error::ValidationErrorKind;
use milepost_syntax::tree::{SyntaxKey, SyntaxKind, SyntaxNode};
use serde_json::{Value, json};

use crate::decode::{Aliases, Decode, Defs, Report, unalias, wrong};
use crate::finding::{Finding, Rule};
use crate::lazy::Lazy;
use crate::limits;
use crate::suggest;
use crate::violation::clip;

/// A valid JSON Schema.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonSchema {
    pub value: Value,
    compiled: Lazy<Result<jsonschema::Validator, String>>,
}

/// A mismatch between a value and a schema, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// The JSON pointer to the value; empty for the whole value.
    pub pointer: String,
    /// What is wrong with the value.
    pub message: String,
    /// The missing property, if that is the problem.
    pub missing: Option<String>,
}

impl JsonSchema {
    /// The mismatches between a value and the schema, up to a limit; an error if the schema does
    /// not compile or a pattern exceeds its limits.
    pub fn misfits(&self, value: &Value) -> Result<Vec<Misfit>, String> {
        let compile = || compile(&self.value).map_err(|error| clip(error.to_string()));
        let compiled = self.compiled.get_or_init(compile);
        let validator = compiled.as_ref().map_err(Clone::clone)?;
        if validator.is_valid(value) {
            return Ok(Vec::new());
        }
        let errors: Vec<_> = validator.iter_errors(value).take(limits::MISFITS).collect();
        let gave_up = |error: &&jsonschema::ValidationError<'_>| {
            use ValidationErrorKind::{BacktrackLimitExceeded, RegexEngineFailure};
            matches!(error.kind(), BacktrackLimitExceeded { .. } | RegexEngineFailure { .. })
        };
        if let Some(error) = errors.iter().find(gave_up) {
            return Err(clip(error.to_string()));
        }
        let misfit = |error: jsonschema::ValidationError<'_>| Misfit {
            pointer: error.instance_path().to_string(),
            message: clip(error.to_string()),
            missing: match error.kind() {
                ValidationErrorKind::Required { property } => property.as_str().map(str::to_owned),
                _ => None,
            },
        };
        Ok(errors.into_iter().map(misfit).collect())
    }
}

fn compile(schema: &Value) -> Result<jsonschema::Validator, jsonschema::ValidationError<'static>> {
    let patterns = jsonschema::PatternOptions::fancy_regex()
        .backtrack_limit(limits::PATTERN_STEPS)
        .size_limit(limits::PATTERN_COMPILED_BYTES);
    let options = jsonschema::options().should_validate_formats(true);
    build(&options.with_pattern_options(patterns), schema)
}

/// Compiles a JSON Schema. Every schema is compiled here, because each crate that called the
/// library's generic function would contain its own copy of the code for all keywords.
pub fn build(
    options: &jsonschema::ValidationOptions<'_>,
    schema: &Value,
) -> Result<jsonschema::Validator, jsonschema::ValidationError<'static>> {
    options.build(schema)
}

impl Decode for JsonSchema {
    const WANT: &'static str = "a JSON Schema";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        decode(node, Rule::Schema, report)
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": ["object", "boolean"]})
    }
}

/// Decodes a schema; an invalid one is reported under `rule`.
pub(crate) fn decode(node: &SyntaxNode, rule: Rule, report: &mut Report) -> Option<JsonSchema> {
    if !matches!(node.kind, SyntaxKind::Map(_) | SyntaxKind::Bool(_)) {
        return wrong(node, report);
    }
    let value = node.to_value();
    let too_large = if node.count() > limits::SCHEMA_NODES {
        Some(format!("the schema has more than {} parts", limits::SCHEMA_NODES))
    } else if value.to_string().len() > limits::SCHEMA_BYTES {
        Some(format!("the schema is larger than {} bytes", limits::SCHEMA_BYTES))
    } else if unfolds_too_far(&value) {
        Some("the schema has too many parts when its references are followed".to_owned())
    } else {
        None
    };
    if let Some(message) = too_large {
        report.add(Finding::error(node.at, rule, message).suggest("simplify it"));
        return None;
    }
    if let Some(reference) = outside_reference(node) {
        Finding::error(reference.at, rule, "a `$ref` to another document")
            .expected("a reference that starts with `#`")
            .suggest("put the definition under `$defs` in this schema")
            .add_to(report);
        return None;
    }
    if let Some(key) = misspelt_keyword(node) {
        let meant = suggest::nearest(&key.name, keywords()).unwrap_or_default();
        let message = format!("`{}` is not a JSON Schema keyword", key.name);
        Finding::error(key.at, rule, message)
            .expected(format!("`{meant}`"))
            .did_you_mean_key(key.at, Some(meant), "")
            .add_to(report);
        return None;
    }
    match fault(&value) {
        None => Some(JsonSchema { value, compiled: Lazy::default() }),
        Some((pointer, message)) => {
            let found = node_at_pointer(node, &pointer);
            let name = found.text().filter(|name| is_type(&pointer) && !TYPES.contains(name));
            let message = format!("not a valid JSON Schema: {message}");
            report.add(match name {
                Some(name) => unknown_type(found, name, rule),
                None => Finding::error(found.at, rule, message).suggest("fix the schema here"),
            });
            None
        }
    }
}

/// The keywords of all JSON Schema drafts, and those that `OpenAPI` adds.
const KEYWORDS: &str = "\
    $anchor $comment $defs $dynamicAnchor $dynamicRef $id $recursiveAnchor $recursiveRef $ref \
    $schema $vocabulary additionalItems additionalProperties allOf anyOf const contains \
    contentEncoding contentMediaType contentSchema default definitions dependencies \
    dependentRequired dependentSchemas deprecated description discriminator else enum example \
    examples exclusiveMaximum exclusiveMinimum externalDocs format id if items maxContains \
    maxItems maxLength maxProperties maximum minContains minItems minLength minProperties \
    minimum multipleOf not nullable oneOf pattern patternProperties prefixItems properties \
    propertyNames readOnly required then title type unevaluatedItems unevaluatedProperties \
    uniqueItems writeOnly xml";

fn keywords() -> impl Iterator<Item = &'static str> {
    KEYWORDS.split_ascii_whitespace()
}

/// The first key that is not a keyword but was clearly meant to be one. JSON Schema ignores unknown
/// keywords, so a misspelled `required` would silently check nothing.
fn misspelt_keyword(node: &SyntaxNode) -> Option<&SyntaxKey> {
    for (key, value) in node.entries() {
        let name = key.name.as_str();
        if keywords().all(|keyword| keyword != name) {
            let meant = suggest::nearest(name, keywords());
            if meant.is_some_and(|meant| node.get(meant).is_none()) && !name.starts_with("x-") {
                return Some(key);
            }
            continue;
        }
        let found = match name {
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => {
                value.entries().iter().find_map(|(_, schema)| misspelt_keyword(schema))
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                value.items().iter().find_map(misspelt_keyword)
            }
            "items" | "additionalProperties" | "not" | "if" | "then" | "else" | "contains" => {
                misspelt_keyword(value)
            }
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The type names in JSON Schema.
const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object", "null"];

/// Type names from other languages.
const TYPE_SLIPS: Aliases = &[
    ("string", &["text"]),
    ("number", &["float", "double"]),
    ("array", &["list"]),
    ("object", &["dict", "map"]),
    ("null", &["none"]),
];

/// Whether a pointer ends at the `type` of a schema, or in a list of types.
fn is_type(pointer: &str) -> bool {
    let owner = pointer.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('/');
    owner.ends_with("/type") && !owner.ends_with("/properties/type")
}

fn unknown_type(node: &SyntaxNode, name: &str, rule: Rule) -> Finding {
    let meant = unalias(TYPE_SLIPS, name).or_else(|| suggest::nearest_word(name, TYPES));
    let types = suggest::list(TYPES);
    let fault = Finding::error(node.at, rule, format!("`{name}` is not a JSON Schema type"))
        .expected(types.clone())
        .actual(format!("`{name}`"));
    fault.did_you_mean(node.at, meant, &format!("use {types}"))
}

/// The first error in a schema: its position and message.
fn fault(schema: &Value) -> Option<(String, String)> {
    if is_plain(schema) {
        return None;
    }
    let told = |error: &jsonschema::ValidationError<'_>| {
        (error.instance_path().to_string(), error.to_string())
    };
    let compiled = compile(schema).err()?;
    // Compiling also checks against the meta-schema, but gives less precise positions.
    let judged = jsonschema::meta::validate(schema).err();
    Some(judged.as_ref().map_or_else(|| told(&compiled), told))
}

/// Whether a schema is so simple that it need not be checked against the meta-schema: plain types,
/// nested properties, lists of names. Most schemas in workflows are this simple, and compiling each
/// one would dominate the time to validate a large workflow.
fn is_plain(schema: &Value) -> bool {
    let Some(object) = schema.as_object() else { return schema.is_boolean() };
    object.iter().all(|(key, value)| match key.as_str() {
        "type" => value.as_str().is_some_and(|name| TYPES.contains(&name)),
        "properties" => value.as_object().is_some_and(|map| map.values().all(is_plain)),
        "items" | "additionalProperties" => is_plain(value),
        "required" => value.as_array().is_some_and(|names| {
            names.iter().all(Value::is_string)
                && names.iter().collect::<HashSet<_>>().len() == names.len()
        }),
        "description" | "title" => value.is_string(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        "minimum" | "maximum" => value.is_number(),
        "default" | "const" => true,
        "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
        _ => false,
    })
}

/// Whether validating a value may take exponential time, because references are expanded repeatedly
/// or because two branches of a choice lead back to the same schema.
fn unfolds_too_far(schema: &Value) -> bool {
    let mut unfolding = Unfolding { root: schema, sizes: HashMap::new(), open: Vec::new() };
    unfolding.size(schema).parts > limits::SCHEMA_UNFOLDED
}

/// Counts the nodes of a schema with its references expanded.
struct Unfolding<'s> {
    root: &'s Value,
    sizes: HashMap<&'s str, Size>,
    /// The references being expanded.
    open: Vec<&'s str>,
}

#[derive(Clone, Copy)]
struct Size {
    parts: usize,
    /// Whether the expansion leads back to a reference that is being expanded.
    returns: bool,
}

impl Size {
    fn add(&mut self, other: Size) {
        self.parts = self.parts.saturating_add(other.parts);
        self.returns |= other.returns;
    }
}

impl<'s> Unfolding<'s> {
    fn size(&mut self, schema: &'s Value) -> Size {
        let mut size = Size { parts: 1, returns: false };
        for (key, value) in schema.as_object().into_iter().flatten() {
            let target = value.as_str().filter(|_| key == "$ref" || key == "$dynamicRef");
            let found = match target {
                Some(target) => self.followed(target),
                None if matches!(key.as_str(), "anyOf" | "oneOf" | "allOf") => self.choice(value),
                None => self.size(value),
            };
            size.add(found);
        }
        for item in schema.as_array().into_iter().flatten() {
            size.add(self.size(item));
        }
        size
    }

    fn choice(&mut self, branches: &'s Value) -> Size {
        let mut size = Size { parts: 1, returns: false };
        for branch in branches.as_array().into_iter().flatten() {
            let found = self.size(branch);
            // Two branches that lead back double the work with every level of the value.
            let doubles = size.returns && found.returns;
            size.add(Size { parts: if doubles { usize::MAX } else { found.parts }, ..found });
        }
        size
    }

    fn followed(&mut self, target: &'s str) -> Size {
        if self.open.contains(&target) || target == "#" {
            return Size { parts: 1, returns: true };
        }
        if let Some(size) = self.sizes.get(target) {
            return *size;
        }
        let schema = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(schema) = schema else { return Size { parts: 1, returns: false } };
        self.open.push(target);
        let size = self.size(schema);
        self.open.pop();
        self.sizes.insert(target, size);
        size
    }
}

fn outside_reference(node: &SyntaxNode) -> Option<&SyntaxNode> {
    for (key, value) in node.entries() {
        let outside = value.text().is_some_and(|target| !target.starts_with('#'));
        if (key.name == "$ref" || key.name == "$dynamicRef") && outside {
            return Some(value);
        }
        if let Some(found) = outside_reference(value) {
            return Some(found);
        }
    }
    node.items().iter().find_map(outside_reference)
}

fn node_at_pointer<'n>(node: &'n SyntaxNode, pointer: &str) -> &'n SyntaxNode {
    pointer.split('/').skip(1).fold(node, |node, segment| {
        let name = segment.replace("~1", "/").replace("~0", "~");
        let item = || name.parse::<usize>().ok().and_then(|index| node.items().get(index));
        node.get(&name).or_else(item).unwrap_or(node)
    })
}

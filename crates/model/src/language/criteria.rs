//! The criteria that the output of an agent step is checked against.
//!
//! This module decodes and validates the criteria; it does not check outputs. Errors inside
//! criteria do not make a guide unusable, so a guide with an invalid pattern can still be listed
//! and walked.

use milepost_syntax::mend::Mend;
use milepost_syntax::tree::{SyntaxKey, SyntaxKind, SyntaxNode};
use regex_syntax::hir::Hir;
use serde_json::{Value, json};

use crate::condition::Condition;
use crate::decode::{Aliases, Decode, Defs, Report, every, text, unalias, wrong};
use crate::finding::{Finding, Rule, Severity};
use crate::json_schema::{self, JsonSchema};
use crate::lazy::Lazy;
use crate::limits;
use crate::pattern::{self, TOO_LARGE};
use crate::suggest;

/// A rule or a composition of rules.
#[derive(Debug, Clone, PartialEq)]
pub enum Criteria {
    /// All criteria hold: `and`, or a plain list.
    All(Vec<Criteria>),
    /// At least one holds.
    Any(Vec<Criteria>),
    /// The criterion does not hold.
    Not(Box<Criteria>),
    /// A single rule.
    Check(Check),
}

impl Criteria {
    /// The schema of structured output, if a rule without a condition has one.
    pub fn schema(&self) -> Option<&JsonSchema> {
        match self {
            Criteria::All(parts) | Criteria::Any(parts) => parts.iter().find_map(Criteria::schema),
            Criteria::Not(_) => None,
            Criteria::Check(check) => match &check.kind {
                CheckKind::Schema(schema) if check.condition.is_none() => Some(schema),
                _ => None,
            },
        }
    }
}

/// A single rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    pub kind: CheckKind,
    /// The author's message for a failure.
    pub message: String,
    /// The condition under which the rule applies.
    pub condition: Option<Condition>,
}

/// What a rule checks.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckKind {
    /// The output contains this text.
    Contains(String),
    /// The output matches a pattern.
    Regex(RulePattern),
    /// The output has at least `min` and at most `max` characters.
    Length { min: Option<u64>, max: Option<u64> },
    /// The output is JSON that matches this schema.
    Schema(JsonSchema),
}

/// A rule's pattern, which may use look-around and back-references.
#[derive(Debug, Clone, PartialEq)]
pub struct RulePattern {
    /// The pattern, in the syntax of `fancy-regex`.
    pub source: String,
    /// The effective flags: any of `i`, `m`, `s`, `x` and `u`.
    pub flags: String,
    compiled: Lazy<Result<fancy_regex::Regex, String>>,
}

impl RulePattern {
    /// Whether the pattern matches anywhere in the output. The error explains why that cannot be
    /// decided within the limits.
    pub fn is_match(&self, text: &str) -> Result<bool, String> {
        let compiled = self.compiled.get_or_init(|| build(&self.source, &self.flags));
        let regex = compiled.as_ref().map_err(Clone::clone)?;
        let limit = limits::UNANCHORED_BYTES;
        if text.len() > limit && !self.is_plain() && !self.is_anchored() {
            let told = "it uses look-around or back-references and is not anchored";
            return Err(format!("{told}: to match more than {limit} bytes, start it with `^`"));
        }
        regex.is_match(text).map_err(|_| {
            format!("it takes more than {} steps on this output", limits::PATTERN_STEPS)
        })
    }

    /// Whether a linear-time search is enough for the pattern.
    fn is_plain(&self) -> bool {
        regex_syntax::parse(&with_flags(&self.source, &self.flags)).is_ok()
    }

    /// Whether the pattern can only match at the start of the text.
    fn is_anchored(&self) -> bool {
        let begins = self.source.starts_with('^') || self.source.starts_with("\\A");
        begins && !self.flags.contains('m') && !self.source.contains('|')
    }
}

impl Decode for Criteria {
    const WANT: &'static str = "validation rules";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match &node.kind {
            SyntaxKind::List(_) => Vec::decode(node, report).map(Criteria::All),
            SyntaxKind::Map(_) => composition(node, report),
            _ => wrong(node, report),
        }
    }

    fn schema(defs: &mut Defs) -> Value {
        let condition = Condition::schema(defs);
        let rule = json!({"$ref": "#/$defs/ValidationRule"});
        let message = json!({"type": "string", "description": "The message when it fails."});
        let of_type = |name: &str, fields: Value, required: &[&str]| {
            let all = [&["type", "message"], required].concat();
            let mut properties = fields;
            properties["type"] = json!({"const": name});
            properties["message"] = message.clone();
            properties["condition"] = condition.clone();
            json!({
                "type": "object",
                "properties": properties,
                "required": all,
                "additionalProperties": false,
            })
        };
        let count = json!({"type": "integer", "minimum": 0});
        let pattern = json!({"pattern": {"type": "string"}, "flags": {"type": "string"}});
        let schema = json!({"schema": {"type": ["object", "boolean"]}});
        let parts = json!({"type": "array", "items": rule});
        let branches = [
            of_type("contains", json!({"value": {"type": "string"}}), &["value"]),
            of_type("regex", pattern, &["pattern"]),
            of_type("length", json!({"min": count, "max": count}), &[]),
            of_type("schema", schema, &["schema"]),
            json!({
                "type": "object",
                "properties": {"and": parts, "or": parts, "not": rule},
                "minProperties": 1,
                "additionalProperties": false,
            }),
        ];
        defs.insert("ValidationRule", json!({"anyOf": branches}));
        json!({"anyOf": [{"type": "array", "items": rule}, rule]})
    }
}

fn composition(node: &SyntaxNode, report: &mut Report) -> Option<Criteria> {
    let parts = ["and", "or", "not"].iter().filter_map(|name| node.entry(name));
    let parts: Vec<_> = parts.collect();
    if node.get("type").is_some() || parts.is_empty() {
        return check(node, report).map(Criteria::Check);
    }
    for (key, _) in node.entries() {
        if !matches!(key.name.as_str(), "and" | "or" | "not") {
            let message = format!("`{}` cannot be combined with `and`, `or` or `not`", key.name);
            let fault = Finding::error(key.at, Rule::Criteria, message);
            report.add(fault.suggest("remove it, or move it elsewhere"));
        }
    }
    let mut parts = every(parts.into_iter().map(|(key, value)| match key.name.as_str() {
        "and" => Vec::decode(value, report).map(Criteria::All),
        "or" => Vec::decode(value, report).map(Criteria::Any),
        _ => Criteria::decode(value, report).map(|part| Criteria::Not(Box::new(part))),
    }))?;
    if parts.len() == 1 { parts.pop() } else { Some(Criteria::All(parts)) }
}

/// The fields of each rule type, except `type`, `message` and `condition`.
const FIELDS: &[(&str, &[&str])] = &[
    ("contains", &["value"]),
    ("regex", &["pattern", "flags"]),
    ("length", &["min", "max"]),
    ("schema", &["schema"]),
];

/// Other names that authors use for a rule's fields.
const SLIPS: Aliases = &[
    ("pattern", &["regex"]),
    ("value", &["text"]),
    ("min", &["minLength", "min_length"]),
    ("max", &["maxLength", "max_length"]),
];

fn check(node: &SyntaxNode, report: &mut Report) -> Option<Check> {
    let (name, fields) = rule_type(node, report)?;
    let before = report.count();
    let message = required(node, "message", report).and_then(|node| String::decode(node, report));
    let condition =
        node.get("condition").map(|node| Condition::decode(node, report)).unwrap_or_default();
    stray_fields(node, name, fields, report);
    let kind = match name {
        "contains" => required(node, "value", report)
            .and_then(|node| String::decode(node, report))
            .map(CheckKind::Contains),
        "regex" => regex(node, report),
        "length" => length(node, report),
        _ => required(node, "schema", report)
            .and_then(|node| json_schema::decode(node, Rule::Schema, report))
            .map(CheckKind::Schema),
    };
    if report.count() > before {
        return None;
    }
    Some(Check { kind: kind?, message: message?, condition })
}

fn rule_type(
    node: &SyntaxNode,
    report: &mut Report,
) -> Option<(&'static str, &'static [&'static str])> {
    let names = || FIELDS.iter().map(|(name, _)| *name);
    let Some(found) = node.get("type") else {
        let misspelt =
            |(key, _): &&(SyntaxKey, SyntaxNode)| suggest::nearest(&key.name, ["type"]).is_some();
        if let Some((key, _)) = node.entries().iter().find(misspelt) {
            let message = format!("unknown key `{}`", key.name);
            let fault = Finding::error(key.at, Rule::Criteria, message).expected("`type`");
            report.add(fault.did_you_mean_key(key.at, Some("type"), ""));
            return None;
        }
        let fault = Finding::error(node.at, Rule::Criteria, "a rule without a `type`")
            .expected(suggest::list(names()));
        report.add(match (misspelt_type(node), type_by_field(node)) {
            (Some((key, meant)), _) => {
                let fault = Finding { place: key.at.into(), ..fault };
                fault.did_you_mean_key(key.at, Some(meant), "")
            }
            (None, Some(name)) => {
                let (map, key) = (node.at, "type".to_owned());
                let mend = Mend::Insert { map, key, value: name.into() };
                fault.suggest(format!("add `type: {name}`")).mend(mend)
            }
            (None, None) => fault.suggest("add a `type`"),
        });
        return None;
    };
    let text = text(found, "a rule type", report)?;
    if let Some((name, fields)) = FIELDS.iter().find(|(name, _)| *name == text) {
        return Some((name, fields));
    }
    let fault = Finding::error(found.at, Rule::Criteria, format!("unknown rule type `{text}`"))
        .expected(suggest::list(names()))
        .actual(format!("`{text}`"));
    let otherwise = format!("use {}", suggest::list(names()));
    report.add(fault.did_you_mean(found.at, suggest::nearest(&text, names()), &otherwise));
    None
}

/// A key that was probably meant to be `type`, `and`, `or` or `not`, judging by its name and value.
fn misspelt_type(node: &SyntaxNode) -> Option<(&SyntaxKey, &'static str)> {
    let meant = |key: &SyntaxKey, value: &SyntaxNode| {
        let is_type = value.text().is_some_and(|text| FIELDS.iter().any(|(name, _)| *name == text));
        let words: &[&'static str] = match value.kind {
            SyntaxKind::Str(_) if is_type => &["type"],
            SyntaxKind::List(_) => &["and", "or"],
            SyntaxKind::Map(_) => &["not"],
            _ => &[],
        };
        let near = match key.name.as_str() {
            "all" | "allOf" => "and",
            "any" | "anyOf" => "or",
            name => suggest::nearest(name, words)?,
        };
        words.iter().copied().find(|word| *word == near)
    };
    node.entries().iter().find_map(|(key, value)| Some((key, meant(key, value)?)))
}

/// The type of the rule, if only one type has any of the fields that are present.
fn type_by_field(node: &SyntaxNode) -> Option<&'static str> {
    let has = |fields: &[&str]| fields.iter().any(|field| node.get(field).is_some());
    let fitting: Vec<&str> =
        FIELDS.iter().filter(|(_, fields)| has(fields)).map(|(name, _)| *name).collect();
    if let [one] = fitting.as_slice() { Some(one) } else { None }
}

fn required<'n>(node: &'n SyntaxNode, key: &str, report: &mut Report) -> Option<&'n SyntaxNode> {
    let found = node.get(key);
    // A misspelled key has already been reported, so it is not reported as missing too.
    let misspelt = || {
        let stands_for = |name: &str| unalias(SLIPS, name) == Some(key) || is_near(name, key, node);
        node.entries().iter().any(|(name, _)| stands_for(&name.name))
    };
    if found.is_none() && !misspelt() {
        Finding::error(node.at, Rule::Criteria, format!("a rule without `{key}`"))
            .expected(format!("`{key}`"))
            .suggest(format!("add `{key}`"))
            .add_to(report);
    }
    found
}

fn is_near(name: &str, key: &str, node: &SyntaxNode) -> bool {
    node.get(key).is_none() && suggest::nearest(name, [key]).is_some()
}

fn stray_fields(node: &SyntaxNode, rule: &str, fields: &[&'static str], report: &mut Report) {
    let common = ["type", "message", "condition"];
    for (key, _) in node.entries() {
        let name = key.name.as_str();
        if common.contains(&name) || fields.contains(&name) {
            continue;
        }
        if report.is_full() {
            report.leave_out(Severity::Error);
            continue;
        }
        let message = format!("`{name}` does not belong to a `{rule}` rule");
        let fault = Finding::error(key.at, Rule::Criteria, message)
            .expected(suggest::list(fields.iter().chain(&common).copied()));
        let absent = |key: &&str| node.get(key).is_none();
        let own = fields.iter().chain(&common).copied().filter(absent);
        let slip = unalias(SLIPS, name);
        let slip = slip.filter(|meant| fields.contains(meant) && absent(meant));
        report.add(match (slip.or_else(|| suggest::nearest(name, own)), report.around(key)) {
            (None, Some(mend)) => fault.suggest("move it out of the rule").mend(mend),
            (meant, _) => fault.did_you_mean_key(key.at, meant, "remove it, or move it elsewhere"),
        });
    }
}

fn regex(node: &SyntaxNode, report: &mut Report) -> Option<CheckKind> {
    let flags = match node.get("flags") {
        None => String::new(),
        Some(found) => {
            let text = text(found, "a string of flags", report)?;
            if let Some(bad) = text.chars().find(|flag| !"imsxugy".contains(*flag)) {
                Finding::error(found.at, Rule::Criteria, format!("unknown flag `{bad}`"))
                    .expected("any of the flags `i`, `m`, `s`, `x` and `u`")
                    .suggest("remove it")
                    .add_to(report);
                return None;
            }
            text.chars().filter(|flag| "imsxu".contains(*flag)).collect()
        }
    };
    let found = required(node, "pattern", report)?;
    let pattern = String::decode(found, report)?;
    if let Err(cause) = report.patterns.is_sound(&pattern, &flags, compile) {
        report.add(pattern::invalid(found, Rule::Criteria, &cause));
        return None;
    }
    Some(CheckKind::Regex(RulePattern { source: pattern, flags, compiled: Lazy::default() }))
}

/// Checks that a pattern, which may use look-around and back-references, is valid and within the
/// limits.
fn compile(pattern: &str, flags: &str) -> Result<(), String> {
    if pattern.len() > limits::PATTERN_BYTES {
        return Err(format!("it is longer than {} bytes", limits::PATTERN_BYTES));
    }
    // Compiling costs a hundred times as much as parsing, and a pattern that parses can only fail
    // to compile if it uses look-around or is large. It is parsed without the `i` flag, because
    // expanding cases is slow.
    let caseless = flags.contains('i');
    let plain = regex_syntax::parse(&with_flags(pattern, &flags.replace('i', "")));
    let bytes = |tree: Hir| pattern::compiled_bytes(&tree, caseless);
    let fits = |tree: Hir| bytes(tree) <= limits::PATTERN_COMPILED_BYTES;
    if plain.is_ok_and(fits) && fancy_regex::Expr::parse_tree(&with_flags(pattern, flags)).is_ok() {
        return Ok(());
    }
    build(pattern, flags).map(|_| ())
}

fn with_flags(pattern: &str, flags: &str) -> String {
    let flags: String = flags.chars().filter(|flag| "imsx".contains(*flag)).collect();
    if flags.is_empty() { pattern.to_owned() } else { format!("(?{flags}){pattern}") }
}

fn build(pattern: &str, flags: &str) -> Result<fancy_regex::Regex, String> {
    fancy_regex::RegexBuilder::new(&with_flags(pattern, flags))
        .delegate_size_limit(limits::PATTERN_COMPILED_BYTES)
        .backtrack_limit(limits::PATTERN_STEPS)
        .build()
        .map_err(|error| {
            // The library reports the size limit only as text, with varying wording.
            let words = error.to_string();
            let told = words.to_lowercase();
            if told.contains("size limit") || told.contains("building nfa") {
                return TOO_LARGE.to_owned();
            }
            // The underlying library gives more detail if it is the one that rejects the pattern.
            let source = with_flags(pattern, flags);
            let below = regex_syntax::parse(&source).err().map(|error| error.to_string());
            let words = match (&error, below) {
                (fancy_regex::Error::CompileError(_), Some(below)) => below,
                _ => words,
            };
            let last = words.lines().last().unwrap_or("").trim();
            let cause = last.split_once(": ").map_or(last, |(_, cause)| cause);
            lower_first(cause)
        })
}

/// Lowercases the first letter of a cause for use within a sentence.
fn lower_first(cause: &str) -> String {
    let mut letters = cause.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}

fn length(node: &SyntaxNode, report: &mut Report) -> Option<CheckKind> {
    let bound = |key: &str, report: &mut Report| match node.get(key) {
        None => Some(None),
        Some(found) => crate::decode::Int::<0, { i64::MAX }>::decode(found, report)
            .map(|number| Some(number.0.unsigned_abs())),
    };
    let (min, max) = (bound("min", report), bound("max", report));
    let (min, max) = (min?, max?);
    let misspelt = node
        .entries()
        .iter()
        .any(|(name, _)| is_near(&name.name, "min", node) || is_near(&name.name, "max", node));
    if min.is_none() && max.is_none() && !misspelt {
        Finding::error(node.at, Rule::Criteria, "a `length` rule without `min` or `max`")
            .expected("`min`, `max` or both")
            .suggest("add `min` or `max`")
            .add_to(report);
        return None;
    }
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        Finding::error(node.at, Rule::Criteria, format!("`min` {min} is above `max` {max}"))
            .suggest("swap the two")
            .add_to(report);
        return None;
    }
    Some(CheckKind::Length { min, max })
}

//! Decodes the tree into typed values and collects every finding along the way.
//!
//! One `shape!` declares a struct, its decoder and its JSON Schema, so that the three cannot drift
//! apart. A decoder that fails has already reported why; its callers report nothing.

pub(crate) mod named_enum;
pub(crate) mod report;
pub mod schema;
pub mod suggest;

use std::collections::BTreeMap;

use milepost_syntax::mend::Mend;
use milepost_syntax::span::Span;
use milepost_syntax::tree::{SyntaxKey, SyntaxKind, SyntaxNode};
use serde_json::{Map, Value, json};

use crate::finding::{Finding, Rule, Severity};
pub(crate) use crate::report::{KnownKeys, Report};

/// A type that can be decoded from a node. `None` means that decoding failed and was reported.
pub(crate) trait Decode: Sized {
    /// The expected value as worded in messages: "a whole number".
    const WANT: &'static str;

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self>;

    /// The JSON Schema for such a value; by default it accepts any value. Named parts are added to
    /// `defs`.
    fn schema(_defs: &mut Defs) -> Value {
        json!({})
    }
}

/// The named definitions of a schema.
pub(crate) type Defs = BTreeMap<&'static str, Value>;

/// Reports a value of the wrong type, with a fix if the intended value is unambiguous.
pub(crate) fn wrong<T: Decode>(node: &SyntaxNode, report: &mut Report) -> Option<T> {
    mistyped(node, T::WANT, None, report)
}

pub(crate) fn mistyped<T>(
    node: &SyntaxNode,
    want: &str,
    meant: Option<Value>,
    report: &mut Report,
) -> Option<T> {
    if node.kind == SyntaxKind::Bad {
        return None;
    }
    let fault =
        Finding::error(node.at, Rule::Type, format!("expected {want}, found {}", node.noun()))
            .expected(want)
            .actual(node.noun());
    report.add(fault.write_instead(node.at, meant, &format!("put {want} here")));
    None
}

/// A decoded value with its position. Equality ignores the position, here and in all `language`
/// types that have an `at`.
#[derive(Debug, Clone)]
pub struct Spot<T> {
    pub at: Span,
    pub value: T,
}

impl<T: PartialEq> PartialEq for Spot<T> {
    fn eq(&self, other: &Spot<T>) -> bool {
        self.value == other.value
    }
}

impl<T: Decode> Decode for Spot<T> {
    const WANT: &'static str = T::WANT;

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        T::decode(node, report).map(|value| Spot { at: node.at, value })
    }

    fn schema(defs: &mut Defs) -> Value {
        T::schema(defs)
    }
}

impl Decode for String {
    const WANT: &'static str = "a string";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match &node.kind {
            SyntaxKind::Str(text) => Some(text.clone()),
            SyntaxKind::Int(_) | SyntaxKind::Float(_) | SyntaxKind::Bool(_) => {
                let meant = report.written(node).map(Value::from);
                mistyped(node, Self::WANT, meant, report)
            }
            // `- Note: read it first` is a map in YAML but a sentence to its author.
            SyntaxKind::Map(entries) if entries.len() == 1 && !is_collection(&entries[0].1) => {
                let meant = report.written(node).filter(|text| !text.starts_with('{'));
                let meant = meant.filter(|text| !text.contains('\n')).map(Value::from);
                mistyped(node, Self::WANT, meant, report)
            }
            _ => wrong(node, report),
        }
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": "string"})
    }
}

fn is_collection(node: &SyntaxNode) -> bool {
    matches!(node.kind, SyntaxKind::Map(_) | SyntaxKind::List(_))
}

/// Decodes text that is then parsed further, so quoting a number or boolean is not offered as a
/// fix.
pub(crate) fn text(node: &SyntaxNode, want: &str, report: &mut Report) -> Option<String> {
    let text = node.text().map(str::to_owned);
    text.or_else(|| mistyped(node, want, None, report))
}

impl Decode for bool {
    const WANT: &'static str = "true or false";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match &node.kind {
            SyntaxKind::Bool(flag) => Some(*flag),
            SyntaxKind::Str(text) => {
                let meant = match text.to_ascii_lowercase().as_str() {
                    "true" | "yes" | "on" => Some(Value::Bool(true)),
                    "false" | "no" | "off" => Some(Value::Bool(false)),
                    _ => None,
                };
                mistyped(node, Self::WANT, meant, report)
            }
            _ => wrong(node, report),
        }
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": "boolean"})
    }
}

/// An integer whose bounds are part of the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Int<const MIN: i64, const MAX: i64>(pub i64);

impl<const MIN: i64, const MAX: i64> Int<MIN, MAX> {
    /// The number, for types whose bounds fit in `u32`.
    pub fn get(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl<const MIN: i64, const MAX: i64> Decode for Int<MIN, MAX> {
    const WANT: &'static str = "a whole number";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let number = match &node.kind {
            SyntaxKind::Int(number) => *number,
            SyntaxKind::Str(text) => {
                let meant = text.trim().parse::<i64>().ok().filter(|n| (MIN..=MAX).contains(n));
                return mistyped(node, Self::WANT, meant.map(Value::from), report);
            }
            SyntaxKind::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
                let meant = *number as i64;
                return mistyped(node, Self::WANT, Some(Value::from(meant)), report);
            }
            _ => return wrong(node, report),
        };
        if (MIN..=MAX).contains(&number) {
            return Some(Int(number));
        }
        let limit = if number < MIN { MIN } else { MAX };
        let range = range_words(MIN, MAX);
        Finding::error(node.at, Rule::Range, format!("{number} is out of range"))
            .expected(range.clone())
            .actual(number.to_string())
            .suggest(format!("use {range}, for example {limit}"))
            .add_to(report);
        None
    }

    fn schema(_: &mut Defs) -> Value {
        let mut schema = json!({"type": "integer", "minimum": MIN});
        if MAX < i64::MAX {
            schema["maximum"] = MAX.into();
        }
        schema
    }
}

fn range_words(min: i64, max: i64) -> String {
    if max == i64::MAX { format!("at least {min}") } else { format!("{min} to {max}") }
}

/// Text whose minimum and maximum length, in characters, are part of the type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundedText<const MIN: usize, const MAX: usize>(pub String);

impl<const MIN: usize, const MAX: usize> Decode for BoundedText<MIN, MAX> {
    const WANT: &'static str = "a string";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let text = String::decode(node, report)?;
        let length = text.chars().count();
        if (MIN..=MAX).contains(&length) {
            return Some(BoundedText(text));
        }
        let message = match length {
            0 => "an empty string".to_owned(),
            _ => format!("a string of length {length}"),
        };
        Finding::error(node.at, Rule::Range, message)
            .expected(format!("{MIN} to {MAX} characters"))
            .actual(format!("{length} characters"))
            .suggest(format!("use {MIN} to {MAX} characters"))
            .add_to(report);
        None
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": "string", "minLength": MIN, "maxLength": MAX})
    }
}

impl Decode for f64 {
    const WANT: &'static str = "a number";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match &node.kind {
            #[expect(clippy::cast_precision_loss, reason = "the bounds are small")]
            SyntaxKind::Int(number) => Some(*number as f64),
            SyntaxKind::Float(number) => Some(*number),
            SyntaxKind::Str(text) => {
                let meant = serde_json::from_str::<Value>(text.trim()).ok();
                mistyped(node, Self::WANT, meant.filter(Value::is_number), report)
            }
            _ => wrong(node, report),
        }
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": "number"})
    }
}

/// Accepts any JSON value.
impl Decode for Value {
    const WANT: &'static str = "a value";

    fn decode(node: &SyntaxNode, _: &mut Report) -> Option<Self> {
        (node.kind != SyntaxKind::Bad).then(|| node.to_value())
    }
}

/// All parts, or `None` if any is `None`. All of them are evaluated, so that every finding is
/// reported.
pub(crate) fn every<T>(parts: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let parts: Vec<Option<T>> = parts.collect();
    parts.into_iter().collect()
}

impl<T: Decode> Decode for Vec<T> {
    const WANT: &'static str = "a list";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match &node.kind {
            SyntaxKind::List(items) => every(items.iter().map(|item| T::decode(item, report))),
            SyntaxKind::Null | SyntaxKind::Bad => wrong(node, report),
            _ => {
                // A single value in place of a list: the fix is certain if the value itself is
                // valid.
                let mut trial = Report::default();
                let fits = T::decode(node, &mut trial).is_some();
                let meant = fits.then(|| json!([node.to_value()]));
                mistyped(node, Self::WANT, meant, report)
            }
        }
    }

    fn schema(defs: &mut Defs) -> Value {
        json!({"type": "array", "items": T::schema(defs)})
    }
}

/// The entries of a map in the author's order.
#[derive(Debug, Clone, PartialEq)]
pub struct Entries<T>(pub Vec<(Spot<String>, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Entries(Vec::new())
    }
}

impl<T> Entries<T> {
    /// Looks up a value by name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(key, _)| key.value == name).map(|(_, value)| value)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| key.value.as_str())
    }
}

impl<T: Decode> Decode for Entries<T> {
    const WANT: &'static str = "a map";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let SyntaxKind::Map(entries) = &node.kind else { return wrong(node, report) };
        let read = |(key, value): &_| Some((spot(key), T::decode(value, report)?));
        every(entries.iter().map(read)).map(Entries)
    }

    fn schema(defs: &mut Defs) -> Value {
        json!({"type": "object", "additionalProperties": T::schema(defs)})
    }
}

pub(crate) fn spot(key: &SyntaxKey) -> Spot<String> {
    Spot { at: key.at, value: key.name.clone() }
}

/// Known keys, each with related keys: either keys that authors write in its place, or keys that
/// belong in its map.
pub(crate) type Aliases = &'static [(&'static str, &'static [&'static str])];

/// The name that an alias is replaced with.
pub(crate) fn unalias(aliases: Aliases, name: &str) -> Option<&'static str> {
    aliases.iter().find(|(_, others)| others.contains(&name)).map(|(meant, _)| *meant)
}

/// Mutually exclusive keys: a step's actions, and the two ways to write a prompt.
const RIVALS: &[KnownKeys] =
    &[&["run", "prompt", "approve", "wait", "set", "fail", "loop"], &["prompt", "promptBlocks"]];

/// Decodes the fields of a map and reports unknown keys.
pub(crate) struct Fields<'n, 'r> {
    node: &'n SyntaxNode,
    known: KnownKeys,
    /// Other names that authors use for a key.
    pub(crate) slips: Aliases,
    /// Keys that authors put here although they belong in the map of another key.
    pub(crate) homes: Aliases,
    /// Whether a value can be decoded as a key's type.
    fits: fn(&str, &SyntaxNode) -> bool,
    missing: Vec<&'static str>,
    report: &'r mut Report,
}

/// Whether a value can be decoded as a type without an error.
pub(crate) fn fits<T: Decode>(node: &SyntaxNode) -> bool {
    let mut trial = Report::default();
    let read = T::decode(node, &mut trial).is_some();
    read && trial.findings.iter().all(|finding| finding.severity != Severity::Error)
}

impl<'n, 'r> Fields<'n, 'r> {
    pub(crate) fn of<T: Decode>(
        node: &'n SyntaxNode,
        known: KnownKeys,
        fits: fn(&str, &SyntaxNode) -> bool,
        report: &'r mut Report,
    ) -> Option<Self> {
        if !node.is_map() {
            return mistyped(node, T::WANT, None, report);
        }
        report.enter(node, known);
        Some(Fields { node, known, slips: &[], homes: &[], fits, missing: Vec::new(), report })
    }

    /// Decodes an optional key. An invalid value is reported and treated as absent.
    pub(crate) fn opt<T: Decode>(&mut self, key: &'static str) -> Option<T> {
        self.node.get(key).and_then(|node| T::decode(node, self.report))
    }

    /// Decodes a required key.
    pub(crate) fn req<T: Decode>(&mut self, key: &'static str) -> Option<T> {
        let Some(node) = self.node.get(key) else {
            self.missing.push(key);
            return None;
        };
        T::decode(node, self.report)
    }

    /// Decodes a required key. If it is missing, the rest of the map is kept for the checks.
    pub(crate) fn must<T: Decode>(&mut self, key: &'static str) -> Option<T> {
        self.req(key)
    }

    /// Reports missing and unknown keys. An unknown key that is probably a misspelling of a missing
    /// one produces a single finding.
    pub(crate) fn finish(mut self) {
        let absent = self.report.leave();
        let known = |key: &SyntaxKey| self.known.contains(&key.name.as_str()) || key.name == "<<";
        let node = self.node;
        for (key, value) in node.entries().iter().filter(|(key, _)| !known(key)) {
            if self.report.is_full() {
                self.report.leave_out(Severity::Error);
                continue;
            }
            let meant = self.meant(key, value, &absent);
            self.missing.retain(|lost| Some(*lost) != meant);
            self.unknown(key, meant);
        }
        for key in std::mem::take(&mut self.missing) {
            self.required(key);
        }
    }

    fn meant(
        &self,
        key: &SyntaxKey,
        value: &SyntaxNode,
        absent: &[&'static str],
    ) -> Option<&'static str> {
        let name = key.name.as_str();
        let slip = unalias(self.slips, name).filter(|meant| !self.has_rival(meant));
        if slip.is_some() && !self.is_lost_condition(name) {
            return slip;
        }
        if self.home(name).is_some() || self.report.around(key).is_some() {
            return None;
        }
        // For inputs, `required` is a known key only so that it can be rejected.
        let inputs = self.known.contains(&"optional");
        let absent = absent.iter().copied().filter(|key| !inputs || *key != "required");
        let near = suggest::near(name, absent.clone());
        // If several keys are equally similar, prefer one that accepts the value, then one that is
        // missing.
        let fitting: Vec<&str> =
            near.iter().copied().filter(|key| (self.fits)(key, value)).collect();
        let missed: Vec<&str> =
            fitting.iter().copied().filter(|key| self.missing.contains(key)).collect();
        let meant = [near, fitting, missed].into_iter().find(|keys| keys.len() == 1);
        let meant = meant.map(|keys| keys[0]).or_else(|| suggest::nearest_word(name, absent))?;
        self.known.iter().copied().find(|key| *key == meant)
    }

    /// Whether the map already has a key that excludes the intended one.
    fn has_rival(&self, meant: &str) -> bool {
        let rivals = RIVALS.iter().filter(|keys| keys.contains(&meant)).copied().flatten();
        rivals.copied().any(|key| key != meant && self.node.get(key).is_some())
    }

    /// A `condition` next to a `while` or `until` loop without one belongs to the loop, not to the
    /// step.
    fn is_lost_condition(&self, name: &str) -> bool {
        let spec = self.node.get("loop").filter(|spec| spec.get("condition").is_none());
        let kind = spec.and_then(|spec| spec.get("type")).and_then(SyntaxNode::text);
        name == "condition" && matches!(kind, Some("while" | "until"))
    }

    /// The fix for a key that belongs in one of this map's nested maps.
    fn home(&self, name: &str) -> Option<(&'static str, Mend)> {
        let under = unalias(self.homes, name)?;
        let is_taken = |target: &SyntaxNode| !target.is_map() || target.get(name).is_some();
        let (into, key) = (self.node.at, self.node.entry(name)?.0.at);
        let mend = Mend::Move { key, into, under: Some(under.to_owned()), name: name.to_owned() };
        (!self.node.get(under).is_some_and(is_taken)).then_some((under, mend))
    }

    fn unknown(&mut self, key: &SyntaxKey, meant: Option<&'static str>) {
        let name = &key.name;
        let fault = Finding::error(key.at, Rule::UnknownKey, format!("unknown key `{name}`"));
        let fault = match meant {
            Some(meant) if self.node.get(meant).is_none() => {
                fault.expected(format!("`{meant}`")).did_you_mean_key(key.at, Some(meant), "")
            }
            Some(meant) => fault.suggest(format!("remove this key: `{meant}` already exists")),
            None => match (self.home(name), self.report.around(key)) {
                (Some((under, mend)), _) => {
                    fault.suggest(format!("move it into `{under}`")).mend(mend)
                }
                (_, Some(mend)) => fault.suggest("move it one level up").mend(mend),
                _ => {
                    let known = suggest::list(self.known);
                    fault.expected(known).suggest("remove it, or put it where it belongs")
                }
            },
        };
        self.report.add(fault);
    }

    fn required(&mut self, key: &'static str) {
        // If the key was misplaced in an enclosing map, the finding there suggests moving it here.
        if self.report.has_strayed(key) {
            return;
        }
        let fault = Finding::required(self.node.at, key, format!("add `{key}`"));
        self.report.add(fault.expected(format!("`{key}`")));
    }
}

/// The schema for a map with fixed keys.
pub(crate) fn object_schema(fields: &[(&str, bool, &str, Value)]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (key, needed, doc, schema) in fields {
        let mut schema = schema.clone();
        if let Some(object) = schema.as_object_mut() {
            object.insert("description".into(), (*doc).into());
        }
        properties.insert((*key).to_owned(), schema);
        if *needed {
            required.push(*key);
        }
    }
    let mut object = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object["additionalProperties"] = Value::Bool(false);
    object
}

/// Declares a struct together with its decoder and its JSON Schema.
///
/// `req` keys are required, `opt` keys are optional. `must` keys are required too, but if one is
/// missing or invalid, the rest of the struct is kept for the checks. Each row consists of key,
/// field, kind, type and description. `kept` keys are accepted for other tools, with a warning that
/// they have no effect here.
macro_rules! shape {
    (
        $(#[$meta:meta])*
        $name:ident = $want:literal
            $(, slips $slips:expr)? $(, homes $homes:expr)? $(, kept $($kept:literal)+)? ;
        $($key:literal $field:ident : $kind:ident $ty:ty = $doc:literal),* $(,)?
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            /// The position in the document.
            pub at: milepost_syntax::span::Span,
            $(#[doc = $doc] pub $field: $crate::decode::shape!(@type $kind $ty)),*
        }

        impl $crate::decode::Decode for $name {
            const WANT: &'static str = $want;

            fn decode(
                node: &milepost_syntax::tree::SyntaxNode,
                report: &mut $crate::decode::Report,
            ) -> Option<Self> {
                const KEYS: &[&str] = &[$($key,)* $($($kept),+)?];
                let fits = |key: &str, value: &_| match key {
                    $($key => $crate::decode::fits::<$ty>(value),)*
                    _ => false,
                };
                let mut fields = $crate::decode::Fields::of::<Self>(node, KEYS, fits, report)?;
                $(fields.slips = $slips;)?
                $(fields.homes = $homes;)?
                $(let $field = fields.$kind::<$ty>($key);)*
                $($(fields.opt::<$crate::guide::KeptField>($kept);)+)?
                fields.finish();
                Some($name { at: node.at, $($field: $crate::decode::shape!(@take $kind $field)),* })
            }

            fn schema(defs: &mut $crate::decode::Defs) -> serde_json::Value {
                let reference = concat!("#/$defs/", stringify!($name));
                if !defs.contains_key(stringify!($name)) {
                    // Inserted first, because a shape may contain itself.
                    defs.insert(stringify!($name), serde_json::Value::Null);
                    let fields = [
                        $((
                            $key,
                            $crate::decode::shape!(@needed $kind),
                            $doc,
                            <$ty as $crate::decode::Decode>::schema(defs),
                        ),)*
                        $($(($kept, false, "Kept for other tools.", serde_json::json!({})),)+)?
                    ];
                    defs.insert(stringify!($name), $crate::decode::object_schema(&fields));
                }
                serde_json::json!({"$ref": reference})
            }
        }
    };
    (@type req $ty:ty) => { $ty };
    (@type must $ty:ty) => { Option<$ty> };
    (@type opt $ty:ty) => { Option<$ty> };
    (@take req $field:ident) => { $field? };
    (@take must $field:ident) => { $field };
    (@take opt $field:ident) => { $field };
    (@needed req) => { true };
    (@needed must) => { true };
    (@needed opt) => { false };
}
pub(crate) use shape;

/// Declares an enum of words: the type, its decoder with "did you mean" suggestions, and its
/// schema.
macro_rules! words {
    (
        $(#[$meta:meta])*
        $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),* $(,)? }
    ) => {
        $crate::named_enum::named_enum! {
            $(#[$meta])*
            pub $name { $($(#[$doc])* $variant = $word),* }
        }

        impl $crate::decode::Decode for $name {
            const WANT: &'static str = concat!("one of", $(" `", $word, "`"),*);

            fn decode(
                node: &milepost_syntax::tree::SyntaxNode,
                report: &mut $crate::decode::Report,
            ) -> Option<Self> {
                let Some(text) = node.text() else { return $crate::decode::wrong(node, report) };
                let found = $name::named(text);
                if found.is_none() {
                    $crate::decode::not_a_choice(node, text, &[$($word),*], report);
                }
                found
            }

            fn schema(_: &mut $crate::decode::Defs) -> serde_json::Value {
                serde_json::json!({"enum": [$($word),*]})
            }
        }
    };
}
pub(crate) use words;

/// Reports a word that is not one of the choices.
pub(crate) fn not_a_choice(node: &SyntaxNode, found: &str, words: &[&str], report: &mut Report) {
    let fault =
        Finding::error(node.at, Rule::Choice, format!("`{found}` is not one of the choices"))
            .expected(suggest::list(words))
            .actual(format!("`{found}`"));
    let meant = suggest::nearest_word(found, words);
    let otherwise = format!("use {}", suggest::list(words));
    report.add(fault.did_you_mean(node.at, meant, &otherwise));
}

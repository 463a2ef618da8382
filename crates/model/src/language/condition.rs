//! Condition objects in the guide format, which can be evaluated in any context.
//!
//! Evaluation is lenient with sloppy values from agents (case, spaces, `"0.9"` for `0.9`). Decoding
//! is strict: an unknown operator makes the document invalid instead of being silently false.

use std::cmp::Ordering::Equal;
use std::fmt;

use milepost_syntax::tree::{SyntaxKey, SyntaxKind, SyntaxNode};
use serde_json::{Value, json};

use crate::decode::{Aliases, Decode, Defs, Report, fits, unalias, wrong};
use crate::finding::{Finding, Rule, Severity};
use crate::pattern::Pattern;
use crate::suggest;

/// A condition that holds if all of its tests hold. Without tests it always holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The tests that must all hold.
    pub tests: Vec<Test>,
}

/// One test of a condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// The variable exists and is not null, false, 0 or the empty string.
    Truthy(Variable),
    /// The comparison holds for the variable.
    Compare(Variable, Comparison),
    /// All conditions hold.
    And(Vec<Condition>),
    /// At least one holds.
    Or(Vec<Condition>),
    /// The condition does not hold.
    Not(Box<Condition>),
}

/// A dotted path into the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable(pub String);

/// The variables available to conditions and prompts: the caller's context, possibly overlaid with
/// loop variables.
pub trait Variables {
    /// The value at a dotted path; null counts as present.
    fn get(&self, path: &str) -> Option<&Value>;

    /// All variables as one object.
    fn to_value(&self) -> Value;
}

impl Variables for Value {
    fn get(&self, path: &str) -> Option<&Value> {
        // A key that contains dots matches as written.
        Value::get(self, path).or_else(|| descend(self, path))
    }

    fn to_value(&self) -> Value {
        self.clone()
    }
}

/// The value at a dotted path below a value; a number in the path is a list index.
pub fn descend<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => value.get(part),
    })
}

/// An operator and its right-hand side.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    Equals(Value),
    NotEquals(Value),
    Greater(f64),
    GreaterOrEqual(f64),
    Less(f64),
    LessOrEqual(f64),
    In(Vec<Value>),
    Contains(Value),
    StartsWith(String),
    EndsWith(String),
    Matches(Pattern),
}

/// What is known about a condition in a context to which variables may still be added.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    /// The condition holds.
    Holds,
    /// The condition fails, regardless of which variables are added.
    Fails,
    /// The result depends on missing variables.
    Undecided(Vec<MissingVariable>),
}

/// A missing variable and the values that would make its test hold, if they can be listed.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingVariable {
    pub variable: String,
    /// The values that would make the test hold.
    pub expected: Option<Vec<Value>>,
}

impl Condition {
    /// Whether the condition holds. A missing variable equals null and nothing else.
    pub fn holds(&self, context: &dyn Variables) -> bool {
        self.tests.iter().all(|test| match test {
            Test::Truthy(variable) => context.get(&variable.0).is_some_and(is_truthy),
            Test::Compare(variable, comparison) => comparison.holds(context.get(&variable.0)),
            Test::And(parts) => parts.iter().all(|part| part.holds(context)),
            Test::Or(parts) => parts.iter().any(|part| part.holds(context)),
            Test::Not(part) => !part.holds(context),
        })
    }

    /// Whether the condition holds, fails, or is waiting for a variable.
    pub fn decide(&self, context: &dyn Variables) -> Truth {
        all(self.tests.iter().map(|test| test.decide(context)))
    }

    /// The variables that the condition reads, in order, without duplicates.
    pub fn variables(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.collect(&mut names);
        names
    }

    fn collect<'c>(&'c self, names: &mut Vec<&'c str>) {
        for test in &self.tests {
            match test {
                Test::Truthy(variable) | Test::Compare(variable, _) => {
                    if !names.contains(&variable.0.as_str()) {
                        names.push(&variable.0);
                    }
                }
                Test::And(parts) | Test::Or(parts) => {
                    parts.iter().for_each(|part| part.collect(names));
                }
                Test::Not(part) => part.collect(names),
            }
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tests.is_empty() {
            return f.write_str("always");
        }
        let tests: Vec<String> = self.tests.iter().map(ToString::to_string).collect();
        f.write_str(&tests.join(" and "))
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |f: &mut fmt::Formatter<'_>, parts: &[Condition], word: &str| {
            let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
            write!(f, "({})", parts.join(word))
        };
        match self {
            Test::Truthy(variable) => f.write_str(&variable.0),
            Test::Compare(variable, comparison) => write!(f, "{} {comparison}", variable.0),
            Test::And(parts) => join(f, parts, " and "),
            Test::Or(parts) => join(f, parts, " or "),
            Test::Not(part) => write!(f, "not ({part})"),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Comparison::Equals(value) => write!(f, "= {value}"),
            Comparison::NotEquals(value) => write!(f, "≠ {value}"),
            Comparison::Greater(bound) => write!(f, "> {bound}"),
            Comparison::GreaterOrEqual(bound) => write!(f, "≥ {bound}"),
            Comparison::Less(bound) => write!(f, "< {bound}"),
            Comparison::LessOrEqual(bound) => write!(f, "≤ {bound}"),
            Comparison::In(values) => write!(f, "in {}", Value::from(values.clone())),
            Comparison::Contains(part) => write!(f, "contains {part}"),
            Comparison::StartsWith(part) => write!(f, "starts with {part:?}"),
            Comparison::EndsWith(part) => write!(f, "ends with {part:?}"),
            Comparison::Matches(pattern) => write!(f, "matches /{}/", pattern.0),
        }
    }
}

impl Test {
    fn decide(&self, context: &dyn Variables) -> Truth {
        match self {
            Test::Truthy(variable) => match context.get(&variable.0) {
                Some(value) => Truth::from(is_truthy(value)),
                None => wanted(variable, None),
            },
            Test::Compare(variable, comparison) => match context.get(&variable.0) {
                Some(value) => Truth::from(comparison.holds(Some(value))),
                None => wanted(variable, comparison.expected()),
            },
            Test::And(parts) => all(parts.iter().map(|part| part.decide(context))),
            Test::Or(parts) => any(parts.iter().map(|part| part.decide(context))),
            Test::Not(part) => part.decide(context).negate(),
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Truth {
        if holds { Truth::Holds } else { Truth::Fails }
    }
}

impl Truth {
    pub(crate) fn negate(self) -> Truth {
        match self {
            Truth::Holds => Truth::Fails,
            Truth::Fails => Truth::Holds,
            // Under `not`, the values that would make the inner condition hold make this one fail.
            Truth::Undecided(wanted) => Truth::Undecided(
                wanted.into_iter().map(|one| MissingVariable { expected: None, ..one }).collect(),
            ),
        }
    }
}

/// Fails if any fails, holds if all hold, and otherwise waits for the variables of the undecided
/// ones.
fn all(truths: impl Iterator<Item = Truth>) -> Truth {
    combined(truths, Truth::Fails, Truth::Holds)
}

/// Holds if any holds, fails if all fail, and otherwise waits for the variables of the undecided
/// ones.
fn any(truths: impl Iterator<Item = Truth>) -> Truth {
    combined(truths, Truth::Holds, Truth::Fails)
}

fn combined(truths: impl Iterator<Item = Truth>, decisive: Truth, otherwise: Truth) -> Truth {
    let mut open = Vec::new();
    for truth in truths {
        match truth {
            truth if truth == decisive => return decisive,
            Truth::Undecided(wanted) => open.extend(wanted),
            Truth::Holds | Truth::Fails => {}
        }
    }
    if open.is_empty() { otherwise } else { Truth::Undecided(open) }
}

fn wanted(variable: &Variable, expected: Option<Vec<Value>>) -> Truth {
    Truth::Undecided(vec![MissingVariable { variable: variable.0.clone(), expected }])
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

impl Comparison {
    fn holds(&self, found: Option<&Value>) -> bool {
        let number = found.and_then(as_number);
        let text = found.and_then(Value::as_str);
        let is = |test: fn(&f64, &f64) -> bool, bound: &f64| {
            number.is_some_and(|number| test(&number, bound))
        };
        match self {
            Comparison::Equals(value) => equal(found.unwrap_or(&Value::Null), value),
            Comparison::NotEquals(value) => !equal(found.unwrap_or(&Value::Null), value),
            Comparison::Greater(bound) => is(f64::gt, bound),
            Comparison::GreaterOrEqual(bound) => is(f64::ge, bound),
            Comparison::Less(bound) => is(f64::lt, bound),
            Comparison::LessOrEqual(bound) => is(f64::le, bound),
            Comparison::In(values) => {
                found.is_some_and(|found| values.iter().any(|value| equal(found, value)))
            }
            Comparison::Contains(part) => found.is_some_and(|found| contains(found, part)),
            Comparison::StartsWith(part) => {
                text.is_some_and(|text| fold(text).starts_with(&fold(part)))
            }
            Comparison::EndsWith(part) => {
                text.is_some_and(|text| fold(text).ends_with(&fold(part)))
            }
            Comparison::Matches(pattern) => text.is_some_and(|text| pattern.0.is_match(text)),
        }
    }

    fn expected(&self) -> Option<Vec<Value>> {
        match self {
            Comparison::Equals(value) => Some(vec![value.clone()]),
            Comparison::In(values) => Some(values.clone()),
            _ => None,
        }
    }
}

fn contains(found: &Value, part: &Value) -> bool {
    match (found, part) {
        (Value::Array(items), _) => items.iter().any(|item| equal(item, part)),
        (Value::String(text), Value::String(part)) => fold(text).contains(&fold(part)),
        (Value::Object(map), Value::String(part)) => map.contains_key(part),
        _ => false,
    }
}

/// Lenient equality: ignores case, and treats a number or boolean and its text as equal.
pub fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => fold(one) == fold(other),
        (Value::String(text), Value::Bool(flag)) | (Value::Bool(flag), Value::String(text)) => {
            match fold(text).as_str() {
                "true" | "yes" => *flag,
                "false" | "no" => !flag,
                _ => false,
            }
        }
        (Value::Number(_) | Value::String(_), Value::Number(_) | Value::String(_)) => {
            if let (Some(one), Some(other)) = (as_whole(one), as_whole(other)) {
                return one == other;
            }
            let pair = (as_number(one), as_number(other));
            matches!(pair, (Some(one), Some(other)) if one.partial_cmp(&other) == Some(Equal))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        _ => one == other,
    }
}

/// An exact integer, since floats cannot tell large integers apart.
fn as_whole(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => {
            number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
        }
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

fn fold(text: &str) -> String {
    text.trim().to_lowercase()
}

const OPERATORS: &[&str] = &[
    "equals",
    "not_equals",
    "gt",
    "gte",
    "lt",
    "lte",
    "in",
    "contains",
    "starts_with",
    "ends_with",
    "matches",
    "and",
    "or",
    "not",
    "var",
];

/// Operators, and the names for them in other languages.
const SLIPS: Aliases = &[
    ("equals", &["eq", "is", "==", "value"]),
    ("not_equals", &["ne", "neq", "!=", "not_eq"]),
    ("gt", &["greater_than", "greaterThan", ">"]),
    ("gte", &["greaterThanOrEqual", "greater_than_or_equal", ">="]),
    ("lt", &["less_than", "lessThan", "<"]),
    ("lte", &["lessThanOrEqual", "less_than_or_equal", "<="]),
    ("and", &["all", "allOf"]),
    ("or", &["any", "anyOf"]),
    ("in", &["oneOf"]),
    ("matches", &["regex"]),
    ("contains", &["includes"]),
    ("var", &["variable"]),
];

impl Decode for Condition {
    const WANT: &'static str = "a condition such as `{var: size, equals: large}`";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let SyntaxKind::Map(entries) = &node.kind else { return wrong(node, report) };
        let before = report.count();
        let variable = variable(node, report);
        // If `var` could not be read, the operators next to it cannot be checked.
        let readable = variable.is_some() || node.get("var").is_none();
        let operators = entries.iter().filter(|(key, _)| readable && key.name != "var");
        let test = |(key, value): &_| test(key, value, variable.as_ref(), report);
        let mut tests: Vec<Test> = operators.filter_map(test).collect();
        if node.get("var").is_none() {
            missing_variable(entries, report);
        }
        if let (Some(variable), true) = (variable, tests.is_empty()) {
            tests.push(Test::Truthy(variable));
        }
        (report.count() == before).then_some(Condition { tests })
    }

    fn schema(defs: &mut Defs) -> Value {
        let condition = json!({"$ref": "#/$defs/Condition"});
        let number = json!({"type": ["number", "string"]});
        let text = json!({"type": "string"});
        defs.insert(
            "Condition",
            json!({
                "type": "object",
                "description": "Holds when all of its parts hold; `{}` always holds.",
                "properties": {
                    "var": {
                        "type": "string",
                        "minLength": 1,
                        "description": "A context variable; a dotted path reads a field.",
                    },
                    "equals": {}, "not_equals": {}, "notEquals": {},
                    "gt": number, "gte": number, "lt": number, "lte": number,
                    "in": {"type": "array"}, "contains": {},
                    "starts_with": text, "startsWith": text,
                    "ends_with": text, "endsWith": text,
                    "matches": {"type": "string", "format": "regex"},
                    "and": {"type": "array", "items": condition},
                    "or": {"type": "array", "items": condition},
                    "not": condition,
                },
                "additionalProperties": false,
            }),
        );
        condition
    }
}

fn variable(node: &SyntaxNode, report: &mut Report) -> Option<Variable> {
    let text = String::decode(node.get("var")?, report)?;
    if text.trim().is_empty() {
        let at = node.get("var").map_or(node.at, |node| node.at);
        let fault = Finding::error(at, Rule::Condition, "`var` is empty");
        report.add(fault.suggest("name a context variable, for example `taskSize`"));
        return None;
    }
    Some(Variable(text))
}

fn test(
    key: &SyntaxKey,
    value: &SyntaxNode,
    variable: Option<&Variable>,
    report: &mut Report,
) -> Option<Test> {
    let name = canonical(&key.name);
    match name {
        "and" => return Vec::decode(value, report).map(Test::And),
        "or" => return Vec::decode(value, report).map(Test::Or),
        "not" => return Condition::decode(value, report).map(|part| Test::Not(Box::new(part))),
        _ => {}
    }
    if !OPERATORS.contains(&name) {
        unknown_operator(key, value, report);
        return None;
    }
    let comparison = comparison(name, value, report)?;
    Some(Test::Compare(variable?.clone(), comparison))
}

/// Reports operators without a `var`, unless there is an unknown key, which may be a misspelled
/// `var` and has already been reported.
fn missing_variable(entries: &[(SyntaxKey, SyntaxNode)], report: &mut Report) {
    let name = |key: &SyntaxKey| canonical(&key.name).to_owned();
    let known = entries.iter().all(|(key, _)| OPERATORS.contains(&name(key).as_str()));
    let compares = |key: &SyntaxKey| !matches!(key.name.as_str(), "and" | "or" | "not");
    for (key, _) in entries.iter().filter(|(key, _)| known && compares(key)) {
        let message = format!("`{}` has nothing to compare: `var` is missing", name(key));
        Finding::error(key.at, Rule::Condition, message)
            .expected("`var`")
            .suggest("add `var` with the name of the variable")
            .add_to(report);
    }
}

/// The canonical name of an operator that may be written in camel case.
fn canonical(name: &str) -> &str {
    match name {
        "notEquals" => "not_equals",
        "startsWith" => "starts_with",
        "endsWith" => "ends_with",
        other => other,
    }
}

fn unknown_operator(key: &SyntaxKey, value: &SyntaxNode, report: &mut Report) {
    if report.is_full() {
        return report.leave_out(Severity::Error);
    }
    let name = &key.name;
    let fitting = || OPERATORS.iter().copied().filter(|name| takes(name, value));
    let slip = unalias(SLIPS, name);
    let slip = slip.filter(|meant| takes(meant, value));
    let meant = slip.or_else(|| suggest::nearest(name, fitting()));
    let fault = Finding::error(key.at, Rule::Condition, format!("unknown operator `{name}`"))
        .expected(suggest::list(OPERATORS));
    report.add(match (meant, report.around(key)) {
        (None, Some(mend)) => fault.suggest("move it out of the condition").mend(mend),
        _ => fault.did_you_mean_key(key.at, meant, "use one of the operators"),
    });
}

/// Whether an operator accepts a value of this form, which helps to recognize misspelled operators.
fn takes(operator: &str, value: &SyntaxNode) -> bool {
    match operator {
        "and" | "or" => !value.items().is_empty() && value.items().iter().all(SyntaxNode::is_map),
        "not" => value.is_map(),
        "in" => {
            matches!(value.kind, SyntaxKind::List(_))
                && !value.items().iter().any(SyntaxNode::is_map)
        }
        "gt" | "gte" | "lt" | "lte" => fits::<Bound>(value),
        "var" | "starts_with" | "ends_with" | "matches" => value.text().is_some(),
        _ => !value.is_map(),
    }
}

fn comparison(name: &str, value: &SyntaxNode, report: &mut Report) -> Option<Comparison> {
    Some(match name {
        "equals" => Comparison::Equals(Value::decode(value, report)?),
        "not_equals" => Comparison::NotEquals(Value::decode(value, report)?),
        "gt" => Comparison::Greater(Bound::decode(value, report)?.0),
        "gte" => Comparison::GreaterOrEqual(Bound::decode(value, report)?.0),
        "lt" => Comparison::Less(Bound::decode(value, report)?.0),
        "lte" => Comparison::LessOrEqual(Bound::decode(value, report)?.0),
        "in" => Comparison::In(Vec::decode(value, report)?),
        "contains" => Comparison::Contains(Value::decode(value, report)?),
        "starts_with" => Comparison::StartsWith(String::decode(value, report)?),
        "ends_with" => Comparison::EndsWith(String::decode(value, report)?),
        _ => Comparison::Matches(Pattern::decode(value, report)?),
    })
}

/// A number, or text that contains one.
struct Bound(f64);

impl Decode for Bound {
    const WANT: &'static str = f64::WANT;

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match &node.kind {
            SyntaxKind::Str(text) if text.trim().parse::<f64>().is_ok_and(f64::is_finite) => {
                text.trim().parse().ok().map(Bound)
            }
            _ => f64::decode(node, report).map(Bound),
        }
    }
}

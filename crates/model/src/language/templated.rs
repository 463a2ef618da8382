//! Values that contain expressions: text and JSON with `${{ … }}`, and bare expressions.
//!
//! They are parsed once, here; validation and evaluation share the result.

use milepost_syntax::mend::{Mend, SourceLocation};
use milepost_syntax::span::Span;
use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use serde_json::{Map, Value, json};

use crate::decode::{Decode, Defs, Entries, Report, Spot, every, wrong};
use crate::expr::{EvalError, Expr, Fuel, Outcome, Scope, SyntaxError};
use crate::finding::{Finding, Rule};
use crate::template::{self, Template};

/// An expression and the position of its source: `offset` bytes into the string at `at`.
#[derive(Debug, Clone, Copy)]
pub struct Located<'e> {
    pub expr: &'e Expr,
    /// The string that contains it.
    pub at: Span,
    /// The offset of the expression in the string's text.
    pub offset: u32,
}

impl Located<'_> {
    /// The location of a range in the expression's source.
    pub(crate) fn place(&self, span: Span) -> SourceLocation {
        let span = span.shifted(self.offset);
        SourceLocation::within(self.at, span.start, span.end)
    }
}

/// Text that may contain `${{ … }}`.
#[derive(Debug, Clone)]
pub struct Templated {
    pub at: Span,
    /// The parsed text.
    pub template: Template,
}

impl PartialEq for Templated {
    fn eq(&self, other: &Templated) -> bool {
        self.template == other.template
    }
}

impl Templated {
    /// The expressions in the text.
    pub fn exprs(&self) -> impl Iterator<Item = Located<'_>> {
        self.template.exprs().map(|(expr, offset)| Located { expr, at: self.at, offset })
    }
}

impl Decode for Templated {
    const WANT: &'static str = "a string";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let text = String::decode(node, report)?;
        parse(&text, node.at, report)
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": "string"})
    }
}

fn parse(text: &str, at: Span, report: &mut Report) -> Option<Templated> {
    if report.charge_expressions(at, text.matches("{{").count()) {
        return None;
    }
    for slip in template::bare_braces(text) {
        let (start, end) = (slip.span.start, slip.span.end);
        let meant = format!("${{{{ {} }}}}", slip.inner.trim());
        let place = SourceLocation::within(at, start, end);
        Finding::error(place, Rule::Expression, "`{{ }}` is not an expression here")
            .expected("`${{ … }}`")
            .suggest(format!("write `{meant}`"))
            .mend(Mend::ReplaceText { place, text: meant })
            .add_to(report);
    }
    match Template::parse(text) {
        Ok(template) => Some(Templated { at, template }),
        Err(errors) => {
            for error in errors {
                report.add(syntax(text, at, 0, error));
            }
            None
        }
    }
}

/// Turns a syntax error in an expression into a finding about the string that contains it.
fn syntax(source: &str, at: Span, offset: u32, error: SyntaxError) -> Finding {
    let place = |span: Span| SourceLocation::within(at, offset + span.start, offset + span.end);
    let finding = Finding::error(place(error.span), Rule::Expression, error.message);
    let finding = match (error.help, &error.replace) {
        (Some(help), _) => finding.suggest(help),
        (None, Some((_, text))) => finding.suggest(format!("write `{text}`")),
        (None, None) => finding.suggest("correct the expression here"),
    };
    let Some((mut span, text)) = error.replace else { return finding };
    if text == "!" {
        // `not x` becomes `!x`.
        let rest = source.get(span.end as usize..).unwrap_or("");
        span.end += (rest.len() - rest.trim_start_matches(' ').len()) as u32;
    }
    finding.mend(Mend::ReplaceText { place: place(span), text })
}

/// The key of a value whose contents are read from a file.
const FILE: &str = "$file";

/// The files that the author of a call named in its arguments, as literal paths.
pub fn named_files(with: Option<&Entries<Dynamic>>, body: Option<&Dynamic>) -> Vec<String> {
    let with = with.into_iter().flat_map(|with| with.0.iter().map(|(_, value)| value));
    with.chain(body).flat_map(Dynamic::files).collect()
}

fn files(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => {
            let own = map.get(FILE).and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(map.values().flat_map(files)).collect()
        }
        Value::Array(items) => items.iter().flat_map(files).collect(),
        _ => Vec::new(),
    }
}

/// Any JSON whose strings may contain `${{ … }}`.
#[derive(Debug, Clone, PartialEq)]
pub enum Dynamic {
    /// A value without any expressions.
    Plain(Spot<Value>),
    /// A string with expressions.
    Text(Templated),
    /// A list with expressions somewhere inside.
    List(Spot<Vec<Dynamic>>),
    /// A map with expressions somewhere inside.
    Map(Spot<Vec<(String, Dynamic)>>),
}

impl Dynamic {
    /// The position in the document.
    pub fn at(&self) -> Span {
        match self {
            Dynamic::Plain(Spot { at, .. })
            | Dynamic::List(Spot { at, .. })
            | Dynamic::Map(Spot { at, .. }) => *at,
            Dynamic::Text(text) => text.at,
        }
    }

    /// The expressions, in document order.
    pub fn exprs(&self) -> Vec<Located<'_>> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect<'d>(&'d self, found: &mut Vec<Located<'d>>) {
        match self {
            Dynamic::Plain(_) => {}
            Dynamic::Text(text) => found.extend(text.exprs()),
            Dynamic::List(items) => items.value.iter().for_each(|item| item.collect(found)),
            Dynamic::Map(entries) => {
                entries.value.iter().for_each(|(_, value)| value.collect(found));
            }
        }
    }

    /// Evaluates every expression in the value; an empty optional omits its entry.
    pub fn render(&self, scope: &dyn Scope, fuel: &mut Fuel) -> Result<Outcome, EvalError> {
        Ok(Outcome::Value(match self {
            Dynamic::Plain(plain) => plain.value.clone(),
            Dynamic::Text(text) => return text.template.render(scope, fuel),
            Dynamic::List(Spot { value: items, .. }) => {
                let mut list = Vec::with_capacity(items.len());
                for item in items {
                    if let Outcome::Value(value) = item.render(scope, fuel)? {
                        list.push(value);
                    }
                }
                Value::Array(list)
            }
            Dynamic::Map(Spot { value: entries, .. }) => {
                let mut map = Map::new();
                for (key, entry) in entries {
                    if let Outcome::Value(value) = entry.render(scope, fuel)? {
                        map.insert(key.clone(), value);
                    }
                }
                Value::Object(map)
            }
        }))
    }

    /// The paths that the author wrote as `{$file: path}`.
    fn files(&self) -> Vec<String> {
        match self {
            Dynamic::Plain(plain) => files(&plain.value),
            Dynamic::Text(_) => Vec::new(),
            Dynamic::List(items) => items.value.iter().flat_map(Dynamic::files).collect(),
            Dynamic::Map(entries) => {
                let own = entries.value.iter().find(|(key, _)| key == FILE);
                let own = own.and_then(|(_, path)| path.as_plain()?.as_str().map(str::to_owned));
                let inner = entries.value.iter().flat_map(|(_, value)| value.files());
                own.into_iter().chain(inner).collect()
            }
        }
    }

    /// Where an expression is used as the path of a file.
    pub(crate) fn computed_files(&self) -> Vec<Span> {
        match self {
            Dynamic::Plain(_) | Dynamic::Text(_) => Vec::new(),
            Dynamic::List(items) => items.value.iter().flat_map(Dynamic::computed_files).collect(),
            Dynamic::Map(entries) => {
                let found = entries.value.iter().flat_map(|(key, value)| match value {
                    Dynamic::Text(path) if key == FILE => vec![path.at],
                    other => other.computed_files(),
                });
                found.collect()
            }
        }
    }

    /// The value, if it contains no expressions.
    pub fn as_plain(&self) -> Option<&Value> {
        match self {
            Dynamic::Plain(plain) => Some(&plain.value),
            _ => None,
        }
    }
}

impl Decode for Dynamic {
    const WANT: &'static str = "a value";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let at = node.at;
        let plain = |value| Dynamic::Plain(Spot { at, value });
        match &node.kind {
            SyntaxKind::Bad => None,
            SyntaxKind::Str(text) if text.contains("{{") => {
                parse(text, at, report).map(|text| match text.template.literal() {
                    Some(literal) => plain(literal.into()),
                    None => Dynamic::Text(text),
                })
            }
            SyntaxKind::List(items) => {
                let items = every(items.iter().map(|item| Dynamic::decode(item, report)))?;
                Some(match items.iter().all(|item| item.as_plain().is_some()) {
                    true => plain(node.to_value()),
                    false => Dynamic::List(Spot { at, value: items }),
                })
            }
            SyntaxKind::Map(entries) => {
                let entries = every(entries.iter().map(|(key, value)| {
                    Some((key.name.clone(), Dynamic::decode(value, report)?))
                }))?;
                Some(match entries.iter().all(|(_, value)| value.as_plain().is_some()) {
                    true => plain(node.to_value()),
                    false => Dynamic::Map(Spot { at, value: entries }),
                })
            }
            _ => Some(plain(node.to_value())),
        }
    }
}

/// A bare expression, as in `if`, `until` and `check`.
#[derive(Debug, Clone)]
pub struct Bare {
    /// The position of the string.
    pub at: Span,
    pub expr: Expr,
    /// The offset of the expression in the string's text.
    pub offset: u32,
}

impl PartialEq for Bare {
    fn eq(&self, other: &Bare) -> bool {
        self.expr == other.expr
    }
}

impl Bare {
    /// The expression with its position.
    pub fn located(&self) -> Located<'_> {
        Located { expr: &self.expr, at: self.at, offset: self.offset }
    }

    fn parse(text: &str, at: Span, report: &mut Report) -> Option<Bare> {
        let (inner, offset) = unwrapped(text, at, report);
        match Expr::parse(inner) {
            Ok(expr) => Some(Bare { at, expr, offset }),
            Err(error) => {
                report.add(syntax(inner, at, offset, error));
                None
            }
        }
    }
}

/// Removes `${{ }}` or `{{ }}` around a bare expression and reports that the braces are not needed.
fn unwrapped<'t>(text: &'t str, at: Span, report: &mut Report) -> (&'t str, u32) {
    let trimmed = text.trim();
    let inner = ["${{", "{{"]
        .iter()
        .find_map(|open| trimmed.strip_prefix(open)?.strip_suffix("}}"))
        .filter(|inner| !inner.contains("{{"));
    let Some(inner) = inner else { return (text, 0) };
    let offset = inner.as_ptr() as usize - text.as_ptr() as usize;
    let bare = inner.trim();
    Finding::warning(
        at,
        Rule::Spelling,
        "this is already an expression: the braces are not needed",
    )
    .suggest(format!("write `{bare}`"))
    .mend(Mend::ReplaceText {
        place: SourceLocation::within(at, 0, text.len() as u32),
        text: bare.to_owned(),
    })
    .add_to(report);
    (inner, offset as u32)
}

impl Decode for Bare {
    const WANT: &'static str = "an expression";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match &node.kind {
            SyntaxKind::Str(text) => Bare::parse(text, node.at, report),
            SyntaxKind::Bool(flag) => Bare::parse(&flag.to_string(), node.at, report),
            _ => wrong(node, report),
        }
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": ["string", "boolean"]})
    }
}

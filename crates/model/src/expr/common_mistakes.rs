//! Error messages for text that is not an expression.
//!
//! Authors — people and language models — bring habits from JavaScript, Python, Jinja and C. Each
//! message explains what to write instead, with a replacement if there is only one possible
//! meaning.

use milepost_syntax::span::Span;

use super::SyntaxError;
use super::ast::MacroKind;
use super::function::{self, Form, Signature};
use super::hyphenated_name::hyphenated_name_at;
use super::lexer::{Tok, Token, is_word};
use crate::suggest;

/// Functions whose names differ between languages: the name used here, and the names used
/// elsewhere.
const OTHER_NAMES: &[(&str, &[&str])] = &[
    ("all", &["every"]),
    ("base64", &["b64encode", "btoa"]),
    ("coalesce", &["default", "ifnull"]),
    ("double", &["float", "number", "Number"]),
    ("endsWith", &["endswith", "ends_with"]),
    ("exists", &["any", "some"]),
    ("exists_one", &["existsOne"]),
    ("filter", &["select", "where"]),
    ("json", &["toJSON", "to_json", "tojson"]),
    ("matches", &["match"]),
    ("orValue", &["or_value"]),
    ("parse_json", &["fromJSON", "from_json", "fromjson"]),
    ("size", &["count", "len", "length"]),
    ("startsWith", &["startswith", "starts_with"]),
    ("string", &["str", "String", "toString", "to_string"]),
    ("url_encode", &["encodeURIComponent", "urlencode"]),
];

/// Operators from other languages and their equivalents here; `?.[` must precede `?.`.
const OTHER_TOKENS: &[(&str, &str)] = &[
    ("===", "=="),
    ("!==", "!="),
    ("?.[", "[?"),
    ("<>", "!="),
    ("?.", ".?"),
    ("&", "&&"),
    ("and", "&&"),
    ("AND", "&&"),
    ("or", "||"),
    ("OR", "||"),
    ("mod", "%"),
    ("eq", "=="),
    ("equals", "=="),
    ("ne", "!="),
];

/// Whether CEL reserves a word.
pub(super) fn is_reserved(name: &str) -> bool {
    let words = "as break const continue else for function if import let loop package namespace \
                 return var void while";
    words.split_ascii_whitespace().any(|word| word == name)
}

fn use_instead(wrong: &str, right: &str, span: Span) -> SyntaxError {
    SyntaxError::new(span, format!("use `{right}` instead of `{wrong}`")).replace(span, right)
}

/// The error for `${{ … }}` or `{{ … }}` around a whole expression.
pub(super) fn braces_around(source: &str) -> Option<SyntaxError> {
    let text = source.trim();
    let start = source.len() - source.trim_start().len();
    let open = ["${{", "{{"].into_iter().find(|open| text.starts_with(open))?;
    let span = Span::new(start, start + open.len());
    let error = SyntaxError::new(span, format!("`{open}` is not needed: this is an expression"))
        .help("write the expression without the braces");
    let inner = text[open.len()..].strip_suffix("}}").map(str::trim);
    Some(match inner.filter(|inner| !inner.contains("{{")) {
        Some(inner) => error.replace(Span::new(start, start + text.len()), inner),
        None => error,
    })
}

pub(super) fn bad_number(source: &str, start: usize, end: usize) -> SyntaxError {
    let word = word_at(source, end);
    let span = Span::new(start, end + word.len());
    let digits = &source[start..end];
    if matches!(word, "u" | "U") {
        let message = format!("there are no unsigned integers: write `{digits}`");
        return SyntaxError::new(span, message).replace(span, digits);
    }
    let message = || format!("`{}` is not a number", &source[span.range()]);
    hyphenated(source, start).unwrap_or_else(|| SyntaxError::new(span, message()))
}

pub(super) fn open_string(span: Span, quote: u8, triple: bool) -> SyntaxError {
    let quote = char::from(quote);
    if quote == '`' {
        return SyntaxError::new(span, "the name in backticks is never closed");
    }
    let marks = String::from(quote).repeat(if triple { 3 } else { 1 });
    let error = SyntaxError::new(span, format!("the string is never closed: `{marks}` is missing"));
    if triple { error } else { error.help("a quote inside a string is written `\\'` or `\\\"`") }
}

/// The error for text that does not start a token.
pub(super) fn bad_operator(source: &str, at: usize) -> SyntaxError {
    let rest = &source[at..];
    let one = Span::new(at, at + rest.chars().next().map_or(0, char::len_utf8));
    let two = Span::new(at, at + 2);
    if let Some((wrong, right)) = OTHER_TOKENS.iter().find(|(wrong, _)| rest.starts_with(wrong)) {
        return use_instead(wrong, right, Span::new(at, at + wrong.len()));
    }
    let (span, message, help) = match rest.as_bytes() {
        [b'=', b'>', ..] => return arrow(source, two),
        [b'=', b'~', ..] => (two, "there is no `=~`", "write `value.matches('pattern')`"),
        [b'=', ..] => {
            return SyntaxError::new(one, "`=` does not compare: write `==`").replace(one, "==");
        }
        [b'|', ..] => return single_bar(source, one),
        [b'?', b'?', ..] => {
            let help = "write `coalesce(value, other)`, or `value.?field.orValue(other)`";
            (two, "there is no `??`", help)
        }
        [b'*', ..] => (two, "there is no `**`", "multiply: `x * x`"),
        [b';', ..] => {
            let error = SyntaxError::new(one, "`;` is not needed: this is one expression");
            return if rest[1..].trim().is_empty() { error.replace(one, "") } else { error };
        }
        [b'/', ..] => (two, "`/*` does not start a comment", "write `// …`"),
        [b'#', ..] => (one, "`#` does not start a comment", "write `// …`"),
        [b'$', b'{', b'{', ..] => {
            let span = Span::new(at, at + 3);
            (
                span,
                "`${{` cannot be used inside an expression",
                "name the value directly, such as `inputs.name`",
            )
        }
        _ => return odd_character(source, one),
    };
    SyntaxError::new(span, message).help(help)
}

fn arrow(source: &str, span: Span) -> SyntaxError {
    let error = SyntaxError::new(span, "there are no arrow functions (`=>`)")
        .help("name the variable first: `items.filter(x, x.total > 10)`");
    let before = source[..span.start as usize].trim_end();
    let name = before.bytes().rev().take_while(|byte| is_word(*byte)).count();
    if name > 0 && before[..before.len() - name].ends_with('(') {
        return error.replace(Span::new(before.len(), span.end as usize), ",");
    }
    error
}

fn single_bar(source: &str, span: Span) -> SyntaxError {
    let after = source[span.end as usize..].trim_start();
    let word = word_at(after, 0);
    let here = other_name(word).unwrap_or(word);
    if let Some(function) = function::find(here, Form::Global) {
        let more = if *function.args.end() > 1 { ", other" } else { "" };
        return SyntaxError::new(span, format!("there are no filters such as `| {word}`"))
            .help(format!("write `{here}(value{more})`"));
    }
    // A lone name is as likely to be an unknown filter as a condition.
    let rest = &after[word.len()..];
    if matches!(word, "" | "true" | "false") || rest.starts_with(['.', '[']) {
        return use_instead("|", "||", span);
    }
    SyntaxError::new(span, "`|` has no meaning here: there are no filters, and \"or\" is `||`")
}

fn odd_character(source: &str, span: Span) -> SyntaxError {
    let text = &source[span.range()];
    let plain = match text {
        "\u{2018}" | "\u{2019}" => "'",
        "\u{201c}" | "\u{201d}" => "\"",
        "\u{2013}" | "\u{2212}" => "-",
        "\u{a0}" => {
            return SyntaxError::new(span, "this is a no-break space").replace(span, " ");
        }
        _ if text.chars().all(char::is_alphabetic) => return foreign_letters(source, span),
        _ => {
            let shown = text.escape_default();
            return SyntaxError::new(span, format!("`{shown}` has no meaning in an expression"));
        }
    };
    use_instead(text, plain, span)
}

/// The error for a name with non-ASCII letters, which must be quoted.
fn foreign_letters(source: &str, span: Span) -> SyntaxError {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let at = span.start as usize;
    let start = source[..at].trim_end_matches(is_letter).len();
    let end = source.len() - source[at..].trim_start_matches(is_letter).len();
    let name = &source[start..end];
    let span = Span::new(start, end);
    let error = SyntaxError::new(span, format!("the name `{name}` must be quoted"));
    if source[..start].ends_with('.') {
        let member = Span::new(start - 1, end);
        return error.help(format!("write `['{name}']`")).replace(member, format!("['{name}']"));
    }
    error.help(format!("a string is written `'{name}'`"))
}

pub(super) fn never_closed(bracket: &str, open: Span) -> SyntaxError {
    let partner = match bracket {
        "[" => "]",
        "{" => "}",
        _ => ")",
    };
    SyntaxError::new(open, format!("`{bracket}` is never closed: `{partner}` is missing"))
}

/// The error for a token where an operator or the end was expected.
pub(super) fn unexpected(source: &str, before: Token, token: Token) -> SyntaxError {
    let span = token.span;
    let text = &source[span.range()];
    match token.tok {
        Tok::Ident => word_after_operand(source, span, text),
        Tok::Float if text.starts_with('.') && before.span.end == span.start => {
            number_member(span, &text[1..])
        }
        Tok::End => SyntaxError::new(before.span, "something is missing at the end"),
        Tok::RParen | Tok::RBracket | Tok::RBrace => {
            SyntaxError::new(span, format!("unmatched `{text}`"))
        }
        Tok::Quoted => template_literal(span),
        Tok::Not if source[span.range().end..].trim_start().starts_with("in ") => {
            SyntaxError::new(span, "there is no `!in`").help("write `!(a in b)`")
        }
        _ => expected_operator(span, text),
    }
}

fn expected_operator(span: Span, text: &str) -> SyntaxError {
    SyntaxError::new(span, format!("expected an operator before `{text}`"))
}

/// The error for `items.0`. It includes a fix only if the number consists of digits alone.
fn number_member(span: Span, digits: &str) -> SyntaxError {
    let error = SyntaxError::new(span, format!("write an index in brackets: `[{digits}]`"));
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return error.replace(span, format!("[{digits}]"));
    }
    error
}

fn word_after_operand(source: &str, span: Span, word: &str) -> SyntaxError {
    if let Some((_, operator)) = OTHER_TOKENS.iter().find(|(other, _)| *other == word) {
        return use_instead(word, operator, span);
    }
    let rest = source[span.range().end..].trim_start();
    let next = word_at(rest, 0);
    match (word, next) {
        ("is", "not") => {
            let end = source.len() - rest.len() + next.len();
            use_instead("is not", "!=", Span::new(span.range().start, end))
        }
        ("is", _) => use_instead("is", "==", span),
        ("not", "in") => SyntaxError::new(span, "there is no `not in`").help("write `!(a in b)`"),
        ("if", _) => SyntaxError::new(span, "there is no `if`")
            .help("write `condition ? value : other value`"),
        _ if function::find(word, Form::Method).is_some() => {
            SyntaxError::new(span, format!("`{word}` is a method"))
                .help(format!("write `text.{word}('…')`"))
        }
        _ => expected_operator(span, word),
    }
}

/// The error for a token where a value was expected.
pub(super) fn no_operand(source: &str, before: Token, token: Token) -> SyntaxError {
    let text = &source[token.span.range()];
    let previous = &source[before.span.range()];
    if let Some(error) = hyphenated(source, token.span.start as usize) {
        return error;
    }
    match (before.tok, token.tok) {
        (_, Tok::Quoted) => template_literal(token.span),
        (Tok::End, Tok::End) => {
            SyntaxError::new(Span::new(0, source.len()), "the expression is empty")
        }
        (Tok::LParen | Tok::LBracket | Tok::LBrace, Tok::End) => {
            never_closed(previous, before.span)
        }
        (_, Tok::End) => {
            SyntaxError::new(before.span, format!("`{previous}` has nothing after it"))
        }
        (Tok::End, _) | (_, Tok::Dot) => {
            SyntaxError::new(token.span, format!("`{text}` has nothing before it"))
        }
        _ => {
            let message = format!("expected a value between `{previous}` and `{text}`");
            SyntaxError::new(token.span, message)
        }
    }
}

fn template_literal(span: Span) -> SyntaxError {
    SyntaxError::new(span, "backticks do not make a string")
        .help("write `'Hello ' + string(inputs.name)`; backticks quote a field: ``a.`my-key` ``")
}

pub(super) fn no_member_name(source: &str, dot: Span, token: Token) -> SyntaxError {
    let text = &source[token.span.range()];
    match token.tok {
        Tok::End => SyntaxError::new(dot, "`.` has no name after it"),
        Tok::LBracket => SyntaxError::new(dot, "use `[` instead of `.[`").replace(dot, ""),
        Tok::Str => SyntaxError::new(token.span, "write a quoted name in brackets")
            .replace(dot.to(token.span), format!("[{text}]")),
        Tok::Int => number_member(dot.to(token.span), text),
        _ => SyntaxError::new(token.span, format!("expected a name after `.`, found `{text}`")),
    }
}

pub(super) fn no_macro_variable(kind: MacroKind, span: Span) -> SyntaxError {
    let message = format!("the first argument of `{}` must be a variable name", kind.name());
    SyntaxError::new(span, message).help(macro_usage(kind))
}

/// An example of how to use a macro.
pub(super) fn macro_usage(kind: MacroKind) -> String {
    match kind {
        MacroKind::Map => {
            "write `items.map(x, x.name)`, or with a condition `items.map(x, x.ok, x.name)`"
                .to_owned()
        }
        MacroKind::OptMap => "write `inputs.?name.optMap(x, x + '!')`".to_owned(),
        MacroKind::OptFlatMap => "write `inputs.?user.optFlatMap(x, x.?name)`".to_owned(),
        _ => format!("write `items.{}(x, x.total > 10)`", kind.name()),
    }
}

pub(super) fn wrong_count(signature: &Signature, found: usize, span: Span) -> SyntaxError {
    let takes = match (*signature.args.start(), *signature.args.end()) {
        (0, 0) => "no arguments".to_owned(),
        (1, 1) => "1 argument".to_owned(),
        (least, most) if least == most => format!("{least} arguments"),
        (least, most) => format!("{least} to {most} arguments"),
    };
    SyntaxError::new(span, format!("`{}` takes {takes}, found {found}", signature.name))
}

pub(super) fn reserved(source: &str, span: Span) -> SyntaxError {
    if let Some(error) = hyphenated(source, span.start as usize) {
        return error;
    }
    let word = &source[span.range()];
    let error = SyntaxError::new(span, format!("`{word}` is a reserved word"));
    match word {
        "if" | "else" => error.help("write `condition ? value : other value`"),
        "for" | "while" | "loop" => error.help("write `items.map(x, x.name)`"),
        "let" | "var" | "const" => error.help("compute the value in a `set` step and refer to it"),
        _ => error,
    }
}

/// The error for `True`, `None` and similar constants from other languages.
pub(super) fn foreign_constant(name: &str, span: Span) -> Option<SyntaxError> {
    let here = match name {
        "True" | "TRUE" => "true",
        "False" | "FALSE" => "false",
        "None" | "undefined" | "nil" | "NULL" | "Null" => "null",
        _ => return None,
    };
    Some(use_instead(name, here, span))
}

pub(super) fn word_not(span: Span, certain: bool) -> SyntaxError {
    let error = use_instead("not", "!", span);
    if certain {
        return error;
    }
    let help = "`!` binds tighter than a comparison: write `!(a == b)`".to_owned();
    SyntaxError { help: Some(help), replace: None, ..error }
}

pub(super) fn unknown_function(name: &str, span: Span) -> SyntaxError {
    let error = SyntaxError::new(span, format!("there is no function `{name}`"));
    let here = other_name(name);
    if let Some(here) = here.filter(|here| function::find(here, Form::Global).is_some()) {
        return error.help(format!("write `{here}(x)`")).replace(span, here);
    }
    if function::find(name, Form::Method).is_some() {
        return error.help(format!("`{name}` is a method: write `x.{name}(…)`"));
    }
    if let Some(kind) = MacroKind::named(here.unwrap_or(name)) {
        return error.help(macro_usage(kind));
    }
    match name {
        "uint" => error.help("write `int(x)`: there are no unsigned integers"),
        "duration" | "timestamp" => {
            error.help("times are RFC 3339 strings, which compare as text within one time zone")
        }
        _ => did_you_mean(error, name, &function::names(Form::Global).collect::<Vec<_>>()),
    }
}

/// The error for an unknown method; `receiver` is the source of the value it is called on.
pub(super) fn unknown_method(source: &str, receiver: Span, span: Span) -> SyntaxError {
    let name = &source[span.range()];
    let receiver_text = &source[receiver.range()];
    let error = SyntaxError::new(span, format!("there is no method `{name}`"));
    let whole = receiver.to(span);
    let function = match (receiver_text, name) {
        ("JSON", "stringify") | ("json", "dumps") => Some("json"),
        ("JSON", "parse") | ("json", "loads") => Some("parse_json"),
        _ => None,
    };
    if let Some(function) = function {
        return error.help(format!("write `{function}(x)`")).replace(whole, function);
    }
    if name == "includes" {
        return error.help("write `text.contains('a')` for a string, `'a' in items` for a list");
    }
    let callable = |here: &str| {
        function::find(here, Form::Method).is_some() || MacroKind::named(here).is_some()
    };
    let here = other_name(name);
    if let Some(here) = here.filter(|here| callable(here)) {
        return error.help(format!("write `.{here}(…)`")).replace(span, here);
    }
    if let Some(here) = here.or(function::find(name, Form::Global).map(|known| known.name)) {
        return error.help(format!("`{here}` is a function: write `{here}({receiver_text})`"));
    }
    let macros = MacroKind::ALL.iter().map(|kind| kind.name());
    let known: Vec<&str> = function::names(Form::Method).chain(macros).collect();
    did_you_mean(error, name, &known)
}

fn did_you_mean(error: SyntaxError, name: &str, known: &[&str]) -> SyntaxError {
    match suggest::nearest(name, known) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("available: {}", known.join(", "))),
    }
}

pub(super) fn unknown_optional(span: Span) -> SyntaxError {
    SyntaxError::new(span, "`optional` must be followed by `of`, `none` or `ofNonZeroValue`")
        .help("write `optional.of(x)` or `optional.none()`")
}

fn other_name(name: &str) -> Option<&'static str> {
    OTHER_NAMES.iter().find(|(_, others)| others.contains(&name)).map(|(here, _)| *here)
}

fn hyphenated(source: &str, at: usize) -> Option<SyntaxError> {
    let found = hyphenated_name_at(source, at)?;
    let message = format!("`{}` has a hyphen and must be quoted", found.name);
    Some(
        SyntaxError::new(found.span, message)
            .help(format!("write `{}`", found.replacement))
            .replace(found.span, found.replacement),
    )
}

/// The word that starts at an offset.
fn word_at(source: &str, at: usize) -> &str {
    let length = source.as_bytes()[at..].iter().take_while(|byte| is_word(**byte)).count();
    &source[at..at + length]
}

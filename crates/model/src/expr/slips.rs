//! What to say about text that is not an expression.
//!
//! Authors — people and language models — bring habits of JavaScript, Python, Jinja and C. Each
//! habit is named here with what to write instead, and with the change of the text where that
//! change is certain.

use super::ast::MacroKind;
use super::function::{self, Form, Signature};
use super::lexer::{Tok, Token, is_word};
use super::names::near;
use super::{Span, SyntaxError, hyphen};

/// `(what is written elsewhere, what it is called here)`
const OTHER_NAMES: &[(&str, &str)] = &[
    ("any", "exists"),
    ("b64encode", "base64"),
    ("btoa", "base64"),
    ("count", "size"),
    ("default", "coalesce"),
    ("encodeURIComponent", "url_encode"),
    ("endswith", "endsWith"),
    ("ends_with", "endsWith"),
    ("every", "all"),
    ("existsOne", "exists_one"),
    ("float", "double"),
    ("fromJSON", "parse_json"),
    ("from_json", "parse_json"),
    ("fromjson", "parse_json"),
    ("ifnull", "coalesce"),
    ("len", "size"),
    ("length", "size"),
    ("match", "matches"),
    ("number", "double"),
    ("Number", "double"),
    ("or_value", "orValue"),
    ("select", "filter"),
    ("some", "exists"),
    ("startswith", "startsWith"),
    ("starts_with", "startsWith"),
    ("str", "string"),
    ("String", "string"),
    ("toJSON", "json"),
    ("toString", "string"),
    ("to_json", "json"),
    ("to_string", "string"),
    ("tojson", "json"),
    ("urlencode", "url_encode"),
    ("where", "filter"),
];

/// Filters of Jinja and its kin, and what to write instead.
const FILTERS: &[(&str, &str)] = &[
    ("default", "coalesce(value, other)"),
    ("d", "coalesce(value, other)"),
    ("length", "size(value)"),
    ("count", "size(value)"),
    ("tojson", "json(value)"),
    ("to_json", "json(value)"),
    ("json", "json(value)"),
    ("from_json", "parse_json(value)"),
    ("int", "int(value)"),
    ("float", "double(value)"),
    ("string", "string(value)"),
    ("urlencode", "url_encode(value)"),
    ("b64encode", "base64(value)"),
    ("first", "value[0]"),
    ("map", "value.map(x, x.name)"),
    ("selectattr", "value.filter(x, x.name == 'a')"),
    ("select", "value.filter(x, x > 0)"),
];

/// Words CEL keeps for itself.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// `${{ … }}` or `{{ … }}` around the whole of what is an expression already.
pub(super) fn braces_around(source: &str) -> Option<SyntaxError> {
    let text = source.trim();
    let start = source.len() - source.trim_start().len();
    let open = ["${{", "{{"].into_iter().find(|open| text.starts_with(open))?;
    let span = Span::new(start, start + open.len());
    let error = SyntaxError::new(span, format!("`{open}` is not needed: this is an expression"))
        .help("write the expression itself, without braces");
    let inner = text[open.len()..].strip_suffix("}}");
    Some(match inner.map(str::trim) {
        Some(inner) if !inner.contains("{{") => {
            error.replace(Span::new(start, start + text.len()), inner)
        }
        _ => error,
    })
}

pub(super) fn bad_number(source: &str, start: usize, end: usize) -> SyntaxError {
    let word = source.as_bytes()[end..].iter().take_while(|byte| is_word(**byte)).count();
    let span = Span::new(start, end + word);
    let digits = &source[start..end];
    if matches!(&source[end..end + word], "u" | "U") {
        let message = format!("write `{digits}`: there is no unsigned integer type here");
        return SyntaxError::new(span, message).replace(span, digits);
    }
    if let Some(error) = hyphenated(source, start) {
        return error;
    }
    SyntaxError::new(span, format!("`{}` is not a number", &source[span.range()]))
}

pub(super) fn open_string(span: Span, quote: u8, triple: bool) -> SyntaxError {
    let quote = char::from(quote);
    if quote == '`' {
        return SyntaxError::new(span, "a name in backticks is never closed");
    }
    let marks = String::from(quote).repeat(if triple { 3 } else { 1 });
    let error = SyntaxError::new(span, format!("the string is never closed: `{marks}` is missing"));
    if triple { error } else { error.help("a quote inside a string is written `\\'` or `\\\"`") }
}

/// The error for text that begins no token.
pub(super) fn bad_operator(source: &str, at: usize) -> SyntaxError {
    const WRONG: &[(&str, &str, &str)] = &[
        ("===", "==", "`===` is written `==` here"),
        ("!==", "!=", "`!==` is written `!=` here"),
        ("<>", "!=", "`<>` is written `!=` here"),
    ];
    let rest = &source[at..];
    for (wrong, right, message) in WRONG {
        if rest.starts_with(wrong) {
            let span = Span::new(at, at + wrong.len());
            return SyntaxError::new(span, *message).replace(span, *right);
        }
    }
    let one = Span::new(at, at + rest.chars().next().map_or(0, char::len_utf8));
    let two = Span::new(at, at + 2);
    match rest.as_bytes() {
        [b'=', b'>', ..] => arrow(source, two),
        [b'=', b'~', ..] => SyntaxError::new(two, "`=~` does not exist here")
            .help("write `value.matches('pattern')`"),
        [b'=', ..] => SyntaxError::new(one, "`=` does not compare: write `==`").replace(one, "=="),
        [b'&', ..] => SyntaxError::new(one, "`&` is written `&&` here").replace(one, "&&"),
        [b'|', ..] => single_bar(source, one),
        [b'?', b'?', ..] => SyntaxError::new(two, "`??` does not exist here")
            .help("write `coalesce(value, other)`, or `value.?field.orValue(other)`"),
        [b'?', b'.', b'[', ..] => {
            let span = Span::new(at, at + 3);
            SyntaxError::new(span, "`?.[` is written `[?` here").replace(span, "[?")
        }
        [b'?', ..] => SyntaxError::new(two, "`?.` is written `.?` here").replace(two, ".?"),
        [b'*', ..] => SyntaxError::new(two, "`**` does not exist here: there is no power operator"),
        [b';', ..] => {
            let error = SyntaxError::new(one, "`;` has no meaning: this is one expression");
            if rest[1..].trim().is_empty() { error.replace(one, "") } else { error }
        }
        [b'/', ..] => SyntaxError::new(two, "`/*` begins no comment here").help("write `// …`"),
        [b'#', ..] => SyntaxError::new(one, "`#` begins no comment here").help("write `//`"),
        [b'$', ..] if rest.starts_with("${{") => {
            SyntaxError::new(Span::new(at, at + 3), "`${{` cannot stand inside an expression")
                .help("refer to the value directly, such as `inputs.name`")
        }
        _ => odd_character(source, one),
    }
}

fn arrow(source: &str, span: Span) -> SyntaxError {
    let error = SyntaxError::new(span, "`=>` does not exist here: there are no arrow functions")
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
    let length = after.bytes().take_while(|byte| is_word(*byte)).count();
    let word = &after[..length];
    let filter = FILTERS.iter().find(|(name, _)| *name == word);
    if let Some((_, instead)) = filter {
        let message = format!("`| {word}` does not exist here: there are no filters");
        return SyntaxError::new(span, message).help(format!("write `{instead}`"));
    }
    // A lone name is as likely a filter we do not know as a condition.
    let lone =
        length > 0 && !matches!(word, "true" | "false") && !after[length..].starts_with(['.', '[']);
    if lone {
        return SyntaxError::new(span, "there are no filters here, and `or` is written `||`");
    }
    SyntaxError::new(span, "`|` is written `||` here").replace(span, "||")
}

fn odd_character(source: &str, span: Span) -> SyntaxError {
    let text = &source[span.range()];
    match text {
        "\u{2018}" | "\u{2019}" | "\u{201c}" | "\u{201d}" => {
            let plain = if matches!(text, "\u{2018}" | "\u{2019}") { "'" } else { "\"" };
            return SyntaxError::new(
                span,
                format!("`{text}` is not a quote here: write `{plain}`"),
            )
            .replace(span, plain);
        }
        "\u{a0}" => {
            return SyntaxError::new(span, "this blank is a no-break space").replace(span, " ");
        }
        "\u{2013}" | "\u{2212}" => {
            return SyntaxError::new(span, format!("`{text}` is not a minus: write `-`"))
                .replace(span, "-");
        }
        _ => {}
    }
    if text.chars().all(char::is_alphabetic) {
        return foreign_letters(source, span);
    }
    let shown = text.escape_default();
    SyntaxError::new(span, format!("`{shown}` has no meaning in an expression"))
}

/// A name with letters beyond ASCII: it must be quoted.
fn foreign_letters(source: &str, span: Span) -> SyntaxError {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let at = span.start as usize;
    let start = source[..at].trim_end_matches(is_letter).len();
    let end = source.len() - source[at..].trim_start_matches(is_letter).len();
    let name = &source[start..end];
    let span = Span::new(start, end);
    let error = SyntaxError::new(span, format!("`{name}` must be quoted to be a name"));
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

/// The error for a token that stands where an operator or the end was expected.
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
            SyntaxError::new(span, format!("`{text}` closes nothing that is open here"))
        }
        Tok::Quoted => template_literal(span),
        Tok::Not
            if source[span.start as usize..].trim_start_matches(['!', ' ']).starts_with("in ") =>
        {
            SyntaxError::new(span, "`!in` does not exist here").help("write `!(a in b)`")
        }
        _ => SyntaxError::new(span, format!("expected an operator before `{text}`")),
    }
}

/// `items.0`: the number is all digits when it was meant as an index.
fn number_member(span: Span, digits: &str) -> SyntaxError {
    let error = SyntaxError::new(span, format!("an element is read with brackets: `[{digits}]`"));
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return error.replace(span, format!("[{digits}]"));
    }
    error
}

fn word_after_operand(source: &str, span: Span, word: &str) -> SyntaxError {
    let instead = match word {
        "and" | "AND" => Some("&&"),
        "or" | "OR" => Some("||"),
        "mod" => Some("%"),
        "eq" | "equals" => Some("=="),
        "ne" => Some("!="),
        _ => None,
    };
    if let Some(operator) = instead {
        let message = format!("`{word}` is written `{operator}` here");
        return SyntaxError::new(span, message).replace(span, operator);
    }
    let rest = source[span.end as usize..].trim_start();
    let next = &rest[..rest.bytes().take_while(|byte| is_word(*byte)).count()];
    match (word, next) {
        ("is", "not") => {
            let end = source.len() - rest.len() + next.len();
            let both = Span::new(span.start as usize, end);
            SyntaxError::new(both, "`is not` is written `!=` here").replace(both, "!=")
        }
        ("is", _) => SyntaxError::new(span, "`is` is written `==` here").replace(span, "=="),
        ("not", "in") => {
            SyntaxError::new(span, "`not in` does not exist here").help("write `!(a in b)`")
        }
        ("if", _) => SyntaxError::new(span, "`if` does not exist here")
            .help("write `condition ? value : other value`"),
        ("contains" | "startsWith" | "endsWith" | "matches", _) => {
            SyntaxError::new(span, format!("`{word}` is a method"))
                .help(format!("write `text.{word}('…')`"))
        }
        _ => SyntaxError::new(span, format!("expected an operator before `{word}`")),
    }
}

/// The error for a token that stands where a value was expected.
pub(super) fn no_operand(source: &str, before: Token, token: Token) -> SyntaxError {
    let text = &source[token.span.range()];
    let previous = &source[before.span.range()];
    if let Some(error) = hyphenated(source, token.span.start as usize) {
        return error;
    }
    match token.tok {
        Tok::Quoted => template_literal(token.span),
        Tok::End if before.tok == Tok::End => {
            SyntaxError::new(Span::new(0, source.len()), "the expression is empty")
        }
        Tok::End => match before.tok {
            Tok::LParen | Tok::LBracket | Tok::LBrace => never_closed(previous, before.span),
            _ => SyntaxError::new(before.span, format!("`{previous}` has nothing after it")),
        },
        _ if before.tok == Tok::End => {
            SyntaxError::new(token.span, format!("`{text}` has nothing before it"))
        }
        Tok::Plus if before.tok == Tok::Plus => {
            SyntaxError::new(before.span.to(token.span), "`++` does not exist here")
        }
        Tok::Dot => SyntaxError::new(token.span, "`.` has nothing before it"),
        _ => SyntaxError::new(
            token.span,
            format!("expected a value between `{previous}` and `{text}`"),
        ),
    }
}

fn template_literal(span: Span) -> SyntaxError {
    SyntaxError::new(span, "backticks make no string here")
        .help("write `'Hello ' + string(inputs.name)`; backticks quote a field: ``a.`my-key` ``")
}

pub(super) fn no_member_name(source: &str, dot: Span, token: Token) -> SyntaxError {
    let text = &source[token.span.range()];
    match token.tok {
        Tok::End => SyntaxError::new(dot, "`.` has no name after it"),
        Tok::LBracket => SyntaxError::new(dot, "`.[` is written `[` here").replace(dot, ""),
        Tok::Str => SyntaxError::new(token.span, "a quoted name stands in brackets")
            .replace(dot.to(token.span), format!("[{text}]")),
        Tok::Int => number_member(dot.to(token.span), text),
        _ => SyntaxError::new(token.span, format!("expected a name after `.`, found `{text}`")),
    }
}

pub(super) fn no_macro_variable(kind: MacroKind, span: Span) -> SyntaxError {
    let message = format!("the first argument of `{}` names its variable", kind.name());
    SyntaxError::new(span, message).help(macro_usage(kind))
}

/// How a macro is written.
pub(super) fn macro_usage(kind: MacroKind) -> &'static str {
    match kind {
        MacroKind::All => "write `items.all(x, x.total > 10)`",
        MacroKind::Exists => "write `items.exists(x, x.total > 10)`",
        MacroKind::ExistsOne => "write `items.exists_one(x, x.total > 10)`",
        MacroKind::Filter => "write `items.filter(x, x.total > 10)`",
        MacroKind::Map => {
            "write `items.map(x, x.name)`, or with a condition `items.map(x, x.ok, x.name)`"
        }
        MacroKind::OptMap => "write `inputs.?name.optMap(x, x + '!')`",
        MacroKind::OptFlatMap => "write `inputs.?user.optFlatMap(x, x.?name)`",
    }
}

pub(super) fn no_colon(span: Span) -> SyntaxError {
    SyntaxError::new(span, "expected `:` after the key").help("write `{'name': value}`")
}

pub(super) fn message_literal(span: Span) -> SyntaxError {
    SyntaxError::new(span, "`{` cannot follow a name: there are no message types here")
        .help("write a map: `{'name': value}`")
}

pub(super) fn wrong_count(signature: &Signature, found: usize, span: Span) -> SyntaxError {
    let (least, most) = (*signature.args.start(), *signature.args.end());
    let name = signature.name;
    let message = match (least, most) {
        (0, 0) => format!("`{name}` takes no argument, found {found}"),
        (1, 1) => format!("`{name}` takes 1 argument, found {found}"),
        (least, most) if least == most => {
            format!("`{name}` takes {least} arguments, found {found}")
        }
        (least, most) => format!("`{name}` takes {least} to {most} arguments, found {found}"),
    };
    SyntaxError::new(span, message)
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

/// `True`, `None` and their like.
pub(super) fn foreign_constant(name: &str, span: Span) -> Option<SyntaxError> {
    let here = match name {
        "True" | "TRUE" => "true",
        "False" | "FALSE" => "false",
        "None" | "undefined" | "nil" | "NULL" | "Null" => "null",
        _ => return None,
    };
    Some(SyntaxError::new(span, format!("`{name}` is written `{here}` here")).replace(span, here))
}

pub(super) fn word_not(span: Span, certain: bool) -> SyntaxError {
    let error = SyntaxError::new(span, "`not` is written `!` here");
    if certain {
        return error.replace(span, "!");
    }
    error.help("`!` binds tighter than a comparison: write `!(a == b)`")
}

pub(super) fn unknown_function(name: &str, span: Span) -> SyntaxError {
    let error = SyntaxError::new(span, format!("there is no function `{name}`"));
    if matches!(name, "uint" | "duration" | "timestamp") {
        return match name {
            "uint" => error.help("write `int(x)`: there is no unsigned integer type here"),
            _ => error.help("times are RFC 3339 strings here, which compare as text in one zone"),
        };
    }
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
    did_you_mean(error, name, &function::names(Form::Global).collect::<Vec<_>>())
}

/// `receiver` is what the method is called on, as written.
pub(super) fn unknown_method(source: &str, receiver: Span, span: Span) -> SyntaxError {
    let name = &source[span.range()];
    let receiver_text = &source[receiver.range()];
    let error = SyntaxError::new(span, format!("there is no method `{name}`"));
    let whole = receiver.to(span);
    match (receiver_text, name) {
        ("JSON", "stringify") | ("json", "dumps") => {
            return error.help("write `json(x)`").replace(whole, "json");
        }
        ("JSON", "parse") | ("json", "loads") => {
            return error.help("write `parse_json(x)`").replace(whole, "parse_json");
        }
        (_, "includes") => {
            return error.help("write `text.contains('a')` of a string, `'a' in items` of a list");
        }
        _ => {}
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
    let macros = MacroKind::ALL.into_iter().map(|(name, _)| name);
    let known: Vec<&str> = function::names(Form::Method).chain(macros).collect();
    did_you_mean(error, name, &known)
}

fn did_you_mean(error: SyntaxError, name: &str, known: &[&str]) -> SyntaxError {
    match near(name, known.iter().copied()) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("there are {}", known.join(", "))),
    }
}

pub(super) fn unknown_optional(span: Span) -> SyntaxError {
    SyntaxError::new(span, "`optional` is followed by `of`, `none` or `ofNonZeroValue`")
        .help("write `optional.of(x)` or `optional.none()`")
}

fn other_name(name: &str) -> Option<&'static str> {
    OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, here)| *here)
}

fn hyphenated(source: &str, at: usize) -> Option<SyntaxError> {
    let slip = hyphen::around(source, at)?;
    let message = format!("`{}` holds a hyphen and must be quoted", slip.name);
    Some(
        SyntaxError::new(slip.span, message)
            .help(format!("write `{}`", slip.replacement))
            .replace(slip.span, slip.replacement),
    )
}

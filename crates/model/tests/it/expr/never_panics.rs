//! Arbitrary text is parsed and evaluated without a panic, and every span lies within its text.

use milepost_model::expr::{EvalError, Expr, Fuel, InferredKind, SyntaxError};
use milepost_model::template::{Template, bare_braces};
use milepost_syntax::span::Span;
use proptest::prelude::*;

use super::{data, scope_of};

/// Fragments that produce text which parses often enough to reach the evaluator.
const PIECES: &[&str] = &[
    "inputs",
    "steps",
    ".",
    ".?",
    "[",
    "[?",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "?",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    "&&",
    "||",
    " in ",
    " ",
    "1",
    "0",
    "2.5",
    "'a'",
    "''",
    "\"b\"",
    "r'\\'",
    "b'\\xff'",
    "'\\u00e9'",
    "null",
    "true",
    "false",
    "x",
    "n",
    "name",
    "tags",
    "user",
    "my-key",
    "`my-key`",
    "size",
    "has",
    "map",
    "filter",
    "all",
    "exists",
    "matches",
    "json",
    "parse_json",
    "coalesce",
    "optional.of",
    "optional.none()",
    "orValue",
    "optMap",
    "string",
    "int",
    "type",
    "secret",
    "now()",
    "ü",
    "日",
    "\u{2019}",
    "${{",
    "}}",
    "{{",
    "//",
    "\n",
    "\\",
    "'",
    "\"",
    "=",
    "===",
    "??",
    "?.",
    "=>",
    "and",
    "not ",
    "1u",
    "0x",
    "9223372036854775807",
    "1e308",
    "#",
    "inputs.n",
    "inputs.tags",
    "inputs.name",
    "inputs.big",
    "steps.a-b",
    ".map(x,x)",
    ".size()",
    "inputs.none",
    "\u{0}",
    "$",
    "|",
    "&",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::collection::vec(prop::sample::select(PIECES), 0..24).prop_map(|p| p.concat()),
        1 => prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter),
    ]
}

fn assert_span(text: &str, span: Span) {
    assert!(text.get(span.range()).is_some(), "{span:?} does not lie on {text:?}");
}

fn assert_syntax_error(text: &str, error: &SyntaxError) {
    assert_span(text, error.span);
    assert!(!error.message.is_empty());
    if let Some((span, replacement)) = &error.replace {
        assert_span(text, *span);
        assert_ne!(&text[span.range()], replacement, "a mend must change {text:?}");
    }
}

fn assert_eval_error(text: &str, error: &EvalError) {
    assert_span(text, error.span);
    assert!(!error.to_string().is_empty());
}

fn explore(text: &str) {
    let scope = scope_of(data());
    match Expr::parse(text) {
        Err(error) => assert_syntax_error(text, &error),
        Ok(expr) => {
            for reference in expr.references() {
                assert_span(text, reference.span);
                reference.path.iter().for_each(|segment| assert_span(text, segment.span));
            }
            expr.secrets().iter().for_each(|secret| assert_span(text, secret.span));
            expr.hyphenated_names().iter().for_each(|slip| assert_span(text, slip.span));
            expr.infer(&|_| InferredKind::Unknown);
            if let Err(error) = expr.eval(&scope, &mut Fuel::new(1_000)) {
                assert_eval_error(text, &error);
            }
        }
    }
    match Template::parse(text) {
        Err(errors) => errors.iter().for_each(|error| assert_syntax_error(text, error)),
        Ok(template) => {
            for (expr, offset) in template.exprs() {
                assert!(text[offset as usize..].starts_with(expr.source()));
            }
            if let Err(error) = template.render(&scope, &mut Fuel::new(1_000)) {
                assert_eval_error(text, &error);
            }
        }
    }
    for brace in bare_braces(text) {
        assert_span(text, brace.span);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn on_any_text(text in text()) {
        explore(&text);
        explore(&format!("a ${{{{ {text} }}}} b"));
    }
}

//! Text with expressions in it.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use milepost_model::expr::{Fuel, Outcome};
use milepost_model::template::{Template, bare_braces};

use super::{data, scope_of};

fn render(text: &str) -> String {
    let template = match Template::parse(text) {
        Ok(template) => template,
        Err(errors) => {
            let mut out = String::new();
            for error in errors {
                writeln!(out, "syntax error at `{}`: {error}", &text[error.span.range()]).unwrap();
            }
            return out.trim_end().to_owned();
        }
    };
    match template.render(&scope_of(data()), &mut Fuel::default()) {
        Ok(Outcome::Value(value)) => value.to_string(),
        Ok(Outcome::Omit) => "omitted".to_owned(),
        Err(error) => format!("error at `{}`: {error}", &text[error.span.range()]),
    }
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&render(text));
}

#[test]
fn text_without_expressions_stays_as_it_is() {
    for text in ["", "plain", "{{ inputs.n }}", "$", "${", "${ {", "}}", "a }} b {{"] {
        let template = Template::parse(text).expect("there are no expressions");
        assert_eq!(template.literal(), Some(text));
    }
}

#[test]
fn a_sole_expression_keeps_its_type() {
    check("${{ inputs.n }}", &expect!["20"]);
    check("${{inputs.tags}}", &expect![[r#"["b","a","c"]"#]]);
    check("${{ inputs.none }}", &expect!["null"]);
    check("${{\n  inputs.n +\n  1\n}}", &expect!["21"]);
    check("${{ inputs.?nope }}", &expect!["omitted"]);
}

#[test]
fn blanks_around_make_it_text() {
    check(" ${{ inputs.n }}", &expect![[r#"" 20""#]]);
    check("${{ inputs.n }}\n", &expect![[r#""20\n""#]]);
}

#[test]
fn values_are_inserted_as_text() {
    check(
        "${{ inputs.name }} has ${{ inputs.n }}: ${{ inputs.tags }}, ${{ inputs.user }}",
        &expect![[r#""Ada has 20: [\"b\",\"a\",\"c\"], {\"name\":\"Lin\",\"manager\":null}""#]],
    );
    check("<${{ inputs.none }}|${{ inputs.flag }}|${{ 1.0 }}>", &expect![[r#""<null|true|1.0>""#]]);
    check("${{ 1 }}${{ 2 }}", &expect![[r#""12""#]]);
    check("größe ${{ inputs['größe'] }} 日本", &expect![[r#""größe L 日本""#]]);
}

#[test]
fn an_absent_value_cannot_be_inserted() {
    check(
        "Hi ${{ inputs.?nope }}!",
        &expect![
            "error at `inputs.?nope`: there is no value to insert: use `orValue('')` to provide one"
        ],
    );
    check("Hi ${{ inputs.?nope.orValue('you') }}!", &expect![[r#""Hi you!""#]]);
}

#[test]
fn the_end_is_found_by_reading_the_expression() {
    check("${{ {'a': {'b': 1}} }}", &expect![[r#"{"a":{"b":1}}"#]]);
    check("${{ {'a': {'b': 1}}}}", &expect![[r#"{"a":{"b":1}}"#]]);
    check("${{ '}}' + \"}}\" }}", &expect![[r#""}}}}""#]]);
    check("x${{ r'}}\\' }}y", &expect![[r#""x}}\\y""#]]);
    check("${{ {'}}': 1}.`}}` }}", &expect!["1"]);
    check("${{ 1 // }}\n }}", &expect!["1"]);
}

#[test]
fn the_braces_themselves_can_be_written() {
    check("${{ '${{' }} x }}", &expect![[r#""${{ x }}""#]]);
}

#[test]
fn values_are_never_parsed_again() {
    check("${{ item }}", &expect![[r#""{{ ${{ inputs.name }} }}""#]]);
    check("<${{ item }}>", &expect![[r#""<{{ ${{ inputs.name }} }}>""#]]);
    check("<${{ '$' + '{{ inputs.name }}' }}>", &expect![[r#""<${{ inputs.name }}>""#]]);
}

#[test]
fn all_syntax_errors_are_reported_where_they_stand() {
    check(
        "ä ${{ inputs.n === 1 }} b ${{ inputs. }} c ${{ }} d ${{ 'open }} e ${{ 1",
        &expect![[r"
            syntax error at `===`: use `==` instead of `===`
            syntax error at `.`: `.` has no name after it
            syntax error at ``: the expression is empty
            syntax error at `'open`: the string is never closed: `'` is missing
            syntax error at `${{`: `${{` is never closed: `}}` is missing"]],
    );
    check(
        "${{ {'a': 1 }} and ${{ 2 }}",
        &expect!["syntax error at `{`: `{` is never closed: `}` is missing"],
    );
    check(
        "${{ inputs.n // all }}",
        &expect!["syntax error at `${{`: `${{` is never closed: `}}` is missing"],
    );
    check("${{", &expect!["syntax error at `${{`: `${{` is never closed: `}}` is missing"]);
}

#[test]
fn replacements_are_placed_in_the_text() {
    let text = "Is it ${{ inputs.n === 1 }}?";
    let error = Template::parse(text).unwrap_err().remove(0);
    let (span, replacement) = error.replace.unwrap();
    let mut mended = text.to_owned();
    mended.replace_range(span.range(), &replacement);
    assert_eq!(mended, "Is it ${{ inputs.n == 1 }}?");
}

#[test]
fn evaluation_errors_are_placed_in_the_text() {
    check(
        "ö ${{ inputs.n }} ${{ steps.lookop.output }}",
        &expect![
            "error at `.lookop`: `steps` has no `lookop` (did you mean `lookup`?): it has \
             `lookup`, `my-step`"
        ],
    );
}

#[test]
fn expressions_come_with_their_offset() {
    let text = "a ${{ inputs.n }} b ${{x}}";
    let template = Template::parse(text).unwrap();
    for (expr, offset) in template.exprs() {
        assert!(text[offset as usize..].starts_with(expr.source()));
    }
    assert_eq!(template.exprs().count(), 2);
    assert_eq!(Template::parse("${{ 1 }}").unwrap().exprs().count(), 1);
    assert_eq!(Template::parse("1").unwrap().exprs().count(), 0);
}

#[test]
fn secrets_may_stand_in_text() {
    check("Bearer ${{ secret('token') }}", &expect![[r#""Bearer <sentinel>""#]]);
}

#[test]
fn braces_without_their_dollar_are_found() {
    let found = |text: &str| {
        let braces = bare_braces(text).into_iter();
        braces.map(|brace| (text[brace.span.range()].to_owned(), brace.inner)).collect::<Vec<_>>()
    };
    let pair = |whole: &str, inner: &str| (whole.to_owned(), inner.to_owned());
    assert_eq!(
        found("ä {{ inputs.x }} ${{ inputs.y }} {{z}} {{ a | default('b') }}"),
        [
            pair("{{ inputs.x }}", "inputs.x"),
            pair("{{z}}", "z"),
            pair("{{ a | default('b') }}", "a | default('b')"),
        ]
    );
    for text in ["${{ x }}", "${{ {'a': {'b': 1}} }}", "{{", "}} {{", "{{ }}", "{{1}}", "{ { x } }"]
    {
        assert_eq!(found(text), [], "{text}");
    }
}

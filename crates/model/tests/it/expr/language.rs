//! Results of expressions: `language.txt` contains one case per line, with its result indented
//! below.
//!
//! `UPDATE_EXPECT=1` rewrites the results; the difference is then reviewed like code.

use expect_test::expect_file;

use super::{scope_of, show, show_in};
use serde_json::json;

#[test]
fn table() {
    let mut out = String::new();
    let mut cases = 0;
    for line in include_str!("language.txt").lines() {
        if line.starts_with("    ") {
            continue;
        }
        out.push_str(line);
        out.push('\n');
        if !line.is_empty() && !line.starts_with('#') {
            cases += 1;
            out.push_str("    ");
            out.push_str(&show(line));
            out.push('\n');
        }
    }
    assert!(cases > 250, "the table lost its cases: {cases}");
    expect_file!["./language.txt"].assert_eq(&out);
}

#[test]
fn blanks_and_comments_are_free() {
    for source in ["1+2", " 1 + 2 ", "1\t+\n2", "1\r\n+ 2\x0c", "1 // one\n + // two\n2 // end"] {
        assert_eq!(show(source), "3", "{source:?}");
    }
}

#[test]
fn a_string_in_three_quotes_may_hold_line_breaks() {
    assert_eq!(show("'''a\nb'''"), r#""a\nb""#);
    assert_eq!(show("'a\nb'"), "syntax error: the string is never closed: `'` is missing");
}

#[test]
fn a_path_keeps_what_the_data_holds() {
    let text = r#"{"z":1,"a":{"y":1.0,"b":18446744073709551615,"c":-0.0,"d":[1e300,{"k":null}]}}"#;
    let data: serde_json::Value = serde_json::from_str(text).unwrap();
    let expected = data.to_string();
    let scope = scope_of(json!({"x": data}));
    assert_eq!(show_in("x", &scope), expected);
    assert_eq!(show_in("[x][0]", &scope), expected);
    assert_eq!(show_in("parse_json(json(x))", &scope), expected);
}

#[test]
fn a_name_of_the_scope_comes_before_a_type() {
    let scope = scope_of(json!({"list": [1], "type": "order"}));
    assert_eq!(show_in("size(list)", &scope), "1");
    assert_eq!(show_in("type == 'order' && type(list[0]) == int", &scope), "true");
}

#[test]
fn there_is_no_time_and_no_secret_unless_the_scope_has_them() {
    let scope = milepost_model::expr::MapScope::default();
    assert_eq!(show_in("now()", &scope), "error at `now()`: `now()` is not available here");
    assert_eq!(
        show_in("secret('token')", &scope),
        "error at `secret('token')`: there is no secret `token` here"
    );
    assert_eq!(show_in("nope", &scope), "error at `nope`: unknown name `nope`; available: nothing");
}

#[test]
fn errors_never_show_values() {
    let secret = "hunter2";
    let scope = scope_of(json!({"x": {"token": secret}, "n": 424_242}));
    for source in [
        "int(x.token)",
        "x.token + 1",
        "x.token.field",
        "x.token[0]",
        "parse_json(x.token)",
        "x.token && true",
        "x.token in x.token",
        "bool(x.token)",
        "'a'.matches(x.token + '(')",
        "n.field",
        "n + 9223372036854775807",
    ] {
        let shown = show_in(source, &scope);
        assert!(shown.contains("error"), "{source} {shown}");
        assert!(!shown.contains(secret) && !shown.contains("424242"), "{source} {shown}");
    }
}

#[test]
fn conditions_are_booleans() {
    use milepost_model::expr::{Expr, Fuel};
    let scope = scope_of(super::data());
    let holds = |source: &str| {
        let expr = Expr::parse(source).unwrap();
        expr.eval_bool(&scope, &mut Fuel::default()).map_err(|error| error.to_string())
    };
    assert_eq!(holds("inputs.n > 3"), Ok(true));
    assert_eq!(holds("inputs.flag && false"), Ok(false));
    for (source, found, comparison) in [
        ("inputs.name", "a string", "x != ''"),
        ("inputs.n", "a number", "x > 0"),
        ("inputs.tags", "a list", "size(x) > 0"),
        ("inputs", "an object", "size(x) > 0"),
        ("inputs.none", "null", "x != null"),
        ("inputs.?flag", "an optional", "x.hasValue()"),
    ] {
        let expected = format!(
            "a condition must be true or false, but this is {found}: \
             compare it, as in `{comparison}`"
        );
        assert_eq!(holds(source), Err(expected), "{source}");
    }
}

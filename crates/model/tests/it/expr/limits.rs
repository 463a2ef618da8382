//! Every evaluation ends quickly, and hostile sources are refused or evaluated without harm.

use std::time::{Duration, Instant};

use milepost_model::expr::limits::{FUEL_DEFAULT, RESULT_BYTES_MAX, SOURCE_BYTES_MAX};
use milepost_model::expr::{EvalErrorKind, Expr, Fuel, Outcome};
use milepost_model::template::Template;
use serde_json::{Value as Json, json};

use super::scope_of;

fn eval(source: &str, data: Json) -> Result<Outcome, EvalErrorKind> {
    let expr = Expr::parse(source).unwrap();
    expr.eval(&scope_of(data), &mut Fuel::default()).map_err(|error| error.kind)
}

fn assert_too_expensive(source: &str, data: Json) {
    let start = Instant::now();
    assert_eq!(eval(source, data), Err(EvalErrorKind::TooExpensive), "{source}");
    // Generous for a debug build on a busy machine; without fuel these take seconds to years.
    assert!(start.elapsed() < Duration::from_secs(2), "{source} took {:?}", start.elapsed());
}

#[test]
fn loops_in_loops_run_out_of_fuel() {
    let items: Vec<i32> = (0..100).collect();
    let data = json!({"l": items});
    assert_too_expensive("l.map(a, l.map(b, l.map(c, 1)))", data.clone());
    assert_too_expensive("l.all(a, l.all(b, l.all(c, true)))", data.clone());
    assert_too_expensive("l.exists(a, l.exists(b, l.exists(c, a + b + c < 0)))", data.clone());
    assert_too_expensive("l.map(a, l.filter(b, l.exists_one(c, c == a)))", data.clone());
    assert_too_expensive("l.map(a, l.map(b, l.all(c, c in l)))", data.clone());
    assert_too_expensive("l.map(a, l.map(b, l == l))", data);
}

#[test]
fn running_out_cannot_be_absorbed() {
    let items: Vec<i32> = (0..100).collect();
    let data = json!({"l": items});
    let long = "l.map(a, l.map(b, l.map(c, 1))) == []";
    assert_too_expensive(&format!("{long} || true"), data.clone());
    assert_too_expensive(&format!("{long} && false"), data.clone());
    assert_too_expensive(&format!("coalesce({long}, 1)"), data.clone());
    assert_too_expensive(&format!("[1].exists(x, {long} || true)"), data.clone());
    assert_too_expensive(&format!("l.exists(x, nope || x == 99 && {long}) || true"), data);
}

#[test]
fn doubling_text_runs_out_of_fuel() {
    let mut source = "'0123456789'".to_owned();
    for _ in 0..40 {
        source = format!("[{source}].map(x, x + x)[0]");
    }
    assert_too_expensive(&source, json!({}));
    let mut source = "[1]".to_owned();
    for _ in 0..40 {
        source = format!("[{source}].map(x, x + x)[0]");
    }
    assert_too_expensive(&source, json!({}));
}

#[test]
fn doubling_values_is_refused() {
    // Shared structure is cheap to build, and is only expanded when converted to JSON.
    let mut source = "'0123456789'".to_owned();
    for _ in 0..40 {
        source = format!("[{source}].map(x, [x, x])[0]");
    }
    let start = Instant::now();
    assert_eq!(eval(&source, json!({})), Err(EvalErrorKind::TooLarge));
    assert_too_expensive(&format!("[{source}].map(x, x == x)"), json!({}));
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn work_on_long_text_costs_fuel() {
    let text = "a".repeat(1_000_000);
    let data = json!({"t": text, "l": (0..100).collect::<Vec<i32>>()});
    for work in [
        "t.contains('b')",
        "t.matches('b$')",
        "size(t) < 0",
        "t == t + ''",
        "t < t",
        "base64(t) == ''",
        "url_encode(t) == ''",
        "json(t) == ''",
        "int(t) == 0",
        "t.startsWith(t)",
        "json([t, b'']) == ''",
        "t in [t + 'b', 1]",
    ] {
        assert_too_expensive(&format!("l.exists(x, {work} && false)"), data.clone());
    }
}

#[test]
fn errors_with_many_names_cost_fuel() {
    let wide: serde_json::Map<String, Json> =
        (0..10_000).map(|n| (format!("field_{n}"), Json::Null)).collect();
    let data = json!({"w": wide, "l": (0..1_000).collect::<Vec<i32>>()});
    assert_too_expensive("l.exists(x, w.fjeld_1 == 1)", data.clone());
    assert_too_expensive("[parse_json(json(w))].all(m, l.exists(x, m.fjeld_1 == 1))", data);
}

#[test]
fn patterns_made_at_run_time_cost_fuel() {
    let data = json!({"l": (0..1_000).collect::<Vec<i32>>()});
    assert_too_expensive("l.all(x, !'a'.matches('(b{1,50}){1,20}' + string(x)))", data);
}

#[test]
fn a_large_pattern_is_refused() {
    let error = Expr::parse("'a'.matches('(\\\\w{500}){500}')").unwrap_err();
    assert_eq!(error.message, "the pattern is not valid: it is too large");
}

#[test]
fn fuel_is_shared_and_counted() {
    let scope = scope_of(json!({}));
    let mut fuel = Fuel::new(10);
    let expr = Expr::parse("1 + 2").unwrap();
    for left in [7, 4, 1] {
        expr.eval(&scope, &mut fuel).unwrap();
        assert_eq!(fuel.left(), left);
    }
    assert_eq!(expr.eval(&scope, &mut fuel).unwrap_err().kind, EvalErrorKind::TooExpensive);
    assert_eq!(fuel.left(), 0);
    assert_eq!(Fuel::default().left(), FUEL_DEFAULT);
}

#[test]
fn results_have_a_greatest_size() {
    let fits = "a".repeat(RESULT_BYTES_MAX - 3);
    assert!(eval("t", json!({"t": fits})).is_ok());
    assert_eq!(eval("t", json!({"t": fits + "b"})), Err(EvalErrorKind::TooLarge));
    let items = vec![json!({"key": "value"}); 100_000];
    assert_eq!(eval("l", json!({"l": items})), Err(EvalErrorKind::TooLarge));
    let half = "a".repeat(RESULT_BYTES_MAX / 2 + 1);
    let template = Template::parse("${{ t }}${{ t }}").unwrap();
    let rendered = template.render(&scope_of(json!({"t": half})), &mut Fuel::default());
    assert_eq!(rendered.unwrap_err().kind, EvalErrorKind::TooLarge);
}

#[test]
fn results_have_a_greatest_depth() {
    let wrap = |levels: usize| format!(".optMap(x,{}x{})", "[".repeat(levels), "]".repeat(levels));
    for (levels, times) in [(1, 500), (50, 60), (59, 60)] {
        let deep = format!("optional.of(1){}", wrap(levels).repeat(times));
        assert_eq!(eval(&deep, json!({})), Err(EvalErrorKind::TooDeep));
        let compared = format!("[{deep}].all(x, x == x) || true");
        assert_eq!(eval(&compared, json!({})), Err(EvalErrorKind::TooDeep));
    }
    let fits = format!("optional.of(1){}", wrap(1).repeat(120));
    assert!(eval(&fits, json!({})).is_ok());
    let optionals = ".optMap(x,optional.of(x))".repeat(320);
    let deep = format!("optional.of(1){optionals}.hasValue()");
    assert_eq!(eval(&deep, json!({})), Err(EvalErrorKind::TooDeep));
    let deep = "[".repeat(120) + &"]".repeat(120);
    assert!(eval(&format!("parse_json('{deep}')"), json!({})).is_ok());
    let deeper = "[".repeat(200) + &"]".repeat(200);
    let refused = eval(&format!("parse_json('{deeper}')"), json!({}));
    assert!(matches!(refused, Err(EvalErrorKind::BadJson { .. })));
}

/// Repeats each construct up to the maximum length of a source.
#[test]
fn hostile_sources_do_no_harm() {
    let fill = |unit: &str| unit.repeat(SOURCE_BYTES_MAX / unit.len() - 2);
    let data = json!({"a": {}, "t": true, "l": [1]});
    let run = |source: String| match Expr::parse(&source) {
        Ok(expr) => {
            expr.hyphenated_names();
            expr.infer(&|_| milepost_model::expr::InferredKind::Unknown);
            let clone = expr.clone();
            drop(expr);
            match clone.eval(&scope_of(data.clone()), &mut Fuel::default()) {
                Ok(_) => "value".to_owned(),
                Err(error) => error.to_string().chars().take(60).collect(),
            }
        }
        Err(error) => error.message,
    };
    let too_deep = "the expression nests deeper than 64 levels";
    for (source, expected) in [
        (fill("1+") + "1", "value"),
        (fill("1*") + "1", "value"),
        (fill("t==") + "t", "value"),
        (fill("t&&") + "t", "value"),
        (fill("t||") + "t", "value"),
        (fill("t?t:") + "t", "value"),
        (fill("!") + "t", "value"),
        (fill("-") + "1", "value"),
        ("[".to_owned() + &fill("1,") + "1]", "value"),
        ("optional.of(1)".to_owned() + &".or(a)".repeat(1_300), "value"),
        ("a".to_owned() + &fill(".?b"), "value"),
        ("a".to_owned() + &fill("[?0]"), "value"),
        ("l".to_owned() + &".map(x,x)".repeat(900), "value"),
        (fill("("), too_deep),
        (fill("["), too_deep),
        (fill("{"), "`{{` is not needed: this is an expression"),
        (fill("{1:"), too_deep),
        (fill("!-"), too_deep),
        (fill("a["), too_deep),
        (fill("size("), too_deep),
        (fill("t?"), too_deep),
        (fill("l.map(x,"), too_deep),
        (fill("not "), "use `!` instead of `not`"),
    ] {
        assert_eq!(run(source.clone()), expected, "{}…", &source[..20.min(source.len())]);
    }
    assert!(run("a".to_owned() + &fill(".b")).starts_with("`a` has no `b`"));
}

/// Uses a small stack, because callers run on threads whose stack size we do not control.
#[test]
fn the_deepest_nesting_fits_a_small_stack() {
    let units = [
        ("(", "1", ")", 62),
        ("[", "", "]", 62),
        ("{'a':", "1", "}", 62),
        ("size([", "", "])", 31),
        ("l.map(x,", "1", ")", 62),
        ("coalesce(", "1", ")", 62),
        ("t?", "1", ":1", 62),
        ("!(!", "t", ")", 31),
        ("a[?", "'k'", "].orValue('k')", 62),
        ("1+(1*", "1", ")", 62),
    ];
    let run = move || {
        for (open, middle, close, times) in units {
            let source = format!("{}{middle}{}", open.repeat(times), close.repeat(times));
            let data = json!({"l": [1], "t": true, "a": {}});
            if let Err(error) = eval(&source, data) {
                panic!("{open}: {error}");
            }
        }
    };
    std::thread::Builder::new().stack_size(1024 * 1024).spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_template_with_many_braces_is_read_in_linear_time() {
    let start = Instant::now();
    for unit in ["${{ 'a }}", "${{ }", "${{ // }}", "{{ x ", "${{ {{ }}", "${{ '''}} ", "${{ `"] {
        let text = unit.repeat(200_000 / unit.len());
        drop(Template::parse(&text));
        drop(milepost_model::template::bare_braces(&text));
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

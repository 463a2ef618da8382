//! Static analysis of expressions.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use milepost_model::expr::{Expr, InferredKind, Reference, SegmentKind};

fn check_references(source: &str, expected: &Expect) {
    let expr = Expr::parse(source).unwrap();
    let mut out = String::new();
    for reference in expr.references() {
        write!(out, "{} =", &source[reference.span.range()]).unwrap();
        write!(out, " {}", reference.root).unwrap();
        for segment in &reference.path {
            let optional = if segment.optional { "?" } else { "" };
            let text = &source[segment.span.range()];
            match &segment.kind {
                SegmentKind::Field(name) => {
                    assert_eq!(name, text, "the span is that of the name");
                    write!(out, " {optional}{name}").unwrap();
                }
                SegmentKind::Index(index) => write!(out, " {optional}[{index}]").unwrap(),
                SegmentKind::Dynamic => write!(out, " {optional}[dynamic {text}]").unwrap(),
            }
        }
        out.push_str(if reference.guarded { " (guarded)\n" } else { "\n" });
    }
    expected.assert_eq(&out);
}

#[test]
fn references_of_paths() {
    check_references(
        "steps.a.output.items[0].name + inputs['my-key'] + env.`X-Y`",
        &expect![[r"
            steps.a.output.items[0].name = steps a output items [0] name
            inputs['my-key'] = inputs my-key
            env.`X-Y` = env X-Y
        "]],
    );
}

#[test]
fn references_inside_indexes_come_behind_the_one_they_index() {
    check_references(
        "s[inputs.a].o[inputs.b[run.n]]",
        &expect![[r"
            s[inputs.a].o[inputs.b[run.n]] = s [dynamic inputs.a] o [dynamic inputs.b[run.n]]
            inputs.a = inputs a
            inputs.b[run.n] = inputs b [dynamic run.n]
            run.n = run n
        "]],
    );
}

#[test]
fn references_skip_variables_of_macros_and_types() {
    check_references(
        "inputs.tags.filter(x, x.a == inputs.b && type(x) == string).map(x, [item, x]) + x",
        &expect![[r"
            inputs.tags = inputs tags
            inputs.b = inputs b
            item = item
            x = x
        "]],
    );
}

#[test]
fn references_that_may_be_missing_are_guarded() {
    check_references(
        "has(a.b) || has(a[c.d].e) || a.?b.c.orValue(d) || e[?0] || coalesce(f.g, size(h)) || i",
        &expect![[r"
            a.b = a b (guarded)
            a[c.d].e = a [dynamic c.d] e (guarded)
            c.d = c d
            a.?b.c = a ?b c (guarded)
            d = d
            e[?0] = e ?[0] (guarded)
            f.g = f g (guarded)
            h = h (guarded)
            i = i
        "]],
    );
}

#[test]
fn references_in_every_kind_of_node() {
    check_references(
        "-a ? [b, ?c] : {d: e, ?f: g}[h].matches(i) ? !j : k",
        &expect![[r"
        a = a
        b = b
        c = c
        d = d
        e = e
        f = f
        g = g
        h = h
        i = i
        j = j
        k = k
    "]],
    );
}

#[test]
fn paths_are_recognised() {
    for source in ["inputs", "inputs.n", "steps['my-step'].output[0]", " inputs.n ", "(inputs.n)"] {
        assert!(Expr::parse(source).unwrap().is_path(), "{source}");
    }
    for source in
        ["1", "inputs.?n", "inputs[inputs.n]", "inputs.n + 1", "size(inputs)", "string", "a[?0]"]
    {
        assert!(!Expr::parse(source).unwrap().is_path(), "{source}");
    }
}

#[test]
fn secrets_and_their_places() {
    let secrets = |source: &str| {
        let expr = Expr::parse(source).unwrap();
        let shown = expr.secrets().iter().map(|secret| {
            let place = if secret.legal { "legal" } else { "illegal" };
            format!("{} {} {place}", secret.name, &source[secret.span.range()])
        });
        shown.collect::<Vec<_>>()
    };
    assert_eq!(secrets("secret('a')"), ["a secret('a') legal"]);
    assert_eq!(secrets("( secret('a') )"), ["a secret('a') legal"]);
    assert_eq!(
        secrets("'x ' + secret('a') + ':' + secret('b')"),
        ["a secret('a') legal", "b secret('b') legal"]
    );
    for source in [
        "secret('a') == 'x'",
        "secret('a') + 'x' == 'y'",
        "size(secret('a'))",
        "[secret('a')]",
        "true ? secret('a') : ''",
        "'x' + base64(secret('a'))",
        "secret('a').size()",
        "('x' + secret('a')) + 'y'",
    ] {
        assert_eq!(secrets(source), ["a secret('a') illegal"], "{source}");
    }
    assert_eq!(
        secrets("secret('a') + json(secret('b'))"),
        ["a secret('a') legal", "b secret('b') illegal"]
    );
    assert!(secrets("inputs.secret").is_empty());
}

#[test]
fn hyphens_that_were_no_minus() {
    let slips = |source: &str| {
        let expr = Expr::parse(source).unwrap();
        let shown = expr.hyphenated_names().iter().map(|slip| {
            let mut mended = source.to_owned();
            mended.replace_range(slip.span.range(), &slip.replacement);
            format!("{} -> {mended}", slip.name)
        });
        shown.collect::<Vec<_>>()
    };
    assert_eq!(slips("steps.my-step.output"), ["my-step -> steps['my-step'].output"]);
    assert_eq!(
        slips("size(steps.my-cool-step-2.output) > 1"),
        ["my-cool-step-2 -> size(steps['my-cool-step-2'].output) > 1"]
    );
    assert_eq!(slips("steps.get-item.output"), ["get-item -> steps['get-item'].output"]);
    assert_eq!(slips("inputs.my-name == 'x'"), ["my-name -> inputs['my-name'] == 'x'"]);
    assert_eq!(slips("items.map(x, x + steps.a-b.output)").len(), 1);
    for source in [
        "steps.a.output - inputs.b",
        "steps.a.output-inputs.b",
        "inputs.a - name",
        "inputs.a -name",
        "inputs.a- name",
        "inputs.a-1",
        "inputs.a-inputs.b",
        "inputs.a-size(x)",
        "a.b-c",
        "inputs.`a`-(b)",
    ] {
        assert_eq!(slips(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn kinds_are_inferred() {
    let of = |reference: &Reference| match reference.root.as_str() {
        "s" => InferredKind::String,
        "n" => InferredKind::Number,
        "l" => InferredKind::List,
        "b" => InferredKind::Bool,
        _ => InferredKind::Unknown,
    };
    for (source, expected) in [
        ("null", InferredKind::Null),
        ("true", InferredKind::Bool),
        ("1", InferredKind::Number),
        ("-n", InferredKind::Number),
        ("1.5", InferredKind::Number),
        ("'a'", InferredKind::String),
        ("[1]", InferredKind::List),
        ("{'a': 1}", InferredKind::Map),
        ("b'a'", InferredKind::Unknown),
        ("s", InferredKind::String),
        ("s.x", InferredKind::String),
        ("u.x", InferredKind::Unknown),
        ("s.?x", InferredKind::Unknown),
        ("!u", InferredKind::Bool),
        ("u == 1", InferredKind::Bool),
        ("u in l", InferredKind::Bool),
        ("u && u", InferredKind::Bool),
        ("has(u.x)", InferredKind::Bool),
        ("s + s", InferredKind::String),
        ("'a' + u", InferredKind::String),
        ("u + u", InferredKind::Unknown),
        ("n + 1", InferredKind::Number),
        ("u - u", InferredKind::Number),
        ("l + l", InferredKind::List),
        ("b ? 1 : 2", InferredKind::Number),
        ("b ? 1 : 'a'", InferredKind::Unknown),
        ("b ? 1 : b ? 2 : 3", InferredKind::Number),
        ("size(u)", InferredKind::Number),
        ("u.size()", InferredKind::Number),
        ("u.x.matches('a')", InferredKind::Bool),
        ("u.map(x, x)", InferredKind::List),
        ("u.all(x, x)", InferredKind::Bool),
        ("u.filter(x, true)[0]", InferredKind::Unknown),
        ("string(u)", InferredKind::String),
        ("int(u)", InferredKind::Number),
        ("dyn(s)", InferredKind::String),
        ("json(u)", InferredKind::String),
        ("parse_json(s)", InferredKind::Unknown),
        ("coalesce(u, 1)", InferredKind::Unknown),
        ("now()", InferredKind::String),
        ("secret('a')", InferredKind::String),
        ("type(u)", InferredKind::Unknown),
    ] {
        assert_eq!(Expr::parse(source).unwrap().infer(&of), expected, "{source}");
    }
}

#[test]
fn expressions_are_equal_by_source_and_can_be_sent() {
    fn assert_send<T: Send + Sync + Clone>(_: &T) {}
    let expr = Expr::parse("'a'.matches('b')").unwrap();
    assert_send(&expr);
    assert_eq!(expr, expr.clone());
    assert_eq!(format!("{expr:?}"), r#"Expr("'a'.matches('b')")"#);
    assert_ne!(expr, Expr::parse("1").unwrap());
}

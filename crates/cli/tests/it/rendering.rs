//! Diagnostics as people see them: the source line, a caret exactly under the fault, and the fix.

use std::fmt::Write;

use expect_test::{Expect, expect};
use unicode_width::UnicodeWidthStr;

use crate::{Place, finish};

fn check(name: &str, text: &str, expected: &Expect) {
    let place = Place::with(&[(name, text)]);
    let ran = place.workflow(&format!("validate {name}")).ends(3).quiet();
    expected.assert_eq(&ran.out);
}

#[test]
fn a_misspelt_key() {
    let text = "workflow: a\nsteps:\n  - id: a\n    promt: Look\n";
    check(
        "a.yaml",
        text,
        &expect![[r"
        error[unknown-key]: unknown key `promt`
         --> a.yaml:4:5
          |
        4 |     promt: Look
          |     ^^^^^
          |
        help: did you mean `prompt`?
          |
        4 |     prompt: Look
          |         +

        a.yaml: not valid: 1 error, 1 can be fixed with `--fix`
    "]],
    );
}

#[test]
fn a_name_inside_an_expression() {
    let text = "workflow: a\ninputs: {order: {type: string}}\nsteps:\n  \
        - {id: a, prompt: \"über ${{ inputs.ordre }}\"}\n";
    check(
        "a.yaml",
        text,
        &expect![[r#"
            error[unknown-name]: there is no input `ordre`
             --> a.yaml:4:38
              |
            4 |   - {id: a, prompt: "über ${{ inputs.ordre }}"}
              |                                      ^^^^^
              |
            help: did you mean `order`?
              |
            4 -   - {id: a, prompt: "über ${{ inputs.ordre }}"}
            4 +   - {id: a, prompt: "über ${{ inputs.order }}"}
              |

            a.yaml: not valid: 1 error, 1 can be fixed with `--fix`
        "#]],
    );
}

#[test]
fn a_duplicate_key() {
    let text = "workflow: a\ntitle: one\nsteps: [{id: a, prompt: p}]\ntitle: two\n";
    check(
        "a.yaml",
        text,
        &expect![[r"
        error[duplicate-key]: duplicate key `title` (first used on line 2)
         --> a.yaml:4:1
          |
        2 | title: one
          | ----- first used here
        3 | steps: [{id: a, prompt: p}]
        4 | title: two
          | ^^^^^
          |
        help: remove one of the two

        a.yaml: not valid: 1 error
    "]],
    );
}

#[test]
fn a_missing_required_key() {
    check(
        "a.yaml",
        "workflow: a\ntitle: one\n",
        &expect![[r"
        error[required]: missing required key `steps`
         --> a.yaml:1:1
          |
        1 | workflow: a
          | ^^^^^^^^^^^
          |
        help: add `steps`

        a.yaml: not valid: 1 error
    "]],
    );
}

#[test]
fn a_document_that_ends_early() {
    check(
        "a.json",
        "{\"workflow\": \"a\",\n \"steps\": [",
        &expect![[r#"
        error[syntax]: unexpected end of JSON input
         --> a.json:2:12
          |
        2 |  "steps": [
          |            ^
          |
        help: check for missing closing braces, brackets, or quotes

        a.json: not valid: 1 error
    "#]],
    );
}

#[test]
fn bytes_without_a_line_to_show() {
    let place = Place::new();
    std::fs::write(place.path("a.yaml"), b"workflow: a\ntitle: \xe9\n").expect("writes");
    let ran = place.workflow("validate a.yaml").ends(3).quiet();
    expect![[r"
        error[syntax]: byte 0xe9 is not UTF-8
        --> a.yaml:2:8
         |
        help: save the file as UTF-8

        a.yaml: not valid: 1 error
    "]]
    .assert_eq(&ran.out);
}

#[test]
fn control_characters() {
    let text = "{\"workflow\": \"a\", \"steps\": [{\"id\": \"a\", \"prompt\": \"p\",\n\
        \"\u{202e}evil\\u001b[31m\": 1}]}";
    check(
        "a.json",
        text,
        &expect![[r#"
        error[unknown-key]: unknown key `\u{202e}evil\u{1b}[31m`
         --> a.json:2:1
          |
        2 | "�evil\u001b[31m": 1}]}
          | ^^^^^^^^^^^^^^^^^
          |
          = note: expected `id`, `type`, `title`, `description`, `depends_on`, `if`,
                  `when`, `needs` and 28 more
        help: remove it, or put it where it belongs

        a.json: not valid: 1 error
    "#]],
    );
}

#[test]
fn a_very_long_line() {
    let text =
        format!("workflow: a\nsteps: [{{id: a, prompt: \"{}\", promt: 1}}]\n", "x".repeat(9_000));
    check(
        "a.yaml",
        &text,
        &expect![[r#"
        error[unknown-key]: unknown key `promt`
         --> a.yaml:2:9029
          |
        2 | ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxx", promt: 1}]
          |                                    ^^^^^
          |
          = note: expected `id`, `type`, `title`, `description`, `depends_on`, `if`,
                  `when`, `needs` and 28 more
        help: remove it, or put it where it belongs

        a.yaml: not valid: 1 error
    "#]],
    );
}

#[test]
fn only_the_source_is_wider_than_the_terminal() {
    let mut text =
        "workflow: a\nconcurency: 2\ntimeout: 5\nbogus_key_of_nobody: 1\nsteps:\n".to_owned();
    for step in 0..4 {
        writeln!(text, "  - {{id: s{step}, run: shop orders:get, flags: {{}}, bogus: 1}}")
            .expect("writes");
    }
    let long = "x".repeat(200);
    writeln!(text, "  - {{id: t, promt: p}}\ntags: {long}\n{long}: 1").expect("writes");
    let place = Place::with(&[("a.yaml", &text)]);
    for width in [80, 120] {
        let mut command = place.command();
        command.env("COLUMNS", width.to_string());
        let ran = finish(command.args(["workflow", "validate", "a.yaml"]), "").ends(3);
        for line in ran.out.lines() {
            // A word without spaces cannot be broken.
            let source = line.contains(" | ") || line.contains(" + ") || line.contains("xxxxxxxx");
            assert!(source || line.width() <= width, "{width}: {line}");
        }
    }
    for width in [80, 120] {
        for verb in ["show", "plan", "graph"] {
            let mut command = place.command();
            command.env("COLUMNS", width.to_string());
            let ran = finish(command.args(["workflow", verb, "refund-order"]), "").ends(0);
            for line in ran.out.lines() {
                assert!(line.width() <= width, "{verb} {width}: {line}");
            }
        }
    }
}

/// Fragments that place findings at line ends, inside wide characters and across lines.
const PIECES: &[&str] = &[
    "workflow: a\n",
    "steps:\n",
    "  - id: é\n",
    "    promt: p\n",
    "    prompt: |\n",
    "é",
    "😀",
    "\r\n",
    "\t",
    "\u{202e}",
    "\u{1b}[31m",
    "${{ inputs.ü }}",
    "{{ x }}",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    ": ",
    ",",
    "\n",
    "      ",
    "\\",
    "&a ",
    "*a",
    "title: x\n",
    "title: y\n",
    "\u{2028}",
    "\u{feff}",
    "1e999",
    "!t ",
    "inputs: {ü: {typ: string}}\n",
    "{\"workflow\": \"a\",",
    "\"steps\": [{\"id\": \"ä\"",
    "# c",
    "% ",
];

#[test]
fn every_finding_can_be_rendered() {
    let place = Place::new();
    let mut seed = 7_u64;
    let mut next = |below: usize| {
        // Knuth's generator, which yields the same documents every time.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).expect("fits") % below
    };
    let mut command = place.command();
    command.args(["workflow", "validate"]);
    for number in 0..1_500 {
        let length = 1 + next(14);
        let text: String = (0..length).map(|_| PIECES[next(PIECES.len())]).collect();
        let name = format!("{number}.{}", ["yaml", "json", "txt"][next(3)]);
        place.put(&name, &text);
        command.arg(name);
    }
    let ran = finish(&mut command, "").ends(3).quiet();
    assert!(!ran.out.contains(['\u{1b}', '\u{202e}']));
    assert!(ran.out.ends_with(" invalid\n"), "{}", ran.out.lines().last().unwrap_or(""));
}

//! Regression cases from a review.

use milepost_model::document::Document;
use milepost_model::workflow::Spelling;
use milepost_syntax::source::Format;

use crate::{read, read_as};

/// Checks the line, column and rule of each error.
#[track_caller]
fn check(text: &str, expected: &[(u32, u32, &str)]) {
    let document = read(text);
    assert_eq!(errors(&document), expected, "{text}\n{:#?}", document.violations);
}

fn errors(document: &Document) -> Vec<(u32, u32, &'static str)> {
    let errors = document.violations.iter().filter(|one| one.severity.name() == "error");
    errors.map(|one| (one.line, one.column, one.rule.name())).collect()
}

#[test]
fn a_key_moves_into_an_empty_map() {
    for format in [Format::Json, Format::Yaml] {
        let text = concat!(
            r#"{"workflow":"w","inputs":{"k":{"type":"string","validate":{},"pattern":"^a$"}},"#,
            r#""steps":[{"id":"a","set":{"x":"${{ inputs.k }}"}}]}"#,
        );
        let fixed = read_as(text, format).fixed().expect("there is a fix");
        let after = read_as(&fixed, format);
        assert!(after.is_valid(), "{fixed}\n{:#?}", after.violations);
    }
}

#[test]
fn pointers_in_lists_without_indentation() {
    let text = concat!(
        "workflow: w\nsteps:\n- id: alpha\n  set: {x: 1}\n",
        "- id: b\n  set: {x: 1}\n  depends_on:\n  - alpah\n",
    );
    let document = read(text);
    let found = &document.violations[0];
    assert_eq!(found.path, "/steps/1/depends_on/0");
    let patch = found.fix.as_ref().map(|fix| fix.patch[0]["path"].clone());
    assert_eq!(patch, Some("/steps/1/depends_on/0".into()));
    let missing = read("workflow: w\nsteps:\n- set: {x: 1}\n");
    assert_eq!(missing.violations[0].path, "/steps/0");
}

#[test]
fn secrets_do_not_leave_by_another_name() {
    let head = "workflow: w\ninputs: {k: {secret: true, type: array}, n: {type: string}}\nsteps:\n";
    let one = |step: &str, column: u32| {
        check(&format!("{head}  - {step}\n"), &[(4, column, "secret-exposed")]);
    };
    one("{id: a, prompt: '${{ inputs }} ${{ inputs.n }}'}", 26);
    one("{id: a, set: {y: '${{ json(inputs) }}', z: '${{ inputs.n }}'}}", 32);
    one("{id: a, prompt: '${{ inputs[inputs.n] }}'}", 26);
    one("{id: a, for_each: '${{ inputs.k }}', as: it, prompt: '${{ it }} ${{ inputs.n }}'}", 63);
}

#[test]
fn expressions_where_none_are_filled_in() {
    let text = concat!(
        "workflow: w\nsteps:\n  - {id: a, prompt: p, title: 'T ${{ run.id }}'}\n",
        "  - {id: b, prompt: '${{ run.id }}', guidance: ['${{ inputs.x }}']}\n",
    );
    let warned: Vec<_> = read(text).violations.iter().map(|one| (one.line, one.column)).collect();
    assert_eq!(warned, [(3, 31), (4, 49)]);
}

#[test]
fn for_each_takes_a_list() {
    let with = |items: &str| {
        format!(
            "workflow: w\ninputs: {{l: {{type: array}}, k: {{type: string}}}}\nsteps:\n  \
             - {{id: a, for_each: {items}, prompt: '${{{{ inputs.l }}}} ${{{{ inputs.k }}}}'}}\n"
        )
    };
    for wrong in ["5", "abc def", "{a: 1}", "'x ${{ inputs.l }}'"] {
        check(&with(wrong), &[(4, 23, "expression-type")]);
    }
    for right in ["'${{ inputs.l }}'", "['${{ inputs.k }}', b]", "[{n: '${{ inputs.k }}'}]"] {
        check(&with(right), &[]);
    }
    let fixed = read(with("inputs.l")).fixed().expect("there is a fix");
    assert!(fixed.contains("for_each: \"${{ inputs.l }}\""), "{fixed}");
}

#[test]
fn orders_that_cannot_run() {
    check(
        "workflow: w\nsteps: [{id: a, wait: 1s, depends_on: [f]}]\nfinally: [{id: f, wait: 1s}]\n",
        &[(2, 40, "cycle")],
    );
    check(
        "workflow: w\nsteps:\n  - {id: a, wait: 1s}\n  - {id: b, set: {x: '${{ steps }}'}}\n",
        &[(4, 27, "unknown-name")],
    );
    check("workflow: w\nsteps: [{id: self, wait: 1s}]\n", &[(2, 14, "id")]);
}

#[test]
fn inputs_that_wait_for_each_other() {
    let head = "workflow: w\ninputs:\n";
    let tail = "steps: [{id: s, prompt: '${{ inputs.a }} ${{ inputs.b }}'}]\n";
    let input = |name: &str, rest: &str| format!("  {name}: {{provider: 'x y', {rest}}}\n");
    let a = input("a", "provider_args: {p: '${{ inputs.b }}'}");
    let b = input("b", "depends_on: {p: {from_input: a}}");
    check(&format!("{head}{a}{b}{tail}"), &[(3, 3, "cycle")]);
    let b = input("b", "mode: single");
    check(&format!("{head}{a}{b}{tail}"), &[]);
    let a = input("a", "provider_args: {p: 5}, depends_on: {p: {from_input: b}}");
    check(&format!("{head}{a}{b}{tail}"), &[(3, 60, "combination")]);
}

#[test]
fn bodies_of_loops_run_in_their_order() {
    let text = concat!(
        "workflow: w\nsteps:\n  - id: l\n    type: loop\n",
        "    loop: {type: for, count: 2, maxIterations: 3}\n",
        "    body: [{id: c, prompt: p, depends_on: [d]}, {id: d, prompt: p, depends_on: [l]}]\n",
    );
    check(text, &[(6, 44, "cycle"), (6, 81, "cycle")]);
    check(&text.replace("[d]", "[]").replace("[l]", "[c]"), &[]);
    check(
        &text.replace("[d]", "[]").replace("[l]", "[c]").replace("    type: loop\n", ""),
        &[(3, 5, "combination")],
    );
}

#[test]
fn moments_that_do_not_exist() {
    let at = |moment: &str| format!("workflow: w\nsteps: [{{id: a, wait: '{moment}'}}]\n");
    check(&at("2030-02-30T09:00:00Z"), &[(2, 23, "format")]);
    check(&at("2028-02-29T09:00:00Z"), &[]);
    check(&at("2030-04-31T09:00:00+02:00"), &[(2, 23, "format")]);
}

#[test]
fn a_fix_changes_something() {
    for text in [
        "workflow: a.-b\nsteps: [{id: a, wait: 1s}]\n",
        concat!(
            "workflow: w\nsteps:\n  - {id: a, prompt: p, ",
            "output_schema: {type: object, properties: {type: boolean}}}\n",
        ),
    ] {
        let document = read(text);
        assert!(!document.is_valid());
        assert_eq!(document.fixed(), None, "{:#?}", document.violations);
    }
}

/// Checks the text after one round of fixes.
#[track_caller]
fn fixes(text: &str, expected: &str) {
    let document = read_as(text, Format::Yaml);
    assert_eq!(document.fixed().as_deref(), Some(expected), "{:#?}", document.violations);
    assert!(read_as(expected, Format::Yaml).is_valid());
}

#[test]
fn habits_of_other_formats() {
    fixes(
        "workflow: w\ntitle: \"T\",\nsteps: [{id: a, wait: 1s}]\n",
        "workflow: w\ntitle: \"T\"\nsteps: [{id: a, wait: 1s}]\n",
    );
    fixes(
        "workflow: w\nsteps:\n  - {id: look, wait: 1s}\n  - {id: b, needs: look, wait: 1s}\n",
        concat!(
            "workflow: w\nsteps:\n  - {id: look, wait: 1s}\n",
            "  - {id: b, depends_on: [\"look\"], wait: 1s}\n",
        ),
    );
    fixes(
        "workflow: w\nsteps: [{id: a, approve: {question: Go?, approvers: [lead]}}]\n",
        "workflow: w\nsteps: [{id: a, approve: {message: Go?, by: [lead]}}]\n",
    );
}

#[test]
fn a_dash_without_its_space() {
    let text = "workflow: w\nsteps:\n  -id: h\n   prompt: x\n";
    check(text, &[(3, 3, "syntax")]);
    assert_eq!(read(text).violations[0].message, "no space after the dash");
}

#[test]
fn steps_that_act_make_a_manifest() {
    let document = read("name: abc\nsteps: [{id: a, run: shop a:get}]\n");
    assert_eq!(document.spelling, Some(Spelling::Manifest));
}

#[test]
fn many_costly_patterns_are_refused_soon() {
    let steps: Vec<String> = (0..400)
        .map(|index| {
            format!(
                "  - {{id: s{index}, prompt: p, validation: [{{type: regex, \
                 pattern: '(\\w{{90}}){{9}}{index}', message: m}}]}}\n"
            )
        })
        .collect();
    let begun = std::time::Instant::now();
    assert!(!read(format!("workflow: w\nsteps:\n{}", steps.concat())).is_valid());
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}

#[test]
fn a_guide_is_planned_in_its_order() {
    let text = concat!(
        "{\"id\":\"abc\",\"name\":\"n\",\"description\":\"d\",\"version\":\"1.0.0\",\"steps\":[",
        "{\"id\":\"a\",\"title\":\"A\",\"prompt\":\"p\"},",
        "{\"id\":\"b\",\"title\":\"B\",\"prompt\":\"p\"}]}",
    );
    let document = read(text);
    let plan = milepost_model::plan::Plan::of(document.workflow.as_ref().expect("is valid"));
    assert_eq!(plan.waves(), 2);
    assert_eq!(plan.steps[1].waits_for, ["a"]);
}

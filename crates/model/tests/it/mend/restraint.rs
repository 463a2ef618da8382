//! Where the intention is ambiguous, no fix is offered.

use milepost_syntax::source::Format;

use super::read;

const HEAD: &str = "workflow: restraint\ninputs:\n  order: {type: string}\nsteps:\n";

/// Asserts that the document has an error, and that no fix guesses.
#[track_caller]
fn check(text: &str) {
    let text = if text.starts_with("  -") { format!("{HEAD}{text}") } else { text.to_owned() };
    let document = read(&text, Format::Yaml);
    assert!(!document.is_valid(), "{text}");
    assert_eq!(document.fixed(), None, "{text}\n{:#?}", document.violations);
}

#[test]
fn declaration_or_reference() {
    // Two places read `total`, so `totl` may well be the typo.
    check(concat!(
        "  - {id: b, set: {totl: \"${{ inputs.order }}\"}}\n",
        "  - {id: c, run: x y, with: {a: \"${{ steps.b.output.total }}\"}}\n",
        "  - {id: d, run: x y, with: {a: \"${{ steps.b.output.total }}\"}}\n",
    ));
}

#[test]
fn two_homes_for_a_key() {
    check("  - {id: b, run: x y, max_attempts: 3, repeat: {until: status_code == 200}}\n");
    check("  - {id: b, run: x y, retry: {timeout: 5s}, timeout: 9s}\n");
    check("  - {id: b, run: x y, for_each: \"${{ [1] }}\", guidance: [who, knows]}\n");
    check("  - {id: b, run: x y, as: order, concurrency: 3}\n");
}

#[test]
fn words_with_two_meanings() {
    check("  - {id: b, run: x y, retry: {max_retries: 3}}\n");
    check("  - {id: b, run: x y, timeout: 30000}\n");
    check(concat!(
        "  - {id: b, run: x y}\n",
        "  - {id: c, run: x y, with: {a: \"${{ steps.b.state }}\"}}\n",
    ));
    check("  - {id: b, run: x y, if: {var: size, xt: 3}}\n");
    check("  - {id: b, prompt: x, command: shop orders:get}\n");
    check(concat!(
        "id: abc\nname: A\ndescription: B\nversion: 1.0.0\nsteps:\n",
        "  - {id: one, title: One, description: What it is, promptBlocks: {goal: G}}\n",
    ));
    check("workflow: a\ninputs: {n: {required: maybe}}\nsteps: [{id: b, run: x y}]\n");
}

#[test]
fn texts_that_are_cut_somewhere() {
    for text in [
        r#"{"workflow": "a", "title": "Say "hi" to them", "steps": []}"#,
        r#"{"workflow": "a", "title": 'it's, or not', "steps": []}"#,
        r#"{"workflow": "a", "title": Say hi, "steps": []}"#,
        r#"{"workflow", "steps": []}"#,
    ] {
        let document = read(text, Format::Json);
        assert_eq!(document.violations.len(), 1, "{text}");
        let fixed = document.fixed().unwrap_or_default();
        assert!(!read(&fixed, Format::Json).is_valid(), "{fixed}");
    }
    check("workflow: a\nsteps: [{id: b, prompt: one: two, guidance: [x]}]\n");
}

//! The text that an agent receives: variables filled in, blocks and fragments combined.

use milepost_model::agent_prompt;
use milepost_model::step::Action;
use serde_json::{Value, json};

use crate::read;

#[test]
fn variables_are_filled_in_and_what_is_none_stays() {
    let context = json!({
        "name": "Ada", "n": 3, "digits": "42", "half": 0.5, "list": ["a", {"b": "c"}], "none": null,
        "nested": {"deep": {"er": true}}, "code": "{{name}} `x`", "a.b": "dotted",
    });
    for (text, expected) in [
        ("Hi {{name}}!", "Hi Ada!"),
        ("{{ name }}", "Ada"),
        ("{{n}} {{n + 1}} {{n - 1}} {{ n+1 }} {{half + 1}}", "3 4 2 4 1.5"),
        ("{{name + 1}} {{digits + 1}} {{n-1}}", "\"Ada\" + 1 43 [unset: n-1]"),
        ("{{half}} {{none}}", "0.5 null"),
        ("{{list}} {{list.0}} {{list.1.b}}", r#"["a",{"b":"c"}] a c"#),
        ("{{nested.deep.er}} {{a.b}}", "true dotted"),
        ("{{code}}", "{{name}} `x`"),
        ("{{name} {name}} { {{name}} }", "{{name} {name}} { Ada }"),
        ("{{{name}}}", "{{{name}}}"),
        ("{{#if x}} {{\"text\"}} {{}} {{ a b }}", "{{#if x}} {{\"text\"}} {{}} {{ a b }}"),
        ("äöü {{name}} 終", "äöü Ada 終"),
        ("open {{name", "open {{name"),
    ] {
        assert_eq!(agent_prompt::fill(text, &context).text, expected, "{text}");
    }
}

#[test]
fn what_is_not_set_stays_visible_and_is_named_once() {
    let filled = agent_prompt::fill("{{a.b}} {{x}} {{a.b}} {{x + 1}}", &json!({"a": {}}));
    assert_eq!(filled.text, "[unset: a.b] [unset: x] [unset: a.b] [unset: x]");
    assert_eq!(filled.missing, ["a.b", "x"]);
}

fn prompt_of(step: &Value, context: &Value) -> String {
    let text = json!({
        "id": "told", "name": "T", "description": "d", "version": "1.0.0", "steps": [step],
    });
    let document = read(text.to_string());
    let workflow = document.workflow.unwrap_or_else(|| panic!("{:?}", document.violations));
    let Action::Prompt(prompt) = &workflow.steps[0].action else { panic!("no prompt") };
    agent_prompt::assemble(prompt, context).expect("a guide")
}

#[test]
fn blocks_are_sections_in_their_order_and_fragments_follow() {
    let step = json!({
        "id": "a", "title": "A",
        "promptBlocks": {
            "verify": ["It runs"],
            "outputRequired": {"notes": "What was found"},
            "procedure": ["Look", "Write"],
            "constraints": [["Only ", {"kind": "ref", "text": "here"}]],
            "goal": "Know it",
        },
        "promptFragments": [
            {"id": "one", "when": {"var": "deep", "equals": true}, "text": "Go deep."},
            {"id": "two", "text": "Always."},
        ],
    });
    let shallow = prompt_of(&step, &json!({}));
    assert_eq!(
        shallow,
        "## Goal\nKnow it\n\n## Constraints\n- Only here\n\n## Procedure\n1. Look\n2. Write\n\n\
         ## Output required\n- notes: What was found\n\n## Verify\n- It runs\n\nAlways."
    );
    assert!(prompt_of(&step, &json!({"deep": true})).ends_with("Go deep.\n\nAlways."));
}

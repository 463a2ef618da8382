//! Checking outputs: rules, compositions and conditions.

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::document::Document;
use milepost_model::output_check;
use milepost_model::step::Action;
use serde_json::{Value, json};

const WORLD: World<'static> = World { commands: &NoCommands, env_allow: None };

/// The issues and suggestions for an output under these criteria.
fn judged(criteria: &Value, output: &str, context: &Value) -> Vec<(String, String)> {
    let text = json!({
        "id": "judged",
        "name": "Judged",
        "description": "For tests.",
        "version": "1.0.0",
        "steps": [{
            "id": "step", "title": "Step", "prompt": "Do it.", "validationCriteria": criteria,
        }],
    });
    let document = Document::read(text.to_string().as_bytes(), None, WORLD);
    assert!(document.is_valid(), "{:?}", document.violations);
    let workflow = document.workflow.expect("a workflow");
    let Action::Prompt(prompt) = &workflow.steps[0].action else { panic!("no prompt") };
    let issues = output_check::check_output(Some(prompt), output, context).expect("a verdict");
    issues.into_iter().map(|issue| (issue.message, issue.suggestion)).collect()
}

fn messages(criteria: &Value, output: &str, context: &Value) -> Vec<String> {
    judged(criteria, output, context).into_iter().map(|(message, _)| message).collect()
}

fn contains(value: &str) -> Value {
    json!({"type": "contains", "value": value, "message": value})
}

#[test]
fn each_type_of_rule_says_what_was_expected_and_what_was_found() {
    let none = json!({});
    let length = json!({"type": "length", "min": 5, "max": 7, "message": "m"});
    let regex = json!({"type": "regex", "pattern": "^ab+$", "flags": "i", "message": "m"});
    for (criteria, output, suggestion) in [
        (contains("jwt"), "none here", "Add `jwt`: the output (9 characters) does not contain it."),
        (
            contains("jwt"),
            "a JWT",
            "Write `jwt` exactly: the output contains it only with different capitalization.",
        ),
        (length.clone(), "äöü", "Write at least 5 characters: the output has 3."),
        (length, "12345678", "Write at most 7 characters: the output has 8."),
        (regex.clone(), "abc", "Make the output match `/^ab+$/i`."),
    ] {
        let found = judged(&json!([criteria]), output, &none);
        assert_eq!(found.len(), 1, "{criteria}: {found:?}");
        assert_eq!(found[0].1, suggestion);
    }
    assert!(judged(&json!([regex]), "ABBB", &none).is_empty());
}

#[test]
fn patterns_have_look_around_back_references_and_named_groups() {
    let none = json!({});
    let holds = |pattern: &str, output: &str| {
        let rule = json!({"type": "regex", "pattern": pattern, "flags": "gy", "message": "m"});
        judged(&json!([rule]), output, &none).is_empty()
    };
    assert!(holds(r"(?<q>['x]).*\k<q>", "'quoted'"));
    assert!(holds(r"^(?!.*TODO).*$", "done"));
    assert!(!holds(r"^(?!.*TODO).*$", "a TODO"));
    assert!(holds(r"(a)\1", "xaax"));
}

#[test]
fn a_pattern_that_runs_away_is_no_verdict() {
    let text = json!({
        "id": "judged", "name": "J", "description": "d", "version": "1.0.0",
        "steps": [{"id": "step", "title": "S", "prompt": "p", "validationCriteria": [
            {"type": "regex", "pattern": "^(?=(a+)+$)b", "message": "m"},
        ]}],
    });
    let document = Document::read(text.to_string().as_bytes(), None, WORLD);
    let workflow = document.workflow.expect("a workflow");
    let Action::Prompt(prompt) = &workflow.steps[0].action else { panic!("no prompt") };
    let output = format!("{}!", "a".repeat(5_000));
    // A linear-time engine may well decide this; it must not hang.
    match output_check::check_output(Some(prompt), &output, &json!({})) {
        Ok(issues) => assert_eq!(issues.len(), 1),
        Err(error) => assert!(error.to_string().contains("steps"), "{error}"),
    }
}

#[test]
fn a_schema_names_every_place() {
    let schema = json!({"type": "schema", "message": "API endpoint must follow required structure",
    "schema": {
        "type": "object",
        "properties": {"method": {"enum": ["GET", "POST"]}, "tags": {"items": {"type": "string"}}},
        "required": ["endpoint"],
    }});
    let none = json!({});
    let output = r#"{"method": "PATCH", "tags": ["a", 1]}"#;
    let found = judged(&json!([schema]), output, &none);
    let places: Vec<&str> = found.iter().map(|(message, _)| message.as_str()).collect();
    assert_eq!(places[0], "API endpoint must follow required structure");
    assert!(places.iter().any(|place| place.starts_with("/method: ")), "{places:?}");
    assert!(places.iter().any(|place| place.starts_with("/tags/1: ")), "{places:?}");
    let whole = |place: &&str| place.starts_with("the output as a whole: ");
    assert!(places.iter().any(whole), "{places:?}");
    assert_eq!(places.len(), 4);
    let added = "Add `endpoint` to the output as a whole.";
    assert!(found.iter().any(|(_, suggestion)| suggestion == added), "{found:?}");
    let fenced = judged(&json!([schema]), "```json\n{}\n```", &none);
    assert!(fenced[0].1.starts_with("Send only the JSON"), "{fenced:?}");
    assert!(judged(&json!([schema]), r#"{"endpoint": "/api"}"#, &none).is_empty());
}

#[test]
fn compositions_name_the_leaves_that_caused_it() {
    let none = json!({});
    let criteria =
        json!({"and": [contains("auth"), {"or": [contains("jwt"), contains("session")]}]});
    assert_eq!(messages(&criteria, "auth", &none), ["one of: jwt; session"]);
    assert_eq!(messages(&criteria, "x", &none), ["auth", "one of: jwt; session"]);
    assert!(messages(&criteria, "auth by session", &none).is_empty());
    let nested = json!({"or": [contains("none"), {"and": [contains("what"), contains("where")]}]});
    assert_eq!(messages(&nested, "x", &none), ["one of: none; what and where"]);
    let not = json!({"not": contains("TODO")});
    assert_eq!(messages(&not, "a TODO", &none), ["must not be true: TODO"]);
    assert_eq!(judged(&not, "a TODO", &none)[0].1, "Remove `TODO` from the output.");
    assert!(messages(&not, "done", &none).is_empty());
}

#[test]
fn a_rule_that_does_not_apply_neither_passes_nor_fails() {
    let mut large = contains("tests");
    large["condition"] = json!({"var": "size", "equals": "large"});
    let (small, big) = (json!({"size": "small"}), json!({"size": "large"}));
    assert!(messages(&json!([large]), "x", &small).is_empty());
    assert_eq!(messages(&json!([large]), "x", &big), ["tests"]);
    let either = json!({"or": [large, contains("docs")]});
    assert_eq!(messages(&either, "x", &small), ["docs"]);
    let not = json!({"not": large});
    assert!(messages(&not, "tests", &small).is_empty());
    assert_eq!(messages(&not, "tests", &big), ["must not be true: tests"]);
    let nothing = json!({"or": [large]});
    assert!(messages(&nothing, "x", &small).is_empty());
}

#[test]
fn a_blank_output_is_never_valid() {
    assert_eq!(messages(&json!([contains("x")]), " \n", &json!({})), ["The output is blank"]);
    assert_eq!(messages(&json!([]), "\t", &json!({})), ["The output is blank"]);
    assert!(messages(&json!([]), "something", &json!({})).is_empty());
}

#[test]
fn faults_in_criteria_leave_the_guide_walkable() {
    let text = |criteria: Value, prompt: Value| {
        json!({
            "id": "faulty", "name": "F", "description": "d", "version": "1.0.0",
            "steps": [
                {"id": "good", "title": "Good", "prompt": prompt},
                {"id": "bad", "title": "Bad", "prompt": "p", "validationCriteria": criteria},
            ],
        })
        .to_string()
    };
    for criteria in [
        json!([{"type": "regex", "pattern": "(", "message": "m"}]),
        json!([{"type": "contians", "value": "x", "message": "m"}]),
        json!([{"type": "contains", "value": "x"}]),
        json!([{"type": "contains", "value": 5, "message": "m"}]),
        json!([{"type": "length", "min": 1, "message": "m", "stray": 1}]),
        json!([{"type": "schema", "schema": {"type": "strnig"}, "message": "m"}]),
        json!({"and": [
            {"type": "contains", "value": "x", "message": "m", "condition": {"var": 1}},
        ]}),
        json!("text"),
    ] {
        let read =
            |prompt: Value| Document::read(text(criteria.clone(), prompt).as_bytes(), None, WORLD);
        let document = read("p".into());
        assert!(!document.is_valid(), "{criteria}");
        let workflow = document.workflow.as_ref().unwrap_or_else(|| panic!("{criteria}"));
        assert!(document.criteria_faults(&workflow.steps[0]).is_empty(), "{criteria}");
        assert!(!document.criteria_faults(&workflow.steps[1]).is_empty(), "{criteria}");
        assert!(read(5.into()).workflow.is_none(), "{criteria}");
    }
}

#[test]
fn what_takes_too_long_to_judge_is_refused_or_said() {
    let rule = |pattern: &str| {
        let text = json!({
            "id": "judged", "name": "J", "description": "d", "version": "1.0.0",
            "steps": [{"id": "step", "title": "S", "prompt": "p", "validationCriteria": [
                {"type": "regex", "pattern": pattern, "message": "m"},
            ]}],
        });
        Document::read(text.to_string().as_bytes(), None, WORLD).workflow.expect("a workflow")
    };
    let long = "a".repeat(200_000);
    for (pattern, decides) in [
        (r"(?=.*\d)(?=.*[a-z]).+", false),
        (r"^(?=.*\d)(?=.*[a-z]).+", true),
        (r"(a+)+$", true),
        (r"^(a|a)*(?=b)c$", false),
    ] {
        let workflow = rule(pattern);
        let Action::Prompt(prompt) = &workflow.steps[0].action else { panic!("no prompt") };
        let judged = output_check::check_output(Some(prompt), &long, &json!({}));
        assert_eq!(judged.is_ok(), decides, "{pattern}: {judged:?}");
    }
}

#[test]
fn a_schema_that_doubles_its_work_is_refused() {
    let schema = |schema: Value| {
        let text = json!({
            "id": "judged", "name": "J", "description": "d", "version": "1.0.0",
            "steps": [{"id": "step", "title": "S", "prompt": "p", "validationCriteria": [
                {"type": "schema", "schema": schema, "message": "m"},
            ]}],
        });
        Document::read(text.to_string().as_bytes(), None, WORLD).is_valid()
    };
    let mut defs = serde_json::Map::new();
    for level in 0..22 {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        defs.insert(format!("a{level}"), json!({"anyOf": [next, next]}));
    }
    defs.insert("a22".to_owned(), json!({"type": "string"}));
    assert!(!schema(json!({"$ref": "#/$defs/a0", "$defs": defs})));
    let twice = json!({"anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]});
    assert!(!schema(twice));
    let tree = json!({"$ref": "#/$defs/tree", "$defs": {"tree": {
        "type": "object",
        "properties": {"left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}},
    }}});
    assert!(schema(tree));
    assert!(schema(json!({"anyOf": [{"type": "string"}, {"items": {"$ref": "#"}}]})));
}

#[test]
fn a_pattern_of_a_schema_that_gives_up_is_no_verdict_even_if_negated() {
    let schema = json!({"type": "string", "pattern": "^(a|a)*(?=b)c$"});
    let rule = json!({"type": "schema", "schema": schema, "message": "m"});
    for criteria in [json!([rule]), json!({"not": rule})] {
        let text = json!({
            "id": "judged", "name": "J", "description": "d", "version": "1.0.0",
            "steps": [{"id": "s", "title": "S", "prompt": "p", "validationCriteria": criteria}],
        });
        let document = Document::read(text.to_string().as_bytes(), None, WORLD);
        let workflow = document.workflow.expect("a workflow");
        let Action::Prompt(prompt) = &workflow.steps[0].action else { panic!("no prompt") };
        let output = format!("\"{}\"", "a".repeat(40_000));
        assert!(
            output_check::check_output(Some(prompt), &output, &json!({})).is_err(),
            "{criteria}"
        );
    }
}

#[test]
fn rules_about_text_judge_the_report_that_a_schema_declares() {
    let line =
        json!({"type": "regex", "pattern": "^exit code: 0$", "flags": "m", "message": "line"});
    let schema = json!({
        "type": "schema", "message": "object",
        "schema": {"type": "object", "required": ["report", "passed"], "properties": {
            "report": {"type": "string"}, "passed": {"type": "boolean"},
        }},
    });
    let output = json!({"report": "$ make\nexit code: 0", "passed": true}).to_string();
    let none = json!({});
    assert!(judged(&json!([line, schema]), &output, &none).is_empty());
    // Without the declaration, the output is text like any other.
    assert_eq!(messages(&json!([line]), &output, &none), ["line"]);
    let wrong = json!({"report": "$ make\nexit code: 1", "passed": true}).to_string();
    assert_eq!(messages(&json!([line, schema]), &wrong, &none), ["line"]);
}

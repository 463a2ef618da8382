//! The table of operations is complete and correct.

use milepost_model::wording::Neutral;
use std::collections::HashSet;

use milepost_ops::{Code, OPERATIONS, Safety};
use serde_json::json;

use crate::{over, refused};

#[test]
fn every_operation_is_documented_and_its_example_fits_its_schemas() {
    let (_folder, operations) = over(&[]);
    let mut names = HashSet::new();
    for operation in OPERATIONS {
        assert!(names.insert(operation.name), "{} is there twice", operation.name);
        assert!(!operation.doors.is_empty(), "{} has no door", operation.name);
        assert!(operation.description.len() > 20, "{} says too little", operation.name);
        let request = (operation.example)();
        let mut examples = vec![((operation.request)(), request.clone())];
        // Examples of guide operations use the built-in guides; others need a catalog.
        if operation.guide_tool().is_some() {
            let response = crate::call(&operations, operation.name, request).expect("answered");
            examples.push(((operation.response)(), response));
        } else {
            jsonschema::validator_for(&(operation.response)()).expect("a schema");
        }
        for (schema, example) in examples {
            let validator = jsonschema::validator_for(&schema).expect("a schema");
            let faults: Vec<String> =
                validator.iter_errors(&example).map(|error| error.to_string()).collect();
            assert!(faults.is_empty(), "{}: {faults:?}", operation.name);
            let text = schema.to_string();
            assert!(!text.contains("$ref"), "{} is not self-contained: {text}", operation.name);
        }
    }
}

#[test]
fn looking_at_runs_is_safe() {
    for name in ["workflow.status", "runs.list", "run.events"] {
        let row = OPERATIONS.iter().find(|operation| operation.name == name).expect("is there");
        assert_eq!(row.safety, Safety::Safe, "{name}");
    }
}

#[test]
fn an_unknown_operation_is_told_with_the_nearest() {
    let (_folder, operations) = over(&[]);
    let (code, problem) = refused(&operations, "guide.lst", json!({}));
    assert_eq!(code, Code::MethodNotFound);
    assert_eq!(problem.hint.worded(&Neutral), "did you mean `guide.list`?");
}

#[test]
fn every_fault_of_the_arguments_is_told_at_once() {
    let (_folder, operations) = over(&[]);
    let arguments = json!({"workflowId": "A", "completedSteps": [1, "a b"], "contxt": {}});
    let (code, problem) = refused(&operations, "guide.next", arguments);
    assert_eq!(code, Code::ParamsInvalid);
    let told: Vec<(&str, &str, &str)> = problem
        .arguments
        .iter()
        .map(|fault| (fault.path.as_str(), fault.rule, fault.message.as_str()))
        .collect();
    assert!(told.contains(&(
        "/contxt",
        "additionalProperties",
        "contxt is not a parameter: did you mean context?"
    )));
    assert!(told.contains(&("/completedSteps/0", "type", "completedSteps.0 must be a string")));
    let rules: Vec<&str> = told.iter().map(|(_, rule, _)| *rule).collect();
    assert!(rules.contains(&"minLength") && rules.contains(&"pattern"), "{told:?}");
    assert!(told.iter().any(|(path, rule, _)| (*path, *rule) == ("/completedSteps/1", "pattern")));
}

#[test]
fn null_for_what_may_be_left_out_is_left_out() {
    let (_folder, operations) = over(&[]);
    let arguments = json!({"workflowId": "code-review", "completedSteps": [], "context": null});
    assert!(crate::call(&operations, "guide.next", arguments).is_ok());
    let (code, problem) = refused(&operations, "guide.get", json!({"id": null}));
    assert_eq!((code, problem.message.as_str()), (Code::ParamsInvalid, "id must be a string"));
}

#[test]
fn an_id_that_would_leave_the_directory_is_refused_as_such() {
    let (_folder, operations) = over(&[]);
    for id in ["../secret", "a/b", "a\\b", "..", "a\0b"] {
        let (code, _) = refused(&operations, "guide.get", json!({"id": id}));
        assert_eq!(code, Code::IdInvalid, "{id:?}");
    }
    for id in ["ABC", "ab", "with space", ""] {
        let (code, _) = refused(&operations, "guide.get", json!({"id": id}));
        assert_eq!(code, Code::ParamsInvalid, "{id:?}");
    }
}

#[test]
fn a_million_faults_are_told_as_a_few() {
    let (_folder, operations) = over(&[]);
    let arguments = json!({"workflowId": "code-review", "completedSteps": vec![1; 1_000_000]});
    let (code, problem) = refused(&operations, "guide.next", arguments);
    assert_eq!(code, Code::ParamsInvalid);
    assert_eq!(problem.arguments.len(), 20);
    let mut late: Vec<serde_json::Value> = vec!["triage".into(); 5_000];
    late.push(1.into());
    let arguments = json!({"workflowId": "code-review", "completedSteps": late});
    assert_eq!(refused(&operations, "guide.next", arguments).1.arguments.len(), 1);
}

#[test]
fn a_path_among_the_completed_steps_is_refused_as_such() {
    let (_folder, operations) = over(&[]);
    for step in ["../x", "a/b", "a\\b", "a..b", "a\0b"] {
        let arguments = json!({"workflowId": "code-review", "completedSteps": ["triage", step]});
        assert_eq!(refused(&operations, "guide.next", arguments).0, Code::IdInvalid, "{step:?}");
    }
}

//! Validates real documents against the schemas of the specification.

use std::fs;

use milepost_catalog::finding::DocumentFindings;
use milepost_catalog::specification;

use crate::read::{api, corpus, name};

#[test]
fn examples_of_the_specification_do_not_depart_from_it() {
    for path in corpus("openapi") {
        if !name(&path).starts_with("oai-example__") {
            continue;
        }
        let mut findings = DocumentFindings::default();
        specification::departures(&api(&fs::read(&path).expect("a file")), &mut findings);
        assert_eq!(findings.into_list(), [], "{}", path.display());
    }
}

#[test]
fn a_departure_is_told_with_its_place() {
    let text = r#"{"openapi": "3.0.3", "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"get": {"responses": {"200": {}}}}}}"#;
    let mut findings = DocumentFindings::default();
    specification::departures(&api(text.as_bytes()), &mut findings);
    let list = findings.into_list();
    assert!(!list.is_empty());
    assert!(list[0].path.starts_with("/paths/~1a/get"), "{list:?}");
}

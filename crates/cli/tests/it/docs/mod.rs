//! Checks that the documentation is true: every block of every page runs or validates, the text in
//! between names commands that exist, and its lists are complete.

mod block;
mod command_names;
mod documents;
mod every_block;
mod prepared;
mod readme;
mod stage;

pub(crate) use block::{blocks, read};

#[test]
fn every_key_of_the_schemas_is_documented() {
    let page = read("docs/workflows.md");
    for file in ["schemas/workflow.schema.json", "schemas/guide.schema.json"] {
        let schema: serde_json::Value = serde_json::from_str(&read(file)).expect("a schema");
        let shapes = schema["$defs"].as_object().expect("definitions").values();
        for properties in
            shapes.chain([&schema]).filter_map(|shape| shape["properties"].as_object())
        {
            for (key, value) in properties {
                // `false` marks a key that is refused with a fix, and camelCase keys are
                // alternative spellings.
                let refused = value == &serde_json::Value::Bool(false);
                let twin = matches!(key.as_str(), "notEquals" | "startsWith" | "endsWith");
                let known = page.contains(&format!("`{key}`")) || key == "$schema";
                assert!(known || refused || twin, "docs/workflows.md says nothing of `{key}`");
            }
        }
    }
}

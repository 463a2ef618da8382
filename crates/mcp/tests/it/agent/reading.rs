//! Resources, prompts and completion.

use serde_json::{Value, json};

use super::{ASKS, Agent};
use crate::place::Place;

fn read(agent: &mut Agent, uri: &str) -> (String, String) {
    let result = agent.client.call("resources/read", &json!({"uri": uri}));
    let contents = &result["contents"][0];
    assert_eq!(contents["uri"], uri);
    let text = |name: &str| contents[name].as_str().expect("text").to_owned();
    (text("text"), text("mimeType"))
}

#[test]
fn both_spellings_of_a_resource_read_the_same() {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.save("asks.yaml");
    let mut agent = Agent::connect(&place);
    for (ours, theirs) in [
        ("milepost://workflow/spec", "workflow.spec"),
        ("milepost://workflow/schema", "workflow.schema"),
        ("milepost://workflow/manifests", "workflow.manifests"),
        ("milepost://workflow/manifest/asks", "workflow.manifest:asks"),
        ("milepost://command/catalog", "command.catalog"),
        ("milepost://provider/catalog", "provider.catalog"),
    ] {
        assert_eq!(read(&mut agent, ours), read(&mut agent, theirs), "{ours}");
    }
    let (text, kind) = read(&mut agent, "workflow.manifest:asks");
    assert_eq!((text.as_str(), kind.as_str()), (ASKS, "application/yaml"));
    let (manifests, _) = read(&mut agent, "workflow.manifests");
    let manifests: Value = serde_json::from_str(&manifests).expect("is JSON");
    let asks = manifests["manifests"].as_array().expect("a list").iter();
    let asks = asks.into_iter().find(|one| one["workflow_id"] == "asks").expect("is listed");
    for name in ["title", "path", "format", "version"] {
        assert!(asks[name].is_string(), "{name}: {asks}");
    }
    let (schema, _) = read(&mut agent, "workflow.schema");
    let schema: Value = serde_json::from_str(&schema).expect("is JSON");
    jsonschema::validator_for(&schema).expect("is a schema");
}

#[test]
fn every_listed_resource_can_be_read() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let listed = agent.client.call("resources/list", &json!({}));
    for resource in listed["resources"].as_array().expect("a list") {
        let uri = resource["uri"].as_str().expect("an address");
        let (text, kind) = read(&mut agent, uri);
        assert!(!text.is_empty(), "{uri}");
        assert_eq!(resource["mimeType"], kind, "{uri}");
    }
    let templates = agent.client.call("resources/templates/list", &json!({}));
    assert_eq!(templates["resourceTemplates"].as_array().expect("a list").len(), 5);
    assert_eq!(agent.client.fault("resources/read", &json!({"uri": "milepost://no/such"})), -32002);
    let missing = json!({"uri": "milepost://workflow/manifest/nowhere"});
    let answer = agent.client.ask("resources/read", &missing);
    assert_eq!(answer["error"]["code"], -32002);
    assert_eq!(answer["error"]["data"]["error_code"], "WORKFLOW_NOT_FOUND");
}

#[test]
fn prompts_hold_what_they_were_given_and_examples_that_are_valid() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let given = json!({
        "goal": "close stale tickets", "manifest": "workflow: mine {{changes}}",
        "changes": "add an approval", "errors": "no steps", "inputs": "none", "rules": "few",
    });
    for (name, required, holds) in [
        ("workflow.author", "goal", "close stale tickets"),
        ("workflow.extend", "changes", "workflow: mine {{changes}}"),
        ("workflow.fix_validation", "errors", "no steps"),
        ("workflow.run_with_inputs", "manifest", "workflow: mine {{changes}}"),
    ] {
        let got = agent.client.call("prompts/get", &json!({"name": name, "arguments": given}));
        let text = got["messages"][0]["content"]["text"].as_str().expect("a text");
        assert!(text.contains(holds), "{name}: {text}");
        for example in text.split("```yaml\n").skip(1) {
            let example = example.split("```").next().expect("has an end");
            let checked = agent.call("workflow_validate", &json!({"manifest": example}));
            assert_eq!(checked["valid"], true, "{name}: {checked}");
        }
        let mut without = given.clone();
        without.as_object_mut().expect("an object").remove(required);
        let fault = json!({"name": name, "arguments": without});
        assert_eq!(agent.client.fault("prompts/get", &fault), -32602, "{name}");
    }
    let listed = agent.client.call("prompts/list", &json!({}));
    let names: Vec<&str> = listed["prompts"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|prompt| prompt["name"].as_str().expect("a name"))
        .collect();
    assert!(
        names.contains(&"workflow.author") && names.contains(&"bug-investigation"),
        "{names:?}"
    );
    assert_eq!(agent.client.fault("prompts/get", &json!({"name": "no-such"})), -32602);
}

#[test]
fn arguments_are_completed() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let mut complete = |blank: &str, typed: &str| {
        let params = json!({
            "ref": {"type": "ref/resource", "uri": "milepost://workflow/manifest/{workflow_id}"},
            "argument": {"name": blank, "value": typed},
        });
        agent.client.call("completion/complete", &params)["completion"]["values"].take()
    };
    assert_eq!(complete("workflow_id", "bug"), json!(["bug-investigation"]));
    assert_eq!(complete("topic", "dur"), json!(["durability"]));
    assert_eq!(complete("nothing", ""), json!([]));
}

//! The size of answers: an answer fits as a whole, and anything left out can be read separately.

use serde_json::{Value, json};

use super::{Agent, client};
use crate::place::Place;

/// A workflow with this many steps, each with an output of this many bytes.
fn wide(steps: usize, bytes: usize) -> String {
    let text = "x".repeat(bytes);
    let steps = (0..steps).map(|number| format!("  - {{id: s{number}, set: {{b: {text}}}}}\n"));
    format!("workflow: wide\nsteps:\n{}", steps.collect::<String>())
}

#[test]
fn an_answer_fits_as_a_whole() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let params = json!({"manifest": wide(20, 7_000), "wait_s": 20});
    let answer = agent.ask("workflow_run", &params);
    let run = &answer["result"]["structuredContent"];
    assert_eq!(run["status"], "succeeded", "{run}");
    let size = run.to_string().len();
    assert!(size <= 8_192, "{size} bytes");
    let content = answer["result"]["content"].as_array().expect("content");
    let links: Vec<&Value> =
        content.iter().filter(|block| block["type"] == "resource_link").collect();
    let cut = run["steps"].as_array().expect("steps").iter();
    let cut: Vec<&Value> = cut.map(|step| &step["output"]["resource"]).collect();
    let cut: Vec<&Value> = cut.into_iter().filter(|uri| uri.is_string()).collect();
    assert!(cut.len() >= 19, "{run}");
    for uri in cut {
        let link = links.iter().find(|link| link["uri"] == *uri);
        assert!(link.is_some_and(|link| link["size"].as_u64() > Some(7_000)), "{uri}: {content:?}");
    }
    let read = agent.client.call("resources/read", &json!({"uri": links[0]["uri"]}));
    assert!(read["contents"][0]["text"].as_str().expect("text").len() > 7_000);
    let all = json!({"run_id": run["run_id"], "inline_max": 262_144});
    let answer = agent.ask("workflow_status", &all);
    let whole = &answer["result"]["structuredContent"];
    assert_eq!(whole["steps"][19]["output"]["b"].as_str().map(str::len), Some(7_000));
    // A long result is complete in one form only.
    let text = answer["result"]["content"][0]["text"].as_str().expect("text");
    assert!(text.len() < 2_048 && text.contains("structuredContent"), "{}", text.len());
    let more = json!({"manifest": wide(190, 10), "wait_s": 20});
    let run = agent.call("workflow_run", &more);
    assert!(run.to_string().len() <= 8_300, "{}", run.to_string().len());
    let kept = run["steps"].as_array().expect("steps").len() as u64;
    assert_eq!(run["steps_omitted"]["count"].as_u64(), Some(190 - kept), "{run}");
}

#[test]
fn a_text_only_client_gets_the_whole_result() {
    let place = Place::new();
    let mut agent = Agent::with(&place, "2025-03-26", &json!({}));
    let params = json!({"manifest": wide(20, 7_000), "wait_s": 20, "inline_max": 262_144});
    let run = agent.client.ask("tools/call", &json!({"name": "workflow_run", "arguments": params}));
    // The parameter belongs to another tool, so the call is refused.
    assert_eq!(run["result"]["isError"], true, "{run}");
    let params = json!({"manifest": wide(20, 7_000), "wait_s": 20});
    let run = agent.client.ask("tools/call", &json!({"name": "workflow_run", "arguments": params}));
    let text = run["result"]["content"][0]["text"].as_str().expect("text");
    let said: Value = serde_json::from_str(text).expect("is JSON");
    let all = json!({"run_id": said["run_id"], "inline_max": 262_144});
    let all = json!({"name": "workflow_status", "arguments": all});
    let whole = agent.client.ask("tools/call", &all);
    let content = whole["result"]["content"].as_array().expect("content");
    assert_eq!(content.len(), 1, "there are no links in that revision");
    assert!(content[0]["text"].as_str().expect("text").len() > 140_000);
}

#[test]
fn a_due_prompt_is_shown_in_full_and_once() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let words = "Look at it closely. ".repeat(1_000);
    let text = "workflow: asks\ninputs: {task: {type: string}}\nsteps:\n  \
        - {id: look, prompt: \"${{ inputs.task }}\"}\n";
    let start = json!({"manifest": text, "inputs": {"task": words}, "wait_s": 20});
    let run = agent.call("workflow_run", &start);
    assert_eq!(run["due"][0]["prompt"], words.as_str());
    assert!(run["inputs"]["task"]["resource"].is_string(), "{}", run["inputs"]);
    assert!(run.to_string().len() < words.len() + 3_000);
}

/// Immutable resources may be cached, and are marked as such in the revision that supports it.
#[test]
fn built_in_resources_may_be_cached() {
    let place = Place::new();
    let mut client = client(&place);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let mut lives = |method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        client.call(method, &params)["ttlMs"].clone()
    };
    for name in ["workflow/spec", "workflow/schema", "docs/guides"] {
        let uri = json!({"uri": format!("milepost://{name}")});
        assert!(lives("resources/read", uri).as_u64() > Some(0), "{name}");
    }
    let uri = json!({"uri": "milepost://workflow/manifests"});
    assert_eq!(lives("resources/read", uri), 0);
    assert!(lives("tools/list", json!({})).as_u64() > Some(0));
}

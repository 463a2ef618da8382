//! Every answer that leaves work to do names the exact next call, spelled as in the tool list, and
//! hints name tools wherever a tool exists.

use milepost_mcp::workflows::{ToolNaming, ToolStyle};
use serde_json::{Value, json};

use super::{ASKS, Agent};
use crate::client::auto;
use crate::place::Place;

const FAILS: &str = "workflow: fails\nsteps:\n  - {id: a, set: {b: 1}}\n  \
    - {id: stop, depends_on: [a], fail: It cannot be}\n";
const WAITS: &str = "workflow: waits\nsteps:\n  - {id: pause, wait: 300s}\n";

#[test]
fn a_run_names_the_call_that_continues_it() {
    for (spelling, dot) in [(ToolNaming::Underscore, "_"), (ToolNaming::Dotted, ".")] {
        let place = Place::new();
        let mut agent = Agent::styled(&place, ToolStyle { spelling, ..auto() });
        let tool = |name: &str| name.replace('.', dot);
        let (run, submit) = (tool("workflow.run"), tool("workflow.submit"));
        let asks = agent.call(&run, &json!({"manifest": ASKS, "wait_s": 20}));
        let next = &asks["next"];
        assert_eq!(next["tool"], submit, "{asks}");
        assert_eq!(next["arguments"]["run_id"], asks["run_id"]);
        assert_eq!(next["arguments"]["step_id"], "look");
        let mut arguments = next["arguments"].clone();
        arguments["output"] = json!({"seen": "no boolean"});
        let refused = agent.call(&submit, &arguments);
        assert_eq!((&refused["accepted"], &refused["next"]), (&json!(false), next), "{refused}");
        arguments["output"] = json!({"seen": true});
        let done = agent.call(&submit, &arguments);
        assert_eq!((&done["accepted"], &done["next"]), (&json!(true), &Value::Null), "{done}");

        let failed = agent.call(&run, &json!({"manifest": FAILS, "wait_s": 20}));
        let planned = json!({"tool": tool("workflow.resume"),
            "arguments": {"run_id": failed["run_id"], "plan_only": true}});
        assert_eq!(failed["next"], planned, "{failed}");
        let plan = agent.call(&tool("workflow.resume"), &planned["arguments"]);
        assert_eq!(plan["next"]["arguments"], json!({"run_id": failed["run_id"]}), "{plan}");
        let again = agent.call(&tool("workflow.resume"), &plan["next"]["arguments"]);
        assert_eq!(again["run"]["status"], "failed", "{again}");

        let waits = agent.call(&run, &json!({"manifest": WAITS}));
        let look = json!({"tool": tool("workflow.status"),
            "arguments": {"run_id": waits["run_id"], "wait_s": 25}});
        assert_eq!(waits["next"], look, "{waits}");
        let open = agent.call(&tool("workflow.status"), &json!({}));
        assert_eq!(open["next"]["tool"], tool("workflow.status"), "{open}");
        assert_eq!(open["next"]["arguments"]["run_id"], waits["run_id"], "{open}");
    }
}

/// The cause of a failure is described in terms of the caller's interface.
#[test]
fn a_failed_run_says_what_to_do_in_the_words_of_tools() {
    let naps = "workflow: naps\ninputs: {until: {type: string}}\nsteps:\n  \
        - {id: nap, wait: \"${{ inputs.until }}\"}\n";
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let asked = json!({"manifest": naps, "inputs": {"until": "soon"}, "wait_s": 20});
    let run = agent.call("workflow_run", &asked);
    let hint = "correct the expression, then resume with `version: \"latest\"`";
    assert_eq!(run["problem"]["hint"], hint, "{run}");
    assert_eq!(run["steps"][0]["problem"]["hint"], hint, "{run}");
    let broken = agent.refused("workflow_run", &json!({"manifest": "workflow: x\nsteps: 1\n"}));
    assert_eq!(broken["next"]["tool"], "workflow_validate", "{broken}");
}

//! What a run came to, as far as it fits a reply: a model reads every byte of one. What is larger
//! is shown by its ends, with the resource that holds the whole.

use serde_json::{Value, json};

/// Bytes of a value that a reply holds unless asked otherwise, and at most.
pub(super) const USUAL: usize = 8 * 1024;
pub(super) const MOST: usize = 256 * 1024;
/// Characters of each end.
const END: usize = 400;

/// The bound that a caller asked for.
pub(super) fn bound(arguments: &serde_json::Map<String, Value>) -> usize {
    let asked = arguments.get("inline_max").and_then(Value::as_u64);
    asked.and_then(|asked| usize::try_from(asked).ok()).map_or(USUAL, |asked| asked.min(MOST))
}

/// Shortens the values of a run, or of an answer that has one.
pub(super) fn shorten(answer: &mut Value, most: usize) {
    if answer["run"]["run_id"].is_string() {
        return shorten(&mut answer["run"], most);
    }
    let Some(run) = answer["run_id"].as_str().map(str::to_owned) else { return };
    for step in answer["steps"].as_array_mut().into_iter().flatten() {
        let id = step["id"].as_str().unwrap_or_default().to_owned();
        let uri = format!("milepost://run/{run}/step/{id}/output");
        if let Some(output) = step.get_mut("output") {
            cut(output, most, &uri);
        }
    }
    let uri = format!("milepost://run/{run}");
    for name in ["final_output", "inputs"] {
        if let Some(value) = answer.get_mut(name) {
            cut(value, most, &uri);
        }
    }
}

fn cut(value: &mut Value, most: usize, uri: &str) {
    let text = value.to_string();
    if text.len() <= most {
        return;
    }
    let head: String = text.chars().take(END).collect();
    let skipped = text.chars().count().saturating_sub(END);
    let tail: String = text.chars().skip(skipped).collect();
    *value = json!({"resource": uri, "bytes": text.len(), "head": head, "tail": tail});
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_is_shown_by_its_ends() {
        let long = "ä".repeat(USUAL);
        let mut run = json!({
            "run_id": "run_1",
            "steps": [{"id": "a", "output": long}, {"id": "b", "output": "short"}],
            "final_output": {"long": long},
        });
        shorten(&mut run, USUAL);
        assert_eq!(run["steps"][0]["output"]["resource"], "milepost://run/run_1/step/a/output");
        assert_eq!(run["steps"][0]["output"]["bytes"], 2 * USUAL + 2);
        assert_eq!(run["steps"][1]["output"], "short");
        assert_eq!(run["final_output"]["resource"], "milepost://run/run_1");
        assert!(run.to_string().len() < USUAL, "{run}");
        let mut nested = json!({"accepted": true, "run": {"run_id": "r", "final_output": long}});
        shorten(&mut nested, MOST);
        assert_eq!(nested["run"]["final_output"], long);
        shorten(&mut nested, bound(&serde_json::Map::new()));
        assert_eq!(nested["run"]["final_output"]["bytes"], 2 * USUAL + 2);
    }
}

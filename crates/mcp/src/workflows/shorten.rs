//! Shortens answers about runs until they fit in a reply, because a model reads every byte of it.
//! Starting with the largest, values are replaced by their beginning and end and a link to the
//! resource that contains the whole value, until the reply fits.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde_json::{Map, Value, json};

use crate::limits;

/// The characters of an id that are escaped in a URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// A value in a reply that may be cut or already has been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourceLink {
    /// JSON pointer in the reply.
    pointer: String,
    /// The URI of the whole value.
    uri: String,
    /// The size of the whole value, once it has been cut.
    bytes: usize,
}

/// The size limit that a caller requested.
pub(super) fn bound(arguments: &Map<String, Value>) -> usize {
    let asked = arguments.get("inline_max").and_then(Value::as_u64);
    asked
        .and_then(|asked| usize::try_from(asked).ok())
        .map_or(limits::REPLY_BYTES, |asked| asked.min(limits::REPLY_BYTES_MAX))
}

/// Builds a result, with a resource link for each shortened value. The text repeats the structured
/// content unless it is long; a client that only reads text always gets all of it.
pub(super) fn result(
    value: Value,
    links: &[ResourceLink],
    reads_structure: bool,
) -> CallToolResult {
    let text = value.to_string();
    let text =
        if reads_structure && text.len() > limits::TWICE_BYTES { gist(&value) } else { text };
    let mut result = CallToolResult::structured(value);
    result.content = vec![ContentBlock::text(text)];
    if reads_structure {
        let link = |link: &ResourceLink| {
            let name = link.uri.trim_start_matches("milepost://").to_owned();
            let resource = Resource::new(link.uri.clone(), name)
                .with_mime_type("application/json")
                .with_size(link.bytes as u64);
            ContentBlock::resource_link(resource)
        };
        result.content.extend(links.iter().map(link));
    }
    result
}

/// A long result with its long fields replaced by their sizes.
fn gist(value: &Value) -> String {
    let fields = value.as_object().into_iter().flatten().map(|(name, value)| {
        let bytes = value.to_string().len();
        let shown = match bytes <= 2 * limits::SMALL_BYTES {
            true => value.clone(),
            false => format!("{bytes} bytes: see structuredContent").into(),
        };
        (name.clone(), shown)
    });
    Value::Object(fields.collect()).to_string()
}

/// Shortens a run, or an answer that contains one, until it fits.
pub(super) fn shorten(answer: &mut Value, most: usize) -> Vec<ResourceLink> {
    let nested = answer.pointer("/run/run_id").is_some_and(Value::is_string);
    let at = if nested { "/run" } else { "" };
    let run = answer.pointer(&format!("{at}/run_id")).and_then(Value::as_str);
    let Some(run) = run.map(str::to_owned) else { return Vec::new() };
    let mut fitting = Fitting { size: answer.to_string().len(), answer, cuts: Vec::new() };
    let slots = slots(fitting.answer, at, &run);
    fitting.drop_repeated(at, &slots);
    let exempt: usize =
        fitting.prompts(at).map(|prompt| prompt.len().min(limits::PROMPT_BYTES)).sum();
    let most = most + exempt;
    fitting.cut(&slots, most);
    fitting.cut_prompts(at, &run);
    for ends in &limits::ENDS_CHARS[1..] {
        if fitting.size > most {
            fitting.trim_ends(*ends);
        }
    }
    if fitting.size > most {
        fitting.drop_steps(at, &run, most);
    }
    fitting.cuts
}

struct Fitting<'a> {
    answer: &'a mut Value,
    /// The size of the answer in bytes.
    size: usize,
    cuts: Vec<ResourceLink>,
}

/// Every value of a run that is also available as a resource.
fn slots(answer: &Value, at: &str, run: &str) -> Vec<ResourceLink> {
    let whole = address(run);
    let mut slots = Vec::new();
    let mut add = |pointer: String, uri: &str| {
        slots.push(ResourceLink { pointer, uri: uri.to_owned(), bytes: 0 });
    };
    let list = |name: &str| answer.pointer(&format!("{at}/{name}")).and_then(Value::as_array);
    for (number, step) in list("steps").into_iter().flatten().enumerate() {
        let id = step["id"].as_str().unwrap_or_default();
        let id = utf8_percent_encode(id, ESCAPED).to_string();
        add(format!("{at}/steps/{number}/output"), &format!("{whole}/step/{id}/output"));
        add(format!("{at}/steps/{number}/problem/context"), &whole);
    }
    let inputs = answer.pointer(&format!("{at}/inputs")).and_then(Value::as_object);
    for name in inputs.into_iter().flat_map(Map::keys) {
        let name = name.replace('~', "~0").replace('/', "~1");
        add(format!("{at}/inputs/{name}"), &whole);
    }
    for number in 0..list("waiting").map_or(0, Vec::len) {
        add(format!("{at}/waiting/{number}/shown"), &whole);
        add(format!("{at}/waiting/{number}/changes"), &whole);
    }
    add(format!("{at}/final_output"), &whole);
    add(format!("{at}/problem/context"), &whole);
    slots
}

fn address(run: &str) -> String {
    format!("milepost://run/{run}")
}

impl Fitting<'_> {
    fn prompts(&self, at: &str) -> impl Iterator<Item = &str> {
        let due = self.answer.pointer(&format!("{at}/due")).and_then(Value::as_array);
        due.into_iter().flatten().filter_map(|due| due["prompt"].as_str())
    }

    /// Replaces values that a due prompt already contains with links.
    fn drop_repeated(&mut self, at: &str, slots: &[ResourceLink]) {
        let prompts: Vec<String> = self
            .prompts(at)
            .filter(|one| one.len() > limits::SMALL_BYTES)
            .map(str::to_owned)
            .collect();
        for slot in slots {
            let value = self.answer.pointer(&slot.pointer).and_then(Value::as_str);
            if value.is_some_and(|value| prompts.iter().any(|prompt| prompt.contains(value)))
                && value.is_some_and(|value| value.len() > limits::SMALL_BYTES)
            {
                self.put_link(slot);
            }
        }
    }

    /// Cuts values, largest first, until the answer fits.
    fn cut(&mut self, slots: &[ResourceLink], most: usize) {
        let bytes =
            |slot: &ResourceLink| Some(self.answer.pointer(&slot.pointer)?.to_string().len());
        let is_cut = |slot: &ResourceLink| self.cuts.iter().any(|cut| cut.pointer == slot.pointer);
        let whole = slots.iter().filter(|slot| !is_cut(slot));
        let mut sized: Vec<(usize, ResourceLink)> = whole
            .filter_map(|slot| Some((bytes(slot)?, slot.clone())))
            .filter(|(bytes, _)| *bytes > limits::SMALL_BYTES)
            .collect();
        sized.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        for (_, slot) in &sized {
            if self.size <= most {
                return;
            }
            self.put_link(slot);
        }
    }

    fn cut_prompts(&mut self, at: &str, run: &str) {
        let count = self.prompts(at).count();
        for number in 0..count {
            let pointer = format!("{at}/due/{number}/prompt");
            let slot = ResourceLink { pointer, uri: address(run), bytes: 0 };
            let prompt = self.answer.pointer(&slot.pointer).and_then(Value::as_str);
            if prompt.is_some_and(|prompt| prompt.len() > limits::PROMPT_BYTES) {
                self.put_link(&slot);
            }
        }
    }

    fn put_link(&mut self, slot: &ResourceLink) {
        let Some(value) = self.answer.pointer_mut(&slot.pointer) else { return };
        let text = value.to_string();
        let head: String = text.chars().take(limits::ENDS_CHARS[0]).collect();
        let skipped = text.chars().count().saturating_sub(limits::ENDS_CHARS[0]);
        let tail: String = text.chars().skip(skipped).collect();
        let bytes = text.len();
        *value = json!({"resource": slot.uri, "bytes": bytes, "head": head, "tail": tail});
        self.size = self.size - bytes + value.to_string().len();
        self.cuts.push(ResourceLink { bytes, ..slot.clone() });
    }

    /// Shows less of each cut value, because there are many.
    fn trim_ends(&mut self, ends: usize) {
        for cut in &self.cuts {
            let Some(link) = self.answer.pointer_mut(&cut.pointer) else { continue };
            let before = link.to_string().len();
            let end = |name: &str| link[name].as_str().unwrap_or_default().to_owned();
            let (head, tail) = (end("head"), end("tail"));
            link["head"] = head.chars().take(ends).collect::<String>().into();
            let skipped = tail.chars().count().saturating_sub(ends);
            link["tail"] = tail.chars().skip(skipped).collect::<String>().into();
            self.size = self.size - before + link.to_string().len();
        }
    }

    /// Drops finished and pending steps until the answer fits; they are still in the resource.
    fn drop_steps(&mut self, at: &str, run: &str, most: usize) {
        let Some(answer) = self.answer.pointer_mut(at) else { return };
        let Some(steps) = answer.get_mut("steps").and_then(Value::as_array_mut) else { return };
        let (mut size, count) = (self.size, steps.len());
        let mut dropped = Vec::new();
        steps.retain(|step| {
            let matters = ["running", "waiting", "failed"].iter().any(|one| step["status"] == *one);
            if matters || size <= most {
                return true;
            }
            size = size.saturating_sub(step.to_string().len() + 1);
            dropped.push(step["id"].as_str().unwrap_or_default().to_owned());
            false
        });
        let omitted = count - steps.len();
        answer["steps_omitted"] = json!({"count": omitted, "resource": address(run)});
        let gone = |cut: &ResourceLink| {
            let steps = dropped.iter().map(|id| utf8_percent_encode(id, ESCAPED));
            steps.into_iter().any(|id| cut.uri.ends_with(&format!("/step/{id}/output")))
        };
        self.cuts.retain(|cut| !gone(cut));
        let (pointer, uri) = (String::new(), address(run));
        self.cuts.push(ResourceLink { pointer, uri, bytes: size });
        self.size = self.answer.to_string().len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_is_shown_by_its_ends() {
        let long = "ä".repeat(limits::REPLY_BYTES);
        let mut run = json!({
            "run_id": "run_1",
            "steps": [{"id": "a", "output": long}, {"id": "b", "output": "short"}],
            "final_output": {"long": long},
        });
        let links = shorten(&mut run, limits::REPLY_BYTES);
        assert_eq!(run["steps"][0]["output"]["resource"], "milepost://run/run_1/step/a/output");
        assert_eq!(run["steps"][0]["output"]["bytes"], 2 * limits::REPLY_BYTES + 2);
        assert_eq!(run["steps"][1]["output"], "short");
        assert_eq!(run["final_output"]["resource"], "milepost://run/run_1");
        assert_eq!(links.len(), 2);
        assert!(run.to_string().len() < limits::REPLY_BYTES, "{run}");
        let mut nested = json!({"accepted": true, "run": {"run_id": "r", "final_output": long}});
        shorten(&mut nested, limits::REPLY_BYTES_MAX);
        assert_eq!(nested["run"]["final_output"], long);
        shorten(&mut nested, bound(&Map::new()));
        assert_eq!(nested["run"]["final_output"]["bytes"], 2 * limits::REPLY_BYTES + 2);
    }

    /// Many values that would each be shown in full may not fit together.
    #[test]
    fn a_reply_fits_as_a_whole() {
        for (steps, bytes) in [(20, 7_000), (60, 500), (400, 300), (2_000, 10)] {
            let steps: Vec<Value> = (0..steps)
                .map(|number| {
                    let output = "x".repeat(bytes);
                    json!({"id": format!("s{number}"), "status": "succeeded", "output": output})
                })
                .collect();
            let count = steps.len();
            let mut run = json!({"run_id": "run_1", "steps": steps, "status": "succeeded"});
            let links = shorten(&mut run, limits::REPLY_BYTES);
            assert!(
                run.to_string().len() <= limits::REPLY_BYTES + 100,
                "{count}: {}",
                run.to_string().len()
            );
            assert!(!links.is_empty());
            let kept = run["steps"].as_array().expect("steps").len();
            let omitted = run["steps_omitted"]["count"].as_u64().unwrap_or_default();
            assert_eq!(kept as u64 + omitted, count as u64);
        }
    }

    #[test]
    fn a_prompt_that_is_due_is_whole_and_told_once() {
        let prompt = "Do this. ".repeat(3_000);
        let mut run = json!({
            "run_id": "run_1", "steps": [], "inputs": {"task": prompt, "name": "x"},
            "due": [{"step_id": "a", "prompt": prompt}],
        });
        shorten(&mut run, limits::REPLY_BYTES);
        assert_eq!(run["due"][0]["prompt"], prompt.as_str());
        assert_eq!(run["inputs"]["task"]["resource"], "milepost://run/run_1");
        assert_eq!(run["inputs"]["name"], "x");
        assert!(run.to_string().len() < prompt.len() + 2_000);
        let mut huge =
            json!({"run_id": "r", "due": [{"prompt": "x".repeat(limits::PROMPT_BYTES + 1)}]});
        shorten(&mut huge, limits::REPLY_BYTES);
        assert_eq!(huge["due"][0]["prompt"]["resource"], "milepost://run/r");
    }

    #[test]
    fn a_long_result_is_whole_in_one_form() {
        let short = result(json!({"a": 1}), &[], true);
        assert_eq!(serde_json::to_value(&short.content[0]).expect("JSON")["text"], "{\"a\":1}");
        let long = json!({"workflow_id": "w", "content": "x".repeat(limits::TWICE_BYTES)});
        let text = |reads| {
            let result = result(long.clone(), &[], reads);
            serde_json::to_value(&result.content[0]).expect("JSON")["text"].to_string()
        };
        assert!(text(true).len() < 500 && text(true).contains("structuredContent"));
        assert!(text(false).len() > limits::TWICE_BYTES);
    }
}

//! The manifest format: its top-level keys, and what they compile to.

use milepost_syntax::span::Span;
use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use serde_json::{Value, json};

use crate::decode::{
    Decode, Defs, Entries, Int, Report, Spot, mistyped, shape, spot, words, wrong,
};
use crate::duration::Period;
use crate::finding::{Finding, Rule};
use crate::id::{InputName, WorkflowId};
use crate::input::Input;
use crate::lazy::Lazy;
use crate::limits;
use crate::step::Step;
use crate::templated::Dynamic;
use crate::version::{Requirement, SemVer};
use crate::workflow::{Spelling, Workflow};

words! {
    /// The kind of source.
    CatalogSourceType {
        /// A file.
        Path = "path",
        Url = "url",
    }
}

shape! {
    /// A required catalog.
    CatalogNeed = "a catalog", slips &[
        ("title", &["name"]),
        ("source", &["url", "path"]),
    ];
    "vendor" vendor: req Spot<String> = "The catalog id: the first word of its commands.",
    "title" title: opt String = "Its title.",
    "source" source: opt String = "Where to get it, for people who do not have it yet.",
    "source_type" source_type: opt CatalogSourceType = "Whether `source` is a path or a URL.",
    "version" version: opt String = "The version of the API.",
}

shape! {
    /// What must exist before a run.
    Requires = "requirements";
    "catalogs" catalogs: opt Vec<CatalogNeed> = "Catalogs whose commands it uses.",
    "milepost" milepost: opt Spot<Requirement> =
        "The version of Milepost that it needs, such as `>=0.1`.",
}

shape! {
    /// What a run may spend.
    Budget = "a budget";
    "http_calls" http_calls: opt Int<0, 1_000_000> = "The maximum total number of requests.",
    "writes" writes: opt Int<0, 1_000_000> =
        "The maximum number of requests that change something.",
    "attempts" attempts: opt Int<0, 1_000_000> = "The maximum total number of attempts.",
}

/// The inputs. An input that could not be read keeps its name, so that its uses are not reported as
/// well.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs(pub Vec<(Spot<String>, Option<Input>)>);

impl Decode for Inputs {
    const WANT: &'static str = "a map of inputs";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let SyntaxKind::Map(entries) = &node.kind else { return wrong(node, report) };
        if entries.len() > limits::INPUTS {
            let message = format!("{} inputs", entries.len());
            let fault = Finding::error(node.at, Rule::Range, message);
            report.add(fault.expected(format!("at most {}", limits::INPUTS)).suggest("drop some"));
        }
        let read = |(key, value): &(milepost_syntax::tree::SyntaxKey, SyntaxNode)| {
            if let Err(invalid) = InputName::parse(&key.name) {
                let message = format!("`{}` is not a valid input name", key.name);
                Finding::error(key.at, Rule::Id, message)
                    .expected(invalid.rule)
                    .suggest("use letters, digits and `_`, not starting with a digit")
                    .add_to(report);
            }
            // `name:` without a value is an input without any rules.
            let input = match value.kind {
                SyntaxKind::Null => Input::decode(
                    &SyntaxNode { at: value.at, kind: SyntaxKind::Map(vec![]) },
                    report,
                ),
                _ => Input::decode(value, report),
            };
            // If its type could not be read, nothing else about an input can be checked.
            let untyped = value.get("type").is_some() || report.has_stray_in(value);
            let typed = input.filter(|input| input.kind.is_some() || !untyped);
            (spot(key), typed)
        };
        Some(Inputs(entries.iter().map(read).collect()))
    }

    fn schema(defs: &mut Defs) -> Value {
        let input = Input::schema(defs);
        json!({
            "type": "object",
            "propertyNames": {"type": "string", "pattern": InputName::PATTERN},
            "additionalProperties": {"anyOf": [input, {"type": "null"}]},
            "maxProperties": limits::INPUTS,
        })
    }
}

/// The items of a list of steps, in either format. An empty list and a list with too many steps are
/// reported; `least` describes what is expected in place of an empty list.
pub(crate) fn step_items<'n>(
    node: &'n SyntaxNode,
    least: &str,
    report: &mut Report,
) -> Option<&'n [SyntaxNode]> {
    let SyntaxKind::List(items) = &node.kind else {
        return mistyped(node, StepList::WANT, None, report);
    };
    let (message, expected, then) = match items.len() {
        0 => ("a workflow without steps".to_owned(), least.to_owned(), "add a step"),
        1..=limits::STEPS => return Some(items),
        many => {
            let expected = format!("1 to {} steps", limits::STEPS);
            (format!("{many} steps"), expected, "split the workflow")
        }
    };
    let fault = Finding::error(node.at, Rule::Range, message);
    report.add(fault.expected(expected).suggest(then));
    None
}

/// A list of steps. Steps that could not be read have been reported and are omitted.
#[derive(Debug, Clone, PartialEq)]
pub struct StepList(pub Vec<Step>);

impl Decode for StepList {
    const WANT: &'static str = "a list of steps";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let items = step_items(node, &format!("1 to {} steps", limits::STEPS), report)?;
        Some(StepList(items.iter().filter_map(|item| Step::decode(item, report)).collect()))
    }

    fn schema(defs: &mut Defs) -> Value {
        let step = Step::schema(defs);
        json!({"type": "array", "minItems": 1, "maxItems": limits::STEPS, "items": step})
    }
}

shape! {
    /// A manifest as written.
    ManifestDoc = "a manifest", slips &[
        ("workflow", &["workflow_id", "workflowId", "id"]),
        ("title", &["name"]),
        ("final_output", &["outputs", "output"]),
        ("inputs", &["parameters", "params", "variables"]),
        ("steps", &["jobs", "tasks"]),
    ], homes &[
        ("requires", &["catalogs", "milepost"]),
        ("budget", &["http_calls", "writes", "attempts"]),
    ];
    "workflow" workflow: must Spot<WorkflowId> = "The id, which is also the file name.",
    "title" title: opt String = "The display name.",
    "description" description: opt String = "What it does.",
    "version" version: opt SemVer = "A label such as `1.0.0`.",
    "category" category: opt String = "The category that it is listed under.",
    "tags" tags: opt Vec<String> = "Labels.",
    "requires" requires: opt Requires = "What must exist before a run.",
    "concurrency" concurrency: opt Int<1, { limits::CONCURRENCY }> =
        "How many steps run at the same time.",
    "timeout" timeout: opt Period = "How long a run may take.",
    "budget" budget: opt Budget = "Limits on what a run may do.",
    "inputs" inputs: opt Inputs = "The values a run needs, by name.",
    "steps" steps: must StepList = "What a run does, step by step.",
    "finally" finally: opt StepList = "Steps that always run at the end, even after a failure.",
    "final_output" final_output: opt Dynamic = "The result of the run.",
}

/// A document that may still have errors, as input for the checks.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) workflow: Workflow,
    /// The names of inputs that exist but could not be read.
    pub(crate) unread_inputs: Vec<String>,
}

pub(crate) fn draft(doc: ManifestDoc) -> Option<Draft> {
    let workflow_id = match doc.workflow {
        Some(id) => id,
        None => unnamed(doc.at)?,
    };
    let inputs = doc.inputs.map(|inputs| inputs.0).unwrap_or_default();
    let unread =
        |(name, input): &(Spot<String>, Option<Input>)| input.is_none().then(|| name.value.clone());
    let unread_inputs = inputs.iter().filter_map(unread).collect();
    let read = inputs.into_iter().filter_map(|(name, input)| Some((name, input?)));
    let workflow = Workflow {
        spelling: Spelling::Manifest,
        id: workflow_id,
        title: doc.title,
        description: doc.description,
        version: doc.version.map(|version| version.0.to_string()),
        category: doc.category,
        tags: doc.tags.unwrap_or_default(),
        requires: doc.requires,
        concurrency: doc.concurrency.map_or(1, Int::get),
        timeout: doc.timeout,
        budget: doc.budget,
        inputs: Entries(read.collect()),
        steps: doc.steps.map(|steps| steps.0).unwrap_or_default(),
        finally: doc.finally.map(|steps| steps.0).unwrap_or_default(),
        final_output: doc.final_output,
        guide: None,
        step_index: Lazy::default(),
        declared: Lazy::default(),
    };
    Some(Draft { workflow, unread_inputs })
}

/// A placeholder for a workflow id that could not be read. A draft with errors is never used.
pub(crate) fn unnamed(at: Span) -> Option<Spot<WorkflowId>> {
    let value = WorkflowId::parse("unnamed").ok()?;
    Some(Spot { at, value })
}

//! Manifest steps: what they do, and what they all share.

use milepost_syntax::mend::Mend;
use milepost_syntax::span::Span;
use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use serde_json::{Value, json};

use crate::condition::Condition;
use crate::criteria::Criteria;
use crate::decode::{
    Aliases, BoundedText, Decode, Defs, Entries, Int, Report, Spot, shape, words, wrong,
};
use crate::duration::Period;
use crate::expr::Expr;
use crate::finding::{Finding, Rule};
use crate::guide::{Confirmation, LoopDoc, PromptBlocks, PromptFragment};
use crate::id::StepId;
use crate::json_schema::JsonSchema;
use crate::limits;
use crate::rendered::Rendered;
use crate::retry::Retry;
use crate::suggest;
use crate::target::Target;
use crate::templated::{Bare, Dynamic, Located, Templated};
use crate::wait::Wait;

/// One step of a workflow, of any kind and in either format.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub at: Span,
    pub id: Spot<StepId>,
    /// The name shown to people.
    pub title: Option<String>,
    /// What the step is for.
    pub description: Option<String>,
    /// The dependencies that the author listed; expressions add more.
    pub depends_on: Vec<Spot<StepId>>,
    /// The condition under which the step runs.
    pub when: Option<When>,
    /// Whether all or any of its dependencies must have run.
    pub needs: Needs,
    /// What a failure of the step means for the run.
    pub on_error: OnError,
    /// The time limit for one attempt.
    pub timeout: Option<Period>,
    /// When the step is retried.
    pub retry: Option<Retry>,
    /// The list that the step iterates over.
    pub for_each: Option<ForEach>,
    pub output_contract: Option<OutputContract>,
    pub action: Action,
    /// Output derived from the step, cached for callers that show it repeatedly.
    pub rendered: Rendered,
}

impl Step {
    /// Its id.
    pub fn name(&self) -> &str {
        self.id.value.as_str()
    }

    /// The step's expressions, including those in a loop's body.
    pub fn exprs(&self) -> Vec<Located<'_>> {
        let own = crate::check::of_step(self).into_iter().map(|usage| usage.located);
        let body = match &self.action {
            Action::Loop(looped) => looped.body.as_slice(),
            _ => &[],
        };
        own.chain(body.iter().flat_map(Step::exprs)).collect()
    }
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Calls an operation or runs another workflow.
    Run(Box<Run>),
    /// Gives an agent a task.
    Prompt(Box<Prompt>),
    /// Asks a person for a decision.
    Approve(Box<Approve>),
    /// Waits for a duration or until a time.
    Wait(Wait),
    /// Computes values.
    Set(Entries<Dynamic>),
    /// Ends the run with a message.
    Fail(Templated),
    /// Repeats a body.
    Loop(Box<Loop>),
}

crate::serialized_enum! {
    /// The kinds of steps, each named after the key that defines it.
    #[derive(Default)]
    ActionKind {
        /// Calls an operation or runs another workflow.
        #[default]
        Run = "run",
        /// Gives an agent a task.
        Prompt = "prompt",
        /// Asks a person for a decision.
        Approve = "approve",
        Wait = "wait",
        /// Computes values.
        Set = "set",
        /// Ends the run with a message.
        Fail = "fail",
        /// Repeats a body.
        Loop = "loop",
    }
}

impl Action {
    /// The kind of step that performs this action.
    pub fn kind(&self) -> ActionKind {
        match self {
            Action::Run(_) => ActionKind::Run,
            Action::Prompt(_) => ActionKind::Prompt,
            Action::Approve(_) => ActionKind::Approve,
            Action::Wait(_) => ActionKind::Wait,
            Action::Set(_) => ActionKind::Set,
            Action::Fail(_) => ActionKind::Fail,
            Action::Loop(_) => ActionKind::Loop,
        }
    }
}

/// A call to an operation or a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The command or workflow to run.
    pub target: Spot<Target>,
    /// The arguments, regardless of where they are sent.
    pub with: Entries<Dynamic>,
    /// The body of the request.
    pub body: Option<Dynamic>,
    /// Extra headers.
    pub headers: Entries<Dynamic>,
    /// Whether the author declares the call safe to repeat.
    pub idempotent: Option<bool>,
    /// How the call is polled.
    pub repeat: Option<Repeat>,
}

/// Work for an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub text: PromptText,
    /// The role that the agent should take.
    pub agent_role: Option<String>,
    /// Hints for the agent.
    pub guidance: Vec<String>,
    pub output_schema: Option<JsonSchema>,
    /// The rules for the output.
    pub criteria: Option<Criteria>,
    /// How the engine verifies the agent's claim.
    pub verify: Vec<Verify>,
    /// Which model is suitable.
    pub model_hint: Option<String>,
    /// Whether the agent should ask for files.
    pub ask_for_files: bool,
    /// Whether a person must confirm.
    pub confirmation: Confirmation,
    /// The maximum number of submissions.
    pub max_attempts: Option<u32>,
}

/// The two ways to write a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptText {
    /// Text with `${{ … }}`.
    Template(Templated),
    /// Text with `{{var}}`, blocks and fragments, in the guide format.
    Guide {
        text: Option<String>,
        blocks: Option<Box<PromptBlocks>>,
        fragments: Vec<PromptFragment>,
    },
}

/// A loop in the guide format.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// How the loop repeats.
    pub spec: LoopDoc,
    pub body: Vec<Step>,
}

/// The list that a step iterates over.
#[derive(Debug, Clone, PartialEq)]
pub struct ForEach {
    pub items: Dynamic,
    /// The name of the item in expressions; `item` if absent.
    pub name: Option<Spot<String>>,
    /// The number of items processed at once.
    pub concurrency: u32,
}

impl ForEach {
    /// The name of the item in expressions.
    pub fn item_name(&self) -> &str {
        self.name.as_ref().map_or("item", |name| &name.value)
    }
}

/// When a step runs.
#[derive(Debug, Clone, PartialEq)]
pub enum When {
    /// An expression that yields a boolean.
    Expr(Bare),
    /// A condition object in the guide format.
    Condition(Condition),
}

impl Decode for When {
    const WANT: &'static str = "an expression that yields true or false";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match node.kind {
            SyntaxKind::Map(_) => Condition::decode(node, report).map(When::Condition),
            SyntaxKind::Str(_) | SyntaxKind::Bool(_) => Bare::decode(node, report).map(When::Expr),
            _ => wrong(node, report),
        }
    }

    fn schema(defs: &mut Defs) -> Value {
        json!({"anyOf": [Bare::schema(defs), Condition::schema(defs)]})
    }
}

words! {
    /// Whether all or any of a step's dependencies must have run.
    Needs {
        All = "all",
        /// One is enough.
        Any = "any",
    }
}

/// `needs`, with an error for authors who confuse it with `depends_on`.
#[derive(Debug, Clone, PartialEq)]
pub struct NeedsDoc(Needs);

impl Decode for NeedsDoc {
    const WANT: &'static str = Needs::WANT;

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        // A single step name reveals the confusion as clearly as a list does, unless it may be a
        // misspelled `all` or `any`.
        let step = node.text().filter(|text| {
            !matches!(*text, "all" | "any")
                && suggest::nearest(text, ["all", "any"]).is_none()
                && StepId::parse(text).is_ok()
                && report.could_take("depends_on")
        });
        if !matches!(node.kind, SyntaxKind::List(_)) && step.is_none() {
            return Needs::decode(node, report).map(NeedsDoc);
        }
        let message = "`needs` must be `all` or `any`, not the steps themselves";
        let fault = Finding::error(node.at, Rule::Type, message)
            .expected(Needs::WANT)
            .actual(node.noun())
            .suggest("list the steps under `depends_on`");
        let rename = Mend::RenameKey { key: node.at, to: "depends_on".into() };
        let value = step.map(|step| Mend::Replace { at: node.at, value: json!([step]) });
        report.add(match (report.could_take("depends_on"), value) {
            (true, Some(value)) => fault.mend(Mend::All(vec![rename, value])),
            (true, None) => fault.mend(rename),
            (false, _) => fault,
        });
        None
    }

    fn schema(defs: &mut Defs) -> Value {
        Needs::schema(defs)
    }
}

words! {
    /// What a step's failure means for the run.
    OnError {
        /// The run fails.
        Fail = "fail",
        /// The run continues.
        Continue = "continue",
    }
}

shape! {
    /// How a call is polled.
    Repeat = "polling options", slips &[
        ("every", &["interval"]),
        ("max_attempts", &["attempts"]),
    ];
    "until" until: req Bare = "The expression that ends the polling when it is true.",
    "every" every: opt Period = "The delay between two passes.",
    "timeout" timeout: opt Period = "The maximum total polling time.",
    "max_attempts" max_attempts: opt Int<1, 10_000> = "The maximum number of passes.",
}

shape! {
    /// A check of an agent's claim against reality.
    Verify = "a check such as `{run: shop orders:get, check: …}`", slips &[
        ("with", &["flags", "args", "arguments", "params", "parameters"]),
        ("run", &["uses", "command", "call"]),
        ("body", &["data"]),
        ("check", &["expect", "assert"]),
    ];
    "run" run: req Spot<Target> = "The command to run.",
    "with" with: opt Entries<Dynamic> = "The arguments for the command.",
    "body" body: opt Dynamic = "The body of the request.",
    "check" check: req Bare = "An expression that must be true, such as `output.status == 'paid'`.",
    "message" message: opt String = "The message if `check` is false.",
}

shape! {
    /// The contract for a step's output.
    OutputContract = "an output contract";
    "fields" fields: req Vec<ContractField> = "The fields of the output.",
}

words! {
    FieldType {
        /// Text.
        String = "string",
        /// Any number.
        Number = "number",
        /// A whole number.
        Integer = "integer",
        /// True or false.
        Boolean = "boolean",
        /// A list.
        Array = "array",
        /// A map.
        Object = "object",
        /// Anything.
        Any = "any",
    }
}

shape! {
    /// One field of an output.
    ContractField = "a field";
    "name" name: req Spot<String> = "The name of the field.",
    "type" kind: opt FieldType = "The type of the field.",
    "description" description: opt String = "What the field holds.",
    "tags" tags: opt Vec<String> = "Labels.",
}

/// A question for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Approve {
    pub message: Templated,
    /// The schema of the answer.
    pub form: Option<JsonSchema>,
    /// Who may answer.
    pub by: Vec<String>,
    /// How long until the question expires.
    pub expires: Option<Period>,
    /// Where the run continues after a rejection.
    pub on_reject: Option<OnReject>,
}

shape! {
    /// A question written as a map.
    ApproveDoc = "a question", slips &[
        ("message", &["question", "prompt"]),
        ("by", &["approvers"]),
        ("expires", &["timeout"]),
    ];
    "message" message: req Templated = "The question.",
    "form" form: opt JsonSchema = "The schema of the answer.",
    "by" by: opt Vec<String> = "Who may answer.",
    "expires" expires: opt Period = "How long the question stays open.",
    "on_reject" on_reject: opt OnReject = "The step to go back to if the answer is no.",
}

shape! {
    /// Where the run continues after a rejection.
    OnReject = "a step to go back to";
    "to" to: req Spot<StepId> = "The id of the step.",
    "max" max: opt Int<1, 100> = "How many times the run may go back.",
}

impl Decode for Approve {
    const WANT: &'static str = "a question";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        if let SyntaxKind::Map(_) = node.kind {
            let doc = ApproveDoc::decode(node, report)?;
            let ApproveDoc { message, form, by, expires, on_reject, .. } = doc;
            return Some(Approve { message, form, by: by.unwrap_or_default(), expires, on_reject });
        }
        let message = Templated::decode(node, report)?;
        Some(Approve { message, form: None, by: Vec::new(), expires: None, on_reject: None })
    }

    fn schema(defs: &mut Defs) -> Value {
        json!({"anyOf": [Templated::schema(defs), ApproveDoc::schema(defs)]})
    }
}

/// A part of the document whose meaning depends on the rest of its step.
#[derive(Debug, Clone, PartialEq)]
pub struct Later(SyntaxNode);

impl Decode for Later {
    const WANT: &'static str = "a value";

    fn decode(node: &SyntaxNode, _: &mut Report) -> Option<Self> {
        Some(Later(node.clone()))
    }
}

words! {
    StepType {
        /// A loop in the guide format.
        Loop = "loop",
    }
}

/// Other names that authors use for a step's keys.
const SLIPS: Aliases = &[
    ("if", &["condition", "runCondition"]),
    ("with", &["flags", "args", "arguments", "params", "parameters", "inputs"]),
    ("title", &["name"]),
    ("run", &["uses", "command", "call"]),
    ("agent_role", &["role"]),
    ("depends_on", &["after", "depends"]),
    ("for_each", &["foreach"]),
    ("validation", &["validationCriteria"]),
    ("approve", &["approval"]),
    ("wait", &["sleep", "delay"]),
    ("body", &["data"]),
    ("output_schema", &["schema"]),
];

/// Keys that belong in a nested map of the step.
const HOMES: Aliases = &[
    ("retry", &["backoff", "initial", "max", "jitter"]),
    ("repeat", &["until", "every"]),
    ("output_contract", &["fields"]),
    ("approve", &["message", "form", "by", "expires", "on_reject"]),
    (
        "loop",
        &["maxIterations", "condition", "items", "count", "itemVar", "indexVar", "iterationVar"],
    ),
];

shape! {
    /// A step as written.
    StepDoc = "a step", slips SLIPS, homes HOMES;
    "id" id: must Spot<StepId> = "The id of the step, unique in the workflow.",
    "type" kind: opt StepType = "`loop`, for a loop with a body.",
    "title" title: opt String = "The display name.",
    "description" description: opt String = "What the step is for.",
    "depends_on" depends_on: opt Vec<Spot<StepId>> = "Steps that run first; expressions add more.",
    "if" condition: opt When = "An expression; if it is false, the step is skipped.",
    "when" when: opt When = "Another name for `if`.",
    "needs" needs: opt NeedsDoc = "Whether all or any of the steps it depends on must have run.",
    "on_error" on_error: opt OnError = "What happens to the run if the step fails.",
    "timeout" timeout: opt Period = "How long one attempt may take.",
    "retry" retry: opt Retry = "When and how many times a failed attempt is repeated.",
    "for_each" for_each: opt Dynamic = "A list; the step runs once for each item.",
    "as" name: opt Spot<String> = "The name of the item in expressions; `item` by default.",
    "concurrency" concurrency: opt Int<1, { limits::CONCURRENCY }> =
        "How many items are processed at the same time.",
    "output_contract" output_contract: opt OutputContract = "What its output must look like.",
    "run" run: opt Spot<Target> = "Calls `<catalog> <command>` or `workflow <id>`.",
    "with" with: opt Entries<Dynamic> =
        "The arguments for the command: path, query, header and body fields.",
    "body" body: opt Later = "The body of the request; in a loop, the steps to repeat.",
    "headers" headers: opt Entries<Dynamic> = "Additional request headers.",
    "idempotent" idempotent: opt bool = "The request may safely be sent twice.",
    "repeat" repeat: opt Repeat = "Polls: repeats the request until a condition is true.",
    "prompt" prompt: opt Templated = "What an agent should do.",
    "agent_role" agent_role: opt String = "The role the agent should take.",
    "guidance" guidance: opt Vec<String> = "Hints for the agent.",
    "output_schema" output_schema: opt JsonSchema = "The schema of the agent's output.",
    "validation" validation: opt Criteria = "Rules for the agent's output.",
    "verify" verify: opt Vec<Verify> = "Requests that check what the agent claims.",
    "model_hint" model_hint: opt String = "Which model suits the step.",
    "ask_for_files" ask_for_files: opt bool = "Whether the agent should ask the user for files.",
    "require_confirmation" require_confirmation: opt Confirmation =
        "Whether a person has to confirm the output.",
    "max_attempts" max_attempts: opt Int<1, 100> = "How many submissions the agent may make.",
    "approve" approve: opt Approve = "The question for a person to decide.",
    "wait" wait: opt Wait = "How long to wait, or until when.",
    "set" set: opt Entries<Dynamic> = "Values to compute.",
    "fail" fail: opt Templated = "Ends the run with this message.",
    "loop" spec: opt LoopDoc = "How a loop repeats.",
}

/// What to do about a loop that lacks one of its keys, in either format.
pub(crate) const ADD_LOOP: &str = "add `loop` with `type` and `maxIterations`";
pub(crate) const ADD_BODY: &str = "add `body` with the steps to repeat";

/// The finding for a step with `loop` but without `type: loop`, in either format.
pub(crate) fn untyped_loop(map: Span) -> Finding {
    Finding::error(map, Rule::Combination, "a step with `loop` needs `type: loop`")
        .suggest("add `type: loop`")
        .mend(Mend::Insert { map, key: "type".into(), value: "loop".into() })
}

/// The keys that determine what a step does.
const ACTIONS: &[&str] = &["run", "prompt", "approve", "wait", "set", "fail", "loop"];

/// Keys that belong to certain actions only; all other keys are common to all actions.
const OWNED: &[(&[&str], &[&str])] = &[
    (&["run"], &["with", "headers", "idempotent", "repeat"]),
    (&["run", "loop"], &["body"]),
    (&["prompt"], &["agent_role", "guidance", "output_schema", "validation", "verify"]),
    (&["prompt"], &["model_hint", "ask_for_files", "require_confirmation", "max_attempts"]),
    (&["run", "prompt"], &["for_each", "as", "concurrency"]),
    (&["run", "prompt"], &["retry"]),
    (&["run", "prompt", "approve", "wait", "set", "fail"], &["timeout", "output_contract"]),
];

impl Decode for Step {
    const WANT: &'static str = "a step";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let before = report.count();
        let doc = StepDoc::decode(node, report)?;
        let sound = report.count() == before;
        let action = sole_action(node, sound, report)?;
        check_items(doc.for_each.as_ref(), report);
        if action == "loop" && node.get("type").is_none() && sound {
            report.add(untyped_loop(node.at));
        }
        check_keys(node, action, sound, report);
        let action = act(action, node, &doc, report)?;
        let id = match doc.id {
            Some(id) => id,
            None => stand_in(node)?,
        };
        Some(Step {
            at: doc.at,
            id,
            title: doc.title,
            description: doc.description,
            depends_on: doc.depends_on.unwrap_or_default(),
            when: doc.condition.or(doc.when),
            needs: doc.needs.map_or(Needs::All, |needs| needs.0),
            on_error: doc.on_error.unwrap_or(OnError::Fail),
            timeout: doc.timeout,
            retry: doc.retry,
            for_each: doc.for_each.map(|items| ForEach {
                items,
                name: doc.name,
                concurrency: doc.concurrency.map_or(1, Int::get),
            }),
            output_contract: doc.output_contract,
            action,
            rendered: Rendered::default(),
        })
    }

    /// The schema of the keys, exactly one of which must be an action.
    fn schema(defs: &mut Defs) -> Value {
        let reference = StepDoc::schema(defs);
        if let Some(step) = defs.get_mut("StepDoc") {
            let one: Vec<Value> = ACTIONS.iter().map(|key| json!({"required": [key]})).collect();
            step["oneOf"] = Value::Array(one);
            step["properties"]["type"]["const"] = "loop".into();
        }
        reference
    }
}

/// A substitute for a step id that could not be read, close to the intended one, so that the rest
/// of the step is checked and references to it are not reported as unknown.
fn stand_in(node: &SyntaxNode) -> Option<Spot<StepId>> {
    let authored =
        node.get("id").and_then(SyntaxNode::text).and_then(|text| suggest::slug(text, false));
    let value = match authored {
        Some(text) => StepId::parse(&text).ok()?,
        None => StepId::unnamed(node.at),
    };
    Some(Spot { at: node.get("id").map_or(node.at, |id| id.at), value })
}

/// The step's only action, determined by the keys present.
fn sole_action(node: &SyntaxNode, sound: bool, report: &mut Report) -> Option<&'static str> {
    let key = |action: &&'static str| Some((node.entry(action)?.0.at, *action));
    let mut present: Vec<(Span, &'static str)> = ACTIONS.iter().filter_map(key).collect();
    present.sort_unstable();
    match present.as_slice() {
        [(_, action)] => Some(action),
        [] if node.get("type").is_some() && sound => {
            report.add(Finding::required(node.at, "loop", ADD_LOOP));
            None
        }
        [] => {
            // A misspelled action has already been reported as an unknown key.
            if sound {
                Finding::error(node.at, Rule::Required, "the step does nothing")
                    .expected(suggest::list(ACTIONS))
                    .suggest("add `run`, `prompt` or another action")
                    .add_to(report);
            }
            None
        }
        [(_, first), (at, second), ..] => {
            let message =
                format!("a step can only do one thing, not both `{first}` and `{second}`");
            let fault = Finding::error(*at, Rule::Combination, message);
            report.add(fault.suggest("split it into two steps"));
            None
        }
    }
}

/// Checks that `for_each` is a list, or one expression that yields a list.
fn check_items(items: Option<&Dynamic>, report: &mut Report) {
    let (at, meant) = match items {
        Some(Dynamic::Plain(Spot { value: Value::Array(_), .. }) | Dynamic::List(_)) | None => {
            return;
        }
        Some(Dynamic::Text(text)) if text.template.sole().is_some() => return,
        Some(Dynamic::Plain(Spot { at, value: Value::String(text) })) => {
            let reads = Expr::parse(text).is_ok_and(|expr| expr.is_path());
            (*at, reads.then(|| format!("${{{{ {} }}}}", text.trim())))
        }
        Some(other) => (other.at(), None),
    };
    let fault = Finding::error(at, Rule::ExpressionType, "`for_each` needs a list")
        .expected("a list, or a single `${{ … }}` that yields one");
    report.add(fault.write_instead(
        at,
        meant,
        "put a list here, or `${{ … }}` around an expression",
    ));
}

fn check_keys(node: &SyntaxNode, action: &'static str, sound: bool, report: &mut Report) {
    let others = OWNED.iter().filter(|(owners, _)| !owners.contains(&action));
    for (owners, key) in others.flat_map(|(owners, keys)| keys.iter().map(move |key| (owners, key)))
    {
        let Some((found, _)) = node.entry(key) else { continue };
        let owners = suggest::list(*owners);
        let message = format!("`{key}` does nothing in a step with `{action}`");
        let fault = Finding::error(found.at, Rule::Combination, message)
            .expected(format!("a step with {owners}"));
        let home = if *key == "max_attempts" { attempts_home(node, action) } else { None };
        report.add(match home {
            Some(under) => fault.suggest(format!("move it into `{under}`")).mend(Mend::Move {
                key: found.at,
                into: node.at,
                under: Some(under.into()),
                name: "max_attempts".into(),
            }),
            // Nothing that the author wrote is removed unless the intent is certain.
            None => fault.suggest("remove it, or move it to the step it belongs to"),
        });
    }
    if let (Some(_), Some((key, _))) = (node.get("if"), node.entry("when")) {
        let fault = Finding::error(key.at, Rule::Combination, "`if` and `when` are the same key");
        report.add(fault.suggest("join the two with `&&` under `if`"));
    }
    // A misspelled `for_each` has already been reported as an unknown key.
    if sound && node.get("for_each").is_none() && matches!(action, "run" | "prompt") {
        let orphans = ["as", "concurrency"].iter().find_map(|name| Some(&node.entry(name)?.0));
        if let Some(first) = orphans {
            let message = format!("`{}` needs `for_each`", first.name);
            let fault = Finding::error(first.at, Rule::Combination, message);
            report.add(fault.suggest("add `for_each`, or remove this key"));
        }
    }
}

/// The map of a `run` step that a misplaced `max_attempts` belongs in, if there is only one
/// candidate.
fn attempts_home(node: &SyntaxNode, action: &str) -> Option<&'static str> {
    let lacks = |key: &str| {
        let map = node.get(key).filter(|map| map.is_map());
        map.is_some_and(|map| map.get("max_attempts").is_none())
    };
    match (action, lacks("retry"), lacks("repeat")) {
        ("run", true, false) => Some("retry"),
        ("run", false, true) if node.get("retry").is_some() => Some("repeat"),
        ("run", false, false) if node.get("retry").is_none() => Some("retry"),
        _ => None,
    }
}

fn act(action: &str, node: &SyntaxNode, doc: &StepDoc, report: &mut Report) -> Option<Action> {
    Some(match action {
        "run" => {
            let body = match &doc.body {
                None => None,
                Some(Later(node)) => Some(Dynamic::decode(node, report)?),
            };
            Action::Run(Box::new(Run {
                target: doc.run.clone()?,
                with: doc.with.clone().unwrap_or_default(),
                body,
                headers: doc.headers.clone().unwrap_or_default(),
                idempotent: doc.idempotent,
                repeat: doc.repeat.clone(),
            }))
        }
        "prompt" => Action::Prompt(Box::new(prompt(doc)?)),
        "approve" => Action::Approve(Box::new(doc.approve.clone()?)),
        "wait" => Action::Wait(doc.wait.clone()?),
        "set" => Action::Set(doc.set.clone()?),
        "fail" => Action::Fail(doc.fail.clone()?),
        _ => Action::Loop(Box::new(looped(node, doc, report)?)),
    })
}

fn prompt(doc: &StepDoc) -> Option<Prompt> {
    Some(Prompt {
        text: PromptText::Template(doc.prompt.clone()?),
        agent_role: doc.agent_role.clone(),
        guidance: doc.guidance.clone().unwrap_or_default(),
        output_schema: doc.output_schema.clone(),
        criteria: doc.validation.clone(),
        verify: doc.verify.clone().unwrap_or_default(),
        model_hint: doc.model_hint.clone(),
        ask_for_files: doc.ask_for_files.unwrap_or(false),
        confirmation: doc.require_confirmation.clone().unwrap_or(Confirmation::Never),
        max_attempts: doc.max_attempts.map(Int::get),
    })
}

fn looped(node: &SyntaxNode, doc: &StepDoc, report: &mut Report) -> Option<Loop> {
    let Some(Later(body)) = &doc.body else {
        // A body that is misplaced inside `loop` or misspelled has already been reported.
        let strayed = doc.spec.as_ref().is_none_or(|spec| report.has_error_in(spec.at));
        if strayed || report.has_stray_in(node) {
            return None;
        }
        report.add(Finding::required(doc.at, "body", ADD_BODY));
        return None;
    };
    let body: Vec<Step> = Vec::decode(body, report)?;
    Some(Loop { spec: doc.spec.clone()?, body })
}

/// An agent's role, long enough to be meaningful.
pub(crate) type RoleText = BoundedText<10, 1024>;

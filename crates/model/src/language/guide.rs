//! The guide format: agent-only workflows under the `workflowlookup` contract.
//!
//! A guide compiles to the same steps as a manifest. Fields from newer editions of the contract
//! that have no effect here are kept, shown, and reported in a warning.

use milepost_syntax::mend::Mend;
use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use serde_json::{Value, json};

use crate::condition::Condition;
use crate::criteria::Criteria;
use crate::decode::{BoundedText, Decode, Defs, Entries, Int, Report, Spot, shape, words, wrong};
use crate::finding::{Finding, Rule};
use crate::id::{StepId, WorkflowId};
use crate::limits;
use crate::manifest::step_items;
use crate::rendered::Rendered;
use crate::step::{self, Action, Loop, Needs, OnError, Prompt, PromptText, RoleText, Step, When};
use crate::suggest;
use crate::version::SemVer;

/// The id of a guide: a workflow id of at least three characters that ends in a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuideId(pub WorkflowId);

impl Decode for GuideId {
    const WANT: &'static str = "a workflow id";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let id = WorkflowId::decode(node, report)?;
        let text = id.as_str();
        if text.len() >= 3 && text.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            return Some(GuideId(id));
        }
        let fault = Finding::error(node.at, Rule::Id, format!("`{text}` is not a valid guide id"))
            .expected("3 to 64 characters, ending in a letter or digit")
            .actual(format!("`{text}`"));
        let trimmed = text.trim_end_matches(['-', '_']);
        report.add(if trimmed.len() >= 3 {
            fault
                .suggest(format!("use `{trimmed}`"))
                .mend(Mend::Replace { at: node.at, value: trimmed.into() })
        } else {
            fault.suggest("use a longer id that ends in a letter or digit")
        });
        None
    }

    fn schema(_: &mut Defs) -> Value {
        json!({
            "type": "string",
            "minLength": 3,
            "maxLength": 64,
            "pattern": "^[a-z0-9][a-z0-9_-]*(\\.[a-z0-9][a-z0-9_-]*)?(?<=[a-z0-9])$",
        })
    }
}

/// A field that is shown but has no effect; its value stays in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptField;

impl Decode for KeptField {
    const WANT: &'static str = "a value";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let message = "this field is kept and shown, but has no effect here";
        let fault = Finding::warning(node.at, Rule::NotActedOn, message);
        report.add(fault.suggest("keep it for the tools that use it, or remove it"));
        Some(KeptField)
    }
}

/// Examples from newer editions of the contract, which are lists of sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTexts;

impl Decode for KeptTexts {
    const WANT: &'static str = "a list of strings";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        Vec::<String>::decode(node, report)?;
        KeptField::decode(node, report).map(|_| KeptTexts)
    }

    fn schema(defs: &mut Defs) -> Value {
        Vec::<String>::schema(defs)
    }
}

shape! {
    /// A guide as written.
    GuideDoc = "a guide", slips &[
        ("name", &["title"]),
        ("preconditions", &["prerequisites"]),
        ("clarificationPrompts", &["clarifications"]),
        ("metaGuidance", &["guidance"]),
    ], kept
        "functionDefinitions" "about" "tags" "tips" "autoRecognitionPatterns" "modelTier"
        "recommendedPreferences" "features" "assessments" "extensionPoints" "references"
        "validatedAgainstSpecVersion" "metricsProfile";
    "id" id: must Spot<GuideId> = "The id, which is also the file name.",
    "name" name: must BoundedText<1, 128> = "The display name.",
    "description" description: must BoundedText<1, 512> = "What the workflow accomplishes.",
    "version" version: opt SemVer = "A version such as `1.0.0`.",
    "minServerVersion" min_server_version: opt Spot<SemVer> =
        "The oldest version of Milepost that it works with.",
    "category" category: opt String = "The category that it is listed under; `general` by default.",
    "preconditions" preconditions: opt Vec<String> = "What must be true before it starts.",
    "clarificationPrompts" clarification_prompts: opt Vec<String> = "What to ask before it starts.",
    "metaGuidance" meta_guidance: opt Vec<String> = "Hints for all steps.",
    "steps" steps: must Steps = "The steps, in order.",
    "examples" examples: opt KeptTexts = "Examples of goals that it serves.",
}

/// A guide's steps. A step that could not be read is `None` and has been reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps(pub Vec<Option<GuideStepDoc>>);

impl Decode for Steps {
    const WANT: &'static str = "a list of steps";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let items = step_items(node, "at least one step", report)?;
        Some(Steps(items.iter().map(|item| GuideStepDoc::decode(item, report)).collect()))
    }

    fn schema(defs: &mut Defs) -> Value {
        json!({"type": "array", "minItems": 1, "items": GuideStepDoc::schema(defs)})
    }
}

words! {
    GuideStepType {
        /// Repeats a body.
        Loop = "loop",
        /// Kept for other tools.
        Parallel = "parallel",
    }
}

shape! {
    /// A guide step as written.
    GuideStepDoc = "a step", slips &[
        ("title", &["name"]),
        ("runCondition", &["condition", "if", "when"]),
        ("agentRole", &["role"]),
        ("validationCriteria", &["validation"]),
        ("requireConfirmation", &["confirm"]),
        ("prompt", &["description", "instructions"]),
    ], homes &[
        ("promptBlocks", &["goal", "constraints", "procedure", "outputRequired", "verify"]),
        ("loop", &["maxIterations", "condition", "items", "count"]),
        ("loop", &["itemVar", "indexVar", "iterationVar"]),
    ], kept
        "functionReferences" "modelTier" "outputContract" "assessmentRefs"
        "assessmentConsequences" "notesOptional" "expectedOutput" "functionCalls" "templateCall"
        "audit" "verification" "parallelDelegations" "synthesis";
    "id" id: must Spot<StepId> = "The id of the step, unique in the guide.",
    "type" kind: opt GuideStepType = "`loop`, for a step with a body.",
    "title" title: must String = "The display name.",
    "prompt" prompt: opt BoundedText<1, { limits::GUIDE_PROMPT_CHARS }> =
        "The instructions for the agent.",
    "promptBlocks" blocks: opt PromptBlocks = "The prompt as sections.",
    "promptFragments" fragments: opt Vec<PromptFragment> =
        "Parts of the prompt that depend on the context.",
    "agentRole" agent_role: opt RoleText = "The role the agent should take.",
    "guidance" guidance: opt Vec<String> = "Hints for the agent.",
    "askForFiles" ask_for_files: opt bool = "Whether the agent should ask the user for files.",
    "requireConfirmation" confirmation: opt Confirmation =
        "Whether a person has to confirm the output.",
    "runCondition" run_condition: opt Condition = "The step is skipped when this is false.",
    "validationCriteria" criteria: opt Criteria = "The criteria that the output must meet.",
    "modelHint" model_hint: opt String = "Which model suits the step.",
    "hasValidation" has_validation: opt bool = "Whether the step has validation criteria.",
    "loop" spec: opt LoopDoc = "How a loop repeats.",
    "body" body: opt LoopBody = "A step id or the steps to repeat.",
}

impl GuideStepDoc {
    /// The id, if it could be read.
    fn name(&self) -> Option<&str> {
        self.id.as_ref().map(|id| id.value.as_str())
    }
}

/// The body of a loop: a step id or a list of steps.
#[derive(Debug, Clone, PartialEq)]
pub enum LoopBody {
    /// The id of a step in the guide.
    Id(Spot<StepId>),
    /// The steps themselves.
    Steps(Vec<Option<GuideStepDoc>>),
}

impl Decode for LoopBody {
    const WANT: &'static str = "a step id or a list of steps";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match node.kind {
            SyntaxKind::Str(_) => Spot::decode(node, report).map(LoopBody::Id),
            SyntaxKind::List(_) => {
                Steps::decode(node, report).map(|steps| LoopBody::Steps(steps.0))
            }
            _ => wrong(node, report),
        }
    }

    fn schema(defs: &mut Defs) -> Value {
        json!({"anyOf": [StepId::schema(defs), Steps::schema(defs)]})
    }
}

/// Whether a person must confirm the output of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Confirmation {
    Never,
    Always,
    /// A person must confirm if this condition holds.
    When(Condition),
}

impl Decode for Confirmation {
    const WANT: &'static str = "true, false or a condition";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match &node.kind {
            SyntaxKind::Map(_) if node.get("kind").is_some() => match node.get("condition") {
                Some(condition) => Condition::decode(condition, report).map(Confirmation::When),
                None => Some(Confirmation::Always),
            },
            SyntaxKind::Map(_) => Condition::decode(node, report).map(Confirmation::When),
            _ => bool::decode(node, report)
                .map(|always| if always { Confirmation::Always } else { Confirmation::Never }),
        }
    }

    fn schema(defs: &mut Defs) -> Value {
        let condition = Condition::schema(defs);
        json!({"anyOf": [
            {"type": "boolean"},
            condition,
            {
                "type": "object",
                "properties": {"kind": {"type": "string"}, "condition": condition},
                "required": ["kind"],
            },
        ]})
    }
}

/// Text, or parts that newer editions assemble into text.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockText(pub Value);

impl Decode for BlockText {
    const WANT: &'static str = "a string";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match node.kind {
            SyntaxKind::Str(_) | SyntaxKind::List(_) | SyntaxKind::Map(_) => {
                Some(BlockText(node.to_value()))
            }
            _ => wrong(node, report),
        }
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": ["string", "array", "object"]})
    }
}

shape! {
    /// A prompt split into sections.
    PromptBlocks = "prompt blocks";
    "goal" goal: opt BlockText = "What to achieve.",
    "constraints" constraints: opt Vec<BlockText> = "The constraints to respect.",
    "procedure" procedure: opt Vec<BlockText> = "How to proceed.",
    "outputRequired" output_required: opt Entries<BlockText> = "What the output must contain.",
    "verify" verify: opt Vec<BlockText> = "What to check at the end.",
}

shape! {
    /// A part of a prompt that depends on the context.
    PromptFragment = "a prompt fragment", slips &[
        ("when", &["condition"]),
        ("text", &["prompt"]),
    ];
    "id" id: opt String = "The id of the fragment.",
    "when" when: opt Condition = "The fragment is added when this is true.",
    "text" text: req String = "The text to add.",
}

words! {
    /// How a loop repeats.
    LoopType {
        /// Repeats as long as a condition holds.
        While = "while",
        /// Repeats until a condition holds.
        Until = "until",
        /// Repeats a number of times.
        For = "for",
        /// Repeats once for each item.
        ForEach = "forEach",
    }
}

/// The number of passes in a `for` loop.
#[derive(Debug, Clone, PartialEq)]
pub enum Count {
    /// A fixed number.
    Times(i64),
    /// The value of this variable in the context.
    Variable(String),
}

impl Decode for Count {
    const WANT: &'static str = "a whole number or the name of a variable";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match &node.kind {
            SyntaxKind::Str(name) if !name.trim().is_empty() => Some(Count::Variable(name.clone())),
            SyntaxKind::Int(_) => {
                Int::<0, { limits::ITERATIONS }>::decode(node, report).map(|n| Count::Times(n.0))
            }
            _ => wrong(node, report),
        }
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"anyOf": [
            {"type": "integer", "minimum": 0, "maximum": limits::ITERATIONS},
            {"type": "string", "minLength": 1},
        ]})
    }
}

shape! {
    /// How a loop repeats.
    LoopDoc = "a loop", slips &[
        ("maxIterations", &["max", "limit"]),
        ("count", &["times"]),
        ("condition", &["while", "until"]),
        ("items", &["list", "in"]),
        ("itemVar", &["var"]),
    ];
    "type" kind: req Spot<LoopType> = "`while`, `until`, `for` or `forEach`.",
    "maxIterations" max_iterations: req Int<1, { limits::ITERATIONS }> =
        "The maximum number of passes.",
    "condition" condition: opt Condition = "The condition, for `while` and `until`.",
    "count" count: opt Count = "The number of passes, for `for`: a number or a variable.",
    "items" items: opt BoundedText<1, 256> = "The variable that holds the list, for `forEach`.",
    "iterationVar" iteration_var: opt String =
        "The variable that holds the number of the pass, starting at 1.",
    "itemVar" item_var: opt String = "The variable that holds the item.",
    "indexVar" index_var: opt String = "The variable that holds the index, starting at 0.",
    "conditionSource" condition_source: opt KeptField = "Kept for other tools.",
}

/// Reports the key that a loop of this type lacks.
pub(crate) fn check_loop(spec: &LoopDoc, report: &mut Report) {
    if report.has_error_in(spec.at) {
        return;
    }
    let lacks = match spec.kind.value {
        LoopType::While | LoopType::Until => {
            (spec.condition.is_none() && spec.condition_source.is_none()).then_some("condition")
        }
        LoopType::For => spec.count.is_none().then_some("count"),
        LoopType::ForEach => spec.items.is_none().then_some("items"),
    };
    if let Some(key) = lacks {
        let kind = spec.kind.value.name();
        Finding::error(spec.at, Rule::Loop, format!("a `{kind}` loop needs `{key}`"))
            .expected(format!("`{key}`"))
            .suggest(format!("add `{key}`"))
            .add_to(report);
    }
}

/// Compiles the steps of a guide. A step that a loop names as its body moves into the loop.
pub(crate) fn steps(doc: &GuideDoc, node: &SyntaxNode, report: &mut Report) -> Vec<Step> {
    let nodes = node.get("steps").map_or(&[] as &[SyntaxNode], SyntaxNode::items);
    let all = doc.steps.as_ref().map_or(&[] as &[_], |steps| &steps.0);
    let named = named_bodies(all);
    let above = LoopDefaults::default();
    let mut compiler = Compiler { all, nodes, used: Vec::new(), above, report };
    let mut steps = Vec::new();
    for (index, item) in all.iter().enumerate() {
        let Some(item) = item else { continue };
        if item.name().is_some_and(|name| named.contains(&name))
            && !matches!(item.kind, Some(GuideStepType::Loop))
        {
            continue;
        }
        steps.extend(compiler.step(item, &nodes[index]));
    }
    steps
}

fn named_bodies(steps: &[Option<GuideStepDoc>]) -> Vec<&str> {
    let mut named = Vec::new();
    for step in steps.iter().flatten() {
        match &step.body {
            Some(LoopBody::Id(id)) => named.push(id.value.as_str()),
            Some(LoopBody::Steps(body)) => named.extend(named_bodies(body)),
            None => {}
        }
    }
    named
}

struct Compiler<'d, 'r> {
    all: &'d [Option<GuideStepDoc>],
    nodes: &'d [SyntaxNode],
    /// The ids of the bodies being compiled, so that a loop cannot contain itself.
    used: Vec<String>,
    /// What the enclosing loops say about the steps of their bodies.
    above: LoopDefaults,
    report: &'r mut Report,
}

/// What a loop says about the steps in its body, unless they say otherwise.
#[derive(Debug, Clone, Default)]
struct LoopDefaults {
    role: Option<RoleText>,
    guidance: Vec<String>,
    model_hint: Option<String>,
    ask_for_files: bool,
    confirmation: Option<Confirmation>,
}

impl LoopDefaults {
    /// The defaults in the body of a loop inside this one.
    fn within(&self, doc: &GuideStepDoc) -> LoopDefaults {
        LoopDefaults {
            role: doc.agent_role.clone().or_else(|| self.role.clone()),
            guidance: self.guidance(doc),
            model_hint: doc.model_hint.clone().or_else(|| self.model_hint.clone()),
            ask_for_files: doc.ask_for_files.unwrap_or(self.ask_for_files),
            confirmation: doc.confirmation.clone().or_else(|| self.confirmation.clone()),
        }
    }

    /// The hints of the enclosing loops, then the step's own.
    fn guidance(&self, doc: &GuideStepDoc) -> Vec<String> {
        self.guidance.iter().chain(doc.guidance.iter().flatten()).cloned().collect()
    }
}

/// Keys that only a step which is offered to an agent can have. A loop is never offered; its body
/// is.
const OFFERED: &[&str] = &["prompt", "promptBlocks", "promptFragments", "validationCriteria"];

impl Compiler<'_, '_> {
    fn step(&mut self, doc: &GuideStepDoc, node: &SyntaxNode) -> Option<Step> {
        let action = match (&doc.spec, doc.kind) {
            (Some(spec), _) => self.looped(doc, spec, node)?,
            (None, Some(GuideStepType::Loop)) => {
                if node.get("loop").is_none() && !self.report.has_stray_in(node) {
                    self.report.add(Finding::required(doc.at, "loop", step::ADD_LOOP));
                }
                return None;
            }
            _ => self.prompt(doc, node),
        };
        let unnamed = || Spot { at: doc.at, value: StepId::unnamed(doc.at) };
        Some(Step {
            at: doc.at,
            id: doc.id.clone().unwrap_or_else(unnamed),
            title: doc.title.clone(),
            description: None,
            depends_on: Vec::new(),
            when: doc.run_condition.clone().map(When::Condition),
            needs: Needs::All,
            on_error: OnError::Fail,
            timeout: None,
            retry: None,
            for_each: None,
            output_contract: None,
            action,
            rendered: Rendered::default(),
        })
    }

    fn prompt(&mut self, doc: &GuideStepDoc, node: &SyntaxNode) -> Action {
        // In newer editions another key may take the place of the prompt.
        let texts = ["prompt", "promptBlocks", "templateCall", "parallelDelegations"];
        let mut texts = texts.into_iter().chain(["functionCalls", "outputContract"]);
        if !texts.any(|key| node.get(key).is_some()) && !self.report.has_stray_in(node) {
            Finding::required(doc.at, "prompt", "add `prompt` with what the agent should do")
                .expected("`prompt` or `promptBlocks`")
                .add_to(self.report);
        }
        if let Some((key, _)) = node.entry("body") {
            Finding::error(key.at, Rule::Combination, "`body` needs `type: loop` and `loop`")
                .suggest("add `type: loop` and `loop`, or remove `body`")
                .add_to(self.report);
        }
        let all = self.above.within(doc);
        Action::Prompt(Box::new(Prompt {
            text: PromptText::Guide {
                text: doc.prompt.as_ref().map(|text| text.0.clone()),
                blocks: doc.blocks.clone().map(Box::new),
                fragments: doc.fragments.clone().unwrap_or_default(),
            },
            agent_role: all.role.map(|role| role.0),
            guidance: all.guidance,
            output_schema: None,
            criteria: doc.criteria.clone(),
            verify: Vec::new(),
            model_hint: all.model_hint,
            ask_for_files: all.ask_for_files,
            confirmation: all.confirmation.unwrap_or(Confirmation::Never),
            max_attempts: None,
        }))
    }

    /// Reports keys that a loop cannot act on.
    fn check_offered(&mut self, node: &SyntaxNode) {
        for (key, _) in OFFERED.iter().filter_map(|key| node.entry(key)) {
            let message = format!("`{}` does nothing in a loop", key.name);
            Finding::error(key.at, Rule::Combination, message)
                .expected("a step of its body")
                .suggest("move it to the steps of the body")
                .add_to(self.report);
        }
    }

    fn looped(&mut self, doc: &GuideStepDoc, spec: &LoopDoc, node: &SyntaxNode) -> Option<Action> {
        check_loop(spec, self.report);
        self.check_offered(node);
        let defaults = self.above.within(doc);
        let above = std::mem::replace(&mut self.above, defaults);
        let action = self.body(doc, spec, node);
        self.above = above;
        action
    }

    fn body(&mut self, doc: &GuideStepDoc, spec: &LoopDoc, node: &SyntaxNode) -> Option<Action> {
        let untyped = node.get("type").is_none() && !self.report.has_stray_in(node);
        if untyped || doc.kind == Some(GuideStepType::Parallel) {
            self.report.add(step::untyped_loop(doc.at));
        }
        let body = match &doc.body {
            Some(LoopBody::Steps(steps)) => {
                let nodes = node.get("body").map_or(&[] as &[SyntaxNode], SyntaxNode::items);
                let pairs = steps.iter().zip(nodes);
                pairs.filter_map(|(step, node)| self.step(step.as_ref()?, node)).collect()
            }
            Some(LoopBody::Id(id)) => vec![self.body_by_id(id, doc)?],
            None => {
                // A body misplaced inside `loop` has already been reported.
                let strayed = self.report.has_stray_in(node) || self.report.has_error_in(spec.at);
                if node.get("body").is_none() && !strayed {
                    self.report.add(Finding::required(doc.at, "body", step::ADD_BODY));
                }
                return None;
            }
        };
        Some(Action::Loop(Box::new(Loop { spec: spec.clone(), body })))
    }

    fn body_by_id(&mut self, id: &Spot<StepId>, owner: &GuideStepDoc) -> Option<Step> {
        let wanted = id.value.as_str();
        let found = self
            .all
            .iter()
            .position(|step| step.as_ref().is_some_and(|step| step.name() == Some(wanted)));
        let nested = owner.name() == Some(wanted) || self.used.iter().any(|id| id == wanted);
        let Some(index) = found.filter(|_| !nested) else {
            self.report_body(id, nested);
            return None;
        };
        self.used.push(wanted.to_owned());
        let step = self.all[index].as_ref().and_then(|doc| self.step(doc, &self.nodes[index]));
        self.used.pop();
        step
    }

    fn report_body(&mut self, id: &Spot<StepId>, nested: bool) {
        let wanted = id.value.as_str();
        // A step that could not be read still exists.
        let unread = self.nodes.iter().any(|node| {
            let id = node.get("id").and_then(SyntaxNode::text);
            id.is_none_or(|id| id == wanted || suggest::slug(id, false).as_deref() == Some(wanted))
        });
        if nested {
            let fault =
                Finding::error(id.at, Rule::Loop, format!("loop `{wanted}` is its own body"));
            self.report.add(fault.suggest("name another step"));
        } else if !unread {
            let names = self.all.iter().flatten().filter_map(GuideStepDoc::name);
            let meant = suggest::nearest(wanted, names);
            let fault =
                Finding::error(id.at, Rule::UnknownName, format!("there is no step `{wanted}`"));
            self.report.add(fault.did_you_mean(
                id.at,
                meant,
                "name a step in this guide, or write the steps here",
            ));
        }
    }
}

/// Warns about guides without a version.
pub(crate) fn check_version(doc: &GuideDoc, node: &SyntaxNode, report: &mut Report) {
    if node.get("version").is_none() && doc.version.is_none() && !report.has_stray_in(node) {
        Finding::warning(node.at, Rule::Version, "no `version`: `0.0.0` is assumed")
            .suggest("add `version: 1.0.0`")
            .add_to(report);
    }
}

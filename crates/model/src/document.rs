//! Reads a document from bytes into a workflow and collects every finding along the way.

use std::collections::HashSet;
use std::fmt::Write as _;

use milepost_syntax::fault::{Faults, SyntaxFault};
use milepost_syntax::fix;
use milepost_syntax::source::{Format, Source};
use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use milepost_syntax::{json, yaml};

use crate::check::{self, Unchecked, World};
use crate::commands::NoCommands;
use crate::decode::{Decode, Entries, Report, Spot};
use crate::digest::Digest;
use crate::finding::{Finding, Rule, Severity};
use crate::guide::{self, GuideDoc};
use crate::id::WorkflowId;
use crate::lazy::Lazy;
use crate::limits;
use crate::manifest::{self, Draft, ManifestDoc};
use crate::step::Step;
use crate::suggest;
use crate::violation::{self, Violation};
use crate::workflow::{GuideFields, Spelling, Workflow};

/// A document that has been read and checked.
#[derive(Debug, Default)]
pub struct Document {
    /// The decoded text; `None` if the bytes are not text.
    pub source: Option<Source>,
    /// The workflow format, if it could be detected.
    pub spelling: Option<Spelling>,
    /// The workflow id, if it could be read.
    pub id: Option<String>,
    /// The workflow, unless the document has errors. Errors in a guide's validation criteria do not
    /// count, because they only prevent the affected steps from being checked.
    pub workflow: Option<Workflow>,
    /// All violations, in document order.
    pub violations: Vec<Violation>,
    /// Commands that could not be checked.
    pub unchecked: Vec<Unchecked>,
    root: Option<SyntaxNode>,
}

impl Document {
    /// Reads and checks bytes. If no format is given, it is detected from the first character.
    pub fn read(bytes: &[u8], format: Option<Format>, world: World<'_>) -> Document {
        Document::of(Source::decode(bytes, format), None, world)
    }

    /// Reads and checks the JSON text of a guide. It is treated as a guide regardless of its keys.
    pub fn read_guide(text: &str, world: World<'_>) -> Document {
        let source = Source::decode(text.as_bytes(), Some(Format::Json));
        Document::of(source, Some(Spelling::Guide), world)
    }

    /// The result for a document that exceeds the size limit and is therefore not read.
    pub fn too_large(bytes: Option<usize>) -> Document {
        Document::invalid(milepost_syntax::source::too_large(bytes), None)
    }

    /// The result for a document without a tree. Findings other than the fault are dropped, because
    /// they would refer to the tree.
    fn invalid(fault: Box<SyntaxFault>, source: Option<Source>) -> Document {
        let violations = vec![violation::resolve((*fault).into(), source.as_ref(), None, &[])];
        Document { source, violations, ..Document::default() }
    }

    /// Reads and checks a source; the workflow format is detected if `spelling` is `None`.
    fn of(
        source: Result<Source, Box<SyntaxFault>>,
        spelling: Option<Spelling>,
        world: World<'_>,
    ) -> Document {
        let source = match source {
            Ok(source) => source,
            Err(fault) => return Document::invalid(fault, None),
        };
        let mut report = Report::of_text(source.text());
        let root = match tree(&source, &mut report) {
            Ok(root) => root,
            Err(fault) => return Document::invalid(fault, Some(source)),
        };
        let spelling = match spelling {
            Some(Spelling::Guide) => as_guide(&root, &mut report),
            Some(Spelling::Manifest) | None => detect(&root, &mut report),
        };
        let id = spelling.and_then(|spelling| authored_id(&root, spelling));
        let mut unchecked = Vec::new();
        let draft = spelling.and_then(|spelling| draft(&root, spelling, &mut report));
        if let Some(draft) = &draft {
            unchecked = check::run(draft, &root, world, &mut report);
        }
        let violations = resolve(report, &source, &root);
        let workflow =
            draft.map(|draft| draft.workflow).filter(|_| is_usable(&violations, spelling, &root));
        Document {
            source: Some(source),
            spelling,
            id,
            workflow,
            violations,
            unchecked,
            root: Some(root),
        }
    }

    /// Decodes a document's workflow and tree. No rules are applied, so the document may contain
    /// errors.
    pub(crate) fn decoded(source: &Source) -> Option<(Workflow, SyntaxNode)> {
        let mut report = Report::of_text(source.text());
        let root = tree(source, &mut report).ok()?;
        let spelling = detect(&root, &mut report)?;
        let draft = draft(&root, spelling, &mut report)?;
        Some((draft.workflow, root))
    }

    /// Whether the document has no errors. Warnings are allowed.
    pub fn is_valid(&self) -> bool {
        self.violations.iter().all(|violation| violation.severity != Severity::Error)
    }

    /// The errors in a step's validation criteria. As long as any remain, the step's output cannot
    /// be checked.
    pub fn criteria_faults(&self, step: &Step) -> Vec<&Violation> {
        if self.is_valid() {
            return Vec::new();
        }
        let errors = self.violations.iter().filter(|one| one.severity == Severity::Error);
        let owner = format!("{}/{CRITERIA}", self.pointer(step.at));
        errors.filter(|one| is_within(&one.path, &owner)).collect()
    }

    /// The document's data without positions; `None` if it does not parse.
    pub fn parsed(&self) -> Option<serde_json::Value> {
        self.root.as_ref().map(SyntaxNode::to_value)
    }

    /// The number of steps written at the top level.
    pub fn step_count(&self) -> usize {
        self.root.as_ref().and_then(|root| root.get("steps")).map_or(0, |node| node.items().len())
    }

    /// The value at a position as the author wrote it, for callers that show complete steps.
    pub fn authored(&self, at: milepost_syntax::span::Span) -> Option<serde_json::Value> {
        self.root.as_ref()?.node_at(at).map(SyntaxNode::to_value)
    }

    /// The JSON pointer to a position.
    pub fn pointer(&self, at: milepost_syntax::span::Span) -> String {
        self.root.as_ref().map_or_else(String::new, |root| root.pointer(at))
    }

    /// The same document with a different id and every other byte unchanged. `None` if the id
    /// cannot be replaced in place, for example because an alias repeats it elsewhere in the
    /// document.
    pub fn with_id(&self, id: &WorkflowId) -> Option<Vec<u8>> {
        let source = self.source.as_ref()?;
        let key = id_key(self.spelling?);
        let node = self.root.as_ref()?.get(key)?;
        let text = source.text();
        let written = match source.slice(node.at) {
            slice if slice == node.text()? => plain_id(id, source.format()),
            slice if slice.starts_with('"') && slice.ends_with('"') => format!("\"{id}\""),
            slice if slice.starts_with('\'') && slice.ends_with('\'') => format!("'{id}'"),
            _ => return None,
        };
        let (before, after) = (&text[..node.at.start as usize], &text[node.at.end as usize..]);
        let bytes = source.with_text(&format!("{before}{written}{after}"));
        let nothing = World { commands: &NoCommands, env_allow: None };
        let again = Document::read(&bytes, Some(source.format()), nothing);
        let mut expected = self.parsed()?;
        expected[key] = id.as_str().into();
        (again.parsed()? == expected).then_some(bytes)
    }

    /// The text with every certain, non-overlapping fix for an error applied; `None` if there is
    /// nothing to fix.
    pub fn fixed(&self) -> Option<String> {
        let source = self.source.as_ref()?;
        let errors = self.violations.iter().filter(|one| one.severity == Severity::Error);
        let fixes: Vec<_> = errors.filter_map(|one| one.fix.as_ref()).collect();
        if fixes.is_empty() {
            return None;
        }
        Some(fix::apply(source.text(), fixes))
    }
}

/// Parses a document into a tree with positions.
fn tree(source: &Source, report: &mut Report) -> Result<SyntaxNode, Box<SyntaxFault>> {
    let mut faults = Faults::default();
    let root = match (source.fence(), source.format()) {
        (Some(fault), _) => Err(fault),
        (None, Format::Json) => json::read_tree(source, &mut faults),
        (None, Format::Yaml) => yaml::read(source, &mut faults),
    }?;
    faults.kept.into_iter().for_each(|fault| report.add(fault.into()));
    (0..faults.left_out).for_each(|_| report.leave_out(Severity::Error));
    Ok(root)
}

/// A document's version: the hash of its bytes.
pub fn version(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}

/// Encodes bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

const CRITERIA: &str = "validationCriteria";

/// Whether a workflow can be used despite any errors in its document.
fn is_usable(violations: &[Violation], spelling: Option<Spelling>, root: &SyntaxNode) -> bool {
    let mut errors = violations.iter().filter(|one| one.severity == Severity::Error).peekable();
    if errors.peek().is_none() {
        return true;
    }
    if spelling != Some(Spelling::Guide) {
        return false;
    }
    let mut criteria = Vec::new();
    collect_criteria(root.get("steps"), "/steps", &mut criteria);
    errors.all(|error| criteria.iter().any(|owner| is_within(&error.path, owner)))
}

/// Collects the pointers to all of a guide's validation criteria.
fn collect_criteria(steps: Option<&SyntaxNode>, pointer: &str, found: &mut Vec<String>) {
    for (index, step) in steps.map_or(&[] as &[SyntaxNode], SyntaxNode::items).iter().enumerate() {
        let here = format!("{pointer}/{index}");
        if step.get(CRITERIA).is_some() {
            found.push(format!("{here}/{CRITERIA}"));
        }
        collect_criteria(step.get("body"), &format!("{here}/body"), found);
    }
}

fn is_within(path: &str, owner: &str) -> bool {
    path.strip_prefix(owner).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Checks that a document can be a guide. A manifest is rejected, with a hint about where to
/// validate it.
fn as_guide(root: &SyntaxNode, report: &mut Report) -> Option<Spelling> {
    if !matches!(root.kind, SyntaxKind::Map(_) | SyntaxKind::Bad) {
        let message = format!("expected an object, found {}", root.noun());
        Finding::error(root.at, Rule::DocumentKind, message)
            .expected("`id`, `name`, `description` and `steps`")
            .suggest("write one JSON object with `id`, `name`, `description` and `steps`")
            .add_to(report);
        return None;
    }
    let Some((key, _)) = root.entry("workflow") else { return Some(Spelling::Guide) };
    Finding::error(key.at, Rule::DocumentKind, "this is a manifest, not a guide")
        .expected("`id` and `name` at the top")
        .suggest("validate it with `workflow.validate`")
        .add_to(report);
    None
}

fn resolve(mut report: Report, source: &Source, root: &SyntaxNode) -> Vec<Violation> {
    if report.left_out > 0 {
        let message = format!("further findings not shown: {}", report.left_out);
        // Warnings never make a workflow unusable, regardless of their number.
        let fault = if report.left_out_error {
            Finding::error(root.at, Rule::TooMany, message)
        } else {
            Finding::warning(root.at, Rule::TooMany, message)
        };
        report.findings.push(fault.suggest("fix the other findings first"));
    }
    // Aliases matter only for fixes, and most documents need no fixes.
    let mended = report.findings.iter().any(|finding| finding.mend.is_some());
    let aliases = if mended { fix::aliases(source, root) } else { Vec::new() };
    let findings = report.findings.into_iter();
    let mut violations: Vec<Violation> = findings
        .map(|finding| violation::resolve(finding, Some(source), Some(root), &aliases))
        .collect();
    violations.sort_by_key(|violation| (violation.at.start, violation.severity));
    // A value under an anchor is read again for each alias, but each fault is reported once.
    let mut seen = HashSet::new();
    violations.retain(|one| seen.insert((one.at, one.rule, one.message.clone())));
    violations
}

fn authored_id(root: &SyntaxNode, spelling: Spelling) -> Option<String> {
    let text = root.get(id_key(spelling))?.text()?;
    Some(text.chars().take(limits::ID_CHARS).collect())
}

/// The top-level key that contains the id.
fn id_key(spelling: Spelling) -> &'static str {
    match spelling {
        Spelling::Manifest => "workflow",
        Spelling::Guide => "id",
    }
}

/// The id in a form that can replace an unquoted one. In YAML, the id is quoted if it would
/// otherwise be read as another type.
fn plain_id(id: &WorkflowId, format: Format) -> String {
    let word = id.as_str();
    let is_letter = |c: char| c.is_ascii_lowercase();
    let other = matches!(word, "true" | "false" | "null") || !word.starts_with(is_letter);
    if format == Format::Yaml && other { format!("\"{id}\"") } else { id.to_string() }
}

/// Detects a document's workflow format from its top-level keys.
fn detect(root: &SyntaxNode, report: &mut Report) -> Option<Spelling> {
    let SyntaxKind::Map(entries) = &root.kind else {
        if root.kind != SyntaxKind::Bad {
            let (message, then) = match root.kind {
                SyntaxKind::Null => ("the document is empty".to_owned(), "write a workflow"),
                _ => (format!("expected a map, found {}", root.noun()), "write `workflow: <id>`"),
            };
            let fault = Finding::error(root.at, Rule::DocumentKind, message);
            report.add(fault.expected("`workflow:`, or `id:` and `name:`").suggest(then));
        }
        return None;
    };
    let has = |key: &str| root.get(key).is_some();
    if has("workflow") {
        return Some(Spelling::Manifest);
    }
    if has("id") && has("name") {
        return Some(Spelling::Guide);
    }
    let near =
        |word: &str| entries.iter().any(|(key, _)| suggest::nearest(&key.name, [word]).is_some());
    if has("workflow_id") || has("workflowId") || near("workflow") {
        return Some(Spelling::Manifest);
    }
    let only = ["inputs", "finally", "final_output", "requires", "budget", "concurrency"];
    let guide_only = ["preconditions", "clarificationPrompts", "metaGuidance"];
    let steps = root.get("steps").map_or(&[] as &[SyntaxNode], SyntaxNode::items);
    let acts = ["run", "approve", "set", "wait", "fail", "for_each", "depends_on"];
    let acts = steps.iter().any(|step| acts.iter().any(|key| step.get(key).is_some()));
    if acts || (only.iter().any(|key| has(key)) && !has("name")) {
        return Some(Spelling::Manifest);
    }
    if has("id") || has("name") || guide_only.iter().any(|key| has(key)) {
        return Some(Spelling::Guide);
    }
    Finding::error(root.at, Rule::DocumentKind, "neither a manifest nor a guide")
        .expected("`workflow:`, or `id:` and `name:`")
        .suggest("start a manifest with `workflow: <id>`, or a guide with `id` and `name`")
        .add_to(report);
    None
}

fn draft(root: &SyntaxNode, spelling: Spelling, report: &mut Report) -> Option<Draft> {
    match spelling {
        Spelling::Manifest => ManifestDoc::decode(root, report).and_then(manifest::draft),
        Spelling::Guide => guide_draft(root, report),
    }
}

fn guide_draft(root: &SyntaxNode, report: &mut Report) -> Option<Draft> {
    let doc = GuideDoc::decode(root, report)?;
    guide::check_version(&doc, root, report);
    let steps = guide::steps(&doc, root, report);
    let id = match doc.id {
        Some(id) => Spot { at: id.at, value: id.value.0 },
        None => manifest::unnamed(doc.at)?,
    };
    let workflow = Workflow {
        spelling: Spelling::Guide,
        id,
        title: doc.name.map(|name| name.0),
        description: doc.description.map(|description| description.0),
        version: doc.version.as_ref().map(|version| version.0.to_string()),
        category: doc.category.clone(),
        tags: Vec::new(),
        requires: None,
        concurrency: 1,
        timeout: None,
        budget: None,
        inputs: Entries::default(),
        steps,
        finally: Vec::new(),
        final_output: None,
        guide: Some(GuideFields {
            preconditions: doc.preconditions,
            clarification_prompts: doc.clarification_prompts,
            meta_guidance: doc.meta_guidance,
            min_server: doc.min_server_version,
        }),
        step_index: Lazy::default(),
        declared: Lazy::default(),
    };
    Some(Draft { workflow, unread_inputs: Vec::new() })
}

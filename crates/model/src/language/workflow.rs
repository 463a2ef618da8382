//! The common model of a workflow, to which both formats compile.

use std::collections::BTreeSet;

use crate::check::{of_step, of_workflow};
use crate::decode::{Entries, Spot};
use crate::duration::Period;
use crate::id::WorkflowId;
use crate::input::Input;
use crate::lazy::Lazy;
use crate::manifest::{Budget, Requires};
use crate::step::{Action, Step};
use crate::templated::Dynamic;
use crate::version::SemVer;
use crate::walk::{DeclaredVariables, StepPaths};

crate::serialized_enum! {
    /// The two workflow formats.
    Spelling {
        /// Any kind of step; the top-level key for the id is `workflow`.
        Manifest = "manifest",
        /// Agent steps only; the top-level keys include `id` and `name`.
        Guide = "guide",
    }
}

/// A workflow without errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    pub spelling: Spelling,
    pub id: Spot<WorkflowId>,
    /// The name shown to people.
    pub title: Option<String>,
    /// What the workflow does.
    pub description: Option<String>,
    /// The version label; the identity of a version is the hash of the text.
    pub version: Option<String>,
    pub category: Option<String>,
    pub tags: Vec<String>,
    /// What must exist before a run.
    pub requires: Option<Requires>,
    /// How many steps may run at the same time.
    pub concurrency: u32,
    /// The time limit for a run.
    pub timeout: Option<Period>,
    /// The budget for a run.
    pub budget: Option<Budget>,
    /// The inputs of a run.
    pub inputs: Entries<Input>,
    /// The steps of a run.
    pub steps: Vec<Step>,
    /// The steps that always run at the end.
    pub finally: Vec<Step>,
    /// The output of a run.
    pub final_output: Option<Dynamic>,
    /// Fields that only guides have.
    pub guide: Option<GuideFields>,
    /// The positions of the steps, for walking.
    pub(crate) step_index: Lazy<StepPaths>,
    /// The variables that the steps' schemas declare, for walking in a run.
    pub(crate) declared: Lazy<DeclaredVariables>,
}

/// Fields that only guides have.
#[derive(Debug, Clone, PartialEq)]
pub struct GuideFields {
    /// What must hold before the workflow starts.
    pub preconditions: Option<Vec<String>>,
    /// What to ask before the workflow starts.
    pub clarification_prompts: Option<Vec<String>>,
    /// Hints for all steps.
    pub meta_guidance: Option<Vec<String>>,
    /// The minimum version of the server.
    pub min_server: Option<Spot<SemVer>>,
}

impl Workflow {
    /// All steps, including loop bodies and `finally`, in document order.
    pub fn all_steps(&self) -> Vec<&Step> {
        let mut found = Vec::new();
        collect(&self.steps, &mut found);
        collect(&self.finally, &mut found);
        found
    }

    /// Whether an agent can work through the workflow alone, step by step: every step is a prompt,
    /// or a loop around prompts. A step with `for_each` expands to several steps, which requires
    /// the engine.
    pub fn is_agent_only(&self) -> bool {
        // A guide has only agent steps, so its steps need not be searched in every call.
        self.spelling == Spelling::Guide
            || self.all_steps().iter().all(|step| {
                let agents = matches!(step.action, Action::Prompt(_) | Action::Loop(_));
                agents && step.for_each.is_none()
            })
    }

    /// The environment variables that the workflow's expressions read; `None` if some are only
    /// known at run time, in which case any variable may be read.
    pub fn env_names(&self) -> Option<BTreeSet<&str>> {
        let of_steps = self.all_steps().into_iter().flat_map(of_step);
        let mut names = BTreeSet::new();
        for usage in of_steps.chain(of_workflow(self)) {
            let all = usage.located.expr.references().iter();
            for reference in all.filter(|reference| reference.root == "env") {
                names.insert(reference.field(0)?);
            }
        }
        Some(names)
    }

    /// The name shown to people.
    pub fn display_title(&self) -> &str {
        self.title.as_deref().unwrap_or_else(|| self.id.value.as_str())
    }
}

fn collect<'s>(steps: &'s [Step], found: &mut Vec<&'s Step>) {
    for step in steps {
        found.push(step);
        if let Action::Loop(looped) = &step.action {
            collect(&looped.body, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::World;
    use crate::commands::NoCommands;
    use crate::document::Document;

    #[test]
    fn the_variables_of_the_environment_are_those_that_are_named() {
        let names = |rest: &str| {
            let world = World { commands: &NoCommands, env_allow: None };
            let text = format!("workflow: x\nsteps:\n{rest}");
            let workflow = Document::read(text.as_bytes(), None, world).workflow.expect("is sound");
            let names = workflow.env_names()?;
            Some(names.into_iter().map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(names("  - {id: a, set: {x: 1}}\n"), Some(Vec::new()));
        let two = "  - {id: a, if: env.B == 'x', set: {x: \"${{ env['A'] }} ${{ env.B }}\"}}\n";
        assert_eq!(names(two), Some(vec!["A".to_owned(), "B".to_owned()]));
        assert_eq!(names("  - {id: a, set: {x: '${{ env }}'}}\n"), None);
    }

    fn check_agent_only(rest: &str, expected: bool) {
        let world = World { commands: &NoCommands, env_allow: None };
        let text = format!("workflow: x\nsteps:\n{rest}");
        let document = Document::read(text.as_bytes(), None, world);
        let workflow = document.workflow.unwrap_or_else(|| panic!("{:?}", document.violations));
        assert_eq!(workflow.is_agent_only(), expected, "{text}");
    }

    #[test]
    fn every_step_counts_with_those_of_loops_and_of_the_end() {
        let prompt = "  - {id: a, prompt: Look}\n";
        let looped = |body: &str| {
            let head = "id: b, type: loop, title: B, loop: {type: for, count: 2, maxIterations: 2}";
            format!("  - {{{head}, body: [{body}]}}\n")
        };
        check_agent_only(prompt, true);
        check_agent_only(&looped("{id: c, prompt: Look}"), true);
        check_agent_only(&looped("{id: c, set: {x: 1}}"), false);
        check_agent_only("  - {id: a, for_each: [1, 2], prompt: Look}\n", false);
        check_agent_only(&format!("{prompt}  - {{id: b, wait: 1s}}\n"), false);
        check_agent_only(&format!("{prompt}finally: [{{id: z, set: {{x: 1}}}}]\n"), false);
    }
}

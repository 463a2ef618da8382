//! The one model of a workflow that both spellings compile to.

use std::collections::BTreeSet;

use crate::check::{of_step, of_workflow};
use crate::decode::{Entries, Spot};
use crate::duration::Period;
use crate::id::WorkflowId;
use crate::input::Input;
use crate::lazy::Lazy;
use crate::manifest::{Budget, Requires};
use crate::named_enum::named_enum;
use crate::step::{Action, Step};
use crate::templated::Dynamic;
use crate::version::SemVer;
use crate::walk::StepIndex;

named_enum! {
    /// The two spellings of a workflow.
    pub Spelling {
        /// Every kind of step; `workflow:` at the top.
        Manifest = "manifest",
        /// Agent steps only; `id:` and `name:` at the top.
        Guide = "guide",
    }
}

/// A workflow without errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    /// How it was spelt.
    pub spelling: Spelling,
    /// Its identity.
    pub id: Spot<WorkflowId>,
    /// Its name for people.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// Its label; the identity of a version is the hash of the text.
    pub version: Option<String>,
    /// What it belongs to.
    pub category: Option<String>,
    /// Labels.
    pub tags: Vec<String>,
    /// What must be there before a run.
    pub requires: Option<Requires>,
    /// How many steps may run at once.
    pub concurrency: u32,
    /// How long a run may take.
    pub timeout: Option<Period>,
    /// What a run may spend.
    pub budget: Option<Budget>,
    /// What a run is given.
    pub inputs: Entries<Input>,
    /// What a run does.
    pub steps: Vec<Step>,
    /// What it does in every case at the end.
    pub finally: Vec<Step>,
    /// What it yields.
    pub final_output: Option<Dynamic>,
    /// What only guides have.
    pub guide: Option<GuideFields>,
    /// Where its steps stand, for those who walk it.
    pub(crate) step_index: Lazy<StepIndex>,
}

/// What only guides have.
#[derive(Debug, Clone, PartialEq)]
pub struct GuideFields {
    /// What must be so before it begins.
    pub preconditions: Option<Vec<String>>,
    /// What to ask before it begins.
    pub clarification_prompts: Option<Vec<String>>,
    /// Hints for all steps.
    pub meta_guidance: Option<Vec<String>>,
    /// The least version of the server it works with.
    pub min_server: Option<Spot<SemVer>>,
}

impl Workflow {
    /// Every step, loop bodies and `finally` included, in the order of the text.
    pub fn all_steps(&self) -> Vec<&Step> {
        let mut found = Vec::new();
        collect(&self.steps, &mut found);
        collect(&self.finally, &mut found);
        found
    }

    /// Whether an agent alone can work it off, step by step: every step is a prompt, or a loop
    /// around such. A step over a list is several at once, which needs an engine.
    pub fn is_agent_only(&self) -> bool {
        // A guide has no other steps, and this is asked at every call.
        self.spelling == Spelling::Guide
            || self.all_steps().iter().all(|step| {
                let agents = matches!(step.action, Action::Prompt(_) | Action::Loop(_));
                agents && step.for_each.is_none()
            })
    }

    /// The variables of the environment that its expressions name; `None` when some are known only
    /// at run time, so that any may be read.
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

    /// The name people see.
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

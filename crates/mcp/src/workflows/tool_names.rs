//! The names of tools, and what they refer to.
//!
//! The names of operations have dots. Several clients reject a whole list of tools if one has a dot
//! in its name, so the list has underscores unless dots are requested; calls may use either. Three
//! names exist in both contracts; the surface decides which one they refer to.

use milepost_ops::{OPERATIONS, OperationSpec};

use super::ToolStyle;
use crate::version::Surface;

/// How tool names are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolNaming {
    /// `workflow_save`.
    #[default]
    Underscore,
    /// `workflow.save`.
    Dotted,
}

/// What a tool name refers to.
#[derive(Debug, Clone, Copy)]
pub(super) enum ToolTarget {
    /// An operation of this contract.
    Operation(&'static OperationSpec),
    /// A tool of the guide contract, by its name there.
    Guide(&'static str),
}

pub(super) fn spelled(name: &str, spelling: ToolNaming) -> String {
    match spelling {
        ToolNaming::Underscore => name.replace('.', "_"),
        ToolNaming::Dotted => name.to_owned(),
    }
}

/// The name of an operation as this client sees it. Calling it always reaches the operation. If the
/// name with underscores belongs to the other contract, ours keeps its dot.
pub(super) fn shown(name: &str, style: ToolStyle) -> String {
    let spelled = spelled(name, style.spelling);
    match meant(&spelled, style.surface) {
        Some(ToolTarget::Guide(_)) => name.to_owned(),
        Some(ToolTarget::Operation(_)) | None => spelled,
    }
}

/// Resolves a tool name on a surface; `None` if there is no such tool.
pub(super) fn meant(name: &str, surface: Surface) -> Option<ToolTarget> {
    let tools = || OPERATIONS.iter().filter(|operation| operation.tool().is_some());
    if let Some(operation) = tools().find(|operation| operation.name == name) {
        return Some(ToolTarget::Operation(operation));
    }
    let guides = || OPERATIONS.iter().filter_map(|one| Some((one, one.guide_tool()?)));
    let by_guide_name = guides().find(|(operation, _)| spells(operation.name, name));
    if let Some((_, tool)) = by_guide_name {
        return Some(ToolTarget::Guide(tool));
    }
    let ours = tools().find(|operation| spells(operation.name, name)).map(ToolTarget::Operation);
    let theirs = guides().find(|(_, tool)| *tool == name).map(|(_, tool)| ToolTarget::Guide(tool));
    match surface {
        Surface::Workflowlookup | Surface::All => theirs.or(ours),
        Surface::Auto | Surface::Workflows => ours.or(theirs),
    }
}

/// Every name that a client may call, for suggestions.
pub(super) fn known(style: ToolStyle) -> impl Iterator<Item = String> {
    let has =
        move |operation: &&OperationSpec| operation.tool().is_some_and(|tool| style.has(tool));
    OPERATIONS.iter().filter(has).map(move |operation| shown(operation.name, style))
}

/// Whether a name is that of an operation, with underscores in place of dots.
fn spells(operation: &str, name: &str) -> bool {
    operation.len() == name.len()
        && operation.bytes().zip(name.bytes()).all(|(a, b)| a == b || (a == b'.' && b == b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(name: &str, surface: Surface) -> &'static str {
        match meant(name, surface) {
            Some(ToolTarget::Operation(operation)) => operation.name,
            Some(ToolTarget::Guide(tool)) => tool,
            None => "nothing",
        }
    }

    #[test]
    fn a_name_of_both_contracts_means_what_its_surface_says() {
        for surface in [Surface::Auto, Surface::Workflows, Surface::All, Surface::Workflowlookup] {
            assert_eq!(means("workflow.list", surface), "workflow.list");
            assert_eq!(means("guide_list", surface), "workflow_list");
            assert_eq!(means("guide_validate", surface), "workflow_validate");
            assert_eq!(means("workflow_next", surface), "workflow_next");
            assert_eq!(means("workflow_validate_json", surface), "workflow_validate_json");
            assert_eq!(means("workflow_save", surface), "workflow.save");
            assert_eq!(means("workflow_preview_inputs", surface), "workflow.preview_inputs");
            // Only people can approve, and not through tools.
            assert_eq!(means("workflow_approve", surface), "nothing");
            assert_eq!(means("workflow.approve", surface), "nothing");
        }
        assert_eq!(means("workflow_list", Surface::Workflows), "workflow.list");
        assert_eq!(means("workflow_list", Surface::Auto), "workflow.list");
        assert_eq!(means("workflow_list", Surface::All), "workflow_list");
        assert_eq!(means("workflow_validate", Surface::All), "workflow_validate");
    }
}

//! How to use the tools, for the model: what concerns tools that it does not have is left out.

use milepost_ops::OPERATIONS;

use super::ToolStyle;
use super::tool_names;

const WHOLE: &str = include_str!("instructions.md");

/// The paragraphs whose tools a client has, with the names that it sees.
pub(super) fn of(style: ToolStyle) -> String {
    let mut kept: Vec<String> = Vec::new();
    for paragraph in WHOLE.trim_end().split("\n\n") {
        let mut said = paragraph.to_owned();
        let mut is_for_all = true;
        for operation in OPERATIONS {
            let Some(tool) = operation.tool() else { continue };
            let written = operation.name.replace('.', "_");
            if said.contains(&written) {
                is_for_all &= style.has(tool);
                said = said.replace(&written, &tool_names::shown(operation.name, style));
            }
        }
        if is_for_all {
            kept.push(said);
        }
    }
    kept.join("\n\n")
}

#[cfg(test)]
mod tests {
    use milepost_ops::Profile;

    use super::super::ToolNaming;
    use super::*;

    #[test]
    fn instructions_name_the_tools_that_a_client_has() {
        let full = of(ToolStyle::default());
        assert_eq!(full, WHOLE.trim_end());
        let work = of(ToolStyle { profile: Profile::Work, ..ToolStyle::default() });
        assert!(work.contains("workflow_submit") && !work.contains("workflow_save"), "{work}");
        assert!(!work.contains("catalog_"), "{work}");
        // What is not listed can be called all the same, but by those who are only to work.
        assert_eq!(of(ToolStyle { profile: Profile::Core, ..ToolStyle::default() }), full);
        let dotted = of(ToolStyle { spelling: ToolNaming::Dotted, ..ToolStyle::default() });
        assert!(dotted.contains("workflow.submit") && !dotted.contains("workflow_s"), "{dotted}");
    }
}

//! How to use the tools, for the model: what concerns tools that it does not have is left out.

use milepost_ops::OPERATIONS;

use super::Look;
use super::names;

const WHOLE: &str = include_str!("instructions.md");

/// The paragraphs whose tools a client has, with the names that it sees.
pub(super) fn of(look: Look) -> String {
    let mut kept: Vec<String> = Vec::new();
    for paragraph in WHOLE.trim_end().split("\n\n") {
        let mut said = paragraph.to_owned();
        let mut is_for_all = true;
        for operation in OPERATIONS {
            let Some(tool) = operation.tool() else { continue };
            let written = operation.name.replace('.', "_");
            if said.contains(&written) {
                is_for_all &= look.has(tool);
                said = said.replace(&written, &names::shown(operation.name, look));
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

    use super::super::Spelling;
    use super::*;

    #[test]
    fn instructions_name_the_tools_that_a_client_has() {
        let full = of(Look::default());
        assert_eq!(full, WHOLE.trim_end());
        let work = of(Look { profile: Profile::Work, ..Look::default() });
        assert!(work.contains("workflow_submit") && !work.contains("workflow_save"), "{work}");
        assert!(!work.contains("catalog_"), "{work}");
        // What is not listed can be called all the same, but by those who are only to work.
        assert_eq!(of(Look { profile: Profile::Core, ..Look::default() }), full);
        let dotted = of(Look { spelling: Spelling::Dotted, ..Look::default() });
        assert!(dotted.contains("workflow.submit") && !dotted.contains("workflow_s"), "{dotted}");
    }
}

//! Documents that runs are pinned to. Each one was checked by the rules that were in force when it
//! was pinned. It is decoded here but never checked again, so that rules added later do not make a
//! run unreadable.

use milepost_syntax::source::Source;

use crate::document::Document;
use crate::plan;
use crate::workflow::Workflow;

/// The version of the workflow language. It increases when the meaning of a previously valid
/// document changes; a new rule or a new key is not such a change.
pub const LANGUAGE_VERSION: u32 = 1;

/// A pinned document.
#[derive(Debug)]
pub struct Pinned {
    pub workflow: Workflow,
    /// The identity of its meaning; see [`plan::hash`].
    pub plan_hash: String,
}

/// Why a pinned document cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PinnedError {
    /// The document was pinned by a newer version of this program.
    #[error(
        "it is written in version {found} of the language; this program supports up to {known}"
    )]
    Newer { found: u32, known: u32 },
    /// The document is not a workflow.
    #[error("it is not a workflow")]
    Unreadable,
}

/// Decodes a document that had no errors when it was pinned, in the language version it was written
/// in.
pub fn decode(text: &str, language: u32) -> Result<Pinned, PinnedError> {
    // All versions so far are decoded in the same way.
    if language > LANGUAGE_VERSION {
        return Err(PinnedError::Newer { found: language, known: LANGUAGE_VERSION });
    }
    let source = Source::decode(text.as_bytes(), None).map_err(|_| PinnedError::Unreadable)?;
    let (workflow, root) = Document::decoded(&source).ok_or(PinnedError::Unreadable)?;
    Ok(Pinned { workflow, plan_hash: plan::hash_of(&root.to_value()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::World;
    use crate::commands::NoCommands;

    const TEXTS: [&str; 3] = [
        "workflow: w\ninputs: {n: {type: integer}}\nsteps: [{id: a, set: {x: '${{ inputs.n }}'}}]",
        r#"{"workflow": "w", "steps": [{"id": "a", "prompt": "Look"}]}"#,
        include_str!("../../tests/it/golden/guide.json"),
    ];

    fn read(text: &str) -> Document {
        let world = World { commands: &NoCommands, env_allow: None };
        Document::read(text.as_bytes(), None, world)
    }

    #[test]
    fn what_is_decoded_is_what_was_checked() {
        for text in TEXTS {
            let document = read(text);
            let pinned = decode(text, LANGUAGE_VERSION).expect("is decoded");
            assert_eq!(Some(pinned.plan_hash), plan::hash(&document), "{text}");
            let workflow = document.workflow.expect("is valid");
            assert_eq!(format!("{:?}", pinned.workflow), format!("{workflow:?}"), "{text}");
        }
    }

    #[test]
    fn a_text_that_breaks_a_rule_is_decoded_all_the_same() {
        // An existing rule is used in place of one added later.
        let asks = "workflow: w\nrequires: {milepost: '>=999'}\nsteps: [{id: a, prompt: Look}]\n";
        let reads = "workflow: w\nsteps: [{id: a, set: {x: '${{ steps.gone.output }}'}}]\n";
        for text in [asks, reads] {
            assert!(read(text).workflow.is_none(), "{text}");
            let pinned = decode(text, LANGUAGE_VERSION).expect("is decoded");
            assert_eq!(pinned.workflow.steps.len(), 1);
        }
    }

    #[test]
    fn what_cannot_be_decoded_says_why() {
        let newer = PinnedError::Newer { found: LANGUAGE_VERSION + 1, known: LANGUAGE_VERSION };
        assert_eq!(decode(TEXTS[0], LANGUAGE_VERSION + 1).err(), Some(newer));
        for text in ["", "[1]", "workflow: [", "{}"] {
            assert_eq!(
                decode(text, LANGUAGE_VERSION).err(),
                Some(PinnedError::Unreadable),
                "{text}"
            );
        }
    }
}

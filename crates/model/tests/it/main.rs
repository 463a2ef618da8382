//! The workflow language through its public API: bytes in, findings out.

mod agent_prompt;
mod conditions;
mod depot;
mod expr;
mod golden;
mod hostile;
mod inputs;
mod limits;
mod loop_fields;
mod mend;
mod output_check;
mod properties;
mod reviewed;
mod schema;
mod walk;

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::document::Document;
use milepost_syntax::source::Format;

fn world() -> World<'static> {
    World { commands: &NoCommands, env_allow: None }
}

/// Parses a document, whose format follows from its first character.
fn read(bytes: impl AsRef<[u8]>) -> Document {
    Document::read(bytes.as_ref(), None, world())
}

fn read_as(bytes: impl AsRef<[u8]>, format: Format) -> Document {
    Document::read(bytes.as_ref(), Some(format), world())
}

/// A manifest with one valid step and these additional keys.
fn manifest(more: &str) -> String {
    format!("workflow: a\nsteps: [{{id: a, prompt: Look}}]\n{more}")
}

/// A guide in JSON with these steps.
fn guide(steps: &str) -> String {
    let head = r#""id": "abc", "name": "n", "description": "d", "version": "1.0.0""#;
    format!("{{{head}, \"steps\": [{steps}]}}")
}

//! A workflow's graph, drawn as terminal text, Mermaid or SVG.
//!
//! The three drawings start from one [`Graph`] and share one analysis of its structure
//! (`levels.rs`), so they agree on what contains what and which links point backwards. Drawing
//! cannot fail and does not trust its input: indices out of range are ignored, cycles are drawn as
//! such, and text is sanitized before it is measured. The same graph always produces the same
//! bytes.

mod drawing;
mod grid;
mod layout;
mod levels;
mod mermaid;
mod positions;
mod svg;
#[cfg(test)]
mod tests;
mod text;
mod text_width;

use crate::step::ActionKind;

/// The stylesheet embedded in every SVG, for a host that must reference or hash it in a content
/// security policy.
pub const SVG_STYLE: &str = include_str!("style.css");

/// A workflow as input for drawings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// The title of the drawing.
    pub title: String,
    /// Every step, in document order.
    pub nodes: Vec<GraphNode>,
    /// The links between steps.
    pub edges: Vec<Edge>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphNode {
    /// The step's id in its document.
    pub id: String,
    /// The step's human-readable name; if it is empty, the id is shown.
    pub title: String,
    /// What the step does.
    pub kind: ActionKind,
    /// A line about the step, such as its target `shop orders:get`.
    pub detail: Option<String>,
    /// The condition under which the step runs.
    pub condition: Option<String>,
    /// The index of the loop whose body this step belongs to.
    pub parent: Option<usize>,
    /// Whether the step belongs to the section that always runs last. For a step inside a loop,
    /// only its outermost loop counts.
    pub finally: bool,
}

/// A link between two steps: `to` waits for `from`, or a rejection leads from `from` back to `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Index of the step where the link starts.
    pub from: usize,
    /// Index of the step where the link ends.
    pub to: usize,
    /// The text on the link.
    pub label: Option<String>,
}

impl Graph {
    /// Draws the graph for a terminal. No line is wider than `width` columns.
    pub fn to_text(&self, width: usize) -> String {
        text::draw(self, width)
    }

    /// Writes the graph as a Mermaid flowchart.
    pub fn to_mermaid(&self) -> String {
        mermaid::write(self)
    }

    /// Draws the graph as a standalone SVG document for light and dark backgrounds.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }
}

impl GraphNode {
    /// The step's display name, safe to show on one line.
    fn name(&self) -> String {
        let title = visible(&self.title);
        if title.is_empty() { visible(&self.id) } else { title }
    }
}

/// Makes text safe to show on one line: runs of white space become one space, and characters that
/// are invisible or could control a terminal, reorder a line or break XML are escaped.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        for c in word.chars() {
            if is_unsafe_to_show(c) {
                shown.extend(c.escape_unicode());
            } else {
                shown.push(c);
            }
        }
    }
    shown
}

fn is_unsafe_to_show(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

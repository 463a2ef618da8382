//! A workflow's graph, drawn as terminal text, Mermaid or SVG.
//!
//! The three drawings start from one [`Graph`] and one reading of its structure (`levels.rs`), so
//! they agree on what contains what and which links point backwards. Drawing cannot fail and never
//! trusts its input: indices out of range are ignored, cycles are drawn as such, and text is made
//! harmless before it is measured. The same graph always gives the same bytes.

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

/// The stylesheet embedded in every SVG, for a host that must name or hash it in a content policy.
pub const SVG_STYLE: &str = include_str!("style.css");

/// A workflow as a drawing sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// What the drawing is called.
    pub title: String,
    /// Every step, in document order.
    pub nodes: Vec<GraphNode>,
    /// What waits for what.
    pub edges: Vec<Edge>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphNode {
    /// The step's id in its document.
    pub id: String,
    /// What a person calls the step; empty when it only has an id.
    pub title: String,
    /// What the step does.
    pub kind: ActionKind,
    /// What it acts on, such as `shop orders:get`.
    pub detail: Option<String>,
    /// The expression that decides whether it runs.
    pub condition: Option<String>,
    /// The loop, by index, whose body this step belongs to.
    pub parent: Option<usize>,
    /// Whether the step belongs to the section that always runs last. A step inside a loop follows
    /// its outermost loop, whatever it says itself.
    pub finally: bool,
}

/// A link between two steps: `to` waits for `from`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Index of the step that comes first.
    pub from: usize,
    /// Index of the step that waits.
    pub to: usize,
    /// Words on the link.
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

    /// Draws the graph as a standalone SVG document that suits light and dark surroundings.
    pub fn to_svg(&self) -> String {
        svg::draw(self)
    }
}

impl GraphNode {
    /// The words a person knows the step by, safe to show on one line.
    fn name(&self) -> String {
        let title = visible(&self.title);
        if title.is_empty() { visible(&self.id) } else { title }
    }
}

/// Makes text safe to show on one line: runs of white space become one space, and characters that
/// could steer a terminal, reorder a line, hide, or break XML are spelled out.
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

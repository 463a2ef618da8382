//! Writes the graph as a Mermaid flowchart.
//!
//! Node ids are generated (`n0`, `n1`, …) and every label is quoted. Anything that Mermaid or HTML
//! could read as syntax is written as an entity, so that no title can end its label, add a
//! directive or become markup.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::levels::{Level, Levels};
use super::{ActionKind, Graph, GraphNode, visible};

const FINALLY: &str = "finally_section";

pub(super) fn write(graph: &Graph) -> String {
    let levels = Levels::of(graph);
    let mut writer = Writer { graph, levels: &levels, out: "flowchart TD\n".to_owned() };
    let title = label(&graph.title);
    if !title.is_empty() {
        writer.line(1, &format!("accTitle: {title}"));
    }
    writer.level(&levels.main, 1);
    if !levels.finally.members.is_empty() {
        writer.line(1, &format!("subgraph {FINALLY}[\"Finally\"]"));
        writer.line(2, "direction TB");
        writer.level(&levels.finally, 2);
        writer.line(1, "end");
    }
    writer.edges();
    writer.out
}

struct Writer<'a> {
    graph: &'a Graph,
    levels: &'a Levels,
    out: String,
}

impl Writer<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.out, "{:indent$}{text}", "", indent = depth * 2);
    }

    fn level(&mut self, level: &Level, depth: usize) {
        for &index in &level.members {
            let node = &self.graph.nodes[index];
            let body = &self.levels.bodies[index];
            if body.members.is_empty() {
                let (open, close) = shape(node.kind);
                self.line(
                    depth,
                    &format!("n{index}{open}\"{}\"{close}", node_label(node, "<br/>")),
                );
            } else {
                // Mermaid reserves only one line above a body.
                self.line(depth, &format!("subgraph n{index}[\"{}\"]", node_label(node, " · ")));
                self.line(depth + 1, "direction TB");
                self.level(body, depth + 1);
                self.line(depth, "end");
            }
        }
    }

    fn edges(&mut self) {
        let count = self.graph.nodes.len();
        for edge in &self.graph.edges {
            let (from, to) = (edge.from, edge.to);
            // Mermaid cannot draw a link between a container and its content.
            let is_drawable = from < count
                && to < count
                && !self.levels.contains(from, to)
                && !self.levels.contains(to, from);
            if !is_drawable {
                continue;
            }
            match edge.label.as_deref().map(label).filter(|words| !words.is_empty()) {
                Some(words) => self.line(1, &format!("n{from} -->|\"{words}\"| n{to}")),
                None => self.line(1, &format!("n{from} --> n{to}")),
            }
        }
        if self.levels.finally.members.is_empty() {
            return;
        }
        // Without a link, Mermaid would place the section next to the steps it follows.
        let main = &self.levels.main;
        let mut is_last = vec![true; main.members.len()];
        for link in main.forward() {
            is_last[link.from] = false;
        }
        let linked: HashSet<usize> = self
            .graph
            .edges
            .iter()
            .filter(|edge| self.graph.nodes.get(edge.to).is_some_and(|node| node.finally))
            .map(|edge| edge.from)
            .collect();
        for (&node, is_last) in main.members.iter().zip(is_last) {
            if is_last && !linked.contains(&node) {
                self.line(1, &format!("n{node} -.-> {FINALLY}"));
            }
        }
    }
}

fn node_label(node: &GraphNode, separator: &str) -> String {
    let mut lines = vec![label(&node.name())];
    lines.extend(node.detail.as_deref().map(label).filter(|detail| !detail.is_empty()));
    lines.extend(node.condition.as_deref().map(|condition| format!("if {}", label(condition))));
    if node.kind == ActionKind::Loop && node.detail.is_none() {
        lines.push("loop".to_owned());
    }
    lines.join(separator)
}

fn shape(kind: ActionKind) -> (&'static str, &'static str) {
    match kind {
        ActionKind::Run => ("[", "]"),
        ActionKind::Prompt => ("([", "])"),
        ActionKind::Approve => ("{{", "}}"),
        ActionKind::Wait => ("(", ")"),
        ActionKind::Set => ("[/", "/]"),
        ActionKind::Fail => ("[\\", "/]"),
        ActionKind::Loop => ("[[", "]]"),
    }
}

/// Escapes text for use between quotes.
fn label(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '"' => safe.push_str("#quot;"),
            '<' => safe.push_str("#lt;"),
            '>' => safe.push_str("#gt;"),
            '&' => safe.push_str("#amp;"),
            // Two dollar signs in a row would start a formula, even as entities.
            '$' if safe.ends_with('$') => safe.push_str(" $"),
            '#' | ';' | '%' | '`' | '\\' | '|' | '*' | '~' | '(' | ')' | '[' | ']' | '{' | '}' => {
                let _ = write!(safe, "#{};", u32::from(c));
            }
            _ => safe.push(c),
        }
    }
    // Mermaid rewrites anything in a line that looks like a style statement, which breaks entities.
    safe.replace("style", "#115;tyle").replace("classDef", "#99;lassDef")
}

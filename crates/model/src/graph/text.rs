//! Draws the graph for a terminal, from top to bottom, in the style of `git log --graph`.
//!
//! Every step has a line; lanes to its left lead to the later steps that wait for it. Lanes with
//! the same waiting steps are merged, so a fan-in stays narrow. A level that needs more lanes than
//! fit falls back to a list that names each step's dependencies. Meaning never depends on color.

use unicode_width::UnicodeWidthChar as _;

use super::levels::{Level, LevelLink, Levels};
use super::{ActionKind, Graph, GraphNode, visible};
use crate::limits;

/// The width of a lane, including the space after it.
const LANE_WIDTH: usize = 2;

pub(super) fn draw(graph: &Graph, width: usize) -> String {
    let levels = Levels::of(graph);
    let mut drawing = TextDrawing { graph, levels: &levels, width, rows: Vec::new() };
    let title = visible(&graph.title);
    if !title.is_empty() {
        drawing.rows.push(Row::plain(title));
        drawing.rows.push(Row::default());
    }
    if graph.nodes.is_empty() {
        drawing.rows.push(Row::plain("no steps".to_owned()));
    } else {
        drawing.level(&levels.main, "");
        if !levels.finally.members.is_empty() {
            let rule = "─".repeat(width.saturating_sub("── finally ".len() - 4));
            drawing.rows.push(Row::default());
            drawing.rows.push(Row::plain(format!("── finally {rule}")));
            drawing.rows.push(Row::default());
            drawing.level(&levels.finally, "");
        }
        drawing.rows.push(Row::default());
        drawing.rows.push(Row::plain(legend(graph)));
    }
    align(&drawing.rows, width)
}

/// One line: lanes, a name, and the rest, which starts at the same column in all lines.
#[derive(Default)]
struct Row {
    lanes: String,
    name: String,
    rest: String,
    /// Whether the line is free text without columns.
    plain: bool,
}

impl Row {
    fn plain(name: String) -> Row {
        Row { name, plain: true, ..Row::default() }
    }
}

struct TextDrawing<'a> {
    graph: &'a Graph,
    levels: &'a Levels,
    width: usize,
    rows: Vec<Row>,
}

impl TextDrawing<'_> {
    fn level(&mut self, level: &Level, indent: &str) {
        let lanes_max = self.width / limits::GRAPH_LANES_SHARE / LANE_WIDTH;
        let steps = plan_lanes(level, lanes_max.max(2));
        let mut touching = vec![Vec::new(); level.members.len()];
        for link in &level.links {
            touching[if link.back { link.from } else { link.to }].push(link);
        }
        for (position, &member) in level.sequence.iter().enumerate() {
            let index = level.members[member];
            let node = &self.graph.nodes[index];
            let body = &self.levels.bodies[index];
            let step = steps.as_ref().map(|steps| &steps[position]);
            if let Some(link) = step.and_then(|step| step.link.as_ref()) {
                self.rows.push(Row { lanes: format!("{indent}{link}"), ..Row::default() });
            }
            let cells = |fill: char| match step {
                Some(step) => format!("{indent}{} ", step.filled(fill)),
                None => format!("{indent}{fill} "),
            };
            self.rows.push(Row {
                lanes: cells(symbol(node.kind)),
                name: visible(&node.id),
                rest: summary(node),
                plain: false,
            });
            let has_body = !body.members.is_empty();
            let goes_on = step.is_some_and(|step| step.goes_on);
            let fill = match (has_body, goes_on) {
                (true, _) => '┊',
                (false, true) => '│',
                (false, false) => ' ',
            };
            for note in self.notes(level, member, &touching[member], step.is_some()) {
                self.rows.push(Row { lanes: cells(fill), rest: note, ..Row::default() });
            }
            if has_body {
                self.level(body, &cells('┊'));
            }
            if let Some(merge) = step.and_then(|step| step.merge.as_ref()) {
                self.rows.push(Row { lanes: format!("{indent}{merge}"), ..Row::default() });
            }
        }
    }

    /// What the lanes do not show: conditions, link labels, links against the flow and, if there
    /// are no lanes, the step's dependencies.
    fn notes(
        &self,
        level: &Level,
        member: usize,
        links: &[&LevelLink],
        has_lanes: bool,
    ) -> Vec<String> {
        let id = |position: usize| visible(&self.graph.nodes[level.members[position]].id);
        let condition = self.graph.nodes[level.members[member]].condition.as_deref();
        let mut notes: Vec<_> =
            condition.into_iter().map(|condition| format!("if {}", visible(condition))).collect();
        let waits = links.iter().filter(|link| !link.back);
        let names: Vec<_> = waits.map(|link| id(link.from)).collect();
        if !has_lanes && !names.is_empty() {
            let count = names.len();
            let many = count > limits::GRAPH_UNCOUNTED_NAMES;
            let counted = if many { format!("{count} steps: ") } else { String::new() };
            notes.push(format!("after {counted}{}", names.join(", ")));
        }
        for link in links {
            match (&link.label, link.back) {
                (Some(words), false) => notes.push(format!("from {}: {words}", id(link.from))),
                (Some(words), true) => notes.push(format!("back to {}: {words}", id(link.to))),
                (None, true) => notes.push(format!("back to {}", id(link.to))),
                (None, false) => {}
            }
        }
        notes
    }
}

/// The lanes around one step.
struct Step {
    /// The line above the step, which routes lanes to it.
    link: Option<String>,
    /// The step's own line, before and after the step's cell.
    node: (String, String),
    /// Whether the step waits for another one.
    connected: bool,
    /// Whether a later step waits for this one.
    goes_on: bool,
    /// The line below the step, which merges its lane with one that has the same waiting steps.
    merge: Option<String>,
}

impl Step {
    fn filled(&self, cell: char) -> String {
        let (before, after) = &self.node;
        format!("{before}{cell}{after}")
    }
}

/// A lane, represented by the members that it leads to, in ascending order.
type Lane = Option<Vec<usize>>;

/// Plans the lanes of a level; `None` if it needs more than `lanes_max`.
fn plan_lanes(level: &Level, lanes_max: usize) -> Option<Vec<Step>> {
    let mut consumers = vec![Vec::new(); level.members.len()];
    for link in level.forward() {
        consumers[link.from].push(link.to);
    }
    let mut lanes: Vec<Lane> = Vec::new();
    let mut steps: Vec<Step> = Vec::with_capacity(level.members.len());
    // The column whose last drawn cell is a step; a link must be visible below that cell.
    let mut step_above = None;
    for (position, &member) in level.sequence.iter().enumerate() {
        let sources: Vec<usize> = (0..lanes.len())
            .filter(|&c| lanes[c].as_ref().is_some_and(|w| w.binary_search(&member).is_ok()))
            .collect();
        let before: Vec<bool> = lanes.iter().map(Option::is_some).collect();
        for &column in &sources {
            lanes[column] = lanes[column].take().map(|mut waiting| {
                waiting.retain(|&other| other != member);
                waiting
            });
        }
        for lane in &mut lanes {
            *lane = lane.take().filter(|waiting| !waiting.is_empty());
        }
        let ended = sources.iter().copied().find(|&column| lanes[column].is_none());
        let free = ended.or_else(|| lanes.iter().position(Option::is_none));
        let column = free.unwrap_or(lanes.len());
        if column >= lanes_max {
            return None;
        }
        lanes.resize(lanes.len().max(column + 1), None);
        let is_straight = sources == [column] && step_above != Some(column);
        // A part that is not connected to the previous steps starts after an empty line.
        let was_connected = steps.last().is_some_and(|step| step.connected);
        let goes_on = !consumers[member].is_empty();
        let is_apart = !before.contains(&true) && (was_connected || goes_on);
        let link = (!sources.is_empty() && !is_straight).then(|| {
            let mut after: Vec<bool> = lanes.iter().map(Option::is_some).collect();
            after[column] = true;
            let mut touched = sources.clone();
            touched.push(column);
            draw_link(&before, &after, &touched)
        });
        let node = draw_step(&lanes, column);
        let waiting = std::mem::take(&mut consumers[member]);
        // If only the next step waits, its own link joins the lanes.
        let next_joins = level.sequence.get(position + 1).is_some_and(|&next| waiting == [next]);
        let twin = lanes.iter().position(|lane| lane.as_ref() == Some(&waiting));
        lanes[column] = goes_on.then_some(waiting);
        let merge = twin.filter(|_| !next_joins).map(|twin| merge_lanes(&mut lanes, column, twin));
        step_above = merge.is_none().then_some(column);
        let link = link.or_else(|| (is_apart && position > 0).then(String::new));
        let connected = !sources.is_empty();
        steps.push(Step { link, node, connected, goes_on, merge });
    }
    Some(steps)
}

/// Joins two lanes into the left one.
fn merge_lanes(lanes: &mut [Lane], one: usize, other: usize) -> String {
    let before: Vec<bool> = lanes.iter().map(Option::is_some).collect();
    lanes[one.max(other)] = None;
    let after: Vec<bool> = lanes.iter().map(Option::is_some).collect();
    draw_link(&before, &after, &[one, other])
}

/// A line that connects the `touched` columns, between one state of the lanes and the next. Lanes
/// that it only crosses stay plain bars.
fn draw_link(before: &[bool], after: &[bool], touched: &[usize]) -> String {
    let first = touched.iter().copied().min().unwrap_or(0);
    let last = touched.iter().copied().max().unwrap_or(0);
    let mut line = String::new();
    for column in 0..before.len().max(after.len()) {
        let inside = first < column && column < last;
        let up = before.get(column) == Some(&true);
        let down = after.get(column) == Some(&true);
        line.push(if touched.contains(&column) {
            corner((up, down), (column > first, column < last))
        } else if up || down {
            '│'
        } else if inside {
            '─'
        } else {
            ' '
        });
        line.push(if first <= column && column < last { '─' } else { ' ' });
    }
    line.truncate(line.trim_end().len());
    line
}

/// The box character with these arms: up and down, left and right.
fn corner(vertical: (bool, bool), horizontal: (bool, bool)) -> char {
    match (vertical, horizontal) {
        ((true, true), (true, true)) => '┼',
        ((true, true), (true, false)) => '┤',
        ((true, true), (false, true)) => '├',
        ((true, true), (false, false)) => '│',
        ((true, false), (true, true)) => '┴',
        ((true, false), (true, false)) => '╯',
        ((true, false), (false, _)) => '╰',
        ((false, _), (true, true)) => '┬',
        ((false, _), (true, false)) => '╮',
        ((false, _), (false, _)) => '╭',
    }
}

/// The lanes to the left and right of a step.
fn draw_step(lanes: &[Lane], column: usize) -> (String, String) {
    let bar = |lane: &Lane| if lane.is_some() { '│' } else { ' ' };
    let before = lanes[..column].iter().flat_map(|lane| [bar(lane), ' ']).collect();
    let after: String = lanes[column + 1..].iter().flat_map(|lane| [' ', bar(lane)]).collect();
    (before, after.trim_end().to_owned())
}

fn symbol(kind: ActionKind) -> char {
    match kind {
        ActionKind::Run => '●',
        ActionKind::Prompt => '◆',
        ActionKind::Approve => '?',
        ActionKind::Wait => '◔',
        ActionKind::Set => '=',
        ActionKind::Fail => '✗',
        ActionKind::Loop => '↻',
    }
}

fn legend(graph: &Graph) -> String {
    let used = |kind: &ActionKind| graph.nodes.iter().any(|node| node.kind == *kind);
    let entries = ActionKind::ALL.iter().copied().filter(used);
    let entries = entries.map(|kind| format!("{} {}", symbol(kind), kind.name()));
    entries.collect::<Vec<_>>().join("   ")
}

fn summary(node: &GraphNode) -> String {
    let title = Some(visible(&node.title)).filter(|title| *title != visible(&node.id));
    let parts = [title, node.detail.as_deref().map(visible)];
    let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

/// Joins the rows, aligns the rest of each row at the same column, and truncates lines that are too
/// wide.
fn align(rows: &[Row], width: usize) -> String {
    let name_end = |row: &Row| columns(&row.lanes) + columns(&row.name);
    let table = rows.iter().filter(|row| !row.plain);
    let column = table.map(name_end).max().unwrap_or(0).min(width * 2 / 5) + 2;
    let mut text = String::new();
    for row in rows {
        let mut line = format!("{}{}", row.lanes, row.name);
        if !row.rest.is_empty() {
            let gap = column.saturating_sub(name_end(row));
            line.push_str(&" ".repeat(if row.name.is_empty() { gap } else { gap.max(2) }));
            line.push_str(&row.rest);
        }
        text.push_str(cut(&line, width).trim_end());
        text.push('\n');
    }
    text
}

/// Truncates a line to a number of terminal columns.
fn cut(line: &str, width: usize) -> String {
    if columns(line) <= width {
        return line.to_owned();
    }
    let mut used = 1;
    let kept = line.chars().take_while(|&c| {
        used += char_columns(c);
        used <= width
    });
    let mut kept: String = kept.collect();
    if width > 0 {
        kept.push('…');
    }
    kept
}

fn columns(text: &str) -> usize {
    text.chars().map(char_columns).sum()
}

/// The width of a character in columns, never an underestimate: the emoji variation selector counts
/// because it widens the character before it.
fn char_columns(c: char) -> usize {
    if c == '\u{fe0f}' { 1 } else { c.width().unwrap_or(0) }
}

//! Paints a drawing as SVG.
//!
//! The document is self-contained: no scripts, no external references, and no ids, so two drawings
//! can share a page. Step kinds differ in icon and label as well as in color. Each node carries
//! its step id in `data-id`, for a host that wants to color or link steps.

use std::fmt::{self, Write as _};

use super::drawing::{Block, Drawing, FINALLY_HEADING, FinallySection};
use super::layout::{BoxSize, Wire, WireRun};
use super::levels::Levels;
use super::text_width::{Font, fit, measure};
use super::{ActionKind, Graph, GraphNode, SVG_STYLE, visible};
use crate::limits;

/// Minimum and maximum width of a card; all cards in a drawing have the width that its longest text
/// needs.
const CARD_WIDTH: (f64, f64) = (176.0, 272.0);
const CARD_HEIGHT: f64 = 52.0;
const CARD_RADIUS: f64 = 10.0;
const FRAME_RADIUS: f64 = 14.0;
/// Height added to a card for the pill that contains a condition.
const PILL_ROW: f64 = 24.0;
const PILL_HEIGHT: f64 = 18.0;
const PADDING: f64 = 12.0;
const BADGE: f64 = 28.0;
/// The left edge of a card's text.
const TEXT_LEFT: f64 = PADDING + BADGE + 10.0;
const ARROW: f64 = 7.0;
/// Corner radius of a bus.
const BUS_RADIUS: f64 = 6.0;

pub(super) fn draw(graph: &Graph) -> String {
    let mut svg = String::new();
    write_svg(&mut svg, graph).expect("writing to a string cannot fail");
    svg
}

fn write_svg(svg: &mut String, graph: &Graph) -> fmt::Result {
    let levels = Levels::of(graph);
    let drawing = Drawing::new(&levels, &head_sizes(graph));
    let (width, height) = (drawing.width, drawing.height);
    let title = visible(&graph.title);
    let title = if title.is_empty() { "Workflow" } else { &title };
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"milepost-graph\" role=\"img\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
    )?;
    writeln!(svg, "<title>{}</title>", escape(title))?;
    writeln!(svg, "<desc>{}</desc>", escape(&describe(graph)))?;
    writeln!(svg, "<style>\n{SVG_STYLE}</style>")?;
    writeln!(svg, "<rect class=\"canvas\" width=\"{width}\" height=\"{height}\" rx=\"12\"/>")?;
    if let Some(section) = &drawing.finally {
        draw_finally(svg, section)?;
    }
    for frame in &drawing.frames {
        draw_node(svg, &graph.nodes[frame.node], frame, "frame")?;
    }
    draw_wires(svg, &drawing.wires)?;
    for card in &drawing.cards {
        draw_node(svg, &graph.nodes[card.node], card, "card")?;
    }
    // Labels are drawn last so that no link is drawn over them.
    for wire in &drawing.wires {
        draw_label(svg, wire, drawing.width)?;
    }
    writeln!(svg, "</svg>")
}

/// The size of each node's card, or of a loop's heading.
fn head_sizes(graph: &Graph) -> Vec<BoxSize> {
    let wanted = graph.nodes.iter().map(|node| {
        let (second, second_font) = second_line(node);
        let texts = [
            TEXT_LEFT + measure(&node.name(), Font::Name),
            TEXT_LEFT + measure(&second, second_font),
            condition(node).map_or(0.0, |text| PADDING + 16.0 + measure(&text, Font::Pill)),
        ];
        texts.into_iter().fold(0.0, f64::max) + PADDING
    });
    let widest = wanted.fold(CARD_WIDTH.0, f64::max).min(CARD_WIDTH.1);
    // An even width keeps the center of every card on a whole pixel.
    let width = (widest / 2.0).ceil() * 2.0;
    let height = |node: &GraphNode| CARD_HEIGHT + condition(node).map_or(0.0, |_| PILL_ROW);
    graph.nodes.iter().map(|node| BoxSize { width, height: height(node) }).collect()
}

fn second_line(node: &GraphNode) -> (String, Font) {
    match node.detail.as_deref().map(visible).filter(|detail| !detail.is_empty()) {
        Some(detail) => (detail, Font::Detail),
        None => (node.kind.name().to_owned(), Font::Kind),
    }
}

fn condition(node: &GraphNode) -> Option<String> {
    node.condition.as_deref().map(|condition| format!("if {}", visible(condition)))
}

fn draw_node(svg: &mut String, node: &GraphNode, block: &Block, role: &str) -> fmt::Result {
    let Block { x, y, width, height, .. } = *block;
    let kind = node.kind.name();
    writeln!(
        svg,
        "<g class=\"{role} {kind}\" data-id=\"{}\" transform=\"translate({x} {y})\">",
        escape(&visible(&node.id))
    )?;
    writeln!(svg, "<title>{}</title>", escape(&tooltip(node)))?;
    let radius = if role == "frame" { FRAME_RADIUS } else { CARD_RADIUS };
    writeln!(svg, "<rect class=\"box\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>")?;
    writeln!(
        svg,
        "<g class=\"badge\" transform=\"translate({PADDING} {PADDING})\">\
         <rect width=\"{BADGE}\" height=\"{BADGE}\" rx=\"8\"/>\
         <path transform=\"translate(6 6)\" d=\"{}\"/></g>",
        icon(node.kind)
    )?;
    let room = width - TEXT_LEFT - PADDING;
    let name = fit(&node.name(), room, Font::Name);
    writeln!(svg, "<text class=\"name\" x=\"{TEXT_LEFT}\" y=\"24\">{}</text>", escape(&name))?;
    let (second, font) = second_line(node);
    let class = if matches!(font, Font::Detail) { "detail" } else { "kind" };
    let second = escape(&fit(&second, room, font));
    writeln!(svg, "<text class=\"{class}\" x=\"{TEXT_LEFT}\" y=\"40\">{second}</text>")?;
    if let Some(text) = condition(node) {
        draw_pill(svg, &text, width)?;
    }
    if block.repeats {
        let (x, y) = (width, CARD_HEIGHT / 2.0);
        writeln!(
            svg,
            "<path class=\"wire back\" d=\"M{x} {} c24 0 24 20 {ARROW} 20\"/>\
             <path class=\"arrow\" d=\"M{x} {} l{ARROW} -4 v8 z\"/>",
            y - 10.0,
            y + 10.0
        )?;
    }
    writeln!(svg, "</g>")
}

fn draw_pill(svg: &mut String, text: &str, width: f64) -> fmt::Result {
    let text = fit(text, width - 2.0 * PADDING - 16.0, Font::Pill);
    let pill_width = measure(&text, Font::Pill).ceil() + 16.0;
    writeln!(
        svg,
        "<g class=\"pill\" transform=\"translate({PADDING} {})\">\
         <rect width=\"{pill_width}\" height=\"{PILL_HEIGHT}\" rx=\"9\"/>\
         <text x=\"8\" y=\"12.5\">{}</text></g>",
        CARD_HEIGHT - 4.0,
        escape(&text)
    )
}

fn draw_finally(svg: &mut String, section: &FinallySection) -> fmt::Result {
    let FinallySection { x, y, width, height, bar } = *section;
    writeln!(svg, "<g class=\"finally\">")?;
    writeln!(svg, "<title>Finally: these steps always run last</title>")?;
    writeln!(
        svg,
        "<rect class=\"box\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
         rx=\"{FRAME_RADIUS}\"/>"
    )?;
    let (left, line) = (x + 20.0, y + FINALLY_HEADING - 16.0);
    writeln!(
        svg,
        "<text class=\"name\" x=\"{left}\" y=\"{line}\">Finally</text>\
         <text class=\"kind\" x=\"{}\" y=\"{line}\">always runs last</text>",
        left + 56.0
    )?;
    if let Some((from, to, at)) = bar {
        let middle = (x + width / 2.0).round();
        writeln!(
            svg,
            "<path class=\"bar\" d=\"M{from} {at} H{to} M{middle} {at} V{}\"/>",
            y - ARROW
        )?;
        writeln!(svg, "<path class=\"arrow\" d=\"M{middle} {y} l-4.5 -{ARROW} h9 z\"/>")?;
    }
    writeln!(svg, "</g>")
}

/// Draws all links in one style as one path, so that a trunk shared by several links is painted
/// only once.
fn draw_wires(svg: &mut String, wires: &[Wire]) -> fmt::Result {
    let mut arrows = String::new();
    for (class, back) in [("wire", false), ("wire back", true)] {
        let mut paths = String::new();
        for wire in wires.iter().filter(|wire| wire.back == back) {
            trace_wire(&mut paths, &mut arrows, wire)?;
        }
        if !paths.is_empty() {
            writeln!(svg, "<path class=\"{class}\" d=\"{}\"/>", paths.trim_end())?;
        }
    }
    if !arrows.is_empty() {
        writeln!(svg, "<path class=\"arrow\" d=\"{}\"/>", arrows.trim_end())?;
    }
    Ok(())
}

fn trace_wire(paths: &mut String, arrows: &mut String, wire: &Wire) -> fmt::Result {
    let (Some(first), Some(last)) = (wire.runs.first(), wire.runs.last()) else { return Ok(()) };
    let (mut start, mut end) = (first.top, last.bottom);
    if wire.arrow {
        // The arrow of a link against the flow points up at the bottom of the upper box.
        let (x, y, side) = if wire.back { (first.x, start, ARROW) } else { (last.x, end, -ARROW) };
        writeln!(arrows, "M{x} {y} l-4.5 {side} h9 z")?;
        if wire.back { start += ARROW } else { end -= ARROW }
    }
    let mut path = format!("M{} {start}", first.x);
    for pair in wire.runs.windows(2) {
        let (upper, lower) = (pair[0], pair[1]);
        if upper.bottom > upper.top {
            write!(path, " V{}", upper.bottom)?;
        }
        path.push_str(&bend(upper, lower, lower.top.min(end)));
    }
    if last.bottom > last.top {
        write!(path, " V{end}")?;
    }
    writeln!(paths, "{path}")
}

/// The curve from one vertical run to the next; it starts and ends vertically. It ends at `to`,
/// which is above the next run if an arrowhead fills the rest.
fn bend(upper: WireRun, lower: WireRun, to: f64) -> String {
    let from = upper.bottom;
    if (upper.x - lower.x).abs() < 0.5 {
        return format!(" V{to}");
    }
    if let Some(bus) = lower.bus {
        return bus_bend(upper.x, lower.x, bus, to);
    }
    let middle = f64::midpoint(from, to);
    format!(" C{} {middle} {} {middle} {} {to}", upper.x, lower.x, lower.x)
}

/// A path down to the bus, along it and down again, with rounded corners if there is space.
fn bus_bend(from: f64, to: f64, bus: f64, end: f64) -> String {
    let radius = BUS_RADIUS.min((to - from).abs() / 2.0).min(end - bus).max(0.0);
    let side = if to > from { radius } else { -radius };
    format!(
        " V{} Q{from} {bus} {} {bus} H{} Q{to} {bus} {to} {} V{end}",
        bus - radius,
        from + side,
        to - side,
        bus + radius
    )
}

fn draw_label(svg: &mut String, wire: &Wire, drawing_width: f64) -> fmt::Result {
    let [.., upper, lower] = wire.runs.as_slice() else { return Ok(()) };
    let Some(label) = &wire.label else { return Ok(()) };
    let text = fit(label, limits::GRAPH_LABEL_WIDTH, Font::Kind);
    let width = measure(&text, Font::Kind).ceil() + 14.0;
    let middle = f64::midpoint(upper.x, lower.x);
    // A link against the flow is drawn to the right of a forward link, so its label is placed on
    // that side.
    let x = if wire.back { middle + width / 2.0 - 14.0 } else { middle };
    let x = x.min(drawing_width - width / 2.0 - 4.0).max(width / 2.0 + 4.0);
    let y = f64::midpoint(upper.bottom, lower.top);
    writeln!(
        svg,
        "<g class=\"label\"><title>{}</title>\
         <rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"18\" rx=\"9\"/>\
         <text x=\"{x}\" y=\"{}\">{}</text></g>",
        escape(label),
        x - width / 2.0,
        y - 9.0,
        y + 4.0,
        escape(&text)
    )
}

/// An icon's strokes on a 16 by 16 grid.
fn icon(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::Run => "M5 3.2v9.6l7.6-4.8z",
        ActionKind::Prompt => "M2.8 3.6h10.4v7.2H8.2l-3 2.6v-2.6H2.8z",
        ActionKind::Approve => "M3.2 8.4l3.2 3.3 6.4-7.2",
        ActionKind::Wait => "M8 2.4a5.6 5.6 0 1 0 0 11.2a5.6 5.6 0 1 0 0-11.2M8 5v3.2l2.2 1.4",
        ActionKind::Set => "M3.4 6h9.2M3.4 10h9.2",
        ActionKind::Fail => "M4.2 4.2l7.6 7.6M11.8 4.2l-7.6 7.6",
        ActionKind::Loop => "M12.8 8.4a4.9 4.9 0 1 1-1.6-4M12.6 2.2v2.9H9.7",
    }
}

fn tooltip(node: &GraphNode) -> String {
    let mut parts = vec![format!("{} ({})", visible(&node.id), node.kind.name())];
    let title = visible(&node.title);
    if !title.is_empty() {
        parts.push(title);
    }
    parts.extend(node.detail.as_deref().map(visible));
    parts.extend(condition(node));
    parts.join(" · ")
}

fn describe(graph: &Graph) -> String {
    let count = |kind| graph.nodes.iter().filter(|node| node.kind == kind).count();
    let kinds = ActionKind::ALL.iter().map(|&kind| (count(kind), kind.name()));
    let kinds: Vec<_> = kinds
        .filter(|&(count, _)| count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    match graph.nodes.len() {
        0 => "No steps".to_owned(),
        total => format!("{}: {}", crate::suggest::count(total, "step"), kinds.join(", ")),
    }
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

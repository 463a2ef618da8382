//! The whole drawing in absolute coordinates: levels are laid out from the inside out, then placed.
//!
//! This module handles sizes and nesting, but not colors or text. The `finally` section is drawn
//! below everything else, under a labeled bar; links into it are not drawn individually.

use super::layout::{self, BoxSize, Placement, Wire, WireRun};
use super::levels::{Level, Levels};

/// Space around the whole drawing.
const MARGIN: f64 = 20.0;
/// Space between a container's border and its body.
const FRAME_PADDING: f64 = 20.0;
/// Space between a loop's heading and its body.
const FRAME_HEADING_GAP: f64 = 10.0;
/// Height of the heading of the `finally` section.
pub(super) const FINALLY_HEADING: f64 = 40.0;
/// Space between the main section and the `finally` section.
const SECTION_GAP: f64 = 56.0;
/// Space between the main section and the bar that closes it.
const BAR_GAP: f64 = 20.0;
/// Space on each side of a step that links to itself.
const SELF_LINK_ROOM: f64 = 24.0;

/// Everything to paint, from back to front in each list.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    pub(super) width: f64,
    pub(super) height: f64,
    /// Loops with a body, outer ones first.
    pub(super) frames: Vec<Block>,
    /// Steps without a body.
    pub(super) cards: Vec<Block>,
    pub(super) wires: Vec<Wire>,
    pub(super) finally: Option<FinallySection>,
}

/// The position and size of one node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Block {
    pub(super) node: usize,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Whether the node links to itself.
    pub(super) repeats: bool,
}

/// The container of the steps that always run last.
#[derive(Debug, Clone, Copy)]
pub(super) struct FinallySection {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    /// The left end, right end and vertical position of the bar that closes the main section.
    pub(super) bar: Option<(f64, f64, f64)>,
}

impl Drawing {
    /// Lays out every level; `heads` are the sizes of the nodes without their bodies.
    pub(super) fn new(levels: &Levels, heads: &[BoxSize]) -> Drawing {
        let mut builder = Builder {
            levels,
            heads,
            bodies: levels.bodies.iter().map(|_| None).collect(),
            drawing: Drawing::default(),
        };
        let main = builder.measure(&levels.main);
        let finally = builder.measure(&levels.finally);
        let section = BoxSize {
            width: finally.size.width + 2.0 * FRAME_PADDING,
            height: finally.size.height + FINALLY_HEADING + FRAME_PADDING,
        };
        let has_finally = !levels.finally.members.is_empty();
        let inner = if has_finally { main.size.width.max(section.width) } else { main.size.width };
        let centred = |width: f64| MARGIN + ((inner - width) / 2.0).round();
        builder.put(&levels.main, &main, (centred(main.size.width), MARGIN));
        let mut bottom = MARGIN + main.size.height;
        if has_finally {
            let has_main = !levels.main.members.is_empty();
            let bar = has_main.then_some((MARGIN, MARGIN + inner, bottom + BAR_GAP));
            let x = centred(section.width);
            let y = bottom + if has_main { SECTION_GAP } else { 0.0 };
            let BoxSize { width, height } = section;
            builder.drawing.finally = Some(FinallySection { x, y, width, height, bar });
            builder.put(&levels.finally, &finally, (x + FRAME_PADDING, y + FINALLY_HEADING));
            bottom = y + height;
        }
        builder.drawing.width = inner + 2.0 * MARGIN;
        builder.drawing.height = bottom + MARGIN;
        builder.drawing
    }
}

struct Builder<'a> {
    levels: &'a Levels,
    heads: &'a [BoxSize],
    bodies: Vec<Option<Placement>>,
    drawing: Drawing,
}

impl Builder<'_> {
    /// Lays out a level after the bodies inside it, since their sizes are needed.
    fn measure(&mut self, level: &Level) -> Placement {
        let mut sizes = Vec::with_capacity(level.members.len());
        for &node in &level.members {
            let body = &self.levels.bodies[node];
            if !body.members.is_empty() {
                self.bodies[node] = Some(self.measure(body));
            }
            sizes.push(self.block_size(node));
        }
        for link in level.links.iter().filter(|link| link.from == link.to) {
            sizes[link.from].width += 2.0 * SELF_LINK_ROOM;
        }
        layout::place(level, &sizes)
    }

    fn block_size(&self, node: usize) -> BoxSize {
        let head = self.heads[node];
        let Some(body) = &self.bodies[node] else { return head };
        BoxSize {
            width: head.width.max(body.size.width + 2.0 * FRAME_PADDING),
            height: head.height + FRAME_HEADING_GAP + body.size.height + FRAME_PADDING,
        }
    }

    fn put(&mut self, level: &Level, placement: &Placement, (x, y): (f64, f64)) {
        for wire in &placement.wires {
            let run = |r: &WireRun| WireRun {
                x: r.x + x,
                top: r.top + y,
                bottom: r.bottom + y,
                bus: r.bus.map(|bus| bus + y),
            };
            let runs = wire.runs.iter().map(run).collect();
            self.drawing.wires.push(Wire { runs, ..wire.clone() });
        }
        let mut repeats = vec![false; level.members.len()];
        for link in level.links.iter().filter(|link| link.from == link.to) {
            repeats[link.from] = true;
        }
        for (position, &node) in level.members.iter().enumerate() {
            let BoxSize { width, height } = self.block_size(node);
            let (left, top) = placement.corners[position];
            let room = if repeats[position] { SELF_LINK_ROOM } else { 0.0 };
            let (left, top) = (x + left + room, y + top);
            let block = Block { node, x: left, y: top, width, height, repeats: repeats[position] };
            let Some(body) = self.bodies[node].take() else {
                self.drawing.cards.push(block);
                continue;
            };
            self.drawing.frames.push(block);
            let inset = ((width - body.size.width) / 2.0).round();
            let corner = (left + inset, top + self.heads[node].height + FRAME_HEADING_GAP);
            self.put(&self.levels.bodies[node], &body, corner);
            self.bodies[node] = Some(body);
        }
    }
}

//! Layered layout of one level: boxes in rows, links flowing down between them.
//!
//! It has the usual four stages: rows by longest path (this module), dummies where a link passes
//! through a row and a few barycenter sweeps to reduce crossings (`grid.rs`), positions by least
//! squares (`positions.rs`), and the wires (this module). In addition, rows have a maximum width,
//! so a fan-out of thirty becomes a block that can be scrolled rather than a ribbon, and long links
//! that share an end share their dummies, so they look like one branching trunk. Boxes never
//! overlap, and links that follow their dummies bend only between rows.

use std::collections::HashMap;

use super::grid::{Grid, has_bus, real};
use super::levels::Level;
use super::positions::BOX_GAP;
use crate::limits;

/// Space between rows, where links bend.
const ROW_GAP: f64 = 44.0;
/// Space above a row that a labeled link enters.
const LABEL_ROW_GAP: f64 = 68.0;
/// The distance from the center of a box to the end of a link against the flow, as a fraction of
/// the box's width.
const BACK_LINK_OFFSET: f64 = 0.25;

/// The width and height of a box.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoxSize {
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The layout of a level, relative to its own top left corner.
#[derive(Debug)]
pub(super) struct Placement {
    /// The top left corner of each member's box.
    pub(super) corners: Vec<(f64, f64)>,
    pub(super) wires: Vec<Wire>,
    pub(super) size: BoxSize,
}

/// The drawn part of a link.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    /// Vertical runs from top to bottom; the wire bends from the end of one run to the start of the
    /// next.
    pub(super) runs: Vec<WireRun>,
    /// Whether the wire ends at a box with an arrow. A wire that joins a trunk leaves the arrow to
    /// the trunk.
    pub(super) arrow: bool,
    /// Whether the link points against the flow.
    pub(super) back: bool,
    pub(super) label: Option<String>,
}

/// A vertical stretch of a wire.
#[derive(Debug, Clone, Copy)]
pub(super) struct WireRun {
    pub(super) x: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    /// The vertical position of the horizontal line that leads here from the run above; `None` for
    /// a curve.
    pub(super) bus: Option<f64>,
}

/// Lays out one level whose members have the given sizes.
pub(super) fn place(level: &Level, sizes: &[BoxSize]) -> Placement {
    let rows = assign_rows(level, sizes);
    let mut grid = Grid::new(level, sizes, &rows);
    grid.reduce_crossings();
    grid.position();
    grid.straighten();
    grid.finish(level, sizes)
}

/// The row of each member: the first row with room that is below everything it waits for.
fn assign_rows(level: &Level, sizes: &[BoxSize]) -> Vec<usize> {
    let mut rows = vec![0_usize; sizes.len()];
    let mut widths: Vec<f64> = Vec::new();
    let mut incoming = vec![Vec::new(); sizes.len()];
    for link in level.forward() {
        incoming[link.to].push(link.from);
    }
    // Follows one branch to its end before starting the next, which keeps branches together if rows
    // are full.
    let mut recent = 0_i64;
    let latest_first = |_| {
        recent -= 1;
        recent
    };
    for member in level.topological(latest_first) {
        let first = incoming[member].iter().map(|&from| rows[from] + 1).max().unwrap_or(0);
        let wanted = sizes[member].width + BOX_GAP;
        let has_room = |&row: &usize| widths[row] + wanted <= limits::GRAPH_ROW_WIDTH;
        let row = (first..widths.len()).find(has_room).unwrap_or(widths.len().max(first));
        widths.resize(widths.len().max(row + 1), 0.0);
        widths[row] += wanted;
        rows[member] = row;
    }
    rows
}

impl Grid {
    /// Turns cells into corners and wires.
    fn finish(&mut self, level: &Level, sizes: &[BoxSize]) -> Placement {
        let left = self.cells.iter().map(|p| p.x - p.width / 2.0).fold(f64::INFINITY, f64::min);
        for cell in &mut self.cells {
            cell.x = (cell.x - left).round();
        }
        let right = self.cells.iter().map(|p| p.x + p.width / 2.0).fold(0.0, f64::max);
        let bands = self.bands(level, sizes);
        let corners = self.cells.iter().zip(sizes);
        let corners = corners.map(|(p, size)| (p.x - (size.width / 2.0).round(), bands[p.row].0));
        let size = BoxSize { width: right.ceil(), height: bands.last().map_or(0.0, |band| band.1) };
        Placement { corners: corners.collect(), wires: self.wires(level, sizes, &bands), size }
    }

    /// The top and bottom of each row.
    fn bands(&self, level: &Level, sizes: &[BoxSize]) -> Vec<(f64, f64)> {
        let mut heights = vec![0.0_f64; self.rows.len()];
        for (cell, size) in self.cells.iter().zip(sizes) {
            heights[cell.row] = heights[cell.row].max(size.height);
        }
        let mut gaps = vec![ROW_GAP; self.rows.len()];
        for (_, chain) in level.links.iter().zip(&self.chains).filter(|(l, _)| l.label.is_some()) {
            gaps[self.cells[chain[chain.len() - 1]].row] = LABEL_ROW_GAP;
        }
        let mut bands: Vec<(f64, f64)> = Vec::with_capacity(heights.len());
        for (height, gap) in heights.into_iter().zip(gaps) {
            let top = bands.last().map_or(0.0, |band| band.1 + gap);
            bands.push((top, top + height));
        }
        bands
    }

    /// The vertical positions of each dummy's buses, the one above it and the one below it. Buses
    /// between the same rows are kept apart so that they do not appear to join.
    fn buses(&self, bands: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let mut heights = vec![(0.0, 0.0); self.cells.len()];
        for (row, pair) in bands.windows(2).enumerate() {
            let (top, bottom) = (pair[0].1, pair[1].0);
            let is_joined =
                |&p: &usize| self.cells[p].above.len() >= limits::GRAPH_BUS_BRANCHES_MIN;
            let is_branching =
                |&p: &usize| self.cells[p].below.len() >= limits::GRAPH_BUS_BRANCHES_MIN;
            let is_dummy = |p: &&usize| self.cells[**p].is_dummy();
            let joining = self.rows[row + 1].iter().filter(is_dummy).copied().filter(is_joined);
            let branching = self.rows[row].iter().filter(is_dummy).copied().filter(is_branching);
            let joining: Vec<_> = joining.collect();
            let branching: Vec<_> = branching.collect();
            let slot = (bottom - top) / real(joining.len() + branching.len() + 1);
            for (position, &cell) in joining.iter().enumerate() {
                heights[cell].0 = top + (slot * real(position + 1)).round();
            }
            for (position, &cell) in branching.iter().enumerate() {
                heights[cell].1 = top + (slot * real(joining.len() + position + 1)).round();
            }
        }
        heights
    }

    fn bus(&self, upper: usize, lower: usize, heights: &[(f64, f64)]) -> Option<f64> {
        has_bus(&self.cells[upper], &self.cells[lower])
            .then(|| if self.cells[upper].is_dummy() { heights[upper].1 } else { heights[lower].0 })
    }

    fn wires(&self, level: &Level, sizes: &[BoxSize], bands: &[(f64, f64)]) -> Vec<Wire> {
        let mut drawn: HashMap<(usize, usize), usize> = HashMap::new();
        let buses = self.buses(bands);
        let mut wires = Vec::new();
        for (position, (link, chain)) in level.links.iter().zip(&self.chains).enumerate() {
            if link.from == link.to {
                continue;
            }
            // Segments that a trunk already shows are not drawn again; otherwise thirty links would
            // draw them thirty times.
            let is_new = |pair: &[usize]| {
                link.back || *drawn.entry((pair[0], pair[1])).or_insert(position) == position
            };
            let fresh: Vec<bool> = chain.windows(2).map(is_new).collect();
            let Some(first) = fresh.iter().position(|&new| new) else { continue };
            let last = first + fresh[first..].iter().take_while(|&&new| new).count();
            let runs = chain[first..=last].iter().enumerate().map(|(step, &index)| {
                let (top, bottom) = bands[self.cells[index].row];
                let above = (step > 0).then(|| chain[first + step - 1]);
                let bus = above.and_then(|above| self.bus(above, index, &buses));
                let mut run = WireRun { x: self.cells[index].x, top, bottom, bus };
                let Some(size) = sizes.get(index) else { return run };
                if link.back {
                    run.x += (size.width * BACK_LINK_OFFSET).round();
                }
                if first + step == 0 {
                    run.top = top + size.height;
                } else {
                    run.bottom = top;
                }
                run
            });
            let arrow = link.back || last + 1 == chain.len();
            let (runs, label) = (runs.collect(), link.label.clone());
            wires.push(Wire { runs, arrow, back: link.back, label });
        }
        wires
    }
}

//! Positions the cells of a grid within their rows: first by least squares, then with visual
//! corrections.

use super::grid::{Cell, Grid, Neighbours};
use crate::limits;

/// Minimum space between two boxes in a row.
pub(super) const BOX_GAP: f64 = 28.0;
/// Minimum space between a passing link and its neighbors.
const LANE_GAP: f64 = 16.0;

impl Grid {
    /// Pulls every cell toward its neighbors, row by row, as far as the minimum spacing allows.
    pub(super) fn position(&mut self) {
        for row in 0..self.rows.len() {
            let offsets = self.offsets(row);
            // Only boxes determine the center, so that full rows line up exactly.
            let boxes = self.rows[row].iter().zip(&offsets);
            let boxes = boxes.filter(|(cell, _)| !self.cells[**cell].is_dummy());
            let edges = boxes.map(|(&cell, offset)| (offset, self.cells[cell].width / 2.0));
            let left = edges.clone().map(|(x, half)| x - half).fold(f64::INFINITY, f64::min);
            let right = edges.map(|(x, half)| x + half).fold(0.0, f64::max);
            let middle = if left.is_finite() { f64::midpoint(left, right) } else { 0.0 };
            for (&cell, offset) in self.rows[row].iter().zip(offsets) {
                self.cells[cell].x = offset - middle;
            }
        }
        for _ in 0..limits::GRAPH_POSITION_ROUNDS {
            for row in 1..self.rows.len() {
                self.pull_row(row, Neighbours::Above);
            }
            for row in (0..self.rows.len().saturating_sub(1)).rev() {
                self.pull_row(row, Neighbours::Below);
            }
        }
        for row in 0..self.rows.len() {
            self.pull_row(row, Neighbours::Both);
        }
    }

    /// The minimum distance of each cell in a row from the first cell.
    fn offsets(&self, row: usize) -> Vec<f64> {
        let mut offset = 0.0;
        let mut before: Option<&Cell> = None;
        let mut offsets = Vec::with_capacity(self.rows[row].len());
        for cell in self.rows[row].iter().map(|&p| &self.cells[p]) {
            if let Some(before) = before {
                offset += spacing(before, cell);
            }
            offsets.push(offset);
            before = Some(cell);
        }
        offsets
    }

    /// Least squares with minimum distances: once these are subtracted, the positions only have to
    /// be in order, which pooling adjacent violators solves exactly.
    fn pull_row(&mut self, row: usize, side: Neighbours) {
        struct Pool {
            sum: f64,
            weight: f64,
            count: usize,
        }
        let offsets = self.offsets(row);
        let mut pools: Vec<Pool> = Vec::new();
        for (&index, offset) in self.rows[row].iter().zip(&offsets) {
            let cell = &self.cells[index];
            // A cell that nothing pulls stays where it is unless others need the space.
            let mut pool = Pool { sum: 0.01 * (cell.x - offset), weight: 0.01, count: 1 };
            for near in cell.near(side).map(|near| &self.cells[near]) {
                let weight = pull(cell, near);
                pool.sum += weight * (near.x - offset);
                pool.weight += weight;
            }
            while let Some(last) =
                pools.pop_if(|last| last.sum * pool.weight > pool.sum * last.weight)
            {
                pool.sum += last.sum;
                pool.weight += last.weight;
                pool.count += last.count;
            }
            pools.push(pool);
        }
        let bases = pools.iter().flat_map(|p| std::iter::repeat_n(p.sum / p.weight, p.count));
        let middles: Vec<f64> = bases.zip(&offsets).map(|(base, offset)| base + offset).collect();
        for (&cell, x) in self.rows[row].iter().zip(middles) {
            self.cells[cell].x = x;
        }
    }

    /// Aligns runs of cells in which each one only continues the one above, if their neighbors
    /// leave enough space. Least squares leaves them a few pixels apart, which looks like a
    /// mistake.
    pub(super) fn straighten(&mut self) {
        let mut is_taken = vec![false; self.cells.len()];
        let mut starts: Vec<_> = (0..self.cells.len()).collect();
        starts.sort_by_key(|&cell| self.cells[cell].row);
        for start in starts {
            if is_taken[start] {
                continue;
            }
            let next = |&cell: &usize| self.continuation(cell);
            let run: Vec<_> = std::iter::successors(Some(start), next).collect();
            let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
            for &cell in &run {
                is_taken[cell] = true;
                let (left, right) = self.room(cell);
                least = least.max(left);
                most = most.min(right);
            }
            if run.len() > 1 && least <= most {
                let mut middles: Vec<_> = run.iter().map(|&cell| self.cells[cell].x).collect();
                middles.sort_by(f64::total_cmp);
                let x = middles[middles.len() / 2].clamp(least, most);
                for cell in run {
                    self.cells[cell].x = x;
                }
            }
        }
    }

    /// The cell straight below: the next cell of a trunk, or of a chain of boxes that does not
    /// branch.
    fn continuation(&self, cell: usize) -> Option<usize> {
        let is_dummy = |cell: usize| self.cells[cell].is_dummy();
        let below = &self.cells[cell].below;
        if is_dummy(cell) {
            return below.iter().copied().find(|&next| is_dummy(next));
        }
        match below.as_slice() {
            &[only] if self.cells[only].above.len() == 1 && !is_dummy(only) => Some(only),
            _ => None,
        }
    }

    /// The smallest and largest position that the neighbors in the row leave for a cell.
    fn room(&self, cell: usize) -> (f64, f64) {
        let Cell { row, order, .. } = self.cells[cell];
        let neighbour = |order: usize| self.rows[row].get(order).map(|&p| &self.cells[p]);
        let this = &self.cells[cell];
        let before = order.checked_sub(1).and_then(neighbour);
        let left = before.map_or(f64::NEG_INFINITY, |before| before.x + spacing(before, this));
        let right = neighbour(order + 1).map_or(f64::INFINITY, |next| next.x - spacing(this, next));
        (left, right)
    }
}

/// How strongly a neighbor pulls a cell: straight trunks matter more than centered boxes, and a bus
/// reaches its boxes regardless of their position.
fn pull(cell: &Cell, near: &Cell) -> f64 {
    match (cell.is_dummy(), near.is_dummy()) {
        (false, false) => 1.0,
        (true, true) => 8.0,
        (true, false) => cell.box_pull(),
        (false, true) => near.box_pull(),
    }
}

/// The minimum distance between the centers of two neighbors in a row.
fn spacing(left: &Cell, right: &Cell) -> f64 {
    let both_boxes = left.width > 0.0 && right.width > 0.0;
    f64::midpoint(left.width, right.width) + if both_boxes { BOX_GAP } else { LANE_GAP }
}

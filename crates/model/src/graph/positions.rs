//! Where the places of a mesh stand in their rows, by least squares and then by eye.

use super::mesh::{Mesh, Place, Side};
use crate::limits;

/// Least space between two boxes of a row.
pub(super) const BOX_GAP: f64 = 28.0;
/// Least space between a passing link and its neighbours.
const LANE_GAP: f64 = 16.0;

impl Mesh {
    /// Pulls every place towards its neighbours, row by row, as far as the spacing allows.
    pub(super) fn position(&mut self) {
        for row in 0..self.rows.len() {
            let offsets = self.offsets(row);
            // Boxes alone decide the middle, so that full rows stand exactly below each other.
            let boxes = self.rows[row].iter().zip(&offsets);
            let boxes = boxes.filter(|(place, _)| !self.places[**place].is_holder());
            let edges = boxes.map(|(&place, offset)| (offset, self.places[place].width / 2.0));
            let left = edges.clone().map(|(x, half)| x - half).fold(f64::INFINITY, f64::min);
            let right = edges.map(|(x, half)| x + half).fold(0.0, f64::max);
            let middle = if left.is_finite() { f64::midpoint(left, right) } else { 0.0 };
            for (&place, offset) in self.rows[row].iter().zip(offsets) {
                self.places[place].x = offset - middle;
            }
        }
        for _ in 0..limits::GRAPH_POSITION_ROUNDS {
            for row in 1..self.rows.len() {
                self.pull_row(row, Side::Above);
            }
            for row in (0..self.rows.len().saturating_sub(1)).rev() {
                self.pull_row(row, Side::Below);
            }
        }
        for row in 0..self.rows.len() {
            self.pull_row(row, Side::Both);
        }
    }

    /// Least distance of each place of a row from the first.
    fn offsets(&self, row: usize) -> Vec<f64> {
        let mut offset = 0.0;
        let mut before: Option<&Place> = None;
        let mut offsets = Vec::with_capacity(self.rows[row].len());
        for place in self.rows[row].iter().map(|&p| &self.places[p]) {
            if let Some(before) = before {
                offset += spacing(before, place);
            }
            offsets.push(offset);
            before = Some(place);
        }
        offsets
    }

    /// Least squares under the spacing: once the least distances are subtracted the positions only
    /// have to be in order, which pooling neighbours that are not solves exactly.
    fn pull_row(&mut self, row: usize, side: Side) {
        struct Pool {
            sum: f64,
            weight: f64,
            count: usize,
        }
        let offsets = self.offsets(row);
        let mut pools: Vec<Pool> = Vec::new();
        for (&index, offset) in self.rows[row].iter().zip(&offsets) {
            let place = &self.places[index];
            // A place nothing pulls stays where it is unless others need the room.
            let mut pool = Pool { sum: 0.01 * (place.x - offset), weight: 0.01, count: 1 };
            for near in place.near(side).map(|near| &self.places[near]) {
                let weight = pull(place, near);
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
        for (&place, x) in self.rows[row].iter().zip(middles) {
            self.places[place].x = x;
        }
    }

    /// Lines up runs of places that only continue each other, where their neighbours leave room:
    /// least squares leaves them a few pixels apart, which looks like a mistake.
    pub(super) fn straighten(&mut self) {
        let mut is_taken = vec![false; self.places.len()];
        let mut starts: Vec<_> = (0..self.places.len()).collect();
        starts.sort_by_key(|&place| self.places[place].row);
        for start in starts {
            if is_taken[start] {
                continue;
            }
            let next = |&place: &usize| self.continuation(place);
            let run: Vec<_> = std::iter::successors(Some(start), next).collect();
            let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
            for &place in &run {
                is_taken[place] = true;
                let (left, right) = self.room(place);
                least = least.max(left);
                most = most.min(right);
            }
            if run.len() > 1 && least <= most {
                let mut middles: Vec<_> = run.iter().map(|&place| self.places[place].x).collect();
                middles.sort_by(f64::total_cmp);
                let x = middles[middles.len() / 2].clamp(least, most);
                for place in run {
                    self.places[place].x = x;
                }
            }
        }
    }

    /// The place straight below: the next of a trunk, or of a line of boxes that does not branch.
    fn continuation(&self, place: usize) -> Option<usize> {
        let is_holder = |place: usize| self.places[place].is_holder();
        let below = &self.places[place].below;
        if is_holder(place) {
            return below.iter().copied().find(|&next| is_holder(next));
        }
        match below.as_slice() {
            &[only] if self.places[only].above.len() == 1 && !is_holder(only) => Some(only),
            _ => None,
        }
    }

    /// The least and the greatest position the neighbours in the row leave to a place.
    fn room(&self, place: usize) -> (f64, f64) {
        let Place { row, order, .. } = self.places[place];
        let neighbour = |order: usize| self.rows[row].get(order).map(|&p| &self.places[p]);
        let this = &self.places[place];
        let before = order.checked_sub(1).and_then(neighbour);
        let left = before.map_or(f64::NEG_INFINITY, |before| before.x + spacing(before, this));
        let right = neighbour(order + 1).map_or(f64::INFINITY, |next| next.x - spacing(this, next));
        (left, right)
    }
}

/// How much a neighbour pulls a place: straight trunks matter more than centred boxes, and a bus
/// reaches its boxes wherever they are.
fn pull(place: &Place, near: &Place) -> f64 {
    match (place.is_holder(), near.is_holder()) {
        (false, false) => 1.0,
        (true, true) => 8.0,
        (true, false) => place.box_pull(),
        (false, true) => near.box_pull(),
    }
}

/// Least distance between the middles of two neighbours in a row.
fn spacing(left: &Place, right: &Place) -> f64 {
    let both_boxes = left.width > 0.0 && right.width > 0.0;
    f64::midpoint(left.width, right.width) + if both_boxes { BOX_GAP } else { LANE_GAP }
}

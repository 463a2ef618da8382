//! The grid a level is laid out on: boxes, the place holders of links that pass rows, and the order
//! of both in each row, chosen so that few links cross.

use std::collections::HashMap;

use super::layout::Size;
use super::outline::{Level, Link};
use crate::limits;

/// Boxes and place holders, row by row.
pub(super) struct Mesh {
    /// The first places are the members; the rest are place holders.
    pub(super) places: Vec<Place>,
    /// Places of each row, left to right.
    pub(super) rows: Vec<Vec<usize>>,
    /// The places each link passes, top to bottom.
    pub(super) chains: Vec<Vec<usize>>,
}

#[derive(Default)]
pub(super) struct Place {
    pub(super) row: usize,
    /// Position in the row.
    pub(super) order: usize,
    /// Zero for a place holder.
    pub(super) width: f64,
    /// Middle.
    pub(super) x: f64,
    pub(super) above: Vec<usize>,
    pub(super) below: Vec<usize>,
}

/// Which neighbours have a say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Above,
    Below,
    Both,
}

impl Place {
    /// How much a place holder and a box it is connected to pull each other.
    pub(super) fn box_pull(&self) -> f64 {
        let has_bus = self.above.len().max(self.below.len()) >= limits::GRAPH_BUS_BRANCHES_MIN;
        if has_bus { 0.0 } else { 2.0 }
    }

    pub(super) fn is_holder(&self) -> bool {
        self.width == 0.0
    }

    pub(super) fn near(&self, side: Side) -> impl Iterator<Item = usize> {
        let above: &[usize] = if side == Side::Below { &[] } else { &self.above };
        let below: &[usize] = if side == Side::Above { &[] } else { &self.below };
        above.iter().chain(below).copied()
    }
}

/// Which end of a long link owns the place holders it passes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Trunk {
    Upper(usize),
    Lower(usize),
    Own(usize),
}

impl Mesh {
    pub(super) fn new(level: &Level, sizes: &[Size], rows: &[usize]) -> Mesh {
        let places = rows.iter().zip(sizes);
        let places =
            places.map(|(&row, size)| Place { row, width: size.width, ..Place::default() });
        let mut mesh = Mesh { places: places.collect(), rows: Vec::new(), chains: Vec::new() };
        mesh.chain(level);
        mesh.order_first();
        mesh
    }

    /// Threads every link through the rows it passes.
    fn chain(&mut self, level: &Level) {
        let ends: Vec<_> = level.links.iter().map(|link| self.ends(link)).collect();
        let mut leaving = vec![0_usize; self.places.len()];
        let mut entering = vec![0_usize; self.places.len()];
        let is_long = |mesh: &Mesh, (upper, lower): (usize, usize)| {
            mesh.places[lower].row > mesh.places[upper].row + 1
        };
        for &(upper, lower) in ends.iter().filter(|&&ends| is_long(self, ends)) {
            leaving[upper] += 1;
            entering[lower] += 1;
        }
        let mut holders: HashMap<(Trunk, usize), usize> = HashMap::new();
        for (position, (link, &(upper, lower))) in level.links.iter().zip(&ends).enumerate() {
            let trunk = if link.back || link.label.is_some() {
                Trunk::Own(position)
            } else if leaving[upper] >= entering[lower] {
                Trunk::Upper(upper)
            } else {
                Trunk::Lower(lower)
            };
            let (first, last) = (self.places[upper].row + 1, self.places[lower].row);
            let mut chain = vec![upper];
            if self.places.len() + last.saturating_sub(first) <= limits::GRAPH_PLACES {
                for row in first..last {
                    let holder = *holders.entry((trunk, row)).or_insert_with(|| {
                        self.places.push(Place { row, ..Place::default() });
                        self.places.len() - 1
                    });
                    chain.push(holder);
                }
            }
            chain.push(lower);
            if upper != lower {
                self.connect(&chain);
            }
            self.chains.push(chain);
        }
    }

    /// The ends of a link, upper first: one against the flow is laid out as if it went along.
    fn ends(&self, link: &Link) -> (usize, usize) {
        if self.places[link.from].row <= self.places[link.to].row {
            (link.from, link.to)
        } else {
            (link.to, link.from)
        }
    }

    fn connect(&mut self, chain: &[usize]) {
        for pair in chain.windows(2) {
            let (upper, lower) = (pair[0], pair[1]);
            // A straight long link has no say in the order, which compares neighbouring rows.
            let is_neighbour = self.places[lower].row == self.places[upper].row + 1;
            if is_neighbour && !self.places[upper].below.contains(&lower) {
                self.places[upper].below.push(lower);
                self.places[lower].above.push(upper);
            }
        }
    }

    /// Orders each row by a depth-first walk, which keeps unconnected parts apart.
    fn order_first(&mut self) {
        let count = self.places.iter().map(|place| place.row + 1).max().unwrap_or(0);
        self.rows = vec![Vec::new(); count];
        let mut seen = vec![false; self.places.len()];
        let mut roots: Vec<_> = (0..self.places.len()).collect();
        roots.sort_by_key(|&place| self.places[place].row);
        for root in roots {
            let mut stack = vec![root];
            while let Some(place) = stack.pop() {
                if std::mem::replace(&mut seen[place], true) {
                    continue;
                }
                self.rows[self.places[place].row].push(place);
                stack.extend(self.places[place].below.iter().rev());
            }
        }
        self.number();
    }

    fn number(&mut self) {
        for row in &self.rows {
            for (order, &place) in row.iter().enumerate() {
                self.places[place].order = order;
            }
        }
    }

    /// Sorts rows by the middle of their neighbours, down and up, and keeps the best order met.
    pub(super) fn reduce_crossings(&mut self) {
        let mut best = (self.crossings(), self.rows.clone());
        for _ in 0..limits::GRAPH_CROSSING_ROUNDS {
            if best.0 == 0 {
                break;
            }
            for row in 1..self.rows.len() {
                self.sort_row(row, Side::Above);
            }
            for row in (0..self.rows.len().saturating_sub(1)).rev() {
                self.sort_row(row, Side::Below);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
        self.number();
    }

    fn sort_row(&mut self, row: usize, side: Side) {
        let middle = |&place: &usize| {
            let (mut sum, mut count) = (0, 0);
            for near in self.places[place].near(side) {
                sum += self.places[near].order;
                count += 1;
            }
            if count == 0 { real(self.places[place].order) } else { real(sum) / real(count) }
        };
        let mut keyed: Vec<_> = self.rows[row].iter().map(|p| (middle(p), *p)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (order, &(_, place)) in keyed.iter().enumerate() {
            self.places[place].order = order;
        }
        self.rows[row] = keyed.into_iter().map(|(_, place)| place).collect();
    }

    /// Counts crossings between neighbouring rows as inversions, with a Fenwick tree.
    fn crossings(&self) -> usize {
        let mut total = 0;
        for (row, places) in self.rows.iter().enumerate() {
            let width = self.rows.get(row + 1).map_or(0, Vec::len);
            let mut tree = vec![0_usize; width + 1];
            let mut seen = 0;
            for &place in places {
                let mut ends: Vec<_> =
                    self.places[place].below.iter().map(|&b| self.places[b].order).collect();
                ends.sort_unstable();
                for &end in &ends {
                    let mut at = end + 1;
                    let mut not_after = 0;
                    while at > 0 {
                        not_after += tree[at];
                        at &= at - 1;
                    }
                    total += seen - not_after;
                }
                seen += ends.len();
                for end in ends {
                    let mut at = end + 1;
                    while at <= width {
                        tree[at] += 1;
                        at += at & at.wrapping_neg();
                    }
                }
            }
        }
        total
    }
}

/// Whether two places of neighbouring rows, in any order, are connected by a bus.
pub(super) fn has_bus(one: &Place, other: &Place) -> bool {
    let (upper, lower) = if one.row < other.row { (one, other) } else { (other, one) };
    match (upper.is_holder(), lower.is_holder()) {
        (true, false) => upper.below.len() >= limits::GRAPH_BUS_BRANCHES_MIN,
        (false, true) => lower.above.len() >= limits::GRAPH_BUS_BRANCHES_MIN,
        _ => false,
    }
}

/// A count as a number to compute with; counts here are far below the loss of precision.
pub(super) fn real(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

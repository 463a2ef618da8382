//! The grid on which a level is laid out: boxes, the dummies of links that pass through rows, and
//! the order of both in each row, chosen to minimize crossings.

use std::collections::HashMap;

use super::layout::BoxSize;
use super::levels::{Level, LevelLink};
use crate::limits;

/// Boxes and dummies, row by row.
pub(super) struct Grid {
    /// The members come first, followed by the dummies.
    pub(super) cells: Vec<Cell>,
    /// The cells of each row, left to right.
    pub(super) rows: Vec<Vec<usize>>,
    /// The cells that each link passes through, top to bottom.
    pub(super) chains: Vec<Vec<usize>>,
}

#[derive(Default)]
pub(super) struct Cell {
    pub(super) row: usize,
    /// Position in the row.
    pub(super) order: usize,
    /// Zero for a dummy.
    pub(super) width: f64,
    /// The horizontal center.
    pub(super) x: f64,
    pub(super) above: Vec<usize>,
    pub(super) below: Vec<usize>,
}

/// Which neighbors are taken into account.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Neighbours {
    Above,
    Below,
    Both,
}

impl Cell {
    /// How strongly a dummy and a connected box attract each other.
    pub(super) fn box_pull(&self) -> f64 {
        let has_bus = self.above.len().max(self.below.len()) >= limits::GRAPH_BUS_BRANCHES_MIN;
        if has_bus { 0.0 } else { 2.0 }
    }

    pub(super) fn is_dummy(&self) -> bool {
        self.width == 0.0
    }

    pub(super) fn near(&self, side: Neighbours) -> impl Iterator<Item = usize> {
        let above: &[usize] = if side == Neighbours::Below { &[] } else { &self.above };
        let below: &[usize] = if side == Neighbours::Above { &[] } else { &self.below };
        above.iter().chain(below).copied()
    }
}

/// What owns the dummies of a long link: its upper end, its lower end, or the link itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Trunk {
    Upper(usize),
    Lower(usize),
    Own(usize),
}

impl Grid {
    pub(super) fn new(level: &Level, sizes: &[BoxSize], rows: &[usize]) -> Grid {
        let cells = rows.iter().zip(sizes);
        let cells = cells.map(|(&row, size)| Cell { row, width: size.width, ..Cell::default() });
        let mut grid = Grid { cells: cells.collect(), rows: Vec::new(), chains: Vec::new() };
        grid.chain(level);
        grid.order_first();
        grid
    }

    /// Routes every link through the rows between its ends.
    fn chain(&mut self, level: &Level) {
        let ends: Vec<_> = level.links.iter().map(|link| self.ends(link)).collect();
        let mut leaving = vec![0_usize; self.cells.len()];
        let mut entering = vec![0_usize; self.cells.len()];
        let is_long = |grid: &Grid, (upper, lower): (usize, usize)| {
            grid.cells[lower].row > grid.cells[upper].row + 1
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
            let (first, last) = (self.cells[upper].row + 1, self.cells[lower].row);
            let mut chain = vec![upper];
            if self.cells.len() + last.saturating_sub(first) <= limits::GRAPH_CELLS {
                for row in first..last {
                    let holder = *holders.entry((trunk, row)).or_insert_with(|| {
                        self.cells.push(Cell { row, ..Cell::default() });
                        self.cells.len() - 1
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

    /// The ends of a link, upper first. A link against the flow is laid out as if it were reversed.
    fn ends(&self, link: &LevelLink) -> (usize, usize) {
        if self.cells[link.from].row <= self.cells[link.to].row {
            (link.from, link.to)
        } else {
            (link.to, link.from)
        }
    }

    fn connect(&mut self, chain: &[usize]) {
        for pair in chain.windows(2) {
            let (upper, lower) = (pair[0], pair[1]);
            // A straight long link does not affect the order, because only adjacent rows are
            // compared.
            let is_neighbour = self.cells[lower].row == self.cells[upper].row + 1;
            if is_neighbour && !self.cells[upper].below.contains(&lower) {
                self.cells[upper].below.push(lower);
                self.cells[lower].above.push(upper);
            }
        }
    }

    /// Orders each row by a depth-first traversal, which keeps unconnected parts apart.
    fn order_first(&mut self) {
        let count = self.cells.iter().map(|cell| cell.row + 1).max().unwrap_or(0);
        self.rows = vec![Vec::new(); count];
        let mut seen = vec![false; self.cells.len()];
        let mut roots: Vec<_> = (0..self.cells.len()).collect();
        roots.sort_by_key(|&cell| self.cells[cell].row);
        for root in roots {
            let mut stack = vec![root];
            while let Some(cell) = stack.pop() {
                if std::mem::replace(&mut seen[cell], true) {
                    continue;
                }
                self.rows[self.cells[cell].row].push(cell);
                stack.extend(self.cells[cell].below.iter().rev());
            }
        }
        self.number();
    }

    fn number(&mut self) {
        for row in &self.rows {
            for (order, &cell) in row.iter().enumerate() {
                self.cells[cell].order = order;
            }
        }
    }

    /// Sorts the cells of each row by the mean position of their neighbors, sweeping down and then
    /// up, and keeps the best order found.
    pub(super) fn reduce_crossings(&mut self) {
        let mut best = (self.crossings(), self.rows.clone());
        for _ in 0..limits::GRAPH_CROSSING_ROUNDS {
            if best.0 == 0 {
                break;
            }
            for row in 1..self.rows.len() {
                self.sort_row(row, Neighbours::Above);
            }
            for row in (0..self.rows.len().saturating_sub(1)).rev() {
                self.sort_row(row, Neighbours::Below);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
        self.number();
    }

    fn sort_row(&mut self, row: usize, side: Neighbours) {
        let middle = |&cell: &usize| {
            let (mut sum, mut count) = (0, 0);
            for near in self.cells[cell].near(side) {
                sum += self.cells[near].order;
                count += 1;
            }
            if count == 0 { real(self.cells[cell].order) } else { real(sum) / real(count) }
        };
        let mut keyed: Vec<_> = self.rows[row].iter().map(|p| (middle(p), *p)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (order, &(_, cell)) in keyed.iter().enumerate() {
            self.cells[cell].order = order;
        }
        self.rows[row] = keyed.into_iter().map(|(_, cell)| cell).collect();
    }

    /// Counts the crossings between adjacent rows: pairs of links whose ends are in opposite order.
    fn crossings(&self) -> usize {
        let mut total = 0;
        for row in &self.rows {
            let mut earlier: Vec<usize> = Vec::new();
            for &cell in row {
                let below = self.cells[cell].below.iter().map(|&below| self.cells[below].order);
                let ends: Vec<usize> = below.collect();
                let not_after = |end: &usize| earlier.partition_point(|other| other <= end);
                total += ends.iter().map(|end| earlier.len() - not_after(end)).sum::<usize>();
                for end in ends {
                    earlier.insert(earlier.partition_point(|other| *other <= end), end);
                }
            }
        }
        total
    }
}

/// Whether two cells of adjacent rows, in either order, are connected by a bus.
pub(super) fn has_bus(one: &Cell, other: &Cell) -> bool {
    let (upper, lower) = if one.row < other.row { (one, other) } else { (other, one) };
    match (upper.is_dummy(), lower.is_dummy()) {
        (true, false) => upper.below.len() >= limits::GRAPH_BUS_BRANCHES_MIN,
        (false, true) => lower.above.len() >= limits::GRAPH_BUS_BRANCHES_MIN,
        _ => false,
    }
}

/// A count as a floating-point number; counts here are far too small to lose precision.
pub(super) fn real(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

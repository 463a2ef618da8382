//! Which row each member of a level stands in: the first step of the layout.

use super::layout::BoxSize;
use super::levels::Level;
use super::positions::BOX_GAP;
use crate::limits;

/// The row of each member: below everything it waits for, and where there is room.
pub(super) fn assign_rows(level: &Level, sizes: &[BoxSize]) -> Vec<usize> {
    let mut rows = vec![0_usize; sizes.len()];
    let mut widths: Vec<f64> = Vec::new();
    let mut incoming = vec![Vec::new(); sizes.len()];
    for link in level.forward() {
        incoming[link.to].push(link.from);
    }
    // Follows one branch to its end before the next, which keeps branches together in full rows.
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

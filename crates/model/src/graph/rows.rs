//! Which row each member of a level stands in: the first step of the layout.

use super::layout::Size;
use super::outline::Level;
use super::positions::BOX_GAP;
use crate::limits;

/// The row of each member: below everything it waits for, and where there is room.
pub(super) fn assign_rows(level: &Level, sizes: &[Size]) -> Vec<usize> {
    let mut rows = vec![0_usize; sizes.len()];
    let mut widths: Vec<f64> = Vec::new();
    let mut incoming = vec![Vec::new(); sizes.len()];
    for link in level.forward() {
        incoming[link.to].push(link.from);
    }
    for member in branch_by_branch(level) {
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

/// The members in an order that follows one branch to its end before it takes up the next. Where
/// rows are full this keeps branches together; where they are not it makes no difference.
fn branch_by_branch(level: &Level) -> Vec<usize> {
    let mut outgoing = vec![Vec::new(); level.members.len()];
    let mut missing = vec![0_usize; level.members.len()];
    for link in level.forward() {
        outgoing[link.from].push(link.to);
        missing[link.to] += 1;
    }
    let mut ready: Vec<usize> = (0..missing.len()).rev().filter(|&m| missing[m] == 0).collect();
    let mut order = Vec::with_capacity(missing.len());
    while let Some(member) = ready.pop() {
        order.push(member);
        for &to in outgoing[member].iter().rev() {
            missing[to] -= 1;
            if missing[to] == 0 {
                ready.push(to);
            }
        }
    }
    order
}

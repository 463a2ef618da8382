//! The structure that all drawings share: which steps are on the same level, and how they are
//! linked there.
//!
//! A *level* is the main section, the `finally` section, or the body of one loop. A link between
//! steps of different levels is lifted to the level where their containers meet, so that each level
//! can be drawn on its own. Nothing here recurses over the input, and nested loops are flattened at
//! [`limits::GRAPH_NESTING`], so the drawings may recurse over levels.

use std::collections::BTreeMap;

use super::Graph;
use crate::limits;
use crate::order::topological;

/// The levels of a graph.
pub(super) struct Levels {
    /// The steps that are neither in a loop nor in `finally`.
    pub(super) main: Level,
    /// The steps of `finally` that are not in a loop.
    pub(super) finally: Level,
    /// The body of each node, by node index; empty unless the node is a loop.
    pub(super) bodies: Vec<Level>,
    parents: Vec<Option<usize>>,
}

/// The steps of one level.
#[derive(Default)]
pub(super) struct Level {
    /// Node indices in document order.
    pub(super) members: Vec<usize>,
    /// Links between members, ordered by their ends, at most one per pair.
    pub(super) links: Vec<LevelLink>,
    /// Member positions in an order in which every forward link points to a later one.
    pub(super) sequence: Vec<usize>,
}

/// A link between two members of a level, by their positions in it.
pub(super) struct LevelLink {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: Option<String>,
    /// Whether the link closes a cycle and so points against the flow.
    pub(super) back: bool,
}

impl Levels {
    pub(super) fn of(graph: &Graph) -> Levels {
        let (parents, depths) = contain(graph);
        let mut levels = Levels {
            main: Level::default(),
            finally: Level::default(),
            bodies: graph.nodes.iter().map(|_| Level::default()).collect(),
            parents,
        };
        let mut positions = Vec::with_capacity(graph.nodes.len());
        for (index, node) in graph.nodes.iter().enumerate() {
            let level = levels.level_mut(index, node.finally);
            positions.push(level.members.len());
            level.members.push(index);
        }
        for edge in &graph.edges {
            let Some((from, to)) = levels.lift(edge.from, edge.to, &depths) else { continue };
            let finally = graph.nodes[from].finally;
            if levels.parents[from].is_none() && finally != graph.nodes[to].finally {
                // The section itself shows that it runs after everything else.
                continue;
            }
            levels.level_mut(from, finally).links.push(LevelLink {
                from: positions[from],
                to: positions[to],
                label: edge.label.as_deref().map(super::visible).filter(|label| !label.is_empty()),
                back: false,
            });
        }
        levels.main.settle();
        levels.finally.settle();
        levels.bodies.iter_mut().for_each(Level::settle);
        levels
    }

    /// Whether `inner` is anywhere inside `outer`.
    pub(super) fn contains(&self, outer: usize, inner: usize) -> bool {
        let mut ancestors = std::iter::successors(self.parents[inner], |&i| self.parents[i]);
        ancestors.any(|ancestor| ancestor == outer)
    }

    fn level_mut(&mut self, node: usize, finally: bool) -> &mut Level {
        match self.parents[node] {
            Some(parent) => &mut self.bodies[parent],
            None if finally => &mut self.finally,
            None => &mut self.main,
        }
    }

    /// The members that contain `from` and `to` on the level where their containers meet; `None` if
    /// one contains the other or either does not exist.
    fn lift(&self, from: usize, to: usize, depths: &[usize]) -> Option<(usize, usize)> {
        let (mut a, mut b) = (from, to);
        while depths.get(a)? > depths.get(b)? {
            a = self.parents[a]?;
        }
        while depths[b] > depths[a] {
            b = self.parents[b]?;
        }
        if a == b {
            return (from == to).then_some((a, b));
        }
        while self.parents[a] != self.parents[b] {
            (a, b) = (self.parents[a]?, self.parents[b]?);
        }
        Some((a, b))
    }
}

impl Level {
    /// Merges parallel links, marks those that close a cycle, and orders the members.
    fn settle(&mut self) {
        let mut joined: BTreeMap<(usize, usize), Option<String>> = BTreeMap::new();
        for link in self.links.drain(..) {
            let words = joined.entry((link.from, link.to)).or_default();
            match (words.as_mut(), link.label) {
                (Some(words), Some(label)) if *words != label => {
                    words.push_str(", ");
                    words.push_str(&label);
                }
                (None, label) => *words = label,
                (Some(_), _) => {}
            }
        }
        self.links = joined
            .into_iter()
            .map(|((from, to), label)| LevelLink { from, to, label, back: from == to })
            .collect();
        self.mark_back_links();
        self.sequence = self.topological(|member| member);
    }

    /// Traverses the level depth-first in document order. A link to a step that is still being
    /// visited closes a cycle.
    fn mark_back_links(&mut self) {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut outgoing = vec![Vec::new(); self.members.len()];
        for (position, link) in self.links.iter().enumerate() {
            outgoing[link.from].push(position);
        }
        let mut marks = vec![Mark::New; self.members.len()];
        for root in 0..self.members.len() {
            let mut path = vec![(root, 0)];
            while let Some((member, next)) = path.pop() {
                if next == 0 && marks[member] != Mark::New {
                    continue;
                }
                marks[member] = Mark::Open;
                let Some(&link) = outgoing[member].get(next) else {
                    marks[member] = Mark::Done;
                    continue;
                };
                path.push((member, next + 1));
                let to = self.links[link].to;
                match marks[to] {
                    Mark::New => path.push((to, 0)),
                    Mark::Open => self.links[link].back = true,
                    Mark::Done => {}
                }
            }
        }
    }

    /// The members in topological order. If several could come next, the one with the lowest rank
    /// wins; the rank is computed when a member becomes ready.
    pub(super) fn topological<R: Ord>(&self, rank: impl FnMut(usize) -> R) -> Vec<usize> {
        let mut followers = vec![Vec::new(); self.members.len()];
        for link in self.forward() {
            followers[link.from].push(link.to);
        }
        let sequence = topological(&followers, rank);
        assert_eq!(sequence.len(), self.members.len(), "forward links must not form a cycle");
        sequence
    }

    /// The links that follow the flow.
    pub(super) fn forward(&self) -> impl Iterator<Item = &LevelLink> {
        self.links.iter().filter(|link| !link.back)
    }
}

/// The container and the depth of each node. A parent that does not exist, or that would contain
/// itself, is ignored.
fn contain(graph: &Graph) -> (Vec<Option<usize>>, Vec<usize>) {
    let count = graph.nodes.len();
    let mut parents: Vec<_> = graph.nodes.iter().map(|n| n.parent.filter(|&p| p < count)).collect();
    let mut depths: Vec<Option<usize>> = vec![None; count];
    let mut on_path = vec![false; count];
    for start in 0..count {
        let mut path = Vec::new();
        let mut next = Some(start);
        while let Some(node) = next.filter(|&node| depths[node].is_none()) {
            on_path[node] = true;
            path.push(node);
            next = parents[node];
            if next.is_some_and(|parent| on_path[parent]) {
                parents[node] = None;
                next = None;
            }
        }
        for node in path.into_iter().rev() {
            on_path[node] = false;
            let mut depth = parents[node].and_then(|parent| depths[parent]).map_or(0, |d| d + 1);
            if depth > limits::GRAPH_NESTING {
                parents[node] = parents[node].and_then(|parent| parents[parent]);
                depth = limits::GRAPH_NESTING;
            }
            depths[node] = Some(depth);
        }
    }
    (parents, depths.into_iter().map(Option::unwrap_or_default).collect())
}

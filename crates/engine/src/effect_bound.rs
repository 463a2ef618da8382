//! What a run can change, computed from its workflow before it starts: which writes, to which
//! paths of which origins, how often, and which origins it reads from.
//!
//! The bound is exact about *what*: a write that it does not contain is never sent. It is an upper
//! bound on *how often*, in writes and not in requests: a retry of a request is the same write. A
//! number that is not known in advance is capped, and at the cap the run asks again.

mod compute;
mod method_override;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

pub use compute::{BoundLookup, CommandEffect};
pub use method_override::{effective, is_override, is_read};

/// The layout of [`EffectBound`] that this program writes.
pub const BOUND_VERSION: u32 = 1;

/// The method of a write whose method is known only when it is sent.
pub const ANY_METHOD: &str = "*";

/// What a run can change, and which origins it calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectBound {
    pub version: u32,
    /// Sorted, and with at most one entry for each effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<BoundedWrite>,
    /// The origins that it reads from.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub reads: BTreeSet<String>,
}

/// A kind of write: a method, an origin such as `https://api.example`, and a path with the names of
/// its parameters, such as `/v1/refunds/{id}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallEffect {
    pub method: String,
    pub origin: String,
    pub path: String,
}

/// A kind of write, and how often it may happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundedWrite {
    #[serde(flatten)]
    pub effect: CallEffect,
    pub most: u64,
    /// Whether the workflow may want more than `most`, in which case the run asks again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

/// A number of writes by [`CallEffect::name`].
pub type WriteCounts = BTreeMap<String, u64>;

impl CallEffect {
    /// The effect on one line, which also identifies it.
    pub fn name(&self) -> String {
        let CallEffect { method, origin, path } = self;
        let method = if method == ANY_METHOD { "any write to" } else { method };
        plain(&format!("{method} {origin}{path}"))
    }

    /// Whether a request with this method to this path may be one of these.
    fn admits(&self, method: &str, origin: &str, path: &str) -> bool {
        let method = self.method == ANY_METHOD || self.method == method;
        method && self.origin == origin && is_of_template(&self.path, path)
    }
}

impl fmt::Display for BoundedWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, most) = (self.effect.name(), self.most);
        match (most, self.open) {
            (_, true) => write!(f, "{name} (up to {most} times, then it asks again)"),
            (1, false) => write!(f, "{name} (once)"),
            (_, false) => write!(f, "{name} (up to {most} times)"),
        }
    }
}

impl EffectBound {
    /// Whether a request that changes something is within the bound, regardless of how often.
    pub fn admits(&self, method: &str, origin: &str, path: &str) -> bool {
        self.writes.iter().any(|write| write.effect.admits(method, origin, path))
    }

    /// The entry for a kind of write.
    pub fn entry(&self, effect: &CallEffect) -> Option<&BoundedWrite> {
        let exact = self.writes.iter().find(|write| write.effect == *effect);
        exact.or_else(|| {
            self.writes.iter().find(|write| {
                let CallEffect { method, origin, path } = &write.effect;
                method == ANY_METHOD && *origin == effect.origin && *path == effect.path
            })
        })
    }

    /// Every origin that is called.
    pub fn origins(&self) -> BTreeSet<&str> {
        let writes = self.writes.iter().map(|write| write.effect.origin.as_str());
        writes.chain(self.reads.iter().map(String::as_str)).collect()
    }

    /// The part of this bound that another one contains, in the terms of that one and with at most
    /// the given numbers of writes.
    #[must_use]
    pub fn within(&self, above: &EffectBound, handed: &WriteCounts) -> EffectBound {
        let mut writes: BTreeMap<&CallEffect, (u64, bool)> = BTreeMap::new();
        for write in &self.writes {
            let Some(over) = above.entry(&write.effect) else { continue };
            let (most, open) = writes.entry(&over.effect).or_default();
            *most = most.saturating_add(write.most);
            *open |= write.open;
        }
        let writes = writes.into_iter().map(|(effect, (wanted, open))| {
            let most = handed.get(&effect.name()).map_or(wanted, |handed| wanted.min(*handed));
            BoundedWrite { effect: effect.clone(), most, open: open || most < wanted }
        });
        EffectBound { version: self.version, writes: writes.collect(), reads: self.reads.clone() }
    }

    /// Whether this bound allows anything that another one does not: another kind of write, more of
    /// one, or another origin.
    pub fn widens(&self, before: &EffectBound) -> bool {
        let more = |write: &BoundedWrite| {
            before
                .entry(&write.effect)
                .is_none_or(|old| old.most < write.most || (write.open && !old.open))
        };
        let known = before.origins();
        self.writes.iter().any(more) || self.origins().iter().any(|origin| !known.contains(origin))
    }

    /// The bound as lines for a person; at most `most` of them, and then how many are left.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let written: BTreeSet<&str> =
            self.writes.iter().map(|write| write.effect.origin.as_str()).collect();
        let reads = self.reads.iter().filter(|origin| !written.contains(origin.as_str()));
        let writes = self.writes.iter().map(BoundedWrite::to_string);
        let all: Vec<String> =
            writes.chain(reads.map(|origin| format!("reads from {}", plain(origin)))).collect();
        let left = all.len().saturating_sub(most);
        let rest = (left > 0).then(|| format!("and {left} more"));
        all.into_iter().take(most).chain(rest).collect()
    }
}

/// Text from a document on one line.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || c.is_whitespace() && c != ' ' { '?' } else { c })
        .collect()
}

/// Whether a path could come from a template such as `/orders/{id}.json`. A parameter matches
/// anything except a slash, which is always encoded in a parameter.
pub fn is_of_template(template: &str, path: &str) -> bool {
    let (mut rest, mut first) = (path, true);
    let mut left = template;
    loop {
        let Some((literal, after)) = left.split_once('{') else {
            return match first {
                true => rest == left,
                false => rest.strip_suffix(left).is_some_and(|value| !value.contains('/')),
            };
        };
        let after = after.split_once('}').map_or("", |(_, after)| after);
        let at = match first {
            true => rest.starts_with(literal).then_some(0),
            false => rest.find(literal).filter(|at| !rest[..*at].contains('/')),
        };
        let Some(at) = at else { return false };
        rest = &rest[at + literal.len()..];
        (left, first) = (after, false);
    }
}

/// Whether some path could come from both templates; a `*` in either one matches any characters of
/// one segment, and `**` any characters at all.
pub fn overlaps(one: &str, other: &str) -> bool {
    overlap(&pieces(one), &pieces(other))
}

/// Whether every path that comes from a template also comes from a wider one.
pub fn covers(wide: &str, narrow: &str) -> bool {
    cover(&pieces(wide), &pieces(narrow))
}

#[derive(Clone, Copy, PartialEq)]
enum Piece {
    Is(char),
    /// Any number of characters other than a slash.
    Segment,
    /// Any number of characters.
    All,
}

fn pieces(template: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut rest = template.chars().peekable();
    while let Some(next) = rest.next() {
        let piece = match next {
            '{' => {
                rest.by_ref().find(|c| *c == '}');
                Piece::Segment
            }
            '*' if rest.next_if_eq(&'*').is_some() => Piece::All,
            '*' => Piece::Segment,
            other => Piece::Is(other),
        };
        found.push(piece);
    }
    found
}

/// Fills a table from the end, so that it takes time proportional to both lengths.
fn table(
    one: &[Piece],
    other: &[Piece],
    decide: impl Fn(&[Vec<bool>], usize, usize) -> bool,
) -> bool {
    let mut known = vec![vec![false; other.len() + 1]; one.len() + 1];
    for i in (0..=one.len()).rev() {
        for j in (0..=other.len()).rev() {
            known[i][j] = decide(&known, i, j);
        }
    }
    known[0][0]
}

fn eats(wild: Piece, piece: Piece) -> bool {
    match (wild, piece) {
        (Piece::All, _) | (Piece::Segment, Piece::Segment) => true,
        (Piece::Segment, Piece::Is(c)) => c != '/',
        (Piece::Segment, Piece::All) | (Piece::Is(_), _) => false,
    }
}

fn overlap(one: &[Piece], other: &[Piece]) -> bool {
    let is_wild = |piece: Piece| !matches!(piece, Piece::Is(_));
    table(one, other, |known, i, j| match (one.get(i), other.get(j)) {
        (None, None) => true,
        (Some(piece), None) => is_wild(*piece) && known[i + 1][j],
        (None, Some(piece)) => is_wild(*piece) && known[i][j + 1],
        (Some(Piece::Is(a)), Some(Piece::Is(b))) => a == b && known[i + 1][j + 1],
        (Some(a), Some(b)) if is_wild(*a) && is_wild(*b) => known[i + 1][j] || known[i][j + 1],
        (Some(a), Some(b)) if is_wild(*a) => known[i + 1][j] || eats(*a, *b) && known[i][j + 1],
        (Some(a), Some(b)) => known[i][j + 1] || eats(*b, *a) && known[i + 1][j],
    })
}

fn cover(wide: &[Piece], narrow: &[Piece]) -> bool {
    table(wide, narrow, |known, i, j| match (wide.get(i), narrow.get(j)) {
        (None, None) => true,
        (Some(piece), None) => !matches!(piece, Piece::Is(_)) && known[i + 1][j],
        (Some(Piece::Is(a)), Some(Piece::Is(b))) => a == b && known[i + 1][j + 1],
        (None | Some(Piece::Is(_)), Some(_)) => false,
        (Some(wild), Some(piece)) => known[i + 1][j] || eats(*wild, *piece) && known[i][j + 1],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_comes_from_its_template_alone() {
        for (template, path, fits) in [
            ("/orders", "/orders", true),
            ("/orders", "/orders/1", false),
            ("/orders/{id}", "/orders/1", true),
            ("/orders/{id}", "/orders/1/refunds", false),
            ("/orders/{id}", "/order/1", false),
            ("/orders/{id}/refunds", "/orders/1/refunds", true),
            ("/orders/{id}/refunds", "/orders/1/x/refunds", false),
            ("/orders/{id}.json", "/orders/a.b.json", true),
            ("/{a}/{b}", "/x/y", true),
            ("/{a}/{b}", "/x", false),
        ] {
            assert_eq!(is_of_template(template, path), fits, "{template} {path}");
        }
    }

    #[test]
    fn a_rule_that_loosens_covers_and_one_that_tightens_overlaps() {
        for (one, other, covering, overlapping) in [
            ("/orders/**", "/orders/{id}/refunds", true, true),
            ("/orders/*", "/orders/{id}", true, true),
            ("/orders/*", "/orders/{id}/refunds", false, false),
            ("/orders/1", "/orders/{id}", false, true),
            ("/orders/{id}", "/orders/1", true, true),
            ("**", "/x/{y}/z", true, true),
            ("/a/*/c", "/{x}/b/{y}", false, true),
            ("/v1/**", "/v2/{id}", false, false),
            ("/v1/**/end", "/v1/{a}/{b}", false, true),
        ] {
            assert_eq!(covers(one, other), covering, "{one} covers {other}");
            assert_eq!(overlaps(one, other), overlapping, "{one} overlaps {other}");
            assert_eq!(overlaps(other, one), overlapping, "{other} overlaps {one}");
        }
    }

    #[test]
    fn text_of_a_document_stays_on_its_line() {
        let effect = CallEffect {
            method: "POST".to_owned(),
            origin: "https://a.example".to_owned(),
            path: "/x\n[y/N]\u{2028}\u{1b}[2K".to_owned(),
        };
        assert_eq!(effect.name(), "POST https://a.example/x?[y/N]??[2K");
    }
}

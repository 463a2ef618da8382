//! The differences between two files, line by line, as a unified diff.
//!
//! Uses Myers' algorithm, which finds the smallest set of changed lines. If the files differ too
//! much, everything between their common prefix and common suffix is replaced.

use std::fmt::Write;
use std::ops::Range;

use crate::limits::{DIFF_CHANGES, DIFF_CONTEXT_LINES};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The unified diff; empty if the files are equal.
    pub(crate) text: String,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// A line in the old file, the new one, or both if it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edit {
    old: Option<usize>,
    new: Option<usize>,
}

impl Edit {
    fn keep(old: usize, new: usize) -> Edit {
        Edit { old: Some(old), new: Some(new) }
    }

    fn remove(old: usize) -> Edit {
        Edit { old: Some(old), new: None }
    }

    fn add(new: usize) -> Edit {
        Edit { old: None, new: Some(new) }
    }
}

/// Compares two files, labeled with `names`.
pub(crate) fn difference(old: &str, new: &str, names: [&str; 2]) -> Difference {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let edits = edits(&old, &new);
    let added = edits.iter().filter(|edit| edit.old.is_none()).count();
    let removed = edits.iter().filter(|edit| edit.new.is_none()).count();
    let mut text = String::new();
    if added + removed > 0 {
        text = format!("--- {}\n+++ {}\n", names[0], names[1]);
    }
    for hunk in hunks(&edits) {
        write_hunk(&edits[hunk], &old, &new, &mut text);
    }
    Difference { text, added, removed }
}

/// All edits that turn one file into the other.
fn edits(old: &[&str], new: &[&str]) -> Vec<Edit> {
    let same = |(one, other): &(&&str, &&str)| one == other;
    let head = old.iter().zip(new).take_while(same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(same).count();
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let keep = |from: (usize, usize), count: usize| {
        (0..count).map(move |index| Edit::keep(from.0 + index, from.1 + index))
    };
    let mut edits: Vec<Edit> = keep((0, 0), head).collect();
    edits.extend(middle(old, head..old_end, new, head..new_end));
    edits.extend(keep((old_end, new_end), tail));
    edits
}

/// The edits between the common prefix and the common suffix.
fn middle(old: &[&str], olds: Range<usize>, new: &[&str], news: Range<usize>) -> Vec<Edit> {
    match shortest(&old[olds.clone()], &new[news.clone()]) {
        Some(trace) => walk_back(&trace, olds, news),
        None => olds.map(Edit::remove).chain(news.map(Edit::add)).collect(),
    }
}

/// The furthest position reached on each diagonal, for each number of changes up to the minimum
/// needed; `None` if too many changes are needed. Diagonal `k` for `d` changes is at index `k + d`.
fn shortest(old: &[&str], new: &[&str]) -> Option<Vec<Vec<usize>>> {
    let mut trace: Vec<Vec<usize>> = Vec::new();
    for changes in 0..=DIFF_CHANGES.min(old.len() + new.len()) {
        let mut reached = vec![0; 2 * changes + 1];
        for at in (0..=2 * changes).step_by(2) {
            let mut x = trace.last().map_or(0, |before| step(before, at, changes));
            // The diagonal is `x - y`, and `at` is the diagonal plus `changes`.
            let mut y = x + changes - at;
            while x < old.len() && y < new.len() && old[x] == new[y] {
                (x, y) = (x + 1, y + 1);
            }
            reached[at] = x;
            if x >= old.len() && y >= new.len() {
                trace.push(reached);
                return Some(trace);
            }
        }
        trace.push(reached);
    }
    None
}

/// The furthest position on a diagonal with one more change: by a removal from the diagonal below,
/// or by an addition from the one above, whichever gets further.
fn step(before: &[usize], at: usize, changes: usize) -> usize {
    if is_addition(before, at, changes) { before[at] } else { before[at - 2] + 1 }
}

/// `before` has one change fewer, so its diagonal `k` is at `k + changes - 1`. The diagonal of `at`
/// therefore lies between `at - 2`, from which a removal leads to it, and `at`, from which an
/// addition does.
fn is_addition(before: &[usize], at: usize, changes: usize) -> bool {
    at == 0 || (at != 2 * changes && before[at - 2] < before[at])
}

fn walk_back(trace: &[Vec<usize>], olds: Range<usize>, news: Range<usize>) -> Vec<Edit> {
    let (mut x, mut y) = (olds.len(), news.len());
    let mut edits = Vec::new();
    let keep = |x: usize, y: usize| Edit::keep(olds.start + x, news.start + y);
    for changes in (1..trace.len()).rev() {
        let before = &trace[changes - 1];
        let at = x + changes - y;
        let addition = is_addition(before, at, changes);
        let (from_x, from_y) = match addition {
            true => (before[at], before[at] + changes - 1 - at),
            false => (before[at - 2], before[at - 2] + changes - 1 - (at - 2)),
        };
        let (after_x, after_y) = if addition { (from_x, from_y + 1) } else { (from_x + 1, from_y) };
        while x > after_x && y > after_y {
            (x, y) = (x - 1, y - 1);
            edits.push(keep(x, y));
        }
        edits.push(match addition {
            true => Edit::add(news.start + from_y),
            false => Edit::remove(olds.start + from_x),
        });
        (x, y) = (from_x, from_y);
    }
    while x > 0 && y > 0 {
        (x, y) = (x - 1, y - 1);
        edits.push(keep(x, y));
    }
    edits.reverse();
    edits
}

/// The ranges of edits to show: the changes, with some context lines.
fn hunks(edits: &[Edit]) -> Vec<Range<usize>> {
    let mut hunks: Vec<Range<usize>> = Vec::new();
    let changed =
        edits.iter().enumerate().filter(|(_, edit)| edit.old.is_none() || edit.new.is_none());
    for (index, _) in changed {
        let end = (index + 1 + DIFF_CONTEXT_LINES).min(edits.len());
        let around = index.saturating_sub(DIFF_CONTEXT_LINES)..end;
        match hunks.last_mut() {
            Some(last) if around.start <= last.end => last.end = around.end,
            _ => hunks.push(around),
        }
    }
    hunks
}

fn write_hunk(edits: &[Edit], old: &[&str], new: &[&str], text: &mut String) {
    let olds: Vec<usize> = edits.iter().filter_map(|edit| edit.old).collect();
    let news: Vec<usize> = edits.iter().filter_map(|edit| edit.new).collect();
    let _ = writeln!(text, "@@ -{} +{} @@", range(&olds), range(&news));
    for edit in edits {
        let (mark, line) = match (edit.old, edit.new) {
            (Some(_), Some(at)) => (' ', new[at]),
            (None, Some(at)) => ('+', new[at]),
            (Some(at), None) => ('-', old[at]),
            (None, None) => continue,
        };
        let _ = write!(text, "{mark}{line}");
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// `first,count`, as in a hunk header.
fn range(lines: &[usize]) -> String {
    match (lines.first(), lines.len()) {
        (None, _) => "0,0".to_owned(),
        (Some(first), 1) => (first + 1).to_string(),
        (Some(first), count) => format!("{},{count}", first + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::{difference, edits};
    use crate::limits::DIFF_CHANGES;

    /// Checks that the edits turn one file into the other, and that they keep as many lines as
    /// possible.
    fn check(old: &[&str], new: &[&str]) {
        let way = edits(old, new);
        let olds: Vec<&str> = way.iter().filter_map(|edit| edit.old).map(|at| old[at]).collect();
        let news: Vec<&str> = way.iter().filter_map(|edit| edit.new).map(|at| new[at]).collect();
        assert_eq!((olds.as_slice(), news.as_slice()), (old, new), "{way:?}");
        let kept = way.iter().filter(|edit| edit.old.is_some() && edit.new.is_some()).count();
        assert_eq!(kept, in_common(old, new), "{old:?} {new:?} {way:?}");
    }

    /// The length of the longest common subsequence.
    fn in_common(old: &[&str], new: &[&str]) -> usize {
        let mut above = vec![0; new.len() + 1];
        for one in old {
            let mut row = vec![0];
            for (at, other) in new.iter().enumerate() {
                let longest = if one == other { above[at] + 1 } else { row[at].max(above[at + 1]) };
                row.push(longest);
            }
            above = row;
        }
        above[new.len()]
    }

    #[test]
    fn the_way_is_right_and_short() {
        // Every pair of files with up to four lines, drawn from three distinct ones.
        let mut texts: Vec<Vec<&str>> = vec![vec![]];
        let mut at = 0;
        while texts[at].len() < 4 {
            for line in ["a", "b", "c"] {
                let longer = texts[at].iter().copied().chain([line]).collect();
                texts.push(longer);
            }
            at += 1;
        }
        for old in &texts {
            for new in &texts {
                check(old, new);
            }
        }
    }

    #[test]
    fn a_change_is_shown_with_what_is_around_it() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10";
        let difference = difference(old, new, ["old", "new"]);
        assert_eq!((difference.added, difference.removed), (2, 1));
        assert_eq!(
            difference.text,
            "--- old\n+++ new\n@@ -2,8 +2,9 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n 9\n+10\n\
             \\ No newline at end of file\n"
        );
    }

    #[test]
    fn changes_apart_are_apart() {
        let lines = |first: &str, last: &str| format!("{first}\n{}{last}\n", "same\n".repeat(9));
        let shown = difference(&lines("a", "b"), &lines("c", "d"), ["old", "new"]).text;
        assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
    }

    #[test]
    fn the_same_and_nothing() {
        assert_eq!(difference("a\n", "a\n", ["old", "new"]).text, "");
        assert_eq!(difference("", "", ["old", "new"]).text, "");
        assert_eq!(difference("", "a\n", ["o", "n"]).text, "--- o\n+++ n\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(difference("a\n", "", ["o", "n"]).text, "--- o\n+++ n\n@@ -1 +0,0 @@\n-a\n");
    }

    #[test]
    fn texts_with_nothing_in_common_take_each_others_place() {
        let lines = |letter: char| {
            let lines: Vec<String> = (0..DIFF_CHANGES).map(|n| format!("{letter}{n}\n")).collect();
            lines.concat()
        };
        let difference = difference(&lines('a'), &lines('b'), ["old", "new"]);
        assert_eq!((difference.added, difference.removed), (DIFF_CHANGES, DIFF_CHANGES));
    }
}

//! What a change does to a file, as a unified diff.
//!
//! Lines that stay are not shown: those around ours belong to other servers and may hold their
//! keys.

/// Columns of a line that are shown at most, and those before what differs.
const SHOWN: usize = 160;
const LEAD: usize = 30;

/// The diff between two texts; a side that is missing is a file that is not there.
pub(super) fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = |side: Option<&str>| side.map_or("/dev/null", |_| path).to_owned();
    let (old, new) = (lines(before), lines(after));
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(one, other)| one == other).count()
    };
    let head = same(&mut old.iter().zip(&new));
    let room = old.len().min(new.len()) - head;
    let tail = same(&mut old.iter().rev().zip(new.iter().rev()).take(room));
    let (removed, added) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if removed.is_empty() && added.is_empty() {
        return String::new();
    }
    // An empty side is placed at the line before it.
    let place = |part: &[&str]| format!("{},{}", head + usize::from(!part.is_empty()), part.len());
    let (from, to) = (place(removed), place(added));
    let mut diff = format!("--- {}\n+++ {}\n@@ -{from} +{to} @@\n", name(before), name(after));
    let from = first_difference(removed, added);
    for (sign, part) in [('-', removed), ('+', added)] {
        for line in part {
            diff.push(sign);
            diff.push_str(&window(line.trim_end_matches(['\n', '\r']), from));
            diff.push('\n');
            if !line.ends_with('\n') {
                diff.push_str("\\ No newline at end of file\n");
            }
        }
    }
    diff
}

fn lines(text: Option<&str>) -> Vec<&str> {
    text.unwrap_or_default().split_inclusive('\n').collect()
}

/// The first column in which two lines that take each other's place differ.
fn first_difference(removed: &[&str], added: &[&str]) -> usize {
    let (Some(old), Some(new)) = (removed.first(), added.first()) else { return 0 };
    old.chars().zip(new.chars()).take_while(|(one, other)| one == other).count()
}

/// A line as it is, or the part of a very long one that matters.
fn window(line: &str, from: usize) -> String {
    let length = line.chars().count();
    if length <= SHOWN {
        return line.to_owned();
    }
    let start = from.saturating_sub(LEAD);
    let part: String = line.chars().skip(start).take(SHOWN).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if start + SHOWN < length { "…" } else { "" };
    format!("{before}{part}{after}")
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn only_what_differs_is_shown() {
        let diff = unified("f", Some("a\nkey\nb\n"), Some("a\nkey,\nnew\nb\n"));
        assert_eq!(diff, "--- f\n+++ f\n@@ -2,1 +2,2 @@\n-key\n+key,\n+new\n");
        let diff = unified("f", Some("a\n"), Some("a\nb\n"));
        assert_eq!(diff, "--- f\n+++ f\n@@ -1,0 +2,1 @@\n+b\n");
        let diff = unified("f", None, Some("a"));
        let end = "\\ No newline at end of file\n";
        assert_eq!(diff, format!("--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+a\n{end}"));
        assert_eq!(unified("f", Some("a\n"), Some("a\n")), "");
        let diff = unified("f", Some("a\na\n"), Some("a\n"));
        assert_eq!(diff, "--- f\n+++ f\n@@ -2,1 +1,0 @@\n-a\n");
    }

    #[test]
    fn of_a_long_line_the_part_that_differs() {
        let long = format!("{}]{}", "x".repeat(500), "y".repeat(500));
        let diff = unified("f", Some(&long), Some(&long.replace(']', ",]")));
        assert!(diff.contains(&format!("-…{}]{}…\n", "x".repeat(30), "y".repeat(129))), "{diff}");
    }
}

//! Wraps prose for a terminal at word boundaries, but never inside a command that a user may copy.
//! Tables, drawings, JSON and diffs have their own layout and are left alone.

use std::borrow::Cow;

use milepost_model::untrusted::GUTTER;
use unicode_width::UnicodeWidthStr;

use crate::limits;

/// Labels that mark a later line as prose too.
const LABELS: [&str; 6] = ["error", "hint: ", "issue: ", "next: ", "note: ", "warning"];
/// The symbols before the name of a step.
const MARKS: &str = "→↻?✓✗–…!·";
/// The text before a command at the end of a line.
const COMMAND: &str = ": milepost ";
/// Indentation of the lines after the first.
const HANG: usize = 2;

/// Wraps a remark or a problem.
pub(crate) fn remark(text: &str, width: usize) -> Cow<'_, str> {
    wrap_where(text, width, HANG, |index, line| {
        let is_drawn = line.contains('\u{1b}') || line.starts_with(['{', '|']);
        let begins = index == 0 || LABELS.iter().any(|label| line.starts_with(label));
        (begins || is_marked(line)) && !is_drawn && !line.starts_with("--- ")
    })
}

/// Wraps a page of Markdown, except for its tables, code and headings.
pub(crate) fn page(text: &str, width: usize) -> Cow<'_, str> {
    let mut in_code = false;
    wrap_where(text, width, 0, |_, line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence && !line.starts_with(['|', '#', '$'])
    })
}

fn wrap_where(
    text: &str,
    width: usize,
    hang: usize,
    mut is_prose: impl FnMut(usize, &str) -> bool,
) -> Cow<'_, str> {
    if width < limits::PROSE_COLUMNS_MIN || text.split('\n').all(|line| line.width() <= width) {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').enumerate().map(|(index, line)| {
        let breaks = is_prose(index, line) && line.width() > width;
        if breaks { wrap_line(line, width, hang) } else { line.to_owned() }
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// Whether a line is about a step.
fn is_marked(line: &str) -> bool {
    let mark = line.strip_prefix("  ").and_then(|rest| rest.chars().next());
    mark.is_some_and(|mark| MARKS.contains(mark))
}

fn wrap_line(line: &str, width: usize, hang: usize) -> String {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    // Continuation lines of a list item are indented to its text, not to its marker.
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let hang = indent
        + match (text.starts_with("- "), number.starts_with(". ")) {
            (true, _) => HANG,
            (_, true) => text.len() - number.len() + HANG,
            _ => hang,
        };
    // A line about a step says why it failed in the words of others, which begin no row.
    let gutter = if is_marked(line) { GUTTER } else { "" };
    let mut shown = " ".repeat(indent);
    let mut used = indent;
    let mut fresh = true;
    for word in words(text) {
        if !fresh && !word.is_empty() && used + 1 + word.width() > width {
            shown.truncate(shown.trim_end_matches(' ').len());
            shown.push('\n');
            shown.push_str(&" ".repeat(hang));
            shown.push_str(gutter);
            (used, fresh) = (hang + gutter.width(), true);
        }
        // Padding between columns is dropped at a line break.
        if fresh && word.is_empty() {
            continue;
        }
        if !fresh {
            shown.push(' ');
            used += 1;
        }
        shown.push_str(word);
        (used, fresh) = (used + word.width(), false);
    }
    shown
}

/// The unbreakable parts of a line: words, text in backticks, and a trailing command with the word
/// before it.
fn words(text: &str) -> Vec<&str> {
    let command = text.find(COMMAND).map(|at| text[..at].rfind(' ').map_or(0, |blank| blank + 1));
    let whole = command.unwrap_or(text.len());
    let mut words = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (at, c) in text[..whole].char_indices() {
        match c {
            // An unclosed backtick is an ordinary character.
            '`' => quoted = !quoted && text[at + 1..whole].contains('`'),
            ' ' if !quoted => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    // A question ends with a space, after which the answer is typed.
    words.push(&text[start..]);
    words
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, width: usize, expected: &Expect) {
        let shown = remark(text, width);
        expected.assert_eq(&shown);
        let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(joined(&shown), joined(text), "nothing is lost");
    }

    #[test]
    fn words_stay_whole() {
        check(
            "error[RUN_NOT_FOUND]: there is no run by this name, either here or elsewhere",
            40,
            &expect![[r"
                error[RUN_NOT_FOUND]: there is no run by
                  this name, either here or elsewhere"]],
        );
        check("hint: short", 40, &expect!["hint: short"]);
    }

    #[test]
    fn what_is_copied_stays_whole() {
        check(
            "hint: see `milepost resume run_00000000000000000000000000 --plan`, then go on",
            40,
            &expect![[r"
                hint: see
                  `milepost resume run_00000000000000000000000000 --plan`,
                  then go on"]],
        );
        check(
            "interrupted: nothing was changed; run it again: milepost approve run_0000000000",
            40,
            &expect![[r"
                interrupted: nothing was changed; run it
                  again: milepost approve run_0000000000"]],
        );
        let next = "next: milepost resume run_00000000000000000000000000 --budget writes=20";
        assert_eq!(remark(next, 40), next);
        check(
            "a ` that nothing closes quotes none of the words after it",
            30,
            &expect![[r"
                a ` that nothing closes quotes
                  none of the words after it"]],
        );
    }

    #[test]
    fn what_is_laid_out_stays_as_it_is() {
        for text in [
            "{\"error\": \"a long line that is for programs and for nobody else\"}",
            "--- a\n+++ b\n+a line of a diff, which stays as it is, however long",
            "\u{1b}[1merror\u{1b}[0m: a drawing that was laid out by somebody else",
            "hint: paste this:\n  a line that belongs to a file, and so stays as it is here",
        ] {
            assert_eq!(remark(text, 40), text);
        }
    }

    #[test]
    fn a_question_ends_with_room_for_the_answer() {
        let asked = remark("Remove catalog `shop` and all its settings? [y/N] ", 40);
        assert_eq!(asked, "Remove catalog `shop` and all its\n  settings? [y/N] ");
    }

    #[test]
    fn lines_about_steps_are_prose() {
        let told = "  ✓ a\n  ✗ b  the server said something that does not fit in here";
        let shown = "  ✓ a\n  ✗ b  the server said something that\n    │ does not fit in here";
        assert_eq!(remark(told, 40), shown);
    }

    #[test]
    fn of_a_page_only_the_prose_is_broken() {
        let text = "# A heading that is longer than the line\n\nA sentence that is longer than \
            the line.\n\n```sh\na command that is longer than the line\n```\n| a row | of a table \
            | that is long |\n";
        expect![[r"
            # A heading that is longer than the line

            A sentence that is longer than
            the line.

            ```sh
            a command that is longer than the line
            ```
            | a row | of a table | that is long |
        "]]
        .assert_eq(&page(text, 30));
    }
}

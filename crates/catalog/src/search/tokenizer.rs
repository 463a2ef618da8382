//! Splits text into words: `listPullRequests`, `pull_requests` and `/pull-requests` contain the
//! same words, and singular and plural are the same word.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use crate::text::WordList;

/// The class of a character for word splitting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letter {
    Small,
    Capital,
    Digit,
    /// A letter outside ASCII, which never splits a word.
    Other,
    Gap,
}

/// Calls `each` with every word in lowercase, skipping URLs.
pub(super) fn words(text: &str, mut each: impl FnMut(&str)) {
    let mut small = String::new();
    let mut begin = 0;
    let mut before = Letter::Gap;
    let mut at = 0;
    while at < text.len() {
        let (letter, width) = letter(text, at);
        if letter == Letter::Gap {
            if text[at..].starts_with("://") {
                at += text[at..].find(char::is_whitespace).unwrap_or(text.len() - at);
            } else {
                give(&text[begin..at], &mut small, &mut each);
                at += width + possessive(&text[at + width..], &text[at..at + width]);
            }
            begin = at;
        } else {
            if letter == Letter::Capital && starts(before, &text.as_bytes()[at + 1..]) {
                give(&text[begin..at], &mut small, &mut each);
                begin = at;
            }
            at += width;
            if letter == Letter::Small {
                // Most letters are lowercase, and a lowercase letter never ends a word.
                at += rest_of_small(&text.as_bytes()[at..]);
            }
        }
        before = letter;
    }
    give(&text[begin..], &mut small, &mut each);
}

fn rest_of_small(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !byte.is_ascii_lowercase()).unwrap_or(bytes.len())
}

#[inline]
fn letter(text: &str, at: usize) -> (Letter, usize) {
    match text.as_bytes()[at] {
        b'a'..=b'z' => (Letter::Small, 1),
        b'A'..=b'Z' => (Letter::Capital, 1),
        b'0'..=b'9' => (Letter::Digit, 1),
        0..=0x7f => (Letter::Gap, 1),
        _ => {
            let c = text[at..].chars().next().unwrap_or_default();
            (if c.is_alphanumeric() { Letter::Other } else { Letter::Gap }, c.len_utf8())
        }
    }
}

/// The number of bytes to skip after the apostrophe in `customer's`.
fn possessive(rest: &str, mark: &str) -> usize {
    let alone = !rest.as_bytes().get(1).is_some_and(u8::is_ascii_alphanumeric);
    usize::from(matches!(mark, "'" | "’") && rest.starts_with('s') && alone)
}

/// Whether an uppercase letter starts a word: `pullRequest`, `HTTPServer`, but not `PRs`.
fn starts(before: Letter, rest: &[u8]) -> bool {
    match (before, rest) {
        (Letter::Small | Letter::Digit | Letter::Other, _) => true,
        (Letter::Capital, [b's', after @ ..]) => after.first().is_some_and(u8::is_ascii_lowercase),
        (Letter::Capital, [next, ..]) => next.is_ascii_lowercase(),
        _ => false,
    }
}

fn give(word: &str, small: &mut String, each: &mut impl FnMut(&str)) {
    if word.is_empty() {
        return;
    }
    if word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        return each(word);
    }
    small.clear();
    if word.is_ascii() {
        small.push_str(word);
        small.make_ascii_lowercase();
    } else {
        small.extend(word.chars().flat_map(char::to_lowercase));
    }
    each(small);
}

/// Words that only look like a plural.
const SINGULAR: WordList = WordList("alias atlas bias canvas https kubernetes news series");

/// Words whose singular follows no rule.
const IRREGULAR: &[(&str, &str)] = &[
    ("aliases", "alias"),
    ("analyses", "analysis"),
    ("caches", "cache"),
    ("children", "child"),
    ("cookies", "cookie"),
    ("diagnoses", "diagnosis"),
    ("indices", "index"),
    ("matrices", "matrix"),
    ("men", "man"),
    ("movies", "movie"),
    ("people", "person"),
    ("statuses", "status"),
    ("vertices", "vertex"),
    ("women", "woman"),
];

/// The singular of a word; anything else is returned unchanged.
pub(super) fn normal(word: &str) -> Cow<'_, str> {
    if let Ok(found) = IRREGULAR.binary_search_by(|(plural, _)| (*plural).cmp(word)) {
        return Cow::Borrowed(IRREGULAR[found].1);
    }
    if SINGULAR.contains(word) || word.len() < 4 && word != "prs" && word != "ids" {
        return Cow::Borrowed(word);
    }
    let Some(stem) = word.strip_suffix('s') else { return Cow::Borrowed(word) };
    if stem.ends_with(['s', 'u', 'i']) || !stem.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return Cow::Borrowed(word);
    }
    if let Some(root) = stem.strip_suffix("ie").filter(|root| root.len() > 2) {
        return Cow::Owned(format!("{root}y"));
    }
    match stem.strip_suffix('e') {
        Some(root) if ["ss", "ch", "sh", "x", "zz"].iter().any(|end| root.ends_with(end)) => {
            Cow::Borrowed(root)
        }
        _ => Cow::Borrowed(stem),
    }
}

/// Words that reveal nothing about the subject of a command.
static STOP: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let words = "a about across all also am an and any anyone are as at be been belonging but \
        by can could \
        do does each every for from given has have here how i if in inside into is it its let me \
        my need no not of on one onto or our out please some somebody someone something specific \
        specified that the their them then there these they this those through to two under us \
        using via want was we what when where which who whose will with within would you your";
    words.split_whitespace().collect()
});

/// Whether a word reveals nothing about the subject of a command.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(word)
}

/// Words that introduce what the preceding resource belongs to: `labels of an issue`.
const RELATIONS: &[&str] = &[
    "across", "as", "at", "by", "for", "from", "in", "inside", "into", "of", "on", "onto",
    "through", "to", "under", "via", "with", "within",
];

/// Whether a word introduces what the preceding resource belongs to.
pub(super) fn is_relation(word: &str) -> bool {
    RELATIONS.binary_search(&word).is_ok()
}

/// Whether a word introduces a noun, so that a verb precedes it: `pay an invoice`.
pub(super) fn is_article(word: &str) -> bool {
    matches!(word, "a" | "an" | "the" | "my" | "this" | "that" | "some" | "all" | "someone")
}

#[cfg(test)]
mod tests {
    use super::{IRREGULAR, RELATIONS, normal, words};

    fn split(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        words(text, |word| all.push(word.to_owned()));
        all
    }

    #[test]
    fn every_spelling_gives_the_same_words() {
        for text in [
            "createPullRequest",
            "create_pull-request",
            "Create pull request",
            "/create/Pull.request",
        ] {
            assert_eq!(split(text), ["create", "pull", "request"], "{text}");
        }
        assert_eq!(split("HTTPServer"), ["http", "server"]);
        assert_eq!(split("list PRs and IDs"), ["list", "prs", "and", "ids"]);
        assert_eq!(split("projectsV2"), ["projects", "v2"]);
        assert_eq!(split("a customer's card"), ["a", "customer", "card"]);
        assert_eq!(split("see https://example.com/x for Ünïcode"), ["see", "for", "ünïcode"]);
        assert_eq!(split("!!! ???"), [""; 0]);
    }

    #[test]
    fn plurals() {
        let cases = [
            ("repositories", "repository"),
            ("branches", "branch"),
            ("classes", "class"),
            ("releases", "release"),
            ("statuses", "status"),
            ("status", "status"),
            ("pods", "pod"),
            ("access", "access"),
            ("indexes", "index"),
            ("people", "person"),
            ("series", "series"),
            ("keys", "key"),
            ("this", "this"),
            ("prs", "pr"),
            ("analysis", "analysis"),
            ("größe", "größe"),
        ];
        for (plural, expected) in cases {
            assert_eq!(normal(plural), expected, "{plural}");
        }
    }

    #[test]
    fn tables_are_sorted() {
        assert!(RELATIONS.is_sorted());
        assert!(IRREGULAR.is_sorted_by_key(|(plural, _)| *plural));
    }
}

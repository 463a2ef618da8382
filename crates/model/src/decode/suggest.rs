//! "Did you mean" suggestions: finds the candidate that was clearly meant, if there is one.

use std::fmt::Display;

use crate::limits;
use crate::secret::known_secrets;

/// The candidate most similar to a word, if it is similar enough and there is no tie.
pub fn nearest<'c, S: AsRef<str> + ?Sized + 'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c S>,
) -> Option<&'c str> {
    match near(word, candidates).as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

/// All candidates that are similar enough to a word and tie for the smallest distance.
pub(crate) fn near<'c, S: AsRef<str> + ?Sized + 'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c S>,
) -> Vec<&'c str> {
    // The word is longer than any name, so nothing is similar, and comparing would be slow.
    if word.len() > 4 * limits::ID_CHARS {
        return Vec::new();
    }
    let folded = fold(word);
    let sketch = Sketch::of(&folded);
    let mut least = (sketch.length / 3).clamp(1, 4);
    let mut best: Vec<&str> = Vec::new();
    for candidate in candidates.into_iter().take(limits::SUGGESTION_CANDIDATES) {
        let candidate = candidate.as_ref();
        let target = fold(candidate);
        let target_sketch = Sketch::of(&target);
        // Most candidates differ so much that comparing letter by letter is unnecessary.
        if sketch.distance_is_over(least, &target_sketch) {
            continue;
        }
        let distance = strsim::osa_distance(&folded, &target);
        let far = distance > least || distance >= target_sketch.length;
        if far || candidate == word || best.contains(&candidate) {
            continue;
        }
        if distance < least {
            best.clear();
            least = distance;
        }
        best.push(candidate);
    }
    best
}

/// The first of the most similar candidates, for hints, which unlike fixes need not be certain.
pub fn closest<'c, S: AsRef<str> + ?Sized + 'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c S>,
) -> Option<&'c str> {
    near(word, candidates).into_iter().min()
}

/// Like [`nearest`], for a fixed vocabulary, in which abbreviations such as `int` and `desc` are
/// unambiguous too.
pub fn nearest_word<'c, S: AsRef<str> + ?Sized + 'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c S> + Clone,
) -> Option<&'c str> {
    let near = nearest(word, candidates.clone());
    let folded = fold(word);
    if near.is_some() || folded.chars().count() < 3 {
        return near;
    }
    let candidates = candidates.into_iter().map(AsRef::as_ref);
    let mut longer = candidates.filter(|candidate: &&str| fold(candidate).starts_with(&folded));
    longer.next().filter(|_| longer.next().is_none())
}

/// Normalizes a word, so that `dependsOn`, `depends-on` and `depends_on` are equal.
fn fold(word: &str) -> String {
    let letters = word.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

/// The length of a folded word and the letters it contains.
struct Sketch {
    length: usize,
    letters: u128,
}

impl Sketch {
    fn of(folded: &str) -> Sketch {
        let letter = |c: char| 1_u128 << (u32::from(c) % 128);
        let letters = folded.chars().fold(0, |letters, c| letters | letter(c));
        Sketch { length: folded.chars().count(), letters }
    }

    /// Whether the edit distance is certain to exceed a limit. Each edit changes the length by at
    /// most one, adds at most one letter and removes at most one.
    fn distance_is_over(&self, allowed: usize, other: &Sketch) -> bool {
        let removed = (self.letters & !other.letters).count_ones();
        let added = (other.letters & !self.letters).count_ones();
        self.length.abs_diff(other.length) > allowed || removed.max(added) as usize > allowed
    }
}

/// Truncates text to fit into a sentence.
pub fn excerpt(text: &str) -> String {
    match known_secrets::beginning(text, limits::EXCERPT_CHARS) {
        beginning if beginning.len() < text.len() => format!("{beginning}…"),
        whole => whole.to_owned(),
    }
}

/// A list for a message: `a`, `b` or `c`, truncated after eight.
pub fn list<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let mut words = words.into_iter();
    let shown = words.by_ref().take(8).map(|word| format!("`{}`", word.as_ref()));
    let shown: Vec<String> = shown.collect();
    let rest = words.count();
    match shown.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [most @ .., last] if rest == 0 => format!("{} or {last}", most.join(", ")),
        some => format!("{} and {rest} more", some.join(", ")),
    }
}

/// A message without the system's error number, such as `(os error 2)`.
pub fn without_error_number(text: &str) -> String {
    let Some((before, rest)) = text.split_once(" (os error ") else { return text.to_owned() };
    format!("{before}{}", rest.split_once(')').map_or("", |(_, after)| after))
}

/// `1 step`, `2 steps`, `3 passes`.
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let plural = if noun.ends_with(['s', 'h']) { "es" } else { "s" };
    format!("{number} {noun}{}", if number == N::from(1) { "" } else { plural })
}

/// `a string`, `an integer`, `null`.
pub fn with_article(noun: &str) -> String {
    if noun == "null" {
        return noun.to_owned();
    }
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

/// A value as people write it: a string without quotes, anything else as JSON.
pub fn plain_text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The identifier that a string was probably meant to be.
pub(crate) fn slug(text: &str, dots: bool) -> Option<String> {
    let mut slug = String::new();
    let mut before = ' ';
    // Reads more characters than an id can have, since a run of punctuation becomes one `-`.
    for c in text.chars().take(2 * limits::ID_CHARS) {
        let boundary = c.is_ascii_uppercase() && before.is_ascii_lowercase();
        before = c;
        if boundary {
            slug.push('-');
        }
        match c {
            'a'..='z' | '0'..='9' | '_' => slug.push(c),
            'A'..='Z' => slug.push(c.to_ascii_lowercase()),
            '.' if dots && !slug.contains('.') => slug.push('.'),
            _ if !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let slug: String = slug.trim_matches(['-', '_', '.']).chars().take(limits::ID_CHARS).collect();
    (!slug.is_empty()).then_some(slug)
}

#[cfg(test)]
mod tests {
    use super::{count, nearest, nearest_word, slug, with_article, without_error_number};

    #[test]
    fn words_agree_with_what_they_stand_beside() {
        assert_eq!(
            [count(0, "run"), count(1, "run"), count(2, "run")],
            ["0 runs", "1 run", "2 runs"]
        );
        assert_eq!([count(1, "match"), count(2, "match")], ["1 match", "2 matches"]);
        assert_eq!(
            ["null", "object", "string"].map(with_article),
            ["null", "an object", "a string"]
        );
    }

    #[test]
    fn the_number_of_an_error_is_left_out() {
        let told = "cannot open `a`: No such file (os error 2); create it";
        assert_eq!(without_error_number(told), "cannot open `a`: No such file; create it");
        assert_eq!(without_error_number("no luck"), "no luck");
    }

    #[test]
    fn one_clear_candidate_or_none() {
        let keys = ["depends_on", "timeout", "title", "retry"];
        assert_eq!(nearest("dependsOn", keys), Some("depends_on"));
        assert_eq!(nearest("tiemout", keys), Some("timeout"));
        assert_eq!(nearest("xyz", keys), None);
        assert_eq!(nearest("ab", ["ac", "ad"]), None, "two are equally near");
        assert_eq!(nearest("x", ["y"]), None, "one letter is not enough");
    }

    #[test]
    fn abbreviations_of_a_vocabulary() {
        let words = ["integer", "string", "output_schema", "output_contract"];
        assert_eq!(nearest_word("int", words), Some("integer"));
        assert_eq!(nearest("int", words), None);
        assert_eq!(nearest_word("output", words), None, "two start with it");
        assert_eq!(nearest_word("st", words), None, "two letters are not enough");
    }

    #[test]
    fn slugs() {
        assert_eq!(slug("Refund Order!", true).as_deref(), Some("refund-order"));
        assert_eq!(slug("refundOrder", true).as_deref(), Some("refund-order"));
        assert_eq!(slug("wr.Thing", true).as_deref(), Some("wr.thing"));
        assert_eq!(slug("wr.Thing", false).as_deref(), Some("wr-thing"));
        assert_eq!(slug("???", true), None);
    }
}

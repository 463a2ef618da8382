//! "Did you mean": the one candidate that is clearly meant, or none.

use crate::limits;

/// The candidate nearest to a word, when it is near and no other is as near.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    match near(word, candidates).as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

/// The candidates that are near to a word and to which no other is nearer.
pub(crate) fn near<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Vec<&'c str> {
    // Longer than any name there is: nothing is near it, and looking would take long.
    if word.len() > 4 * limits::ID_CHARS {
        return Vec::new();
    }
    let folded = fold(word);
    let sketch = Sketch::of(word);
    let mut least = (sketch.length / 3).clamp(1, 4);
    let mut best: Vec<&str> = Vec::new();
    for candidate in candidates.into_iter().take(limits::SUGGESTION_CANDIDATES) {
        // Most candidates are far away, and that is seen without comparing letter by letter.
        if sketch.distance_is_over(least, &Sketch::of(candidate)) {
            continue;
        }
        let target = fold(candidate);
        let distance = strsim::osa_distance(&folded, &target);
        let far = distance > least || distance >= target.chars().count();
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

/// The first of the nearest, for those who only look: a fix needs to be certain, a hint does not.
pub fn closest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    near(word, candidates).into_iter().min()
}

/// The same for words of a fixed vocabulary, where an abbreviation is clear as well: `int`, `desc`.
pub fn nearest_word<'c>(
    word: &str,
    candidates: impl IntoIterator<Item = &'c str> + Clone,
) -> Option<&'c str> {
    let near = nearest(word, candidates.clone());
    let folded = fold(word);
    if near.is_some() || folded.chars().count() < 3 {
        return near;
    }
    let mut longer =
        candidates.into_iter().filter(|candidate| fold(candidate).starts_with(&folded));
    longer.next().filter(|_| longer.next().is_none())
}

/// `dependsOn`, `depends-on` and `depends_on` are one word in three spellings.
fn fold(word: &str) -> String {
    letters(word).collect()
}

fn letters(word: &str) -> impl Iterator<Item = char> {
    word.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.')).flat_map(char::to_lowercase)
}

/// How long a folded word is and which letters it has.
struct Sketch {
    length: usize,
    letters: u128,
}

impl Sketch {
    fn of(word: &str) -> Sketch {
        letters(word).fold(Sketch { length: 0, letters: 0 }, |sketch, letter| Sketch {
            length: sketch.length + 1,
            letters: sketch.letters | 1 << (u32::from(letter) % 128),
        })
    }

    /// Each edit changes the length by one at most, and brings or takes one letter at most.
    fn distance_is_over(&self, allowed: usize, other: &Sketch) -> bool {
        let lost = (self.letters & !other.letters)
            .count_ones()
            .max((other.letters & !self.letters).count_ones());
        self.length.abs_diff(other.length) > allowed || lost as usize > allowed
    }
}

/// A text as it fits into a sentence.
pub fn excerpt(text: &str) -> String {
    match text.char_indices().nth(limits::EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A list for a message: `a`, `b` or `c`, cut after eight.
pub fn list<'c>(words: impl IntoIterator<Item = &'c str>) -> String {
    let mut words = words.into_iter();
    let shown: Vec<String> = words.by_ref().take(8).map(|word| format!("`{word}`")).collect();
    let rest = words.count();
    match shown.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [most @ .., last] if rest == 0 => format!("{} or {last}", most.join(", ")),
        some => format!("{} and {rest} more", some.join(", ")),
    }
}

/// `a string`, `an integer`.
pub fn with_article(noun: &str) -> String {
    let vowel = noun.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {noun}", if vowel { "an" } else { "a" })
}

/// The identifier a text was probably meant to be.
pub(crate) fn slug(text: &str, dots: bool) -> Option<String> {
    let mut slug = String::new();
    let mut before = ' ';
    // Twice the length is enough, since runs of signs become one `-`.
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
    use super::{nearest, nearest_word, slug};

    #[test]
    fn one_clear_candidate_or_none() {
        let keys = ["depends_on", "timeout", "title", "retry"];
        assert_eq!(nearest("dependsOn", keys), Some("depends_on"));
        assert_eq!(nearest("tiemout", keys), Some("timeout"));
        assert_eq!(nearest("xyz", keys), None);
        assert_eq!(nearest("ab", ["ac", "ad"]), None, "two are as near");
        assert_eq!(nearest("x", ["y"]), None, "one letter says nothing");
    }

    #[test]
    fn abbreviations_of_a_vocabulary() {
        let words = ["integer", "string", "output_schema", "output_contract"];
        assert_eq!(nearest_word("int", words), Some("integer"));
        assert_eq!(nearest("int", words), None);
        assert_eq!(nearest_word("output", words), None, "two begin so");
        assert_eq!(nearest_word("st", words), None, "two letters say little");
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

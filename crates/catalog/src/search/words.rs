//! Text as words: `listPullRequests`, `pull_requests` and `/pull-requests` are the same words,
//! and a word is the same in singular and plural.

/// Calls `each` with every word, in small letters as it stands.
pub(super) fn words(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    for chunk in text.split_whitespace().filter(|chunk| !chunk.contains("://")) {
        let mut before = ' ';
        let mut letters = chunk.chars().peekable();
        while let Some(c) = letters.next() {
            if !c.is_alphanumeric() {
                // `customer's` is the word `customer`; `don't` is no word we need.
                let possessive = matches!(c, '\'' | '’') && letters.peek() == Some(&'s');
                if possessive {
                    letters.next();
                }
                end(&mut word, &mut each);
            } else {
                if c.is_uppercase() && starts(before, letters.clone()) {
                    end(&mut word, &mut each);
                }
                word.extend(c.to_lowercase());
            }
            before = c;
        }
        end(&mut word, &mut each);
    }
}

/// Whether a capital letter begins a word: `pullRequest`, `HTTPServer`, but not `PRs`.
fn starts(before: char, mut rest: impl Iterator<Item = char>) -> bool {
    if before.is_lowercase() || before.is_ascii_digit() {
        return true;
    }
    match (rest.next(), rest.next()) {
        (Some('s'), after) => before.is_uppercase() && after.is_some_and(char::is_lowercase),
        (Some(next), _) => before.is_uppercase() && next.is_lowercase(),
        _ => false,
    }
}

fn end(word: &mut String, each: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        each(word);
        word.clear();
    }
}

/// Words whose singular follows no rule, or that only look like a plural.
const IRREGULAR: &[(&str, &str)] = &[
    ("alias", "alias"),
    ("aliases", "alias"),
    ("analyses", "analysis"),
    ("atlas", "atlas"),
    ("aws", "aws"),
    ("bias", "bias"),
    ("caches", "cache"),
    ("canvas", "canvas"),
    ("children", "child"),
    ("cookies", "cookie"),
    ("diagnoses", "diagnosis"),
    ("dns", "dns"),
    ("gas", "gas"),
    ("gps", "gps"),
    ("has", "has"),
    ("https", "https"),
    ("indices", "index"),
    ("ios", "ios"),
    ("kubernetes", "kubernetes"),
    ("matrices", "matrix"),
    ("men", "man"),
    ("movies", "movie"),
    ("news", "news"),
    ("people", "person"),
    ("series", "series"),
    ("sms", "sms"),
    ("statuses", "status"),
    ("tls", "tls"),
    ("vertices", "vertex"),
    ("was", "was"),
    ("women", "woman"),
];

/// A word in singular; anything else stays as it is.
pub(super) fn singular(word: &str) -> &str {
    if let Ok(found) = IRREGULAR.binary_search_by(|(plural, _)| plural.cmp(&word)) {
        return IRREGULAR[found].1;
    }
    if word.len() < 4 && word != "prs" && word != "ids" {
        return word;
    }
    let Some(stem) = word.strip_suffix('s') else { return word };
    if stem.ends_with(['s', 'u', 'i']) || !stem.ends_with(|c: char| c.is_ascii_alphabetic()) {
        return word;
    }
    match stem.strip_suffix('e') {
        Some(root) if ["ss", "ch", "sh", "x", "zz"].iter().any(|end| root.ends_with(end)) => root,
        _ => stem,
    }
}

/// The singular as text of its own: `repositories` → `repository` cannot be a part of the plural.
pub(super) fn normal(word: &str) -> String {
    match word.strip_suffix("ies") {
        Some(root) if root.len() > 2 && singular(word) != word => {
            let found = IRREGULAR.binary_search_by(|(plural, _)| (*plural).cmp(word));
            found.map_or_else(|_| format!("{root}y"), |found| IRREGULAR[found].1.to_owned())
        }
        _ => singular(word).to_owned(),
    }
}

/// Words that say nothing of what a command is about.
const STOP: &[&str] = &[
    "a", "about", "across", "all", "also", "am", "an", "and", "any", "anyone", "are", "as", "at",
    "be", "been", "belonging", "but", "by", "can", "could", "do", "does", "each", "every", "for",
    "from", "given", "has", "have", "here", "how", "i", "if", "in", "inside", "into", "is", "it",
    "its", "let", "me", "my", "need", "no", "not", "of", "on", "one", "onto", "or", "our", "out",
    "please", "some", "somebody", "someone", "something", "specific", "specified", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "through", "to", "two",
    "under", "us", "using", "via", "want", "was", "we", "what", "when", "where", "which", "who",
    "whose", "will", "with", "within", "would", "you", "your",
];

/// Whether a word says nothing of what a command is about.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// Words behind which stands what the thing before belongs to: `labels of an issue`.
const RELATIONS: &[&str] = &[
    "across", "as", "at", "by", "for", "from", "in", "inside", "into", "of", "on", "onto",
    "through", "to", "under", "via", "with", "within",
];

/// Whether what follows a word is what the thing before belongs to.
pub(super) fn is_relation(word: &str) -> bool {
    RELATIONS.binary_search(&word).is_ok()
}

/// Whether a word announces a thing: `pay an invoice` has a verb before it.
pub(super) fn is_article(word: &str) -> bool {
    matches!(word, "a" | "an" | "the" | "my" | "this" | "that" | "some" | "all" | "someone")
}

#[cfg(test)]
mod tests {
    use super::{IRREGULAR, RELATIONS, STOP, normal, words};

    fn split(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        words(text, |word| all.push(word.to_owned()));
        all
    }

    #[test]
    fn every_spelling_gives_the_same_words() {
        for text in ["createPullRequest", "create_pull-request", "Create pull request", "/create/Pull.request"] {
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
            ("ünïs", "ünï"),
        ];
        for (plural, expected) in cases {
            assert_eq!(normal(plural), expected, "{plural}");
        }
    }

    #[test]
    fn tables_are_sorted() {
        assert!(STOP.is_sorted() && RELATIONS.is_sorted());
        assert!(IRREGULAR.is_sorted_by_key(|(plural, _)| *plural));
    }
}

//! All distinct words in all entries, each with a number, and lookup of words similar to an unknown
//! one.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use super::stem::stem;
use super::tokenizer;
use crate::limits::{SEARCH_NEAR_WORDS, SEARCH_WORD_CHARS};

/// The number that identifies a word.
pub(super) type Term = u32;

/// Collects words and numbers them.
#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// Words as written, so that each is normalized only once.
    seen: HashMap<Box<str>, Option<Term>, RandomState>,
    ids: HashMap<Box<str>, Term, RandomState>,
    texts: Vec<Box<str>>,
}

impl Gathering {
    /// The number of a word as written; `None` if the word carries no meaning.
    pub(super) fn term(&mut self, word: &str) -> Option<Term> {
        if let Some(term) = self.seen.get(word) {
            return *term;
        }
        let term = says_something(word).then(|| self.number(&tokenizer::normal(word)));
        self.seen.insert(word.into(), term);
        term
    }

    fn number(&mut self, normal: &str) -> Term {
        *self.ids.entry(normal.into()).or_insert_with(|| {
            self.texts.push(normal.into());
            self.texts.len() as Term - 1
        })
    }

    /// Returns the finished vocabulary.
    pub(super) fn finish(self) -> Vocabulary {
        let mut sorted: Vec<Term> = (0..self.texts.len() as Term).collect();
        sorted.sort_unstable_by_key(|term| &self.texts[*term as usize]);
        let mut families: BTreeMap<String, Vec<Term>> = BTreeMap::new();
        for term in &sorted {
            families.entry(stem(&self.texts[*term as usize])).or_default().push(*term);
        }
        families.retain(|root, terms| terms.len() > 1 || &*self.texts[terms[0] as usize] != root);
        Vocabulary { texts: self.texts, sorted, families }
    }
}

fn says_something(word: &str) -> bool {
    // `me` is kept because many paths use it for the caller.
    let stop = tokenizer::is_stop(word) && word != "me";
    word.chars().nth(1).is_some() && word.len() <= SEARCH_WORD_CHARS && !stop
}

/// All distinct words.
#[derive(Debug)]
pub(super) struct Vocabulary {
    texts: Vec<Box<str>>,
    /// The terms sorted by text.
    sorted: Vec<Term>,
    /// Terms by stem, without stems whose only term is the stem itself.
    families: BTreeMap<String, Vec<Term>>,
}

impl Vocabulary {
    /// The number of a normalized word.
    pub(super) fn term(&self, normal: &str) -> Option<Term> {
        let found = self.sorted.binary_search_by(|term| (*self.texts[*term as usize]).cmp(normal));
        found.ok().map(|at| self.sorted[at])
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Words with the same stem.
    pub(super) fn family(&self, normal: &str, mut each: impl FnMut(Term)) {
        let root = stem(normal);
        self.families.get(&root).into_iter().flatten().for_each(|term| each(*term));
        self.term(&root).into_iter().for_each(each);
    }

    /// Words that start with this one, shortest first.
    pub(super) fn beginning(&self, normal: &str) -> Vec<Term> {
        let text = |term: &Term| &*self.texts[*term as usize];
        let from = self.sorted.partition_point(|term| text(term) < normal);
        let run = self.sorted[from..].iter().take_while(|term| text(term).starts_with(normal));
        let mut found: Vec<Term> = run.copied().filter(|term| text(term) != normal).collect();
        found.sort_by_key(|term| text(term).len());
        found.truncate(SEARCH_NEAR_WORDS);
        found
    }

    /// Words that differ by one substituted, inserted, deleted or transposed letter.
    pub(super) fn misspelled(&self, normal: &str) -> Vec<Term> {
        let near =
            self.sorted.iter().filter(|term| one_apart(&self.texts[**term as usize], normal));
        near.copied().take(SEARCH_NEAR_WORDS).collect()
    }

    /// The two known words that a word is composed of, as in `configmap`.
    pub(super) fn halves(&self, normal: &str) -> Option<(Term, Term)> {
        let cuts = 3..normal.len().saturating_sub(2);
        cuts.filter(|cut| normal.is_char_boundary(*cut)).find_map(|cut| {
            let (one, other) = normal.split_at(cut);
            Some((self.term(one)?, self.term(other)?))
        })
    }
}

fn one_apart(one: &str, other: &str) -> bool {
    if one.len().abs_diff(other.len()) > 1 {
        return false;
    }
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[same..], &other[same..]);
    match one.len().cmp(&other.len()) {
        std::cmp::Ordering::Less => one == &other[1..],
        std::cmp::Ordering::Greater => &one[1..] == other,
        std::cmp::Ordering::Equal => match (one, other) {
            ([], []) => true,
            ([a, b, rest @ ..], [c, d, last @ ..]) if a == d && b == c => rest == last,
            _ => one[1..] == other[1..],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Gathering, one_apart};

    #[test]
    fn near_words() {
        let mut gathering = Gathering::default();
        for word in ["deployments", "deploy", "pod", "pods", "podtemplate", "config", "map", "the"]
        {
            gathering.term(word);
        }
        let vocabulary = gathering.finish();
        assert_eq!(vocabulary.len(), 6);
        let pod = vocabulary.term("pod").expect("known");
        assert_eq!(vocabulary.beginning("po")[0], pod, "the shortest first");
        let mut family = Vec::new();
        vocabulary.family("deploying", |term| family.push(term));
        family.sort_unstable();
        family.dedup();
        assert_eq!(family.len(), 2);
        assert_eq!(
            vocabulary.misspelled("depoyment"),
            [vocabulary.term("deployment").expect("known")]
        );
        assert!(vocabulary.halves("configmap").is_some());
        assert_eq!(vocabulary.halves("ünïcödé"), None);
        assert_eq!(vocabulary.term("the"), None);
    }

    #[test]
    fn one_letter() {
        for (one, other) in
            [("abc", "abc"), ("abc", "abd"), ("abc", "acb"), ("abc", "ab"), ("bc", "abc")]
        {
            assert!(one_apart(one, other), "{one} {other}");
        }
        for (one, other) in [("abc", "ade"), ("abcd", "badc"), ("abc", "a"), ("", "ab")] {
            assert!(!one_apart(one, other), "{one} {other}");
        }
    }
}

//! Parses a query into its intent and the words that must, should or may match.

use super::intent::{ENDS, Intent, LOOKS};
use super::synonyms::{self, PHRASES};
use super::tokenizer::{self, is_article, is_relation, is_stop};
use super::vocabulary::{Term, Vocabulary};
use crate::command::Method;
use crate::limits::{SEARCH_MENDED_WORDS, SEARCH_QUERY_CHARS, SEARCH_QUERY_WORDS};
use crate::naming;

/// A query word with all terms that may match it.
#[derive(Debug)]
pub(super) struct Concept {
    /// Distinct terms, each with the confidence that it means the word.
    pub(super) terms: Terms,
    pub(super) role: Role,
}

/// The role of a word in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The requested action: create, list.
    Verb,
    /// The resource that the action applies to, or an action that is not a known verb.
    Head,
    /// What the resource belongs to.
    Context,
    /// Optional: `my` repositories.
    Hint,
}

/// A parsed query.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) concepts: Vec<Concept>,
    pub(super) intent: Intent,
    /// The method that the verb names: `patch`.
    pub(super) method: Option<Method>,
    /// The concept that names the resource: the last one before its context.
    pub(super) thing: Option<usize>,
    /// The concept of an action that is not a known verb: `merge`.
    pub(super) deed: Option<usize>,
    /// Whether the query is about everything: `delete all pods`.
    pub(super) whole: bool,
}

/// A query word before it is looked up.
struct Token {
    text: String,
    plural: bool,
    role: Role,
    /// Whether it is a verb without a known intent.
    deed: bool,
    /// Whether it directly follows the previous token.
    joins: bool,
}

impl Query {
    pub(super) fn of(text: &str, vocabulary: &Vocabulary) -> Query {
        let words = rewritten(text, vocabulary);
        let whole = words.iter().any(|word| matches!(&**word, "all" | "every" | "everything"));
        let mine = words.iter().any(|word| matches!(&**word, "my" | "mine" | "me"));
        let verb = asked(&words);
        let tokens = tokens(&words, verb.as_ref().map(|(at, _)| *at));
        let is_head = |token: &Token| token.role == Role::Head;
        let thing = tokens.iter().rposition(is_head);
        let plural = thing.is_some_and(|at| tokens[at].plural);
        let intent = match verb {
            Some((_, Intent::Get)) if plural => Intent::List,
            Some((_, intent)) => intent,
            None if plural => Intent::Things,
            None => Intent::Thing,
        };
        let deed = match intent {
            Intent::Act | Intent::End | Intent::Look => tokens.iter().position(is_head),
            _ => None,
        };
        let mut concepts: Vec<Concept> =
            tokens.iter().map(|token| concept(token, intent, vocabulary)).collect();
        join(&tokens, &mut concepts, vocabulary);
        complete(&tokens, &mut concepts, vocabulary);
        let method = tokens.iter().find(|token| token.role == Role::Verb);
        let method = method.and_then(|token| match &*token.text {
            "replace" => Some(Method::Put),
            verb => Method::parse(verb).filter(|method| *method != Method::Get),
        });
        if mine {
            let mut terms = Terms::default();
            for word in ["authenticated", "me", "my", "own", "current", "self"] {
                terms.add(vocabulary.term(word), 1.0);
            }
            concepts.push(Concept { terms, role: Role::Hint });
        }
        Query { concepts, intent, method, thing, deed, whole }
    }
}

/// A query's words, with phrases and abbreviations expanded if the documents use the expanded form.
fn rewritten(text: &str, vocabulary: &Vocabulary) -> Vec<String> {
    let short: String = text.chars().take(SEARCH_QUERY_CHARS).collect();
    let mut all: Vec<String> = Vec::new();
    tokenizer::words(&short, |word| all.push(word.to_owned()));
    all.truncate(SEARCH_QUERY_WORDS);
    let mut rewritten: Vec<String> = Vec::new();
    let mut rest = &all[..];
    while let [first, after @ ..] = rest {
        let phrase = PHRASES.iter().find(|(said, meant)| {
            said.len() <= rest.len()
                && said.iter().zip(rest).all(|(word, other)| word == other)
                && meant.iter().all(|word| knows(word, vocabulary))
        });
        if let Some((said, meant)) = phrase {
            rewritten.extend(meant.iter().map(|word| (*word).to_owned()));
            rest = &rest[said.len()..];
        } else {
            rewritten.push(first.clone());
            rest = after;
        }
    }
    rewritten
}

fn knows(word: &str, vocabulary: &Vocabulary) -> bool {
    let normal = tokenizer::normal(word);
    is_stop(word) || synonyms::intent(word).is_some() || vocabulary.term(&normal).is_some()
}

/// The position of the verb in a query, and its intent.
fn asked(words: &[String]) -> Option<(usize, Intent)> {
    let at = words.iter().position(|word| !is_stop(word))?;
    let first = &*words[at];
    if words.len() == at + 1 {
        return None;
    }
    let next = words.get(at + 1).map(String::as_str).unwrap_or_default();
    let intent = match synonyms::intent(first) {
        Some(intent) => intent,
        None if LOOKS.contains(first) => Intent::Look,
        None if ENDS.contains(first) => Intent::End,
        None if naming::is_verb(first) || is_article(next) => Intent::Act,
        None if matches!(next, "of" | "for" | "in" | "by" | "from" | "with") => return None,
        None if is_relation(next) => Intent::Act,
        None => return None,
    };
    Some((at, intent))
}

fn tokens(words: &[String], verb: Option<usize>) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut role = Role::Head;
    let mut joins = false;
    for (at, word) in words.iter().enumerate() {
        if is_stop(word) || word.chars().nth(1).is_none() {
            if is_relation(word) && tokens.iter().any(|token: &Token| token.role == Role::Head) {
                role = Role::Context;
            }
            joins = false;
            continue;
        }
        let ours = verb == Some(at) && synonyms::intent(word).is_some();
        let role = if ours { Role::Verb } else { role };
        tokens.push(Token {
            text: tokenizer::normal(word).into_owned(),
            plural: tokenizer::normal(word) != *word,
            role,
            deed: verb == Some(at) && !ours && naming::is_verb(word),
            joins,
        });
        joins = true;
    }
    // If the query is only a verb, search for the verb itself.
    if tokens.iter().all(|token| token.role == Role::Verb) {
        tokens.iter_mut().for_each(|token| token.role = Role::Head);
    }
    tokens
}

/// All terms that may match a word.
fn concept(token: &Token, intent: Intent, vocabulary: &Vocabulary) -> Concept {
    let mut terms = Terms::default();
    let word = &*token.text;
    terms.add(vocabulary.term(word), 1.0);
    synonyms::of(word, |other, sure| terms.add(vocabulary.term(other), sure));
    if token.role == Role::Verb {
        let verbs = synonyms::verbs(intent).iter();
        verbs.for_each(|verb| terms.add(vocabulary.term(verb), 0.8));
    }
    vocabulary.family(word, |term| terms.add(Some(term), 0.75));
    // If an API has no such action, an update often does the same: `close an issue`.
    if token.deed {
        let verbs = ["update", "edit", "change", "modify"];
        verbs.iter().for_each(|verb| terms.add(vocabulary.term(verb), 0.4));
    }
    Concept { terms, role: token.role }
}

/// Adjacent words may be a single word in a document: `config map`, `configmaps`.
fn join(tokens: &[Token], concepts: &mut [Concept], vocabulary: &Vocabulary) {
    for from in 0..tokens.len() {
        let mut joined = tokens[from].text.clone();
        for to in from + 1..tokens.len().min(from + 4) {
            if !tokens[to].joins || tokens[from].role == Role::Verb {
                break;
            }
            joined.push_str(&tokens[to].text);
            if let Some(term) = vocabulary.term(&joined) {
                let joined = concepts[from..=to].iter_mut();
                joined.for_each(|concept| concept.terms.add(Some(term), 1.0));
            }
        }
    }
}

/// Handles unknown words: two words in one, a prefix, or a misspelling.
fn complete(tokens: &[Token], concepts: &mut Vec<Concept>, vocabulary: &Vocabulary) {
    let last = concepts.len().saturating_sub(1);
    let mut mended = 0;
    for at in 0..concepts.len() {
        let word = &*tokens[at].text;
        let terms = &mut concepts[at].terms;
        let known = !terms.0.is_empty();
        let letters = word.chars().count();
        if !known {
            if letters >= 3 {
                vocabulary.beginning(word).iter().for_each(|term| terms.add(Some(*term), 0.6));
            }
            if letters >= 5 && mended < SEARCH_MENDED_WORDS {
                mended += 1;
                vocabulary.misspelled(word).iter().for_each(|term| terms.add(Some(*term), 0.7));
            }
            if let Some((one, other)) = vocabulary.halves(word).filter(|_| terms.0.is_empty()) {
                terms.add(Some(one), 0.8);
                let terms = Terms(vec![(other, 0.8)]);
                concepts.push(Concept { terms, role: Role::Hint });
            }
        } else if at == last && letters >= 3 {
            vocabulary.beginning(word).iter().for_each(|term| terms.add(Some(*term), 0.35));
        }
    }
}

/// Terms with confidence; for duplicates the higher confidence wins.
#[derive(Debug, Default)]
pub(super) struct Terms(pub(super) Vec<(Term, f32)>);

impl Terms {
    fn add(&mut self, term: Option<Term>, sure: f32) {
        let Some(term) = term else { return };
        match self.0.iter_mut().find(|(other, _)| *other == term) {
            Some((_, kept)) => *kept = kept.max(sure),
            None => self.0.push((term, sure)),
        }
    }
}

//! What the name of a parameter says: of which thing it is, and which of its fields it takes.

use crate::text::{self, WordList};

/// Fields by which one thing is told from others, the best first.
pub(super) const KEYS: WordList =
    WordList("id uuid guid gid sid uid identifier key slug login username handle number code name");

/// Last words of parameters that are no choice among things there are.
const NEVER: WordList = WordList(
    "after amount before count cursor date day direction email end expand fields filter format \
     from height hour include lang language latitude limit locale longitude month offset page \
     password path query search since size sort start status text time timestamp to token type \
     until url version week width year",
);

/// Words that say of a schema's name how it is used, not what it describes.
const ROLES: &[&str] = &[
    "base", "compact", "data", "dto", "entity", "full", "info", "item", "model", "object",
    "output", "read", "resource", "response", "schema", "summary", "view",
];

/// Things that are no things: in `resource_id` only the field is named.
const ANYTHING: &[&str] = &["entity", "object", "record", "reference", "resource"];
/// Short words of paths, and what they are short for.
const SHORT: &[(&str, &str)] = &[
    ("app", "application"),
    ("env", "environment"),
    ("org", "organization"),
    ("repo", "repository"),
];

/// What a parameter, a collection or a schema is called, word by word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SplitName {
    words: Vec<String>,
}

/// What a parameter's name asks of a thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asks {
    /// The thing is named, and this field of it: `order_id`, `pull_number`.
    Field(String),
    /// The thing is named and nothing else: `customer`.
    Thing,
    /// Only a field is named: `id`.
    Key(String),
    /// Another thing is named: `user_id` among members.
    Other,
}

impl SplitName {
    pub(super) fn new(text: &str) -> SplitName {
        let kebab = text::kebab(text);
        SplitName { words: kebab.iter().flat_map(|name| name.split('-')).map(Into::into).collect() }
    }

    /// The name of a collection: `projectsV2` holds projects.
    pub(super) fn of_collection(text: &str) -> SplitName {
        let mut name = SplitName::new(text);
        let is_version =
            |word: &String| word.strip_prefix('v').is_some_and(|rest| rest.parse::<u8>().is_ok());
        if name.words.len() > 1 && name.words.last().is_some_and(is_version) {
            name.words.pop();
        }
        name
    }

    /// The name of a schema without the words that say how it is used.
    pub(super) fn of_schema(text: &str) -> SplitName {
        let mut name = SplitName::new(text);
        while name.words.len() > 1 && name.words.last().is_some_and(|word| ROLES.contains(&&**word))
        {
            name.words.pop();
        }
        name
    }

    /// All letters, in one.
    pub(super) fn letters(&self) -> String {
        self.words.concat()
    }

    /// The thing, whether one or several of it are meant.
    pub(super) fn stem(&self) -> String {
        stem(&self.words)
    }

    /// Whether it names a thing and then something that belongs to it.
    pub(super) fn begins_with(&self, thing: &str) -> bool {
        (1..self.words.len()).any(|end| stem(&self.words[..end]) == thing)
    }

    /// Whether such a parameter is never a choice: dates, pages, versions, free text.
    pub(super) fn is_never_a_choice(&self) -> bool {
        self.words.last().is_none_or(|last| NEVER.contains(last))
    }

    /// The last word, when it is a field by which things are told apart.
    pub(super) fn last_key(&self) -> Option<&'static str> {
        KEYS.iter().find(|key| Some(*key) == self.words.last().map(String::as_str))
    }

    /// Whether two names of one place in a path can be of one value: `id` and `order_id`.
    pub(super) fn may_stand_for(&self, other: &SplitName) -> bool {
        let several = |name: &SplitName| name.words.last().is_some_and(|last| last == "ids");
        let (ours, theirs) = (self.last_key(), other.last_key());
        several(self) == several(other) && (ours.is_none() || theirs.is_none() || ours == theirs)
    }

    /// Whether it takes ids of things that are known already.
    pub(super) fn takes_ids(&self, thing: &str) -> bool {
        match &self.words[..] {
            [only] => match only.strip_suffix("ids") {
                Some(rest) => rest.is_empty() || stem(&[rest.to_owned()]) == thing,
                None => false,
            },
            [rest @ .., last] => last == "ids" && stem(rest) == thing,
            [] => false,
        }
    }

    /// Whether it says which part of a long list is answered.
    pub(super) fn pages(&self) -> bool {
        const PAGES: &[&str] = &["after", "before", "cursor", "limit", "offset", "page", "size"];
        self.words.iter().any(|word| PAGES.contains(&&**word))
    }

    /// The thing and the field, of a name that has both.
    pub(super) fn thing_and_key(&self) -> Option<(String, &'static str)> {
        let (last, thing) = self.words.split_last()?;
        if let Some(key) = self.last_key().filter(|_| !thing.is_empty()) {
            return Some((stem(thing), key));
        }
        let ([], Some(thing)) = (thing, last.strip_suffix("id")) else { return None };
        (thing.len() > 2).then(|| (stem(&[thing.to_owned()]), "id"))
    }

    /// What it asks of the things of a collection that goes by any of these names.
    pub(super) fn asks(&self, things: &[SplitName]) -> Asks {
        let only = match &self.words[..] {
            [only] => Some(only),
            [any, key] if ANYTHING.contains(&&**any) => Some(key),
            _ => None,
        };
        if let Some(key) = only.filter(|key| KEYS.contains(key)) {
            return Asks::Key(key.clone());
        }
        let mut rests = things.iter().filter_map(|thing| self.rest_after(thing));
        if let Some(rest) = rests.next() {
            return if rest.is_empty() { Asks::Thing } else { Asks::Field(rest.concat()) };
        }
        if let Some((named, key)) = self.thing_and_key()
            && things.iter().any(|thing| thing.stem() == named)
        {
            return Asks::Field(key.to_owned());
        }
        Asks::Other
    }

    /// The words behind the thing, or behind the last words of its name: `run_id` is of
    /// `workflow-runs`.
    fn rest_after(&self, thing: &SplitName) -> Option<&[String]> {
        (0..thing.words.len()).find_map(|from| {
            let thing = &thing.words[from..];
            let wanted = stem(thing);
            let mut starts = 0..(self.words.len() + 1).saturating_sub(thing.len());
            let start = starts.find(|start| {
                let part = &self.words[*start..start + thing.len()];
                stem(part) == wanted || is_short_for(part, thing)
            })?;
            Some(&self.words[start + thing.len()..])
        })
    }
}

/// `org` is short for `organizations`.
fn is_short_for(part: &[String], thing: &[String]) -> bool {
    let ([part], [thing]) = (part, thing) else { return false };
    part.len() >= 3 && thing.starts_with(&**part)
}

/// Letters of words with the last one neither singular nor plural, to compare by.
fn stem(words: &[String]) -> String {
    let mut stem = words.concat();
    let last = words.last().map_or("", |last| last);
    match last {
        "people" => stem.replace_range(stem.len() - 6.., "person"),
        "children" => stem.truncate(stem.len() - 3),
        "indices" => stem.replace_range(stem.len() - 4.., "ex"),
        _ => {}
    }
    for (short, long) in SHORT {
        if stem.strip_suffix('s').unwrap_or(&stem) == *short {
            return stem_of_one(long.to_string());
        }
    }
    stem_of_one(stem)
}

fn stem_of_one(mut stem: String) -> String {
    if stem.len() > 3 && stem.ends_with("ies") {
        stem.truncate(stem.len() - 2);
        return stem;
    }
    let hissing = ["ses", "xes", "zes", "ches", "shes"].iter().any(|end| stem.ends_with(end));
    if hissing {
        stem.truncate(stem.len() - 2);
    } else if stem.ends_with('s') && !["ss", "us", "is"].iter().any(|end| stem.ends_with(end)) {
        stem.pop();
    }
    if stem.ends_with('e') {
        stem.pop();
    }
    if stem.ends_with('y') {
        stem.pop();
        stem.push('i');
    }
    stem
}

/// Letters and digits in small, for names that are compared whatever way they are written.
pub(super) fn same(name: &str, letters: &str) -> bool {
    let written = name.bytes().filter(u8::is_ascii_alphanumeric);
    written.map(|byte| byte.to_ascii_lowercase()).eq(letters.bytes())
}

/// The fields that a text speaks of, the best first.
pub(super) fn keys_in(text: &str) -> Vec<&'static str> {
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric());
    let said = |key: &&str| {
        words().any(|word| {
            word.eq_ignore_ascii_case(key)
                || (*key == "id" && (word == "IDs" || word.eq_ignore_ascii_case("identifier")))
        })
    };
    KEYS.iter().filter(said).collect()
}

#[cfg(test)]
mod tests {
    use super::{Asks, SplitName, keys_in, same};

    #[test]
    fn one_and_several() {
        let pairs = [
            ("order", "orders"),
            ("company", "companies"),
            ("movie", "movies"),
            ("license", "licenses"),
            ("case", "cases"),
            ("box", "boxes"),
            ("status", "statuses"),
            ("address", "addresses"),
            ("cache", "caches"),
            ("person", "people"),
            ("child", "children"),
            ("index", "indices"),
            ("pullRequest", "pull-requests"),
        ];
        for (one, several) in pairs {
            assert_eq!(SplitName::new(one).stem(), SplitName::new(several).stem(), "{one}");
        }
        assert_ne!(SplitName::new("news").stem(), SplitName::new("order").stem());
    }

    #[test]
    fn what_a_name_asks() {
        let field = |text: &str| Asks::Field(text.to_owned());
        let cases = [
            ("order_id", "orders", field("id")),
            ("orderId", "orders", field("id")),
            ("orderid", "orders", field("id")),
            ("pull_number", "pulls", field("number")),
            ("run_id", "workflow-runs", field("id")),
            ("featureFlagKey", "flags", field("key")),
            ("org", "organizations", Asks::Thing),
            ("customer", "customers", Asks::Thing),
            ("repo_id", "repositories", field("id")),
            ("project_number", "projectsV2", field("number")),
            ("resource_id", "webhooks", Asks::Key("id".to_owned())),
            ("id", "orders", Asks::Key("id".to_owned())),
            ("user_id", "members", Asks::Other),
            ("owner", "repos", Asks::Other),
        ];
        for (parameter, collection, expected) in cases {
            let asks = SplitName::new(parameter).asks(&[SplitName::of_collection(collection)]);
            assert_eq!(asks, expected, "{parameter} of {collection}");
        }
    }

    #[test]
    fn names_and_texts() {
        assert!(same("Order_ID", "orderid") && !same("order", "orderid"));
        assert_eq!(keys_in("The slug or ID of the team."), ["id", "slug"]);
        assert!(SplitName::new("start_date").is_never_a_choice());
        assert!(!SplitName::new("version_id").is_never_a_choice());
    }
}

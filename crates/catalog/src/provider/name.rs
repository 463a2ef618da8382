//! Parses parameter names: which resource a name refers to, and which of its fields.

use crate::text::{self, WordList};

/// Fields that identify a resource, in order of preference.
pub(super) const KEYS: WordList =
    WordList("id uuid guid gid sid uid identifier key slug login username handle number code name");

/// Final words of parameter names whose values are never chosen from existing resources.
const NEVER: WordList = WordList(
    "after amount before count cursor date day direction email end expand fields filter format \
     from height hour include lang language latitude limit locale longitude month offset page \
     password path query search since size sort start status text time timestamp to token type \
     until url version week width year",
);

/// Words in a schema name that describe its use rather than its subject.
const ROLES: &[&str] = &[
    "base", "compact", "data", "dto", "entity", "full", "info", "item", "model", "object",
    "output", "read", "resource", "response", "schema", "summary", "view",
];

/// Generic words: `resource_id` only names a field, not a resource.
const ANYTHING: &[&str] = &["entity", "object", "record", "reference", "resource"];
/// Abbreviations in paths and their long forms.
const SHORT: &[(&str, &str)] = &[
    ("app", "application"),
    ("env", "environment"),
    ("org", "organization"),
    ("repo", "repository"),
];

/// The name of a parameter, a collection or a schema, split into words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SplitName {
    words: Vec<String>,
}

/// What a parameter name refers to, given a collection's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asks {
    /// A field of the resource: `order_id`, `pull_number`.
    Field(String),
    /// Only the resource: `customer`.
    Thing,
    /// Only a field: `id`.
    Key(String),
    /// A different resource: `user_id` in a list of members.
    Other,
}

impl SplitName {
    pub(super) fn new(text: &str) -> SplitName {
        let kebab = text::kebab(text);
        SplitName { words: kebab.iter().flat_map(|name| name.split('-')).map(Into::into).collect() }
    }

    /// Splits a collection name: `projectsV2` contains projects.
    pub(super) fn of_collection(text: &str) -> SplitName {
        let mut name = SplitName::new(text);
        let is_version =
            |word: &String| word.strip_prefix('v').is_some_and(|rest| rest.parse::<u8>().is_ok());
        if name.words.len() > 1 && name.words.last().is_some_and(is_version) {
            name.words.pop();
        }
        name
    }

    /// Splits a schema name, dropping words that describe its use.
    pub(super) fn of_schema(text: &str) -> SplitName {
        let mut name = SplitName::new(text);
        while name.words.len() > 1 && name.words.last().is_some_and(|word| ROLES.contains(&&**word))
        {
            name.words.pop();
        }
        name
    }

    /// All words concatenated.
    pub(super) fn letters(&self) -> String {
        self.words.concat()
    }

    /// A normalized form that is the same for singular and plural.
    pub(super) fn stem(&self) -> String {
        stem(&self.words)
    }

    /// Whether the name starts with the resource and continues with more words.
    pub(super) fn begins_with(&self, thing: &str) -> bool {
        (1..self.words.len()).any(|end| stem(&self.words[..end]) == thing)
    }

    /// Whether the value of a parameter with this name, such as a date, a page, a version or free
    /// text, never comes from a list of choices.
    pub(super) fn is_never_a_choice(&self) -> bool {
        self.words.last().is_none_or(|last| NEVER.contains(last))
    }

    /// The last word, if it is a field that identifies resources.
    pub(super) fn last_key(&self) -> Option<&'static str> {
        KEYS.iter().find(|key| Some(*key) == self.words.last().map(String::as_str))
    }

    /// Whether two names at the same position in a path can refer to the same value: `id` and
    /// `order_id`.
    pub(super) fn may_stand_for(&self, other: &SplitName) -> bool {
        let several = |name: &SplitName| name.words.last().is_some_and(|last| last == "ids");
        let (ours, theirs) = (self.last_key(), other.last_key());
        several(self) == several(other) && (ours.is_none() || theirs.is_none() || ours == theirs)
    }

    /// Whether the parameter takes ids that the caller already knows.
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

    /// Whether the parameter controls pagination.
    pub(super) fn pages(&self) -> bool {
        const PAGES: &[&str] = &["after", "before", "cursor", "limit", "offset", "page", "size"];
        self.words.iter().any(|word| PAGES.contains(&&**word))
    }

    /// The resource and the field in a name that contains both.
    pub(super) fn thing_and_key(&self) -> Option<(String, &'static str)> {
        let (last, thing) = self.words.split_last()?;
        if let Some(key) = self.last_key().filter(|_| !thing.is_empty()) {
            return Some((stem(thing), key));
        }
        let ([], Some(thing)) = (thing, last.strip_suffix("id")) else { return None };
        (thing.len() > 2).then(|| (stem(&[thing.to_owned()]), "id"))
    }

    /// What the name refers to in a collection that has any of these names.
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

    /// The words after the resource, or after the last words of its name: `run_id` refers to
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

/// Whether a word is an abbreviation, as `org` is for `organizations`.
fn is_short_for(part: &[String], thing: &[String]) -> bool {
    let ([part], [thing]) = (part, thing) else { return false };
    part.len() >= 3 && thing.starts_with(&**part)
}

/// Concatenates words in a form that is the same for singular and plural.
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

/// Compares names ignoring case and punctuation.
pub(super) fn same(name: &str, letters: &str) -> bool {
    let written = name.bytes().filter(u8::is_ascii_alphanumeric);
    written.map(|byte| byte.to_ascii_lowercase()).eq(letters.bytes())
}

/// The identifying fields that `text` mentions, in order of preference.
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

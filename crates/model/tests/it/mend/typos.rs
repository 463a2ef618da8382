//! Typos in keys, in keywords, and in names that refer to something.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use regex::Regex;

use super::bases::Base;
use super::random::Random;

/// Changes a text, or returns `None` if there is nothing to change.
pub(super) type Change = fn(&Base, &str, &mut Random) -> Option<String>;

pub(super) const CHANGES: &[(&str, Change)] = &[
    ("key: letter deleted", |base, text, random| key(base, text, random, delete)),
    ("key: letter inserted", |base, text, random| key(base, text, random, insert)),
    ("key: letters transposed", |base, text, random| key(base, text, random, transpose)),
    ("key: letter replaced", |base, text, random| key(base, text, random, replace)),
    ("key: other spelling", |base, text, random| key(base, text, random, respell)),
    ("word: typo", word),
    ("name: typo in a list", listed_name),
    ("name: typo in a path", |_, text, random| path(text, random, &PATH_NAMES)),
    ("root: typo in a path", |_, text, random| path(text, random, &PATH_ROOTS)),
];

/// Words that are keys of the language. Names of the author's that happen to be the same are
/// excluded by the rule that a mutant must be invalid.
const KEYS: &[&str] = &[
    "workflow",
    "title",
    "description",
    "version",
    "category",
    "tags",
    "requires",
    "catalogs",
    "vendor",
    "source",
    "source_type",
    "milepost",
    "concurrency",
    "timeout",
    "budget",
    "http_calls",
    "writes",
    "attempts",
    "inputs",
    "steps",
    "finally",
    "final_output",
    "type",
    "provider",
    "select",
    "value_field",
    "display_field",
    "id_field",
    "mode",
    "join",
    "separator",
    "wrap_each",
    "provider_args",
    "depends_on",
    "from_input",
    "on_missing",
    "cache_ttl_sec",
    "on_error",
    "optional",
    "secret",
    "enum",
    "validate",
    "pattern",
    "min_length",
    "max_length",
    "minimum",
    "maximum",
    "format",
    "default",
    "from",
    "value",
    "placeholder",
    "hint",
    "example",
    "id",
    "run",
    "with",
    "body",
    "headers",
    "retry",
    "max_attempts",
    "backoff",
    "initial",
    "max",
    "jitter",
    "output_contract",
    "fields",
    "name",
    "prompt",
    "agent_role",
    "guidance",
    "output_schema",
    "validation",
    "verify",
    "check",
    "message",
    "model_hint",
    "ask_for_files",
    "require_confirmation",
    "if",
    "approve",
    "by",
    "expires",
    "on_reject",
    "to",
    "idempotent",
    "repeat",
    "until",
    "every",
    "needs",
    "for_each",
    "as",
    "wait",
    "set",
    "fail",
    "loop",
    "maxIterations",
    "condition",
    "iterationVar",
    "when",
    "preconditions",
    "clarificationPrompts",
    "metaGuidance",
    "minServerVersion",
    "agentRole",
    "askForFiles",
    "validationCriteria",
    "promptBlocks",
    "goal",
    "constraints",
    "procedure",
    "outputRequired",
    "promptFragments",
    "text",
    "modelHint",
    "runCondition",
    "requireConfirmation",
    "hasValidation",
    "items",
    "itemVar",
    "indexVar",
    "count",
    "min",
    "flags",
    "schema",
    "var",
    "equals",
    "not_equals",
    "gt",
    "gte",
    "in",
    "starts_with",
    "and",
    "or",
    "not",
];

static KEY: LazyLock<Regex> = LazyLock::new(|| regex(r#"(?m)(^|[\s{,"])([A-Za-z_]+)"?:(?:\s|$)"#));
/// Where maps begin whose keys are chosen by the author.
static OPAQUE: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"\b(?:with|headers|set|provider_args|final_output|output_schema|form|schema|body|"#,
        r#"properties|outputRequired)"?:(?: (?:&period )?\{|\r?\n {6,}[a-z])"#,
    ))
});
static WORD: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"\b(?:type|backoff|on_error|needs|mode|from|source_type|format|on_missing)"?: "?"#,
        r"(string|number|integer|boolean|array|object|fixed|exponential|fail|continue|manual|",
        r"cached|any|all|multiple|literal|env|history|path|url|email|date|prompt|contains|regex|",
        r"length|schema|loop|while|until|forEach)\b",
    ))
});
static LISTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"(?:depends_on"?:\s*\[[^\]]*?|depends_on:\s+- |\bto"?: |"#,
        r#"from_input: |"body": )"?([a-z-]+)\b"#,
    ))
});
static PATH_NAMES: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b(?:steps\.|steps\['|inputs\.)([a-z_-]+)"));
static PATH_ROOTS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b(steps|inputs|output|status)(?:\.|\[|\b ==)"));

/// Caches compiled patterns, because compiling takes longer than parsing a document.
pub(super) fn regex(pattern: &str) -> Regex {
    static KNOWN: LazyLock<Mutex<HashMap<String, Regex>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().expect("nothing panics under this lock");
    let compile = || Regex::new(pattern).expect("a pattern of this test");
    known.entry(pattern.to_owned()).or_insert_with(compile).clone()
}

/// The text with the range `at` replaced.
pub(super) fn spliced(text: &str, at: std::ops::Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..at.start], &text[at.end..])
}

fn key(_: &Base, text: &str, random: &mut Random, change: Letters) -> Option<String> {
    let own: Vec<std::ops::Range<usize>> =
        OPAQUE.find_iter(text).map(|head| head.start()..end_of_map(text, head.range())).collect();
    let keys: Vec<std::ops::Range<usize>> = KEY
        .captures_iter(text)
        .filter_map(|found| found.get(2))
        .filter(|word| KEYS.contains(&word.as_str()))
        .map(|word| word.range())
        .filter(|word| !own.iter().any(|own| own.contains(&word.start)))
        .collect();
    let at = random.pick(&keys)?.clone();
    let word = change(&text[at.clone()], random)?;
    Some(spliced(text, at, &word))
}

/// The end of a map: its bracket, or the first line that is indented less than its first.
fn end_of_map(text: &str, head: std::ops::Range<usize>) -> usize {
    let mut depth = 0;
    if text[head.clone()].ends_with('{') {
        for (at, sign) in text[head.end - 1..].char_indices() {
            depth += match sign {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            if depth == 0 {
                return head.end + at;
            }
        }
        return text.len();
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let first = text[..head.end].rfind('\n').map_or(0, |newline| newline + 1);
    let inside = |line: &&str| indent(line) >= head.end - 1 - first;
    first + text[first..].split_inclusive('\n').take_while(inside).map(str::len).sum::<usize>()
}

fn word(_: &Base, text: &str, random: &mut Random) -> Option<String> {
    captured(text, random, &WORD)
}

fn listed_name(_: &Base, text: &str, random: &mut Random) -> Option<String> {
    captured(text, random, &LISTED)
}

fn path(text: &str, random: &mut Random, places: &Regex) -> Option<String> {
    captured(text, random, places)
}

fn captured(text: &str, random: &mut Random, places: &Regex) -> Option<String> {
    let found: Vec<std::ops::Range<usize>> =
        places.captures_iter(text).filter_map(|found| Some(found.get(1)?.range())).collect();
    let at = random.pick(&found)?.clone();
    let changes = [delete as Letters, insert, transpose, replace];
    let word = random.pick(&changes)?(&text[at.clone()], random)?;
    Some(spliced(text, at, &word))
}

type Letters = fn(&str, &mut Random) -> Option<String>;

fn delete(word: &str, random: &mut Random) -> Option<String> {
    if word.len() < 3 {
        return None;
    }
    let at = random.below(word.len());
    Some(spliced(word, at..at + 1, ""))
}

/// Doubles a letter, or inserts a neighbouring key of the keyboard.
fn insert(word: &str, random: &mut Random) -> Option<String> {
    let at = random.below(word.len());
    let letter = &word[at..=at];
    let extra = if random.below(2) == 0 { letter.to_owned() } else { neighbour(letter, random)? };
    Some(spliced(word, at..at, &extra))
}

fn transpose(word: &str, random: &mut Random) -> Option<String> {
    let at = random.below(word.len().checked_sub(1).filter(|pairs| *pairs > 0)?);
    let (one, other) = (&word[at..=at], &word[at + 1..at + 2]);
    (one != other).then(|| spliced(word, at..at + 2, &format!("{other}{one}")))
}

fn replace(word: &str, random: &mut Random) -> Option<String> {
    let at = random.below(word.len());
    let other = neighbour(&word[at..=at], random)?;
    Some(spliced(word, at..at + 1, &other))
}

fn neighbour(letter: &str, random: &mut Random) -> Option<String> {
    const ROWS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];
    let (row, at) = ROWS.iter().find_map(|row| Some((row, row.find(letter)?)))?;
    let beside: Vec<&str> = [at.checked_sub(1), Some(at + 1)]
        .into_iter()
        .flatten()
        .filter_map(|at| row.get(at..=at))
        .collect();
    random.pick(&beside).map(|other| (*other).to_owned())
}

/// Respells `depends_on` as `dependsOn`, `depends-on`, `DEPENDS_ON`, `DependsOn` or `dependson`.
fn respell(word: &str, random: &mut Random) -> Option<String> {
    let mut parts: Vec<String> = vec![String::new()];
    for letter in word.chars() {
        if letter == '_' || letter.is_ascii_uppercase() {
            parts.push(String::new());
        }
        if letter != '_' {
            parts.last_mut()?.push(letter.to_ascii_lowercase());
        }
    }
    let title = |part: &String| part[..1].to_uppercase() + &part[1..];
    let pascal: String = parts.iter().map(title).collect();
    let spelling = match random.below(5) {
        0 => pascal[..1].to_lowercase() + &pascal[1..],
        1 => parts.join("-"),
        2 => word.to_uppercase(),
        3 => pascal,
        _ => parts.join("_"),
    };
    (spelling != word).then_some(spelling)
}

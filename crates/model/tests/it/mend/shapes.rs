//! Keys in the wrong map, ids in the wrong case, and faults that affect a whole document.

use std::sync::LazyLock;

use milepost_syntax::source::Format;
use regex::Regex;

use super::bases::Base;
use super::random::Random;
use super::typos::{Change, regex, spliced};

pub(super) const CHANGES: &[(&str, Change)] = &[
    ("move: up, flow", |_, text, random| up_from_flow(text, random)),
    ("move: up, block", |base, text, random| up_from_block(base, text, random)),
    ("move: down", down),
    ("id: upper case", upper_case),
    ("whole: tabs", |base, text, _| whole(base, text, Format::Yaml, tabs)),
    ("whole: keys bare", |base, text, _| whole(base, text, Format::Json, bare_keys)),
    ("whole: single quotes", |base, text, _| whole(base, text, Format::Json, single_quotes)),
    ("whole: comments", |base, text, _| whole(base, text, Format::Json, comments)),
    ("whole: commas", |base, text, _| whole(base, text, Format::Json, trailing_commas)),
    ("whole: {{ }}", all_braces),
    ("whole: glued colons", |base, text, _| whole(base, text, Format::Yaml, glued)),
];

/// Maps whose keys tend to end up in the enclosing map.
const PARENTS: &str = "retry|validate|select|join|loop|promptBlocks|repeat|budget|approve";

static FLOW: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r#"(?m)("?\b(?:{PARENTS})"?): \{{([^{{}}\n]*)\}}"#)));
static BLOCK: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r#"(?m)^( *)"?(?:{PARENTS})"?: ?\{{?\r?$"#)));

/// Moves one key of `retry: {max_attempts: 3, max: 9s}` out of the map, next to it.
fn up_from_flow(text: &str, random: &mut Random) -> Option<String> {
    let found: Vec<regex::Captures<'_>> = FLOW.captures_iter(text).collect();
    let map = random.pick(&found)?;
    let entries: Vec<&str> = map[2].split(", ").collect();
    if entries.len() < 2 || entries.iter().any(|entry| !entry.contains(": ")) {
        return None;
    }
    let stray = random.below(entries.len());
    let rest: Vec<&str> = entries
        .iter()
        .enumerate()
        .filter(|(at, _)| *at != stray)
        .map(|(_, entry)| *entry)
        .collect();
    let at = map.get(0)?;
    let line = text[..at.start()].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &text[line..at.start()];
    let block = !text.lines().any(|line| line.starts_with('{'));
    let own_line = block && before.trim().is_empty();
    let end = if text[at.end()..].starts_with("\r\n") { "\r\n" } else { "\n" };
    let between = if own_line { format!("{end}{before}") } else { ", ".to_owned() };
    let with = format!("{}: {{{}}}{between}{}", &map[1], rest.join(", "), entries[stray]);
    Some(spliced(text, at.range(), &with))
}

/// The same in block style: moves one line of the map one level out.
fn up_from_block(base: &Base, text: &str, random: &mut Random) -> Option<String> {
    let json = base.format == Format::Json;
    let found: Vec<regex::Captures<'_>> = BLOCK.captures_iter(text).collect();
    let map = random.pick(&found)?;
    let (head, indent) = (map.get(0)?, &map[1]);
    let rest = &text[head.end()..];
    let inner = format!("{indent}  ");
    let mut children = Vec::new();
    let mut at = head.end() + rest.find('\n')? + 1;
    while text[at..].starts_with(&inner) {
        let line = text[at..].split_inclusive('\n').next()?;
        children.push((at..at + line.len(), line));
        at += line.len();
    }
    let scalar = |line: &str| {
        let value = line.trim_end().trim_end_matches(',');
        line[inner.len()..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '"')
            && !value.ends_with([':', '{', '[', '|', '>'])
    };
    let strays: Vec<usize> =
        (0..children.len()).filter(|index| scalar(children[*index].1)).collect();
    let stray = *random.pick(&strays)?;
    if children.len() < 2 {
        return None;
    }
    let (range, line) = children[stray].clone();
    let end = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
    let pair = line.trim().trim_end_matches(',');
    let comma = if json { "," } else { "" };
    let mut body = spliced(text, range.clone(), "");
    // The last property has no trailing comma, so the one before it loses its own.
    if json && stray == children.len() - 1 {
        let before = body[..range.start].trim_end().len();
        body.replace_range(before - 1..before, "");
    }
    body.insert_str(head.start(), &format!("{indent}{pair}{comma}{end}"));
    Some(body)
}

/// Moves keys one level too deep, or into an adjacent map.
fn down(_: &Base, text: &str, random: &mut Random) -> Option<String> {
    const PLACES: &[(&str, &str)] = &[
        (r"    timeout: 30s(\r?\n)    retry:\r?\n", "    retry:$1      timeout: 30s$1"),
        (r"    secret: true(\r?\n)    default:\r?\n", "    default:$1      secret: true$1"),
        (r"(retry: \{[^}]*)\}(\n    timeout: 1m)", "$1, timeout: 1m}"),
        (
            r"(, depends_on: \[fetch-build\])(.*?)(repeat: \{[^}]*)\}",
            "$2$3, depends_on: [fetch-build]}",
        ),
        (r"    model_hint: careful(\r?\n)", "        model_hint: careful$1"),
        (
            r"    on_error: manual(\r?\n)    validate:\r?\n",
            "    validate:$1      on_error: manual$1",
        ),
        (
            r"    title: Approve the refund(\r?\n)(    if: .*\r?\n)    approve:\r?\n",
            "$2    approve:$1      title: Approve the refund$1",
        ),
        (
            r#""id": "watch",(\s+)"title": "Wait for an answer",((?s:.*))"repeat": \{"#,
            r#""id": "watch",$2"repeat": {"title": "Wait for an answer","#,
        ),
        (r#"("loop": \{"type": "until"[^\n]*)\},(\s+)"body": "mend""#, r#"$1, "body": "mend"}"#),
        (
            r#"("type": "loop"),(\s+)"title": "Suspect by suspect",(\s+)"loop": \{"#,
            r#"$1,$2"loop": {$2  "title": "Suspect by suspect","#,
        ),
        (
            r#""modelHint": "thorough",(\s+)"runCondition": \{"#,
            r#""runCondition": {$1  "modelHint": "thorough","#,
        ),
        (r"    askForFiles: false(\r?\n)", "      askForFiles: false$1"),
        (r"    modelHint: careful(\r?\n)", "      modelHint: careful$1"),
    ];
    let fits: Vec<&(&str, &str)> =
        PLACES.iter().filter(|(find, _)| regex(find).is_match(text)).collect();
    let (find, put) = random.pick(&fits)?;
    let pattern = regex(find);
    let captures = pattern.captures(text)?;
    let mut with = String::new();
    captures.expand(put, &mut with);
    Some(spliced(text, captures.get(0)?.range(), &with))
}

/// Turns `id: decide` into `id: Decide`, along with every reference to it.
fn upper_case(_: &Base, text: &str, random: &mut Random) -> Option<String> {
    let ids = regex(r#"\bid"?: "?([a-z][a-z-]+)\b"#);
    let found: Vec<&str> =
        ids.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let id = *random.pick(&found)?;
    let pascal: String = id.split('-').map(|part| part[..1].to_uppercase() + &part[1..]).collect();
    let before = concat!(
        r#"\bid"?: "?|steps\.|steps\['|depends_on"?:\s*(?:- |\[)(?:[^\]\n]*, )?"?|"#,
        r#"\bto"?: "?|"body": ""#,
    );
    let mentions = regex(&format!(r"({before}){id}\b"));
    Some(mentions.replace_all(text, format!("${{1}}{pascal}")).into_owned())
}

fn whole(base: &Base, text: &str, format: Format, change: fn(&str) -> String) -> Option<String> {
    (base.format == format).then(|| change(text)).filter(|changed| changed != text)
}

fn tabs(text: &str) -> String {
    let line = |line: &str| {
        let blank = line.len() - line.trim_start_matches(' ').len();
        format!("{}{}{}", "\t".repeat(blank / 2), " ".repeat(blank % 2), &line[blank..])
    };
    text.split_inclusive('\n').map(line).collect()
}

fn bare_keys(text: &str) -> String {
    regex(r#""([A-Za-z_]+)":"#).replace_all(text, "$1:").into_owned()
}

fn single_quotes(text: &str) -> String {
    let quoted = regex(r#""([^"'\\\n]*)""#);
    // A line with escapes would be cut at the wrong quotes.
    let line = |line: &str| {
        if line.contains('\\') {
            return line.to_owned();
        }
        quoted.replace_all(line, "'$1'").into_owned()
    };
    text.split_inclusive('\n').map(line).collect()
}

fn comments(text: &str) -> String {
    let first = regex(r"\A\{").replace(text, "{ // what it is for\n").into_owned();
    regex(r#"(\r?\n)( +"steps")"#).replace(&first, "$1 /* the\n work */$2").into_owned()
}

fn trailing_commas(text: &str) -> String {
    regex(r"([\]}])(\s+[\]}])").replace_all(text, "$1,$2").into_owned()
}

fn all_braces(base: &Base, text: &str, _: &mut Random) -> Option<String> {
    let changed = text.replace("${{", "{{");
    (!base.guide && changed != text).then_some(changed)
}

fn glued(text: &str) -> String {
    regex(r"(\{[a-z_]+): ([a-z])").replace_all(text, "$1:$2").into_owned()
}

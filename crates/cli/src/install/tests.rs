//! Tests the editors on all kinds of files: an added entry can be removed exactly.

use proptest::collection;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::edit::{apply, inverse};
use super::slot::{ConfigFormat, EntrySlot};

fn slot(format: ConfigFormat) -> EntrySlot {
    let parent = match format {
        ConfigFormat::Json => "mcpServers",
        ConfigFormat::Toml => "mcp_servers",
        ConfigFormat::Yaml => "extensions",
    };
    EntrySlot { format, parent, name: "milepost".to_owned() }
}

fn entry() -> Map<String, Value> {
    let entry = json!({"command": "/opt/a \"b\"/milepost", "args": ["mcp"]});
    entry.as_object().cloned().expect("is an object")
}

/// Adds an entry, and removes it both with and without a receipt.
fn added(format: ConfigFormat, text: &str) -> String {
    let slot = slot(format);
    let had_parent = slot.has_parent(text);
    let change = slot.insert(text, &entry()).expect(text);
    let back = inverse(text, &change.edits);
    assert_eq!(apply(&change.after, &back).as_deref(), Some(text), "taken back");
    assert!(slot.insert(text, &entry()).is_ok_and(|again| again.after == change.after));
    let removed = slot.remove(&change.after, !had_parent).expect(&change.after);
    assert_eq!(slot.find(&removed.after), Ok(None));
    change.after
}

/// Like [`added`], for files that can be restored exactly even without a receipt.
fn round(format: ConfigFormat, text: &str) -> String {
    let slot = slot(format);
    let after = added(format, text);
    let removed = slot.remove(&after, !slot.has_parent(text)).expect(&after);
    assert_eq!(removed.after, text, "from\n{after}");
    after
}

#[test]
fn json_follows_the_layout_that_is_there() {
    let after = round(ConfigFormat::Json, "{\n\t\"mcpServers\": {\n\t\t\"a\": {}\n\t}\n}\n");
    assert_eq!(
        after,
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {},\n\t\t\"milepost\": {\n\t\t\t\"command\": \
         \"/opt/a \\\"b\\\"/milepost\",\n\t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t}\n}\n"
    );
    let after = round(ConfigFormat::Json, r#"{"a":1,"mcpServers":{"x":{"command":"y"}}}"#);
    let added = r#","milepost":{"command":"/opt/a \"b\"/milepost","args":["mcp"]}"#;
    assert_eq!(after, format!(r#"{{"a":1,"mcpServers":{{"x":{{"command":"y"}}{added}}}}}"#));
    let after = round(ConfigFormat::Json, "{ \"a\": 1 // one\n}");
    assert!(after.starts_with("{ \"a\": 1, \"mcpServers\": {\"milepost\": {\"comm"), "{after}");
    let after = round(ConfigFormat::Json, "{\r\n    \"a\": 1, // one  \r\n    // two\r\n}\r\n");
    assert!(
        after.starts_with("{\r\n    \"a\": 1, // one  \r\n    \"mcpServers\": {\r\n        \"mile"),
        "{after}"
    );
    assert!(after.ends_with("\r\n    },\r\n    // two\r\n}\r\n"), "{after}");
}

#[test]
fn json_into_what_is_empty() {
    for text in [
        "",
        "\n",
        "// nothing yet",
        "{}",
        "{ }",
        "{\n}\n",
        "{\n  // none\n}\n",
        "{ /* none */ }",
        "{ // none  \n}",
        "{\"mcpServers\":{}}",
        "{\n  \"mcpServers\": {}\n}\n",
        "{\n  \"mcpServers\": {\n  }\n}\n",
        "{\n  \"mcpServers\": { /* none */ }, // here\n}\n",
        "{\n  \"mcpServers\": {\n    // none\n  }\n}\n",
    ] {
        added(ConfigFormat::Json, text);
    }
    let after = added(ConfigFormat::Json, "{\n    \"mcpServers\": {}\n}\n");
    assert!(after.contains("{\n        \"milepost\": {\n            \"command\""), "{after}");
}

#[test]
fn json_that_is_not_changed() {
    let slot = slot(ConfigFormat::Json);
    for text in [
        "[]",
        "null x",
        "{\"mcpServers\": []}",
        "{\"mcpServers\": null}",
        "{\"mcpServers\": {}, \"mcpServers\": {}}",
        "{\"mcpServers\": {",
    ] {
        slot.insert(text, &entry()).expect_err(text);
    }
    let twice = "{\"mcpServers\": {\"milepost\": {}, \"milepost\": {}}}";
    slot.remove(twice, false).expect_err("there are two");
    slot.replace(twice, &entry()).expect_err("there are two");
}

#[test]
fn json_entries_go_from_every_place() {
    let slot = slot(ConfigFormat::Json);
    let removed = |text: &str| slot.remove(text, false).expect(text).after;
    let inside = |inner: &str| format!("{{\"mcpServers\": {{{inner}}}}}");
    for (before, after) in [
        ("\"milepost\": 1, \"b\": 2", "\"b\": 2"),
        ("\"a\": 1, \"milepost\": 1, \"b\": 2", "\"a\": 1, \"b\": 2"),
        ("\"a\": 1, \"milepost\": 1", "\"a\": 1"),
        ("\"a\": 1, \"milepost\": 1,", "\"a\": 1,"),
        ("\"milepost\": 1", ""),
        ("\n  \"milepost\": 1,\n  \"b\": 2\n", "\n  \"b\": 2\n"),
        ("\"a\": 1, // a\n \"milepost\": 1, // m\n \"b\": 2", "\"a\": 1, // a // m\n \"b\": 2"),
        ("\n // mine\n \"milepost\": 1\n", "\n // mine\n"),
    ] {
        assert_eq!(removed(&inside(before)), inside(after));
    }
}

#[test]
fn toml_keeps_what_is_there() {
    let text = "# mine\r\nmodel = \"o3\" # best\r\n\r\n[mcp_servers.a]\r\ncommand = 'x'\r\n";
    let after = round(ConfigFormat::Toml, text);
    let pairs = "command = '/opt/a \"b\"/milepost'\r\nargs = [\"mcp\"]\r\n";
    assert_eq!(after, format!("{text}\r\n[mcp_servers.milepost]\r\n{pairs}"));
    round(ConfigFormat::Toml, "[mcp_servers]\n# none\n");
    round(ConfigFormat::Toml, "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.env]\nK = \"v\"\n");
    round(ConfigFormat::Toml, "mcp_servers.a.command = \"x\"\n");
    let shown = "a = \"\"\"\n[mcp_servers.milepost]\n\"\"\"";
    for text in ["", "# only", "a = 1", "a = 1\n\n", shown] {
        added(ConfigFormat::Toml, text);
    }
    let slot = slot(ConfigFormat::Toml);
    for text in ["mcp_servers = {}\n", "mcp_servers = 1\n", "a = \n", "a = 1\na = 2\n"] {
        slot.insert(text, &entry()).expect_err(text);
    }
}

#[test]
fn toml_entries_go_from_every_place() {
    let slot = slot(ConfigFormat::Toml);
    let rest = "[a]\nb = 1\n";
    for mine in [
        "[mcp_servers.milepost]\ncommand = \"x\" # m\n\n[mcp_servers.milepost.env]\nA = \"b\"\n\n",
        "[mcp_servers]\nmilepost = { command = \"x\" }\n",
        "[mcp_servers.milepost]\n",
    ] {
        let text = format!("{mine}{rest}");
        let removed = slot.remove(&text, false).expect(&text).after;
        assert!(removed.ends_with(rest), "{removed}");
        assert_eq!(slot.find(&removed), Ok(None));
        let replaced = slot.replace(&text, &entry()).expect(&text).after;
        assert_eq!(slot.find(&replaced), Ok(Some(Value::Object(entry()))));
        assert!(replaced.ends_with(rest), "{replaced}");
    }
    let part = "[mcp_servers.milepost.env]\nA = \"b\"\n";
    assert_eq!(slot.remove(part, false).expect("the only table is removed").after, "");
    let dotted = "mcp_servers.milepost.command = \"x\"\nb = 1\n";
    assert_eq!(slot.remove(dotted, false).expect("goes").after, "b = 1\n");
    slot.replace(dotted, &entry()).expect_err("what follows it would end up in the table");
    let between = "[mcp_servers.milepost]\na = 1\n[x]\ny = 1\n[mcp_servers.milepost.env]\nA = 1\n";
    slot.remove(between, false).expect_err("another table is in between");
}

#[test]
fn yaml_keeps_what_is_there() {
    let text = "# mine\nGOOSE_MODEL: x # best\nextensions:\n    dev:\n        \
                enabled: true # yes\n    # last\nGOOSE_MODE: auto\n";
    let after = round(ConfigFormat::Yaml, text);
    assert!(
        after.contains(
            "true # yes\n    milepost:\n        command: \"/opt/a \\\"b\\\"/milepost\"\n        \
             args:\n            - mcp\n    # last\n"
        ),
        "{after}"
    );
    round(ConfigFormat::Yaml, "extensions:\n  a: {b: 1}");
    round(ConfigFormat::Yaml, "extensions:\r\n  a:\r\n    b: |\r\n      text\r\n  c:\r\n");
    round(ConfigFormat::Yaml, "extensions:\n  a: &x\n    b: [1]\n  c: *x\nd: 1\n");
    round(ConfigFormat::Yaml, "a: 1\n");
    round(ConfigFormat::Yaml, "a: 1");
    round(ConfigFormat::Yaml, "---\na:\n  - 1\n# end\n");
    let empty = ["", "# only\n", "extensions:\n", "extensions: {} # none\na: 1\n", "extensions: ~"];
    for text in empty {
        added(ConfigFormat::Yaml, text);
    }
    let slot = slot(ConfigFormat::Yaml);
    for text in [
        "extensions: {a: {}}\n",
        "{extensions: {}}\n",
        "extensions: [a]\n",
        "extensions: text\n",
        "- a\n",
        "a: 1\n...\n",
        "a: [\n",
        "a: 1\na: 2\n",
    ] {
        slot.insert(text, &entry()).expect_err(text);
    }
}

#[test]
fn yaml_entries_go_from_every_place() {
    let slot = slot(ConfigFormat::Yaml);
    let mine = "  milepost:\n    cmd: x\n    args:\n    - mcp\n";
    for text in [
        format!("extensions:\n{mine}a: 1\n"),
        format!("extensions: # all\n{mine}  b: {{c: 1}}\n"),
        format!("extensions:\n  b:\n    c: 1\n{mine}"),
        format!("extensions:\n  b:\n    c: 1\n{}", mine.trim_end()),
    ] {
        let removed = slot.remove(&text, false).expect(&text).after;
        assert_eq!(slot.find(&removed), Ok(None));
        let replaced = slot.replace(&text, &entry()).expect(&text).after;
        assert_eq!(slot.find(&replaced), Ok(Some(Value::Object(entry()))));
    }
    let alone = format!("extensions: # all\n{mine}a: 1\n");
    let removed = slot.remove(&alone, false).expect("goes").after;
    assert_eq!(removed, "extensions: {} # all\na: 1\n");
    assert_eq!(slot.remove(&alone, true).expect("goes").after, "a: 1\n");
}

/// Writes an arbitrary object in JSON with comments, driven by a list of choices.
struct Scribe<'c> {
    choices: std::slice::Iter<'c, u8>,
    newline: &'static str,
    text: String,
}

impl Scribe<'_> {
    fn choose(&mut self, count: u8) -> u8 {
        self.choices.next().map_or(0, |choice| choice % count)
    }

    /// Whitespace and comments, inside an object or between its parts.
    fn gap(&mut self, indent: usize) {
        let (line, pad) = (self.newline, "  ".repeat(indent));
        let gap = match self.choose(12) {
            0..=3 => String::new(),
            4 => " ".to_owned(),
            5 | 6 => format!("{line}{pad}"),
            7 => format!(" // note, {{\"x\" {line}{pad}"),
            8 => " /* note */ ".to_owned(),
            9 => format!("{line}{line}\t{pad}"),
            10 => format!(" // trailing  {line}\t/* and{line} more */{pad}"),
            _ => format!("/**/{line}{pad}// }}{line}"),
        };
        self.text.push_str(&gap);
    }

    fn value(&mut self, depth: usize) {
        match self.choose(8) {
            0..=2 if depth < 3 => {
                let count = self.choose(4);
                let keys: Vec<String> = (0..count).map(|index| format!("k{index}")).collect();
                self.object(&keys, depth);
            }
            3 => {
                self.text.push('[');
                self.gap(depth);
                self.text.push_str("1, \"]\"");
                self.gap(depth);
                self.text.push(']');
            }
            4 => self.text.push_str("\"a // b \\\" é\""),
            5 => self.text.push_str("-1.5e2"),
            6 => self.text.push_str("null"),
            _ => self.text.push_str("true"),
        }
    }

    fn object(&mut self, keys: &[String], depth: usize) {
        self.text.push('{');
        for (index, key) in keys.iter().enumerate() {
            self.gap(depth + 1);
            self.text.extend(["\"", key, "\""]);
            self.gap(depth + 1);
            self.text.push(':');
            self.gap(depth + 1);
            match key.as_str() {
                "mcpServers" => {
                    let count = self.choose(4);
                    let keys: Vec<String> = (0..count).map(|index| format!("s{index}")).collect();
                    self.object(&keys, depth + 1);
                }
                _ => self.value(depth + 1),
            }
            self.gap(depth + 1);
            if index + 1 < keys.len() || self.choose(4) == 0 {
                self.text.push(',');
            }
        }
        self.gap(depth);
        self.text.push('}');
    }
}

fn document(choices: &[u8]) -> String {
    let mut scribe = Scribe { choices: choices.iter(), newline: "\n", text: String::new() };
    if scribe.choose(3) == 0 {
        scribe.newline = "\r\n";
    }
    scribe.gap(0);
    let all = ["a", "mcpServers", "b", "c"];
    let wanted = scribe.choose(16);
    let keys = all.iter().enumerate().filter(|(index, _)| wanted & (1 << index) != 0);
    let keys: Vec<String> = keys.map(|(_, key)| (*key).to_owned()).collect();
    scribe.object(&keys, 0);
    scribe.gap(0);
    scribe.text
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_json_is_written_comes_back(choices in collection::vec(any::<u8>(), 0..120)) {
        let text = document(&choices);
        let slot = slot(ConfigFormat::Json);
        let whole = super::json::value(&text).expect("the scribe writes JSON");
        let holder = whole.get("mcpServers").unwrap_or(&whole);
        let after = added(ConfigFormat::Json, &text);
        if holder.as_object().is_some_and(|members| !members.is_empty()) {
            let removed = slot.remove(&after, whole.get("mcpServers").is_none());
            prop_assert_eq!(removed.expect("goes").after, text, "from\n{}", after);
        }
        let other = json!({"command": "x"});
        let replaced = slot.replace(&after, other.as_object().expect("is an object"));
        prop_assert_eq!(slot.find(&replaced.expect("is replaced").after), Ok(Some(other)));
    }

    #[test]
    fn no_text_is_too_strange_to_be_refused(text in "[{}\\[\\]\",:/*\\\\\n a1-]{0,40}") {
        let slot = slot(ConfigFormat::Json);
        // The editor verifies every change itself, so this only has to run.
        drop(slot.insert(&text, &entry()));
        drop(slot.remove(&text, true));
    }
}

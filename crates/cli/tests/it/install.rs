//! `milepost mcp install …` with the real binary, on configuration files as clients and people
//! leave them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use milepost_syntax::untyped_tree;
use serde_json::{Value, json};
use toml_edit::DocumentMut;

use crate::catalog::problem;
use crate::{Place, Ran, finish};

const CLAUDE: &str = r#"{
  "numStartups": 41,
  "tipsHistory": { "shift-enter": 27, "memory-command": 40 },
  "mcpServers": {
    "playwright": {
      "type": "stdio",
      "command": "npx",
      "args": [
        "@playwright/mcp@latest"
      ],
      "env": {}
    }
  },
  "projects": {"/home/u/x": {"mcpServers": {"milepost": {"command": "other"}}}}
}"#;

const CURSOR: &str = r#"// what the whole team uses
{
	"mcpServers": {
		/* search */ "brave": {
			"command": "npx", "args": ["-y", "brave"], // "milepost": {}
			"env": {"BRAVE_API_KEY": "sk-1234567890"},
		},
		"docs": { "url": "https://docs.test/mcp" }, // keep
	},
}
"#;

const VSCODE: &str = r#"{
    // Servers of this profile.
    "servers": {
        "fetch": {
            "type": "stdio",
            "command": "uvx",
            "args": ["mcp-server-fetch"]
        } // the last one
        // "off": {"command": "x"}
    },
    "inputs": [
        {"type": "promptString", "id": "key", "password": true},
    ]
}
"#;

const CODEX: &str = r#"# Codex, by hand
model = "gpt-5.1-codex"   # the best one
notify = ["notify-send", "Codex"]

[mcp_servers.docs]
command = 'docs'
args = [
  "--fast", # really
]

[mcp_servers.docs.env]
TOKEN = "sk-123"

[projects."/home/u/x"]
trust_level = "trusted"
# the end
"#;

const GOOSE: &str = r"# goose
GOOSE_PROVIDER: anthropic # mine
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  # fetches pages
  fetch:
    cmd: uvx
    args:
    - mcp-server-fetch
    enabled: true
    envs: {}
    name: fetch
    type: stdio
    description: |
      Fetches
      pages.

# how much it may do
GOOSE_MODE: smart_approve
";

const DESKTOP: &str =
    r#"{"globalShortcut": "Ctrl+Space", "mcpServers": {"fs": {"command": "fs", "args": ["/"]}}}"#;

/// A client, a scope, the path of its file, and the file's contents.
type Case = (&'static str, &'static str, &'static str, &'static str);

const CASES: [Case; 10] = [
    ("claude-code", "user", "home/.claude.json", CLAUDE),
    ("claude-code", "project", "work/.mcp.json", CLAUDE),
    ("cursor", "user", "home/.cursor/mcp.json", CURSOR),
    ("cursor", "project", "work/.cursor/mcp.json", CURSOR),
    ("vscode", "user", "home/.config/Code/User/mcp.json", VSCODE),
    ("vscode", "project", "work/.vscode/mcp.json", VSCODE),
    ("codex", "user", "home/.codex/config.toml", CODEX),
    ("codex", "project", "work/.codex/config.toml", CODEX),
    ("goose", "user", "home/.config/goose/config.yaml", GOOSE),
    ("claude-desktop", "user", "home/.config/Claude/claude_desktop_config.json", DESKTOP),
];

fn install(place: &Place, words: &str) -> Ran {
    place.run(["mcp", "install"].into_iter().chain(words.split(' ')))
}

fn at(place: &Place, file: &str) -> PathBuf {
    place.root.path().join(file)
}

fn put(place: &Place, file: &str, text: &str) -> PathBuf {
    place.put(&format!("../{file}"), text);
    at(place, file)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("reads")
}

/// Parses JSON with comments independently of the product: removes comments, then trailing commas.
fn plain_json(text: &str) -> Value {
    let (mut plain, mut chars) = (String::new(), text.chars().peekable());
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match (quoted, c, chars.peek()) {
            (true, '\\', _) => plain.extend([Some(c), chars.next()].into_iter().flatten()),
            (_, '"', _) => {
                quoted = !quoted;
                plain.push(c);
            }
            (false, '/', Some('/')) => while chars.next_if(|c| *c != '\n').is_some() {},
            (false, '/', Some('*')) => {
                let mut last = ' ';
                chars.next();
                for c in chars.by_ref() {
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
            }
            (false, '}' | ']', _) => {
                plain.truncate(plain.trim_end().trim_end_matches(',').len());
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    serde_json::from_str(&plain).unwrap_or_else(|error| unreachable!("{error}: {plain}"))
}

/// The servers that a client would see.
fn servers(client: &str, text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    match client {
        "codex" => {
            let document: DocumentMut = text.parse().expect("is TOML");
            let servers = document["mcp_servers"].as_table().expect("is a table");
            let server = |name: &str| {
                let server = &servers[name];
                let args = server["args"].as_array().expect("is a list");
                let args: Vec<&str> = args.iter().filter_map(|arg| arg.as_str()).collect();
                json!({"command": server["command"].as_str(), "args": args})
            };
            servers.iter().map(|(name, _)| (name.to_owned(), server(name))).collect()
        }
        "goose" => by_python(text).unwrap_or_else(|| {
            let words =
                "\nSKIPPED: no Python with PyYAML; goose's file is read by our own reader\n";
            std::io::stderr().write_all(words.as_bytes()).expect("is told");
            untyped_tree::yaml(text).expect("is YAML").to_value()
        })["extensions"]
            .clone(),
        "vscode" => plain_json(text)["servers"].clone(),
        _ => plain_json(text)["mcpServers"].clone(),
    }
}

/// Parses YAML with `PyYAML`, which shares no code with our parser.
fn by_python(text: &str) -> Option<Value> {
    let script = "import json, sys, yaml; \
                  json.dump(yaml.safe_load(sys.stdin.buffer.read().decode()), sys.stdout)";
    let mut python = Command::new("python3");
    let ran = finish_any(python.args(["-c", script]), text)?;
    serde_json::from_slice(&ran).ok()
}

/// The output of a program, if it exists and succeeds.
fn finish_any(command: &mut Command, input: &str) -> Option<Vec<u8>> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    drop(child.stdin.take().expect("is piped").write_all(input.as_bytes()));
    let output = child.wait_with_output().ok()?;
    output.status.success().then_some(output.stdout)
}

/// A client with a strict parser can still parse the file if it could before.
fn stays_strict(client: &str, before: &str, after: &str) {
    let strict =
        |text: &str| serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')).map(drop);
    if !matches!(client, "codex" | "goose") && strict(before).is_ok() {
        assert!(strict(after).is_ok(), "{client}: no strict JSON any more:\n{after}");
    }
}

/// Asserts that every line is kept in order; one line may have gained a comma.
fn keeps_lines(before: &str, after: &str) {
    let mut lines = after.lines();
    let mut commas = 0;
    for line in before.lines() {
        let with_comma = |other: &str| {
            let at = (0..=line.len()).filter(|at| line.is_char_boundary(*at));
            other.len() == line.len() + 1
                && at.map(|at| format!("{},{}", &line[..at], &line[at..])).any(|one| one == other)
        };
        let found = lines.find(|other| *other == line || with_comma(other));
        let found = found.unwrap_or_else(|| unreachable!("`{line}` is gone from\n{after}"));
        commas += usize::from(found != line);
    }
    assert!(commas <= 1, "{after}");
}

/// The entry that each client gets.
fn expected(client: &str, command: &str) -> Value {
    match client {
        "claude-code" => json!({"type": "stdio", "command": command, "args": ["mcp"], "env": {}}),
        "vscode" => json!({"type": "stdio", "command": command, "args": ["mcp"]}),
        "goose" => json!({
            "enabled": true, "type": "stdio", "name": "milepost", "cmd": command, "args": ["mcp"],
            "description": "Workflows that agents and APIs run together", "envs": {},
            "env_keys": [], "timeout": 300,
        }),
        _ => json!({"command": command, "args": ["mcp"]}),
    }
}

const BINARY: &str = env!("CARGO_BIN_EXE_milepost");

#[test]
fn installing_and_removing_changes_nothing_else() {
    for (client, scope, file, text) in CASES {
        let windows = text.replace('\n', "\r\n");
        let unended = text.trim_end().to_owned();
        for before in [text.to_owned(), windows.clone(), format!("\u{feff}{windows}"), unended] {
            let place = Place::new();
            let path = put(&place, file, &before);
            let words = format!("{client} --scope {scope}");
            let done = install(&place, &format!("{words} --json")).ends(0).quiet().json();
            assert_eq!((&done["action"], &done["written"]), (&json!("added"), &json!(true)));
            let after = read(&path);
            stays_strict(client, &before, &after);
            let mut seen = servers(client, &after);
            assert_eq!(seen["milepost"], expected(client, BINARY), "{client}:\n{after}");
            seen.as_object_mut().expect("is an object").remove("milepost");
            assert_eq!(seen, servers(client, &before), "{client}");
            if client != "claude-desktop" {
                keeps_lines(&before, &after);
            }
            let ends = (after.matches("\r\n").count(), after.matches('\n').count());
            assert!(ends.0 == 0 || ends.0 == ends.1, "{client}: {ends:?}");

            let time = fs::metadata(&path).and_then(|found| found.modified()).expect("a time");
            let again = install(&place, &words).ends(0);
            assert!(again.out.ends_with(": nothing to do\n"), "{}", again.out);
            assert_eq!(read(&path), after);
            let later = fs::metadata(&path).and_then(|found| found.modified()).expect("a time");
            assert_eq!(time, later);

            install(&place, &format!("{words} --uninstall")).ends(0);
            assert_eq!(read(&path), before, "{client}");
            install(&place, &words).ends(0);
            // Uninstalls again, this time without the receipt.
            fs::remove_dir_all(at(&place, "home/.local")).expect("removes");
            install(&place, &format!("{words} --uninstall")).ends(0);
            let exact = read(&path) == before;
            assert!(exact || client == "codex" && read(&path).trim_end() == before, "{client}");
            let absent = install(&place, &format!("{words} --uninstall")).ends(0);
            assert!(absent.out.starts_with("there is no milepost in "), "{}", absent.out);
        }
    }
}

#[test]
fn missing_files_are_created_and_removed_again() {
    for (client, scope, file, _) in CASES {
        let place = Place::new();
        fs::create_dir(at(&place, "home")).expect("makes a folder");
        let words = format!("{client} --scope {scope}");
        let ran = install(&place, &words).ends(0);
        assert!(ran.out.ends_with(", a new file\n"), "{}", ran.out);
        let path = at(&place, file);
        assert_eq!(servers(client, &read(&path))["milepost"], expected(client, BINARY));
        stays_strict(client, "{}", &read(&path));
        assert!(read(&path).ends_with('\n'));
        install(&place, &words).ends(0);
        let ran = install(&place, &format!("{words} --uninstall")).ends(0);
        assert!(ran.out.ends_with(", and the file itself\n"), "{}", ran.out);
        let left = |folder: &str| {
            let entries = fs::read_dir(at(&place, folder)).expect("reads");
            let names = entries.map(|entry| entry.expect("reads").file_name());
            names.filter(|name| name != ".local").count()
        };
        assert_eq!((left("home"), left("work")), (0, 0), "{client}");
    }
}

#[test]
fn empty_sections_are_restored_to_the_byte() {
    let files: [(&str, &str, &[&str]); 3] = [
        (
            "cursor",
            "home/.cursor/mcp.json",
            &[
                "",
                "\n",
                "{}",
                "{ }",
                "{\n}\n",
                "// none\n",
                "{\n  // none\n}\n",
                "{\"mcpServers\":{}}",
                "{\n  \"mcpServers\": {\n  }\n}\n",
                "{\"other\": 1}",
                "{\n   \"other\": 1\n}\n",
            ],
        ),
        (
            "codex",
            "home/.codex/config.toml",
            &["", "# none", "[mcp_servers]\n", "a = 1\n\n\n", "a = 1"],
        ),
        (
            "goose",
            "home/.config/goose/config.yaml",
            &["", "# none\n", "extensions:\n", "extensions: {} # none\n", "a: 1", "extensions: ~"],
        ),
    ];
    for (client, file, texts) in files {
        for text in texts {
            let place = Place::new();
            let path = put(&place, file, text);
            install(&place, client).ends(0);
            stays_strict(client, text, &read(&path));
            assert_eq!(servers(client, &read(&path))["milepost"], expected(client, BINARY));
            install(&place, &format!("{client} --uninstall")).ends(0);
            assert_eq!(read(&path), *text);
        }
    }
}

#[test]
fn later_changes_by_others_are_kept() {
    let place = Place::new();
    let path = at(&place, "home/.cursor/mcp.json");
    install(&place, "cursor").ends(0);
    // Simulates a client that rewrites its file.
    let mut whole = plain_json(&read(&path));
    whole["mcpServers"]["other"] = json!({"url": "https://other.test"});
    put(&place, "home/.cursor/mcp.json", &whole.to_string());
    install(&place, "cursor").ends(0);
    install(&place, "cursor --uninstall").ends(0);
    assert_eq!(read(&path), r#"{"mcpServers":{"other":{"url":"https://other.test"}}}"#);

    install(&place, "cursor").ends(0);
    install(&place, "cursor --name second").ends(0);
    install(&place, "cursor --uninstall").ends(0);
    let left = servers("cursor", &read(&path));
    assert_eq!(left["second"]["args"], json!(["mcp"]));
    assert_eq!(left.as_object().map(serde_json::Map::len), Some(2));
}

#[test]
fn unreadable_files_are_never_touched() {
    let cases = [
        ("claude-code", "home/.claude.json", "{\n  \"mcpServers\": {\n    \"a\": 1\n", (4, 1)),
        ("cursor", "home/.cursor/mcp.json", "{\"mcpServers\": [1]}", (1, 16)),
        ("cursor", "home/.cursor/mcp.json", "[]", (1, 1)),
        ("vscode", "home/.config/Code/User/mcp.json", "{\n  'a': 1\n}", (2, 3)),
        ("codex", "home/.codex/config.toml", "a = 1\nb = \n", (2, 5)),
        ("codex", "home/.codex/config.toml", "mcp_servers = { a = 1 }\n", (1, 15)),
        ("goose", "home/.config/goose/config.yaml", "extensions: {a: {type: stdio}}\n", (1, 13)),
        ("goose", "home/.config/goose/config.yaml", "a: 1\n\tb: 2\n", (2, 1)),
    ];
    for (client, file, text, (line, column)) in cases {
        let place = Place::new();
        let path = put(&place, file, text);
        for words in ["", " --overwrite", " --print"] {
            let ran = install(&place, &format!("{client}{words}")).ends(2);
            assert!(ran.err.starts_with("error[CLIENT_CONFIG_REFUSED]: "), "{}", ran.err);
            assert!(ran.err.contains("by hand:\n"), "{}", ran.err);
            assert!(ran.err.contains("\"mcp\"") || ran.err.contains("- mcp"), "{}", ran.err);
        }
        let told = problem(&install(&place, &format!("{client} --json")).ends(2));
        let place_told = (told["context"]["line"].as_u64(), told["context"]["column"].as_u64());
        assert_eq!(place_told, (Some(line), Some(column)), "{client}: {told}");
        assert_eq!(told["context"]["path"], json!(path.display().to_string()));
        assert_eq!(
            servers(client, told["context"]["paste"].as_str().expect("is text"))["milepost"],
            expected(client, BINARY)
        );
        assert_eq!(read(&path), text);
    }
    let place = Place::new();
    let path = put(&place, "home/.cursor/mcp.json", "");
    fs::write(&path, b"{\"a\": \"\xff\"}").expect("writes");
    let ran = install(&place, "cursor").ends(2);
    assert!(ran.err.contains("line 1, column 8: it is not UTF-8 text"), "{}", ran.err);
    install(&place, "cursor --uninstall").ends(2);
}

#[test]
fn a_different_entry_is_replaced_only_with_force() {
    let others = [
        ("cursor", "home/.cursor/mcp.json", "{\"mcpServers\": {\"milepost\": {\"url\": \"u\"}}}\n"),
        ("codex", "home/.codex/config.toml", "[mcp_servers.milepost]\nurl = \"u\"\n\n[b]\nc = 1\n"),
        (
            "goose",
            "home/.config/goose/config.yaml",
            "extensions:\n  milepost:\n    type: sse # old\n    uri: u\nb: 1\n",
        ),
    ];
    for (client, file, text) in others {
        let place = Place::new();
        let path = put(&place, file, text);
        for words in ["", " --uninstall"] {
            let ran = install(&place, &format!("{client}{words}")).ends(7);
            assert!(ran.err.contains("\n-"), "the difference is shown: {}", ran.err);
            assert!(ran.err.contains("error[CLIENT_CONFIG_CONFLICT]: "), "{}", ran.err);
            let told = problem(&install(&place, &format!("{client}{words} --json")).ends(7));
            assert!(told["context"]["diff"].as_str().expect("is text").contains("\n-"), "{told}");
        }
        assert_eq!(read(&path), text);
        let ran = install(&place, &format!("{client} --overwrite --json")).ends(0).json();
        assert_eq!(ran["action"], "replaced");
        assert!(ran["notes"][0].as_str().expect("is text").contains("not kept"), "{ran}");
        assert_eq!(servers(client, &read(&path))["milepost"], expected(client, BINARY));
        install(&place, client).ends(0);
        install(&place, &format!("{client} --uninstall")).ends(0);
        assert!(!read(&path).contains("milepost"), "{}", read(&path));
    }
    // An entry that a person typed or a client rewrote is as good as ours.
    let place = Place::new();
    let ours = json!({"mcpServers": {"milepost": {
        "command": BINARY, "args": ["mcp"], "env": {"MILEPOST_TOKEN": "x"}, "timeout": 9,
    }}});
    let path = put(&place, "home/.claude.json", &ours.to_string());
    let done = install(&place, "claude-code --json").ends(0).json();
    assert_eq!((&done["action"], &done["written"]), (&json!("unchanged"), &json!(false)));
    assert_eq!(read(&path), ours.to_string());
    // A disabled entry is not accepted.
    let start = format!("command = '{BINARY}'\nargs = ['mcp']");
    let off = format!("[mcp_servers.milepost]\n{start}\nenabled = false\n");
    put(&place, "home/.codex/config.toml", &off);
    install(&place, "codex").ends(7);
}

#[test]
fn print_shows_and_changes_nothing() {
    for (client, scope, file, text) in CASES {
        let place = Place::new();
        let words = format!("{client} --scope {scope} --print");
        let ran = install(&place, &words).ends(0);
        let path = at(&place, file);
        let (first, snippet) = ran.out.split_once('\n').expect("has lines");
        assert_eq!(first, format!("would add milepost to {}, a new file", path.display()));
        assert_eq!(servers(client, snippet)["milepost"], expected(client, BINARY));
        assert!(ran.err.contains("+++ "), "{}", ran.err);
        assert!(!at(&place, "home").exists() && !path.exists(), "{client}");

        put(&place, file, text);
        install(&place, &words).ends(0);
        let done = install(&place, &format!("{words} --json")).ends(0).quiet().json();
        assert_eq!((&done["action"], &done["written"]), (&json!("added"), &json!(false)));
        assert_eq!(read(&path), text);
        assert!(!at(&place, "home/.local").exists());
        install(&place, &format!("{client} --scope {scope}")).ends(0);
        let with = read(&path);
        let ran = install(&place, &format!("{words} --uninstall")).ends(0);
        assert!(ran.out.starts_with("would remove milepost from "), "{}", ran.out);
        assert_eq!(read(&path), with);
    }
}

#[test]
fn output_for_people() {
    let place = Place::new();
    let path = put(&place, "work/.cursor/mcp.json", CURSOR).display().to_string();
    let ran = install(&place, "cursor --scope project --name mine").ends(0);
    assert_eq!(ran.out, format!("added mine to {path}\n"));
    let told = ran.err.replace(BINARY, "BINARY").replace(&path, "FILE");
    assert_eq!(
        told,
        "--- FILE\n+++ FILE\n@@ mcpServers.mine @@\n\
         +{\n+  \"mcpServers\": {\n+    \"mine\": {\n+      \"command\": \"BINARY\",\n\
         +      \"args\": [\"mcp\"]\n+    }\n+  }\n+}\n\
         note: the entry contains the path of the program on this machine: put `milepost` on the \
         `PATH` to share the file\n\
         next: restart Cursor; its settings list the server under MCP, where it can be turned on\n\
         undo: milepost mcp install cursor --scope project --name mine --uninstall\n"
    );
    assert!(!told.contains("sk-1234567890"), "keys of others are not shown");
    let ran = install(&place, "cursor --scope project --name mine --uninstall").ends(0);
    assert_eq!(ran.out, format!("removed mine from {path}\n"));
    let undo = "undo: milepost mcp install cursor --scope project --name mine\n";
    assert!(ran.err.ends_with(undo), "{}", ran.err);
}

/// Credentials of other servers, or in an existing entry, are never shown.
#[test]
fn no_credential_in_the_file_is_shown() {
    const KEY: &str = "sk-1234567890";
    let ours = r#"{"command": "x", "args": ["y"], "env": {"K": "KEY"}, "url": "KEY"}"#;
    let args = r#"{"command": "milepost", "args": ["mcp", "--tools", "core", "--header", "KEY"]}"#;
    let files = [
        ("cursor", r#"{"mcpServers": {"a": {"command": "a", "env": {"K": "KEY"}}}}"#.to_owned()),
        (
            "cursor",
            "{\"mcpServers\": {\n  \"a\": {\"command\": \"a\", \"env\": {\"K\": \"KEY\"}}\n}}\n"
                .into(),
        ),
        ("cursor", format!(r#"{{"mcpServers": {{"b": {{"x": "KEY"}}, "milepost": {ours}}}}}"#)),
        ("cursor", format!(r#"{{"mcpServers": {{"milepost": {args}}}}}"#)),
        ("codex", "key = \"KEY\"\n[mcp_servers.milepost]\nurl = \"KEY\"".to_owned()),
        ("codex", "[mcp_servers.milepost]\ncommand = 'milepost'\nargs = ['KEY']".to_owned()),
        (
            "goose",
            "extensions:\n  milepost:\n    cmd: x\n    envs: {A: KEY}\n  b: {c: KEY}\n".into(),
        ),
    ];
    for (client, text) in files {
        let place = Place::new();
        let file = match client {
            "cursor" => "home/.cursor/mcp.json",
            "codex" => "home/.codex/config.toml",
            _ => "home/.config/goose/config.yaml",
        };
        let path = put(&place, file, &text.replace("KEY", KEY));
        for words in ["", " --print", " --uninstall --print", " --overwrite", " --uninstall"] {
            for json in ["", " --json"] {
                let ran = install(&place, &format!("{client}{words}{json}"));
                let told = format!("{}{}", ran.out, ran.err);
                assert!(!told.contains(KEY), "{client}{words}{json} {text}: {told}");
            }
        }
        assert!(!read(&path).contains("milepost"), "{}", read(&path));
    }
}

#[test]
fn the_result_as_json() {
    let place = Place::new();
    let path = at(&place, "home/.claude.json").display().to_string();
    let mut done = install(&place, "claude-code --json").ends(0).quiet().json();
    let diff = done["diff"].take();
    assert!(diff.as_str().expect("is text").starts_with("--- /dev/null\n+++ "), "{diff}");
    assert_eq!(
        done,
        json!({
            "client": "claude-code", "scope": "user", "name": "milepost", "path": path,
            "action": "added", "written": true, "whole_file": true,
            "entry": expected("claude-code", BINARY), "diff": null,
            "next": "start a new Claude Code session; `/mcp` shows the server",
            "undo": "milepost mcp install claude-code --uninstall", "notes": [],
        })
    );
    let done = install(&place, "claude-code --json --uninstall").ends(0).quiet().json();
    assert_eq!((&done["action"], &done["whole_file"]), (&json!("removed"), &json!(true)));
    let done = install(&place, "claude-code --json --uninstall").ends(0).quiet().json();
    assert_eq!((&done["action"], &done["written"]), (&json!("absent"), &json!(false)));
}

#[test]
fn unsupported_arguments_are_reported() {
    let place = Place::new();
    for words in ["goose --scope project", "claude-desktop --scope project"] {
        let ran = install(&place, words).ends(2);
        assert!(ran.err.contains("has no project configuration"), "{}", ran.err);
    }
    for name in ["a.b", "-a", "a b", "ä", "", &"a".repeat(65)] {
        let ran = place.run(["mcp", "install", "codex", &format!("--name={name}")]).ends(2);
        assert!(ran.err.contains("error[ID_INVALID]: "), "{}", ran.err);
    }
    install(&place, "emacs").ends(2);
    let mut command = place.command();
    let homeless = finish(command.env_remove("HOME").args(["mcp", "install", "cursor"]), "");
    assert!(homeless.ends(6).err.contains("`HOME` is not set"));
    assert!(!at(&place, "home").exists());
}

#[test]
fn variables_select_the_location() {
    let place = Place::new();
    let folder = at(&place, "elsewhere");
    for (client, variable, file) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("goose", "XDG_CONFIG_HOME", "goose/config.yaml"),
        ("vscode", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
    ] {
        let mut command = place.command();
        finish(command.env(variable, &folder).args(["mcp", "install", client]), "").ends(0);
        assert!(read(&folder.join(file)).contains("mcp"), "{client}");
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("is there").permissions().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("is set");
    }

    #[test]
    fn the_mode_of_a_file_is_kept() {
        let place = Place::new();
        let path = put(&place, "home/.claude.json", CLAUDE);
        set_mode(&path, 0o640);
        install(&place, "claude-code").ends(0);
        assert_eq!(mode(&path), 0o640);
        install(&place, "claude-code --uninstall").ends(0);
        assert_eq!(mode(&path), 0o640);
        // Clients keep credentials in this file.
        install(&place, "codex").ends(0);
        assert_eq!(mode(&at(&place, "home/.codex/config.toml")), 0o600);
    }

    #[test]
    fn a_read_only_file_is_not_written() {
        let place = Place::new();
        let path = put(&place, "home/.claude.json", CLAUDE);
        set_mode(&path, 0o444);
        let ran = install(&place, "claude-code").ends(8);
        assert!(ran.err.contains("is read-only"), "{}", ran.err);
        assert!(ran.err.contains("hint: make it writable, or add this"), "{}", ran.err);
        assert_eq!((read(&path).as_str(), mode(&path)), (CLAUDE, 0o444));
        set_mode(&path, 0o644);
        install(&place, "claude-code").ends(0);
        set_mode(&path, 0o444);
        install(&place, "claude-code").ends(0);
        install(&place, "claude-code --uninstall").ends(8);
        set_mode(&path, 0o644);
        // Only root can change a file's owner, and permissions do not stop root.
        if chown(&path, Some(12345), None).is_ok() {
            let ran = install(&place, "claude-code --uninstall").ends(8);
            assert!(ran.err.contains("belongs to another user"), "{}", ran.err);
        } else {
            let folder = path.parent().expect("has one");
            set_mode(folder, 0o555);
            let ran = install(&place, "claude-code --uninstall").ends(75);
            set_mode(folder, 0o755);
            assert!(ran.err.contains("Permission denied"), "{}", ran.err);
        }
        assert!(read(&path).contains(BINARY));
        fs::create_dir_all(at(&place, "home/.cursor/mcp.json")).expect("makes a folder");
        let ran = install(&place, "cursor").ends(8);
        assert!(ran.err.contains("is not a regular file"), "{}", ran.err);
        put(&place, "home/.codex", "a file");
        install(&place, "codex").ends(75);
    }

    #[test]
    fn only_the_users_own_links_are_followed() {
        let place = Place::new();
        let real = put(&place, "dotfiles/claude.json", CLAUDE);
        fs::create_dir(at(&place, "home")).expect("makes a folder");
        let link = at(&place, "home/.claude.json");
        symlink(&real, &link).expect("links");
        let ran = install(&place, "claude-code").ends(0);
        assert!(ran.err.contains(".claude.json is a link to "), "{}", ran.err);
        assert!(fs::symlink_metadata(&link).expect("is there").is_symlink());
        assert!(read(&real).contains(BINARY));
        install(&place, "claude-code --uninstall").ends(0);
        assert_eq!(read(&real), CLAUDE);

        // A link inside a project must not lead outside it.
        let outside = put(&place, "home/.cursor/mcp.json", "{}");
        symlink(at(&place, "home/.cursor"), at(&place, "work/.cursor")).expect("links");
        symlink(&outside, at(&place, "work/.mcp.json")).expect("links");
        for client in ["cursor", "claude-code"] {
            let ran = install(&place, &format!("{client} --scope project")).ends(8);
            assert!(ran.err.contains("is outside its directory"), "{}", ran.err);
        }
        assert_eq!(read(&outside), "{}");
        symlink("nowhere", at(&place, "home/.codex")).expect("links");
        let ran = install(&place, "codex").ends(8);
        assert!(ran.err.contains("is a dangling link"), "{}", ran.err);
        let kept = put(&place, "work/kept.json", "{}");
        fs::create_dir(at(&place, "work/.vscode")).expect("makes a folder");
        symlink("../kept.json", at(&place, "work/.vscode/mcp.json")).expect("links");
        install(&place, "vscode --scope project").ends(0);
        assert!(read(&kept).contains("milepost"));
    }

    #[test]
    fn the_bare_name_is_used_when_it_resolves_to_this_binary() {
        let place = Place::new();
        let folder = at(&place, "bin");
        fs::create_dir(&folder).expect("makes a folder");
        symlink(BINARY, folder.join("milepost")).expect("links");
        let path = |folders: &[&Path]| std::env::join_paths(folders).expect("joins");
        let told = |client: &str, path: &std::ffi::OsStr| {
            let mut command = place.command();
            let words = ["mcp", "install", client, "--print", "--json"];
            let done = finish(command.env("PATH", path).args(words), "").ends(0).json();
            done["entry"]["command"].as_str().expect("is text").to_owned()
        };
        assert_eq!(told("cursor", &path(&[&folder])), "milepost");
        // A program that is started without a shell cannot resolve a bare name.
        let whole = folder.join("milepost").display().to_string();
        assert_eq!(told("claude-desktop", &path(&[&folder])), whole);
        let first = at(&place, "first");
        fs::create_dir(&first).expect("makes a folder");
        fs::write(first.join("milepost"), "#!/bin/sh\n").expect("writes");
        assert_eq!(told("cursor", &path(&[&first, &folder])), "milepost", "it is no program");
        set_mode(&first.join("milepost"), 0o755);
        assert_eq!(told("cursor", &path(&[&first, &folder])), BINARY);
    }
}

#[test]
fn a_client_can_start_the_installed_command() {
    let place = Place::new();
    install(&place, "cursor").ends(0);
    let server = &servers("cursor", &read(&at(&place, "home/.cursor/mcp.json")))["milepost"];
    let args = server["args"].as_array().expect("is a list");
    let mut command = Command::new(server["command"].as_str().expect("is text"));
    command.args(args.iter().filter_map(Value::as_str)).env_clear();
    command.current_dir(place.path("")).env("HOME", at(&place, "home"));
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    let ran = finish(&mut command, &format!("{hello}\n")).ends(0);
    let answer: Value = serde_json::from_str(ran.out.trim_end()).expect("is JSON");
    assert_eq!(answer["result"]["serverInfo"]["name"], "milepost");
}

#[test]
fn the_documentation_shows_what_is_written() {
    let page = crate::docs::read("docs/clients.md");
    let blocks = crate::docs::blocks(&page);
    let shown: Vec<_> = blocks.iter().filter(|block| block.heading != "The command").collect();
    let clients = ["claude-code", "cursor", "vscode", "codex", "goose", "claude-desktop"];
    assert_eq!(shown.len(), clients.len());
    for (client, block) in clients.into_iter().zip(shown) {
        let whole = "/home/u/.cargo/bin/milepost";
        let command = if client == "claude-desktop" { whole } else { "milepost" };
        assert_eq!(servers(client, &block.body)["milepost"], expected(client, command), "{client}");
    }
}

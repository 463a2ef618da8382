//! The documentation is true: its documents are valid, its commands run, its lists are complete.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
}

fn milepost(arguments: &[&str], folder: &Path) -> Output {
    let home = folder.join("home");
    Command::new(env!("CARGO_BIN_EXE_milepost"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("HOME", home)
        .output()
        .expect("the binary runs")
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// The fenced blocks of a page, as language and text.
pub(crate) fn blocks(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language.to_owned(), String::new())),
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some((_, body)), None) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

#[test]
fn documents_in_the_docs_are_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut checked = 0;
    for page in ["README.md", "docs/workflows.md"] {
        for (language, body) in blocks(&read(page)) {
            if !matches!(language.as_str(), "yaml" | "json") {
                continue;
            }
            if body.contains("\"mcpServers\"") {
                check_client_configuration(&body, folder.path());
                continue;
            }
            let file = folder.path().join(format!("document.{language}"));
            std::fs::write(&file, &body).expect("written");
            let name = format!("document.{language}");
            let output = milepost(&["workflow", "validate", &name], folder.path());
            assert!(output.status.success(), "{page}:\n{body}\n{}", text(&output));
            checked += 1;
        }
    }
    assert!(checked >= 4, "only {checked} documents were found");
}

/// What a client would start from this configuration serves, and ends when the client goes.
fn check_client_configuration(body: &str, folder: &Path) {
    let configuration: serde_json::Value = serde_json::from_str(body).expect("JSON");
    let server = &configuration["mcpServers"]["milepost"];
    assert_eq!(server["command"], "milepost");
    let arguments = server["args"].as_array().expect("arguments");
    let arguments: Vec<&str> = arguments.iter().filter_map(serde_json::Value::as_str).collect();
    let output = milepost(&arguments, folder);
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn the_first_command_of_the_readme_works() {
    let readme = read("README.md");
    let line = readme
        .lines()
        .find_map(|line| line.strip_prefix("cargo run --release -- "))
        .expect("the README has its first command");
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let folder = tempfile::tempdir().expect("a folder");
    let output = milepost(&arguments, folder.path());
    assert!(output.status.success(), "{}", text(&output));
    assert!(readme.contains("\ncargo xtask test\n"), "and its second");
}

#[test]
fn the_sixty_seconds_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let readme = read("README.md");
    let commands: Vec<&str> =
        readme.lines().filter_map(|line| line.strip_prefix("milepost ")).collect();
    assert_eq!(commands.len(), 4);
    for command in commands {
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let output = milepost(&arguments, folder.path());
        assert!(output.status.success(), "{command}: {}", text(&output));
    }
    let file = folder.path().join("tidy-inbox.yaml");
    let whole = std::fs::read_to_string(&file).expect("read");
    let broken = whole
        .replacen("title: Look", "titel: Look", 1)
        .replacen("steps.look.output.summary }}?", "steps.lok.output.summary }}?", 1)
        .replacen("${{ inputs.subject }}", "{{ inputs.subject }}", 1);
    let broken = broken.replacen("this? ${{ steps.look.", "this? ${{ steps.lok.", 1);
    std::fs::write(&file, &broken).expect("written");
    let output = milepost(&["workflow", "validate", "tidy-inbox.yaml"], folder.path());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    let shown = text(&output);
    let (_, example) =
        blocks(&readme).into_iter().find(|(language, _)| language == "text").expect("an example");
    assert!(shown.contains(example.trim_end()), "README shows:\n{example}\nbut we show:\n{shown}");
    let output = milepost(&["workflow", "validate", "--fix", "tidy-inbox.yaml"], folder.path());
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(std::fs::read_to_string(&file).expect("read"), whole, "every byte is back");
}

#[test]
fn every_key_of_the_schemas_is_documented() {
    let page = read("docs/workflows.md");
    for file in ["schemas/workflow.schema.json", "schemas/guide.schema.json"] {
        let schema: serde_json::Value = serde_json::from_str(&read(file)).expect("a schema");
        let shapes = schema["$defs"].as_object().expect("definitions").values();
        for properties in
            shapes.chain([&schema]).filter_map(|shape| shape["properties"].as_object())
        {
            for (key, value) in properties {
                // `false` is a key that is refused with a fix, and camelCase twins are spellings.
                let refused = value == &serde_json::Value::Bool(false);
                let twin = matches!(key.as_str(), "notEquals" | "startsWith" | "endsWith");
                let known = page.contains(&format!("`{key}`")) || key == "$schema";
                assert!(known || refused || twin, "docs/workflows.md says nothing of `{key}`");
            }
        }
    }
}

/// A newcomer who types what the page says, in its order, from an empty directory.
#[cfg(unix)]
#[test]
fn the_quick_start_can_be_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let work = folder.path().join("work");
    std::fs::create_dir(&work).expect("makes it");
    let page = read("docs/quick-start.md");
    let typed: Vec<String> = blocks(&page)
        .into_iter()
        .filter(|(language, _)| language == "sh")
        .map(|(_, text)| text)
        .collect();
    assert!(typed.len() >= 7, "{}", typed.len());
    let program = Path::new(env!("CARGO_BIN_EXE_milepost"));
    let path = format!("{}:/usr/bin:/bin", program.parent().expect("a folder").display());
    let output = Command::new("/bin/sh")
        .args(["-eux", "-c", &typed.join("\n")])
        .current_dir(&work)
        .env_clear()
        .env("HOME", folder.path())
        .env("PATH", path)
        .output()
        .expect("a shell runs");
    assert!(output.status.success(), "{}", text(&output));
    let said = text(&output);
    for word in ["flaky-sync", "order-report", "shop-api refunds:create", "0 faults, 0 warnings"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

//! Applies one rule to every block of every page, by its language:
//!
//! - `sh`: every line runs and exits with 0, or with the code that the line states (`# exit code
//!   3`);
//! - `console`: the same for the text after `$`, and the output is as shown;
//! - `yaml`, `json`, `toml`: a document that the program accepts or prints;
//! - `jsonl`, `http`: messages sent to a server, and its answers;
//! - `text`: none of these. These blocks are counted below, with the reason why they are not run.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::block::{Block, blocks, pages, read};
use super::documents;
use super::stage::Stage;
use crate::mcp::transcript::Transcript;
use crate::serve::page::answered;

/// Text blocks by page, with their number and the reason why they are not run.
const TEXTS: &[(&str, usize, &str)] = &[
    ("README.md", 1, "a remark of a command; `readme.rs` compares it"),
    ("docs/ARCHITECTURE.md", 2, "drawings"),
    ("docs/demo.md", 1, "the tour as it was recorded; `demo.rs` compares it"),
    ("docs/guides.md", 2, "a part of a prompt, and a tree of files"),
    ("docs/operations.md", 2, "lines of a log, settings of another program"),
    ("docs/reference.md", 0, "the help of every command; `snapshots.rs` compares it"),
];
/// The page whose number of blocks follows from the number of commands.
const RECORDED: &str = "docs/reference.md";

/// Pages whose text, including commands, is compared with the program's output.
const COMPARED: &[&str] = &["README.md", "docs/demo.md", RECORDED];

/// How many pages are played in parallel.
const AT_ONCE: usize = 4;

#[test]
fn every_block_of_every_page_runs_or_validates() {
    let open = Mutex::new(pages());
    let (faults, texts) = (Mutex::new(Vec::new()), Mutex::new(BTreeMap::new()));
    let next = || open.lock().expect("nobody panics").pop();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(page) = next() {
                    let (found, count) = play(&page);
                    faults.lock().expect("nobody panics").extend(found);
                    texts.lock().expect("nobody panics").insert(page, count);
                }
            });
        }
    });
    let faults = faults.into_inner().expect("nobody panics");
    assert!(faults.is_empty(), "{} blocks\n\n{}", faults.len(), faults.join("\n\n"));
    let texts = texts.into_inner().expect("nobody panics");
    let texts = texts.iter().filter(|(page, count)| **count > 0 && *page != RECORDED);
    let texts: Vec<(&str, usize)> = texts.map(|(page, count)| (page.as_str(), *count)).collect();
    let known = TEXTS.iter().filter(|(page, ..)| *page != RECORDED);
    let known: Vec<(&str, usize)> = known.map(|(page, count, _)| (*page, *count)).collect();
    assert_eq!(texts, known, "a block of text needs a reason in `TEXTS`");
}

/// Whether a line is meant to be typed, with or without a leading `$` and variables.
fn is_command(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_before = |word: &&str| *word == "$" || word.contains('=');
    words.find(|word| !is_before(word)) == Some("milepost")
}

/// The mistakes in the blocks of a page, and the number of its text blocks.
fn play(page: &str) -> (Vec<String>, usize) {
    let mut stage = Stage::new(page);
    let (mut faults, mut texts) = (Vec::new(), 0);
    let all = blocks(&read(page));
    for block in &all {
        let found = match block.language.as_str() {
            "sh" => stage.typed(block),
            "console" => stage.compared(block),
            "yaml" | "json" | "toml" => documents::judge(&mut stage, block),
            "http" => request(&stage, block),
            "jsonl" => Vec::new(),
            "text" if !COMPARED.contains(&page) && block.body.lines().any(is_command) => {
                vec!["a command as text".to_owned()]
            }
            "text" => {
                texts += 1;
                Vec::new()
            }
            other => vec![format!("no rule for the language `{other}`")],
        };
        faults.extend(found.into_iter().map(|fault| format!("{page}:{}: {fault}", block.line)));
    }
    faults.extend(walked(page, &all));
    (faults, texts)
}

fn request(stage: &Stage, block: &Block) -> Vec<String> {
    let message = answered(&stage.place, &block.body);
    if message["result"].is_object() { Vec::new() } else { vec![message.to_string()] }
}

/// Checks the lines of a walk through the guide in the same section.
fn walked(page: &str, all: &[Block]) -> Vec<String> {
    let lines: Vec<&Block> = all.iter().filter(|block| block.language == "jsonl").collect();
    let Some(first) = lines.first() else { return Vec::new() };
    let guide = all.iter().find(|block| {
        block.language == "json" && block.heading == first.heading && block.line < first.line
    });
    let guide = guide.expect("the guide that is walked");
    let lines: String = lines.iter().map(|block| block.body.as_str()).collect();
    Transcript::of_page(page, ("guide.json", &guide.body), &lines).faults()
}

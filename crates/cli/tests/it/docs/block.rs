//! Pages and their fenced blocks.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect(path)
}

/// Every page, by its path from the repository root.
pub(crate) fn pages() -> Vec<String> {
    let mut pages = vec!["CHANGELOG.md".to_owned(), "README.md".to_owned()];
    let mut open = vec!["docs".to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root().join(&folder)).expect("reads").flatten() {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                open.push(name);
            } else if entry.path().extension().is_some_and(|extension| extension == "md") {
                pages.push(name);
            }
        }
    }
    pages.sort();
    pages
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) language: String,
    pub(crate) body: String,
    /// The line of the page on which the block starts.
    pub(crate) line: usize,
    /// The heading above the block, without its marks.
    pub(crate) heading: String,
}

/// The fenced blocks of a page, including those in lists.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut heading = String::new();
    let mut open: Option<(usize, Block)> = None;
    for (index, line) in page.lines().enumerate() {
        let text = line.trim_start();
        match (&mut open, text.strip_prefix("```")) {
            (None, Some(language)) => {
                let (line_number, language) = (index + 1, language.trim().to_owned());
                let (body, heading) = (String::new(), heading.clone());
                let block = Block { language, body, line: line_number, heading };
                open = Some((line.len() - text.len(), block));
            }
            (Some(_), Some(_)) => found.extend(open.take().map(|(_, block)| block)),
            (Some((indent, block)), None) => {
                block.body.push_str(line.get(*indent..).unwrap_or_default());
                block.body.push('\n');
            }
            (None, None) if line.starts_with('#') => {
                line.trim_matches(['#', ' ', '`']).clone_into(&mut heading);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block has no end: {open:?}");
    found
}

#[test]
fn blocks_know_their_language_heading_and_line() {
    let page = "# A\n\n```sh\nb\n```\n## `c`\n- d\n\n  ```json\n  {\n    }\n  ```\n";
    let told: Vec<_> = blocks(page)
        .into_iter()
        .map(|block| (block.language, block.body, block.line, block.heading))
        .collect();
    let own = |text: &str| text.to_owned();
    assert_eq!(
        told,
        [(own("sh"), own("b\n"), 3, own("A")), (own("json"), own("{\n  }\n"), 9, own("c")),]
    );
}

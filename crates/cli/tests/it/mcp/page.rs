//! The worked example of the documentation, walked through the real server.

use super::transcript::Transcript;
use crate::docs::{blocks, read};

#[test]
fn the_worked_example_is_true() {
    let page = read("docs/guides.md");
    let (_, section) = page.split_once("\n## A worked example\n").expect("there is one");
    let (section, _) = section.split_once("\n## ").expect("and something behind it");
    let blocks = blocks(section);
    let of = |language: &str| -> Vec<&str> {
        let of = blocks.iter().filter(|block| block.0 == language);
        of.map(|block| block.1.as_str()).collect()
    };
    let [guide] = of("json")[..] else { panic!("one guide") };
    let transcript = Transcript::of_page(
        "docs/guides.md",
        ("update-dependency.json", guide),
        &of("jsonl").concat(),
    );
    assert_eq!(transcript.exchanges(), 17);
    transcript.play();
}

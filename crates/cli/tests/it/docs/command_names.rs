//! Commands mentioned in a sentence or a table exist, and so do their options.

use std::collections::BTreeMap;

use super::block::{pages, read};
use crate::Place;

/// The relevant parts of a command's help.
struct Help {
    text: String,
    below: Vec<String>,
}

/// Caches the help of every command that was looked up.
struct Known<'p> {
    place: &'p Place,
    seen: BTreeMap<Vec<String>, Help>,
}

impl Known<'_> {
    fn help(&mut self, path: &[String]) -> &Help {
        self.seen.entry(path.to_vec()).or_insert_with(|| {
            let words = path.iter().map(String::as_str).chain(["--help"]);
            let text = self.place.run(words).ends(0).out;
            let (_, list) = text.split_once("Commands:\n").unwrap_or_default();
            let list = list.lines().take_while(|line| !line.is_empty());
            let names = list.filter_map(|line| line.strip_prefix("  "));
            let names = names.filter_map(|line| line.split(' ').next());
            let below = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
            Help { text, below }
        })
    }

    /// The mistake in a command as written on a page, if any.
    fn fault(&mut self, said: &str) -> Option<String> {
        let mut path: Vec<String> = Vec::new();
        for word in said.split_whitespace().skip(1) {
            let word = word.trim_matches(['[', ']', '(', ')', ',']);
            if word == "--" {
                break;
            }
            let help = self.help(&path);
            if let Some(option) = word.strip_prefix("--") {
                let option = option.split('=').next().unwrap_or_default();
                if !help.text.contains(&format!("--{option}")) {
                    return Some(format!("`{said}`: {path:?} has no `--{option}`"));
                }
                continue;
            }
            let plain = |c: char| c.is_ascii_lowercase() || c == '-';
            let names: Vec<&str> = word.split('|').collect();
            if help.below.is_empty() || !names.iter().all(|name| name.chars().all(plain)) {
                continue;
            }
            // Otherwise the word is the value of an option before it.
            if path.is_empty() || said.contains(&format!("milepost {} {word}", path.join(" "))) {
                let missing = names.iter().find(|name| !help.below.iter().any(|one| one == *name));
                if let Some(name) = missing {
                    return Some(format!("`{said}`: {path:?} has no command `{name}`"));
                }
            }
            if let [name] = names[..]
                && help.below.iter().any(|one| one == name)
            {
                path.push(name.to_owned());
            }
        }
        None
    }
}

#[test]
fn every_command_that_a_page_names_exists() {
    let place = Place::new();
    let mut known = Known { place: &place, seen: BTreeMap::new() };
    let (mut faults, mut count) = (Vec::new(), 0);
    for page in pages().iter().filter(|page| *page != "docs/reference.md") {
        let text = read(page);
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
                continue;
            }
            if fenced {
                continue;
            }
            for said in line.split('`').skip(1).step_by(2) {
                if said.starts_with("milepost ") {
                    count += 1;
                    let fault = known.fault(&said.replace("\\|", "|"));
                    faults.extend(fault.map(|fault| format!("{page}:{}: {fault}", index + 1)));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 150, "{count}");
}

//! `milepost completions` and `milepost man` with the real binary: the output covers every command.

use std::collections::BTreeSet;
use std::fs;

use crate::Place;

/// Nested commands, which clap builds only on demand.
const DEEP: &[&str] = &["validate", "import", "set-pin", "purge", "budget", "completions"];

#[test]
fn every_shell_knows_every_command() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.run(["completions", shell]).ends(0).quiet().out;
        for word in DEEP.iter().chain(&["older-than", "surface", "dry-run", "token-file"]) {
            assert!(script.contains(word), "{shell} says nothing of `{word}`");
        }
        let told = place.run(["completions", shell, "--json"]).ends(0).quiet().json();
        assert_eq!(told["shell"], shell);
        assert_eq!(told["script"], script);
    }
    place.run(["completions", "sh"]).ends(2);
    place.run(["completions"]).ends(2);
}

/// Bash accepts the printed script.
#[test]
fn bash_reads_its_script() {
    let place = Place::new();
    let script = place.run(["completions", "bash"]).ends(0).out;
    let path = place.path("milepost.bash");
    fs::write(&path, script).expect("writes");
    let bash = std::process::Command::new("bash").arg("-n").arg(&path).output();
    // Not every machine has bash.
    if let Ok(output) = bash {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn every_command_has_its_page_and_every_option_is_on_it() {
    let place = Place::new();
    let page = place.run(["man"]).ends(0).quiet().out;
    assert!(page.contains(".TH milepost 1"), "{page}");
    let told = place.run(["man", "--dir", "man/man1", "--json"]).ends(0).quiet().json();
    assert_eq!(told["dir"], "man/man1");
    let pages: BTreeSet<&str> =
        told["pages"].as_array().expect("a list").iter().filter_map(|one| one.as_str()).collect();
    assert!(pages.len() > 70, "{pages:?}");
    for page in ["milepost.1", "milepost-workflow-validate.1", "milepost-runs-purge.1"] {
        assert!(pages.contains(page), "{page}");
    }
    assert_eq!(place.text("man/man1/milepost.1"), page);
    for page in &pages {
        let name = page.trim_end_matches(".1");
        let text = place.text(&format!("man/man1/{page}")).replace("\\-", "-");
        let words = words(name);
        let help = place.run(words.iter().copied().chain(["--help"])).ends(0).quiet().out;
        for option in help.split_whitespace().filter(|word| word.starts_with("--")) {
            let option = option.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            assert!(text.contains(option), "{page} says nothing of {option}");
        }
        // Each command in the help has a page of its own.
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        let listed = listed.take_while(|line| !line.is_empty());
        for line in listed.filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
            let below = line.split_whitespace().next().expect("a word");
            let below = format!("{name}-{below}.1");
            assert!(below.ends_with("-help.1") || pages.contains(&*below), "{below}");
        }
    }
    let again = place.run(["man", "--dir", "man/man1"]).ends(0).quiet().out;
    assert_eq!(again, format!("wrote {} pages to man/man1\n", pages.len()));
}

/// The words of a command, derived from the name of its page. A few commands contain a dash.
fn words(name: &str) -> Vec<&str> {
    match name {
        "milepost-person-set-pin" => vec!["person", "set-pin"],
        name => name.split('-').skip(1).collect(),
    }
}

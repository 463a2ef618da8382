//! `--fix`: valid documents are broken in ways typical of people and models, and then repaired.
//!
//! Every mutant that becomes valid must mean the same as its original, without exception, and
//! nearly all must become valid within two rounds.

mod bases;
mod edits;
mod mutants;
mod patch;
mod places;
mod random;
mod restraint;
mod shapes;
mod slips;
mod typos;

use std::collections::BTreeMap;
use std::fmt::Write;

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::document::Document;
use milepost_model::plan;
use milepost_syntax::source::Format;

use bases::Base;
use mutants::Mutant;

/// The number of rounds of parsing and fixing per document.
const ROUNDS: usize = 2;

fn read(text: &str, format: Format) -> Document {
    let world = World { commands: &NoCommands, env_allow: None };
    Document::read(text.as_bytes(), Some(format), world)
}

/// The outcome of fixing a mutant.
enum Outcome {
    /// Valid with the original meaning after this many rounds.
    Mended(usize),
    /// Valid with a different meaning; contains the fixed text.
    Changed(String),
    /// Still invalid; contains the remaining errors.
    Left(Vec<String>),
}

fn mend(mutant: &Mutant, base: &Base) -> Outcome {
    let mut text = mutant.text.clone();
    for round in 1..=ROUNDS {
        let document = read(&text, base.format);
        let Some(fixed) = document.fixed() else { break };
        text = fixed;
        let document = read(&text, base.format);
        if document.is_valid() {
            let same = plan::hash(&document) == base.hash();
            return if same { Outcome::Mended(round) } else { Outcome::Changed(text) };
        }
    }
    let document = read(&text, base.format);
    let errors = document.violations.iter().filter(|one| one.severity.name() == "error");
    Outcome::Left(errors.map(|one| format!("{}: {}", one.rule.name(), one.message)).collect())
}

#[derive(Default)]
struct Tally {
    mutants: usize,
    one_round: usize,
    two_rounds: usize,
    failures: Vec<String>,
    changed: usize,
}

#[test]
#[expect(clippy::print_stderr, reason = "the counts are worth a look even when all is well")]
fn mutants_are_mended_and_keep_their_meaning() {
    let (bases, mutants) = mutants::shared();
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    for mutant in mutants {
        let base = &bases[mutant.base];
        let tally = tallies.entry(mutant.kind()).or_default();
        tally.mutants += 1;
        match mend(mutant, base) {
            Outcome::Mended(1) => tally.one_round += 1,
            Outcome::Mended(_) => tally.two_rounds += 1,
            Outcome::Changed(text) => {
                tally.changed += 1;
                let became = difference(&base.text, &text);
                tally.failures.push(format!("CHANGED {} => {became}", describe(mutant, base)));
            }
            Outcome::Left(left) => {
                let left = left.join(" | ");
                tally.failures.push(format!("left {} => {left}", describe(mutant, base)));
            }
        }
    }
    let report = report(&tallies);
    eprintln!("{report}");
    let total: usize = tallies.values().map(|tally| tally.mutants).sum();
    let mended: usize = tallies.values().map(|tally| tally.one_round + tally.two_rounds).sum();
    let changed: usize = tallies.values().map(|tally| tally.changed).sum();
    assert!(total >= 800, "only {total} mutants");
    assert_eq!(changed, 0, "fixes changed the meaning of a document\n{report}");
    assert!(mended * 100 >= total * 95, "{mended} of {total} were mended\n{report}");
}

fn report(tallies: &BTreeMap<&str, Tally>) -> String {
    let mut text = String::new();
    let (mut total, mut one, mut two) = (0, 0, 0);
    for (kind, tally) in tallies {
        let Tally { mutants, one_round, two_rounds, failures, .. } = tally;
        let left = failures.len();
        let _ = writeln!(text, "{kind:<24} {mutants:>4}  {one_round:>4} {two_rounds:>3} {left:>3}");
        total += mutants;
        one += one_round;
        two += two_rounds;
        for failure in failures {
            let _ = writeln!(text, "    {failure}");
        }
    }
    let left = total - one - two;
    let _ = writeln!(text, "{:<24} {total:>4}  {one:>4} {two:>3} {left:>3}", "all");
    text
}

fn describe(mutant: &Mutant, base: &Base) -> String {
    let kinds = mutant.kinds.join("+");
    format!("[{kinds}] {}: {}", base.name, difference(&base.text, &mutant.text))
}

/// A short list of the lines of a text that are not in its original.
fn difference(original: &str, text: &str) -> String {
    let known: std::collections::HashSet<&str> = original.lines().map(str::trim_end).collect();
    let lines = text.lines().map(str::trim_end).filter(|line| !known.contains(line));
    let shown: Vec<String> = lines.take(3).map(|line| around(original, line)).collect();
    if shown.is_empty() { "lines removed".to_owned() } else { shown.join(" ⏎ ") }
}

/// The part of a long line around its first difference from the nearest original line.
fn around(original: &str, line: &str) -> String {
    let common = |other: &str| line.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let same = original.lines().map(common).max().unwrap_or(0);
    line.chars().skip(same.saturating_sub(30)).take(90).collect::<String>().trim().to_owned()
}

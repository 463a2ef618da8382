//! The accuracy of inferred providers, measured on a sample of 200 from the corpus that was drawn
//! by hash and labelled by hand in `labels.tsv`. A wrong inference calls for a better rule, not a
//! different label.

use std::collections::{BTreeMap, BTreeSet};

use milepost_catalog::command::Location;
use sha2::{Digest, Sha256};

use crate::read::{corpus, providers, say};

const LABELS: &str = include_str!("labels.tsv");
const SAMPLE: usize = 200;

/// A parameter and the source of its choices: one line of the labels without its verdict.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Inferred {
    document: String,
    command: String,
    parameter: String,
    provider: String,
    value_field: String,
}

impl Inferred {
    fn line(&self) -> String {
        let Inferred { document, command, parameter, provider, value_field } = self;
        [document, command, parameter, provider, value_field].map(String::as_str).join("\t")
    }

    /// The sampling key. It does not depend on the inference, so a better rule keeps the sample.
    fn lot(&self) -> Vec<u8> {
        let key = format!("{}\t{}\t{}", self.document, self.command, self.parameter);
        Sha256::digest(key.as_bytes()).to_vec()
    }
}

/// Everything that is inferred, the number of path parameters with a provider, and the total number
/// of path parameters.
fn inferred() -> (Vec<Inferred>, usize, usize) {
    let mut all = Vec::new();
    let (mut served, mut in_paths) = (0, 0);
    for (document, bytes) in corpus() {
        let (rows, providers) = providers(&bytes);
        let parameters = rows.iter().flat_map(|row| &row.parameters);
        in_paths += parameters.filter(|one| one.location == Location::Path).count();
        let parameters = providers.iter().flat_map(|provider| &provider.serves);
        served += parameters.filter(|one| one.location == Location::Path).count();
        for provider in providers {
            all.extend(provider.serves.iter().map(|served| Inferred {
                document: document.clone(),
                command: served.command.clone(),
                parameter: served.parameter.clone(),
                provider: provider.command.clone(),
                value_field: provider.value_field.clone(),
            }));
        }
    }
    (all, served, in_paths)
}

/// Takes up to the same number from each document, just enough to fill the sample: otherwise two
/// large documents would dominate it.
fn drawn(all: &[Inferred]) -> Vec<Inferred> {
    let mut documents: BTreeMap<&str, Vec<&Inferred>> = BTreeMap::new();
    for one in all {
        documents.entry(&one.document).or_default().push(one);
    }
    let taken =
        |most: usize| -> usize { documents.values().map(|ones| ones.len().min(most)).sum() };
    let most = (1..=SAMPLE).find(|most| taken(*most) >= SAMPLE).unwrap_or(SAMPLE);
    let mut sample: Vec<&Inferred> = Vec::new();
    for ones in documents.values_mut() {
        ones.sort_by_key(|one| one.lot());
        sample.extend(ones.iter().take(most));
    }
    sample.sort_by_key(|one| one.lot());
    sample.truncate(SAMPLE);
    sample.into_iter().cloned().collect()
}

/// The labels: each inference, and whether it is right.
fn labels() -> BTreeMap<Inferred, bool> {
    let lines = LABELS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut cells = line.split('\t').map(str::to_owned);
            let mut cell = || cells.next().unwrap_or_else(|| panic!("too few cells: {line}"));
            let inferred = Inferred {
                document: cell(),
                command: cell(),
                parameter: cell(),
                provider: cell(),
                value_field: cell(),
            };
            let verdict = cell();
            assert!(["right", "wrong"].contains(&&*verdict), "{line}");
            assert!(verdict == "right" || cells.next().is_some(), "wrong needs a remark: {line}");
            (inferred, verdict == "right")
        })
        .collect()
}

#[test]
fn at_least_95_of_100_are_right() {
    let (all, served, in_paths) = inferred();
    if all.is_empty() {
        return;
    }
    // Most of the remaining parameters have no list that could serve them.
    say(&format!("{served} of {in_paths} parameters of paths have a provider"));
    assert!(served * 100 >= in_paths * 65, "{served} of {in_paths}");
    let labels = labels();
    for one in drawn(&all).iter().filter(|one| !labels.contains_key(one)) {
        say(&format!("UNLABELLED\t{}", one.line()));
    }
    let all: BTreeSet<Inferred> = all.into_iter().collect();
    let (still, gone): (Vec<_>, Vec<_>) = labels.iter().partition(|(one, _)| all.contains(one));
    for (one, _) in gone.iter().filter(|(_, right)| **right) {
        say(&format!("LOST\t{}", one.line()));
    }
    let right = still.iter().filter(|(_, right)| **right).count();
    let lost = gone.iter().filter(|(_, right)| **right).count();
    say(&format!(
        "{right} of {} labelled providers are right; {lost} right ones lost",
        still.len()
    ));
    assert!(right * 100 >= still.len() * 95, "{right} of {}", still.len());
    assert!(lost * 20 <= labels.len(), "{lost} providers that were right are inferred no more");
}

//! All mutants: every change to every document, some of them two changes at once.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::bases::Base;
use super::random::Random;
use super::{read, shapes, slips, typos};

/// A formerly valid document that has been broken.
pub(super) struct Mutant {
    pub(super) base: usize,
    pub(super) kinds: Vec<&'static str>,
    pub(super) text: String,
}

impl Mutant {
    /// The category in which the mutant is counted.
    pub(super) fn kind(&self) -> &'static str {
        match self.kinds.as_slice() {
            [kind] => kind,
            _ => "two places",
        }
    }
}

const SEED: u64 = 0x6d69_6c65_706f_7374;
/// Attempts per change and document; several yield the same text or leave it valid.
const TRIES: usize = 2;
/// More attempts for typos, which are the most common mistakes.
const TYPO_TRIES: usize = 4;

/// The documents and their mutants, generated once for all tests.
pub(super) fn shared() -> &'static (Vec<Base>, Vec<Mutant>) {
    static SHARED: LazyLock<(Vec<Base>, Vec<Mutant>)> = LazyLock::new(|| {
        let bases = super::bases::all();
        let mutants = all(&bases);
        (bases, mutants)
    });
    &SHARED
}

fn all(bases: &[Base]) -> Vec<Mutant> {
    let mut random = Random::seeded(SEED);
    let mut brood = Brood { bases, seen: HashSet::new(), mutants: Vec::new() };
    let mut changes: Vec<(&'static str, typos::Change, usize)> = Vec::new();
    changes.extend(typos::CHANGES.iter().map(|(kind, change)| (*kind, *change, TYPO_TRIES)));
    changes.extend(shapes::CHANGES.iter().map(|(kind, change)| (*kind, *change, TRIES)));
    changes.extend(slips::CHANGES.iter().map(|(kind, change)| (*kind, *change, TRIES)));
    for (index, base) in bases.iter().enumerate() {
        for (kind, change, tries) in &changes {
            for _ in 0..*tries {
                if let Some(text) = change(base, &base.text, &mut random) {
                    brood.keep(index, vec![kind], text);
                }
            }
        }
    }
    let single = brood.mutants.len();
    // About one in seven gets a second fault of another kind.
    while (brood.mutants.len() - single) * 100 < brood.mutants.len() * 15 {
        let Some(first) = random.pick(&brood.mutants[..single]) else { break };
        let (index, kind, text) = (first.base, first.kinds[0], first.text.clone());
        let Some((second, change, _)) = random.pick(&changes) else { break };
        let base = &bases[index];
        // A change that is harmless on its own would remain in the text.
        let alone = change(base, &base.text, &mut random.clone());
        let harmless = alone.is_none_or(|alone| read(&alone, base.format).is_valid());
        if *second == kind || harmless {
            random.next();
        } else if let Some(text) = change(base, &text, &mut random) {
            brood.keep(index, vec![kind, second], text);
        }
    }
    brood.mutants
}

/// The mutants so far.
struct Brood<'b> {
    bases: &'b [Base],
    seen: HashSet<String>,
    mutants: Vec<Mutant>,
}

impl Brood<'_> {
    /// Keeps a mutant if it is new and really invalid.
    fn keep(&mut self, base: usize, kinds: Vec<&'static str>, text: String) {
        let broken = !read(&text, self.bases[base].format).is_valid();
        if broken && self.seen.insert(text.clone()) {
            self.mutants.push(Mutant { base, kinds, text });
        }
    }
}

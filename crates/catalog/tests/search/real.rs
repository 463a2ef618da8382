//! The labelled queries against real documents, which are stored next to the checkout rather than
//! in it. GitHub's document is fetched by the benchmark, which runs the same queries on it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::labelled::{HALVES, Outcome, ask, fooled, index, queries, rows};

const DOCUMENTS: &[(&str, &str)] = &[
    ("stripe", "guru__stripe.com_2022-11-15_openapi.yaml"),
    ("kubernetes", "guru__kubernetes.io_v1.10.0_swagger.yaml"),
];

/// The folder of real documents, named by the environment or next to the checkout.
fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("MILEPOST_CORPUS").map(PathBuf::from);
    let beside = || {
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        above.map(|folder| folder.join("shared/corpus")).find(|folder| folder.is_dir())
    };
    let found = named.or_else(beside).map(|folder| folder.join("openapi"));
    let found = found.filter(|folder| folder.is_dir());
    if found.is_none() {
        let words = "\nSKIPPED: no corpus `openapi`; name its folder by MILEPOST_CORPUS\n";
        std::io::stderr().write_all(words.as_bytes()).expect("writes");
    }
    found
}

#[test]
fn four_of_five_come_first_and_nonsense_finds_nothing() {
    let Some(folder) = folder() else { return };
    let mut totals = [Outcome::default(), Outcome::default()];
    for (corpus, file) in DOCUMENTS {
        let rows = rows(&fs::read(folder.join(file)).expect("a document of the corpus"));
        let index = index(corpus, &rows);
        for (half, total) in HALVES.iter().zip(&mut totals) {
            total.add(ask(corpus, half, &rows, &index));
            assert_eq!(fooled(half, &rows, &index), [""; 0], "{corpus}");
        }
    }
    for (half, total) in HALVES.iter().zip(&totals) {
        assert!(total.asked > 50, "{half}: {}", total.asked);
        assert!(total.holds(), "{half}: {total:#?}");
    }
}

/// The held-out queries were not hand-picked.
#[test]
fn a_hash_decides_which_half_a_query_is_in() {
    let queries = queries();
    for case in &queries {
        let hash = Sha256::digest(format!("{}\t{}", case.corpus, case.query).as_bytes());
        assert_eq!(case.half, HALVES[usize::from(hash[0] & 1)], "{}", case.query);
        assert_eq!(case.answers.is_empty(), case.corpus == "nonsense", "{}", case.query);
    }
    let nonsense = queries.iter().filter(|case| case.corpus == "nonsense").count();
    assert!(nonsense >= 15 && queries.len() - nonsense >= 150);
}

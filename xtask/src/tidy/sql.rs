//! No SQL above the store: every crate except `store` accesses runs through the journal trait, so
//! that another database can be used.

use proc_macro2::TokenTree;

use super::exempt::{Exempt, Hit};
use super::tokens::{
    RustFile, crate_of_production, each_production_level, is_ident, is_punct, trees,
};

/// The only crate that may use SQL.
const HOME: &str = "store";

pub(crate) const EXEMPT: &[Exempt] = &[
    ("crates/ops/src/run/ports.rs", "the one place that chooses a journal"),
    ("crates/ops/src/doctor/", "examines the database file itself"),
];

pub(crate) fn reaches_past_the_journal(file: &RustFile) -> Vec<Hit> {
    if crate_of_production(&file.path).is_none_or(|name| name == HOME) {
        return Vec::new();
    }
    let mut hits = Vec::new();
    each_production_level(&file.tokens, &mut |level| {
        for (index, token) in level.iter().enumerate() {
            if let Some(what) = reached(token, &level[index + 1..]) {
                let message =
                    format!("{what} belongs below the store: go through the journal's port");
                let finding = file.finding(token.span().start().line, message);
                hits.push(Hit { place: file.path.clone(), finding });
            }
        }
    });
    hits
}

/// The forbidden item that a path starting with this token refers to, if any.
fn reached(token: &TokenTree, after: &[TokenTree]) -> Option<&'static str> {
    if is_ident(token, "rusqlite") {
        return Some("`rusqlite`");
    }
    if !is_ident(token, "milepost_store") {
        return None;
    }
    match after {
        [next, ..] if is_ident(next, "as") => Some("`milepost_store` under another name"),
        [a, b, next, ..] if is_punct(a, ':') && is_punct(b, ':') => {
            names_runs(next).then_some("`milepost_store::runs`")
        }
        _ => None,
    }
}

/// Whether the token after `milepost_store::` is `runs`, alone or in a list of imports.
fn names_runs(next: &TokenTree) -> bool {
    match next {
        TokenTree::Group(imports) => trees(&imports.stream())
            .split(|token| is_punct(token, ','))
            .any(|import| import.first().is_some_and(|first| is_ident(first, "runs"))),
        other => is_ident(other, "runs"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::exempt::judge;
    use super::super::finding::{Finding, places};
    use super::*;

    fn found(path: &str, source: &str) -> Vec<Finding> {
        let file = RustFile::parse(path, source).unwrap();
        reaches_past_the_journal(&file).into_iter().map(|hit| hit.finding).collect()
    }

    const SOURCE: &str = "\
use milepost_store::runs::Runs;
use milepost_store::{Config, runs::{Lease}};
fn a(error: rusqlite::Error) -> milepost_store::runs::Row {}
use milepost_store as disk;
use milepost_store::{Config, secrets::runs};
// milepost_store::runs
const TEXT: &str = \"milepost_store::runs, rusqlite\";
#[cfg(test)]
mod tests { use milepost_store::runs; }
";

    #[test]
    fn the_rows_of_runs_are_named_in_the_store_alone() {
        let path = "crates/ops/src/run/list.rs";
        let expected = [1, 2, 4, 3, 3].map(|line| format!("{path}:{line}"));
        let mut found_here = places(&found(path, SOURCE));
        let mut wanted = expected.to_vec();
        found_here.sort();
        wanted.sort();
        assert_eq!(found_here, wanted);
        assert_eq!(found("crates/store/src/runs/mod.rs", SOURCE), []);
        assert_eq!(found("crates/ops/tests/it/runs.rs", SOURCE), []);
    }

    #[test]
    fn what_chooses_or_examines_the_journal_is_exempt() {
        let source = "use milepost_store::runs::Runs;";
        let hits = ["crates/ops/src/run/ports.rs", "crates/ops/src/doctor/journal.rs"]
            .map(|path| reaches_past_the_journal(&RustFile::parse(path, source).unwrap()));
        assert_eq!(judge(hits.into_iter().flatten().collect(), EXEMPT, "sql.rs"), []);
    }
}

//! Measures how well search answers the labelled queries, on documents that are not part of the
//! project: `search_eval [--show tune] github=<file> stripe=<file> kubernetes=<file>`. Fails below
//! the targets.

use std::fs;
use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use milepost_catalog::search::{Filter, SearchEntry, SearchIndex};
use milepost_catalog::table::Row;

#[path = "../tests/search/labelled.rs"]
mod labelled;

use labelled::{HALVES, Outcome};

/// The number of timing rounds. The best one counts, because other work can only add time.
const ROUNDS: usize = 5;

/// The number of commands in a large installation.
const LARGE: usize = 5_000;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut shown = None;
    if arguments.next_if(|argument| argument == "--show").is_some() {
        shown = arguments.next();
    }
    let mut out = std::io::stdout().lock();
    let mut holds = true;
    let mut tables = Vec::new();
    let mut totals = [Outcome::default(), Outcome::default()];
    for argument in arguments {
        let (corpus, path) = argument.split_once('=').expect("corpus=path");
        let rows = labelled::rows(&fs::read(path).expect("a file"));
        let index = timed(&mut out, corpus, || labelled::index(corpus, &rows));
        for (half, total) in HALVES.iter().zip(&mut totals) {
            let outcome = labelled::ask(corpus, half, &rows, &index);
            report(&mut out, half, &outcome);
            let fooled = labelled::fooled(half, &rows, &index);
            holds &= fooled.is_empty();
            if shown.as_deref() == Some(half) {
                outcome.missed.iter().for_each(|line| writeln!(out, "    {line}").expect("writes"));
                fooled
                    .iter()
                    .for_each(|line| writeln!(out, "    nonsense: {line}").expect("writes"));
            }
            writeln!(out, "  {half}: nonsense queries with results: {}", fooled.len())
                .expect("writes");
            total.add(outcome);
        }
        tables.push((corpus.to_owned(), rows));
    }
    large(&mut out, &tables);
    writeln!(out, "all").expect("writes");
    for (half, total) in HALVES.iter().zip(&totals) {
        report(&mut out, half, total);
        holds &= total.holds();
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Builds an index, runs all queries on it, and prints how long that took.
fn timed(out: &mut impl Write, name: &str, make: impl Fn() -> SearchIndex) -> SearchIndex {
    let mut index = make();
    let mut built = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        index = make();
        built = built.min(start.elapsed());
    }
    let queries = labelled::queries();
    let mut slowest = Duration::ZERO;
    let mut all = Duration::ZERO;
    for case in &queries {
        let times = (0..ROUNDS).map(|_| {
            let start = Instant::now();
            index.search(case.query, &Filter::default(), 20);
            start.elapsed()
        });
        let best = times.min().unwrap_or_default();
        slowest = slowest.max(best);
        all += best;
    }
    let mean = all / u32::try_from(queries.len()).expect("few");
    let entries = index.len();
    writeln!(
        out,
        "{name}: {entries} commands, index {built:.1?}, query {mean:.1?}, slowest {slowest:.1?}"
    )
    .expect("writes");
    index
}

/// Measures an index as large as that of a large installation.
fn large(out: &mut impl Write, tables: &[(String, Vec<Row>)]) {
    let count: usize = tables.iter().map(|(_, rows)| rows.len()).sum();
    let times = LARGE.div_ceil(count.max(1));
    let names: Vec<String> = (0..times).map(|time| format!("copy-{time}")).collect();
    let entries = || {
        let rows = || tables.iter().flat_map(|(_, rows)| rows);
        names
            .iter()
            .flat_map(move |catalog| rows().map(move |row| SearchEntry::Command { catalog, row }))
    };
    timed(out, "large", || SearchIndex::new(entries().take(LARGE)));
}

fn report(out: &mut impl Write, half: &str, outcome: &Outcome) {
    let percent = |part: usize| part * 1000 / outcome.asked.max(1);
    let (first, five) = (percent(outcome.first), percent(outcome.among_five));
    writeln!(
        out,
        "  {half}: {} queries, top 1 {}.{}%, top 5 {}.{}%",
        outcome.asked,
        first / 10,
        first % 10,
        five / 10,
        five % 10
    )
    .expect("writes");
}

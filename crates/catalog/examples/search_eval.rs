//! How well search answers the labelled queries, for documents that are not part of the project:
//! `search_eval [--show tune] github=api.github.com.json stripe=… kubernetes=…`. Fails below the
//! targets.

use std::fs;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use milepost_catalog::search::Filter;

#[path = "../tests/search/labelled.rs"]
mod labelled;

use labelled::{HALVES, Outcome};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut shown = None;
    if arguments.next_if(|argument| argument == "--show").is_some() {
        shown = arguments.next();
    }
    let mut out = std::io::stdout().lock();
    let mut holds = true;
    let mut totals = [Outcome::default(), Outcome::default()];
    for argument in arguments {
        let (corpus, path) = argument.split_once('=').expect("corpus=path");
        let rows = labelled::rows(&fs::read(path).expect("a file"));
        let start = Instant::now();
        let index = labelled::index(corpus, &rows);
        let built = start.elapsed();
        let start = Instant::now();
        let queries = labelled::queries();
        for case in &queries {
            index.search(case.query, &Filter::default(), 20);
        }
        let asked = start.elapsed() / u32::try_from(queries.len()).expect("few");
        writeln!(out, "{corpus}: {} commands, index {built:.1?}, query {asked:.1?}", rows.len())
            .expect("writes");
        for (half, total) in HALVES.iter().zip(&mut totals) {
            let outcome = labelled::ask(corpus, half, &rows, &index);
            report(&mut out, half, &outcome);
            let fooled = labelled::fooled(half, &rows, &index);
            holds &= fooled.is_empty();
            if shown.as_deref() == Some(half) {
                outcome.missed.iter().for_each(|line| writeln!(out, "    {line}").expect("writes"));
                fooled.iter().for_each(|line| writeln!(out, "    nonsense: {line}").expect("writes"));
            }
            writeln!(out, "  {half} nonsense found: {}", fooled.len()).expect("writes");
            total.add(outcome);
        }
    }
    writeln!(out, "all").expect("writes");
    for (half, total) in HALVES.iter().zip(&totals) {
        report(&mut out, half, total);
        holds &= total.holds();
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn report(out: &mut impl Write, half: &str, outcome: &Outcome) {
    let percent = |part: usize| part * 1000 / outcome.asked.max(1);
    let (first, five) = (percent(outcome.first), percent(outcome.among_five));
    writeln!(
        out,
        "  {half}: {} queries, first {}.{} %, among five {}.{} %",
        outcome.asked,
        first / 10,
        first % 10,
        five / 10,
        five % 10
    )
    .expect("writes");
}

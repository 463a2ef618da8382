//! Properties of every single fix, over all mutants.

use std::collections::HashSet;

use milepost_model::document::Document;
use milepost_model::violation::Violation;
use milepost_syntax::fix::{self, Fix};
use milepost_syntax::source::Format;
use proptest::prelude::*;

use super::{bases, mutants, patch, read};

fn fixes(document: &Document) -> impl Iterator<Item = (&Violation, &Fix)> {
    document.violations.iter().filter_map(|one| Some((one, one.fix.as_ref()?)))
}

/// Checks that edits are in range, on character boundaries, ordered and disjoint.
fn well_formed(text: &str, fix: &Fix) -> Result<(), String> {
    if fix.edits.is_empty() {
        return Err("no edit".into());
    }
    let mut from = 0;
    for edit in &fix.edits {
        let (start, end) = (edit.at.start as usize, edit.at.end as usize);
        if start < from || end < start || text.get(start..end).is_none() {
            return Err(format!("edit {start}..{end} after {from}"));
        }
        from = end;
    }
    Ok(())
}

/// The text outside the edits, in order.
fn outside(text: &str, fix: &Fix) -> String {
    let mut kept = String::new();
    let mut from = 0;
    for edit in &fix.edits {
        kept.push_str(&text[from..edit.at.start as usize]);
        from = edit.at.end as usize;
    }
    kept + &text[from..]
}

/// Checks that the patch changes the data exactly as the edits change the text.
fn patch_is_edit(document: &Document, fix: &Fix, after: &Document) -> Result<(), String> {
    let Some(before) = document.parsed() else { return Ok(()) };
    let after = after.parsed().ok_or("the mended text does not parse")?;
    let patched = patch::apply(&before, &fix.patch)?;
    if patched == after { Ok(()) } else { Err(format!("patch {:?}", fix.patch)) }
}

/// Errors by rule and pointer. A fix may uncover errors below its own place, but nothing else.
fn errors(document: &Document) -> HashSet<(&'static str, String)> {
    let errors = document.violations.iter().filter(|one| one.severity.name() == "error");
    errors.map(|one| (one.rule.name(), one.path.clone())).collect()
}

fn elsewhere(document: &Document, fixed: &Violation, after: &Document) -> Option<String> {
    let before = errors(document);
    let parent = fixed.path.rsplit_once('/').map_or("", |(parent, _)| parent);
    errors(after)
        .into_iter()
        .filter(|error| !before.contains(error))
        .find(|(_, path)| !path.starts_with(parent))
        .map(|(rule, path)| format!("new {rule} at {path}"))
}

fn comments(text: &str) -> usize {
    text.lines().filter(|line| line.trim_start().starts_with('#')).count()
}

fn faults(text: &str, format: Format) -> Vec<String> {
    let document = read(text, format);
    let mut faults = Vec::new();
    for (violation, fix) in fixes(&document) {
        let mut note = |fault: String| faults.push(format!("{}: {fault}", violation.message));
        if let Err(fault) = well_formed(text, fix) {
            note(fault);
            continue;
        }
        let mended = fix::apply(text, [fix]);
        let lengths: usize = fix.edits.iter().map(|edit| edit.text.len()).sum();
        if mended.len() != outside(text, fix).len() + lengths {
            note("bytes outside the edits changed".into());
        }
        let after = read(&mended, format);
        if let Err(fault) = patch_is_edit(&document, fix, &after) {
            note(fault);
        }
        if document.parsed().is_some() {
            if let Some(fault) = elsewhere(&document, violation, &after) {
                note(fault);
            }
            if format == Format::Yaml && comments(&mended) < comments(text) {
                note("a comment is gone".into());
            }
        }
    }
    faults
}

#[test]
fn every_fix_does_what_it_says_and_no_more() {
    let (bases, mutants) = mutants::shared();
    let mut all = Vec::new();
    for mutant in mutants {
        let base = &bases[mutant.base];
        for fault in faults(&mutant.text, base.format) {
            all.push(format!("{} — {fault}", super::describe(mutant, base)));
        }
    }
    assert!(all.is_empty(), "{} faults\n{}", all.len(), all.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever is cut from a document or inserted into it, nothing panics and every fix can be
    /// applied.
    #[test]
    fn anything_may_happen_to_a_text(
        document in 0..9_usize,
        (from, length) in (0..4000_usize, 0..12_usize),
        put in "[\\t\\r\\n \"'{}\\[\\],:#|>!&*`$é😀a-c0-9-]{0,5}",
    ) {
        let bases = bases::all();
        let base = &bases[document % bases.len()];
        let letters: Vec<char> = base.text.chars().collect();
        let from = from.min(letters.len());
        let to = (from + length).min(letters.len());
        let (head, tail) = (letters[..from].iter(), letters[to..].iter());
        let text: String = head.copied().chain(put.chars()).chain(tail.copied()).collect();
        let document = read(&text, base.format);
        for (violation, fix) in fixes(&document) {
            let fault = well_formed(&text, fix);
            prop_assert!(fault.is_ok(), "{}: {fault:?}", violation.message);
            read(&fix::apply(&text, [fix]), base.format);
        }
    }
}

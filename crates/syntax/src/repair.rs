//! Combines the successive fixes for a document that does not parse.
//!
//! Mistakes tend to repeat: an author who indents one line with a tab usually does so on the next
//! line too. A parser stops at the first mistake, and only fixing that one reveals the second.

use crate::limits;
use crate::mend::Mend;
use crate::span::Span;

/// Combines the fix for the first fault with those for the faults that it reveals, for as long as
/// `next` finds one in the text fixed so far.
pub(crate) fn with_further(text: &str, first: Mend, next: impl Fn(&str) -> Option<Mend>) -> Mend {
    let mut mends = vec![first];
    for _ in 0..limits::REPAIR_BYTES / text.len().max(1) {
        let edits: Vec<(Span, &str)> = mends.iter().flat_map(edits_of).collect();
        let (mended, shifts) = spliced(text, &edits);
        let Some(found) = next(&mended) else { break };
        let back = |(at, text): &(Span, &str)| {
            let mend = |at: Span| Mend::Edit { at, text: (*text).to_owned() };
            original(*at, &shifts).map(mend)
        };
        let more: Option<Vec<Mend>> = edits_of(&found).iter().map(back).collect();
        let Some(more) = more.filter(|more| !more.is_empty()) else { break };
        mends.extend(more);
    }
    if mends.len() == 1 { mends.remove(0) } else { Mend::All(mends) }
}

/// The raw edits that a fix consists of.
fn edits_of(mend: &Mend) -> Vec<(Span, &str)> {
    match mend {
        Mend::Edit { at, text } => vec![(*at, text.as_str())],
        Mend::All(mends) => mends.iter().flat_map(edits_of).collect(),
        _ => Vec::new(),
    }
}

/// Applies the edits. Also returns, for each edit in order, the position of its replacement in the
/// new text and where the text after it started in the old text.
pub(crate) fn spliced(text: &str, edits: &[(Span, &str)]) -> (String, Vec<(Span, u32)>) {
    let mut edits = edits.to_vec();
    edits.sort_by_key(|(at, _)| *at);
    let mut result = String::with_capacity(text.len());
    let mut shifts = Vec::with_capacity(edits.len());
    let mut from = 0;
    for (at, put) in edits {
        result.push_str(text.get(from..at.start as usize).unwrap_or(""));
        let start = result.len();
        result.push_str(put);
        from = at.end as usize;
        shifts.push((Span::new(start, result.len()), at.end));
    }
    result.push_str(text.get(from..).unwrap_or(""));
    (result, shifts)
}

/// Maps a span of the fixed text back to the original; `None` if it touches inserted text.
fn original(at: Span, shifts: &[(Span, u32)]) -> Option<Span> {
    if shifts.iter().any(|(put, _)| put.start <= at.end && at.start <= put.end) {
        return None;
    }
    let before = shifts.iter().rev().find(|(put, _)| put.end < at.start);
    let (now, then) = before.map_or((0, 0), |(put, then)| (put.end, *then));
    Some(Span { start: at.start - now + then, end: at.end - now + then })
}

#[cfg(test)]
mod tests {
    use super::{Mend, with_further};
    use crate::span::Span;

    /// Every `x` becomes `yy`, one at a time.
    #[test]
    fn mends_follow_one_another() {
        let find = |text: &str| {
            let at = text.find('x')?;
            Some(Mend::Edit { at: Span::new(at, at + 1), text: "yy".into() })
        };
        let text = "ax bx cx";
        let first = find(text).expect("there is one");
        let Mend::All(mends) = with_further(text, first, find) else { panic!("there are three") };
        let places = mends.iter().map(|mend| match mend {
            Mend::Edit { at, .. } => at.start,
            other => panic!("{other:?}"),
        });
        assert_eq!(places.collect::<Vec<_>>(), [1, 4, 7]);
    }
}

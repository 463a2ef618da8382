//! The tape of a JSON document: one small slot for each key and value, in text order. No strings
//! are copied.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use super::scan::{Dialect, ScanError, ScanErrorKind, ScanSink, Scanner, unescape};
use crate::limits;

/// An oddity in a document that did not prevent it from being read.
#[derive(Debug)]
pub struct ReadWarning {
    /// A byte offset in the JSON text.
    pub at: usize,
    pub rule: &'static str,
    pub message: String,
}

/// The first warnings, and the number of warnings left out.
#[derive(Debug, Default)]
pub struct ReadWarnings {
    pub kept: Vec<ReadWarning>,
    pub left_out: usize,
}

impl ReadWarnings {
    pub fn add(&mut self, at: usize, rule: &'static str, message: impl FnOnce() -> String) {
        if self.kept.len() == limits::READ_WARNINGS {
            self.left_out += 1;
        } else {
            self.kept.push(ReadWarning { at, rule, message: message() });
        }
    }
}

/// The position of a key or value in the text.
///
/// The top two bits of the end are free for flags, since documents are smaller than 1 GiB.
#[derive(Debug, Clone, Copy)]
pub(super) struct TapeSlot {
    start: u32,
    end: u32,
    /// The slot after this value and everything in it.
    pub(super) next: u32,
}

/// Marks a string with escapes, or a map whose keys are sorted in the tape's index.
const MARKED: u32 = 0x8000_0000;
/// Marks a key that a later entry of the same map repeats.
const SHADOWED: u32 = 0x4000_0000;

impl TapeSlot {
    pub(super) fn start(self) -> usize {
        self.start as usize
    }

    pub(super) fn end(self) -> usize {
        (self.end & !(MARKED | SHADOWED)) as usize
    }

    pub(super) fn is_shadowed(self) -> bool {
        self.end & SHADOWED != 0
    }

    pub(super) fn is_marked(self) -> bool {
        self.end & MARKED != 0
    }
}

/// The slots of a document, and the sorted keys of its large maps.
#[derive(Debug, Default)]
pub struct Tape {
    pub(super) slots: Vec<TapeSlot>,
    /// The key slots of all large maps, one map after another, each sorted and without shadowed
    /// keys.
    sorted: Vec<u32>,
    /// The large maps, ordered by slot.
    wide: Vec<WideMap>,
}

/// A large map and the range of its keys in `sorted`.
#[derive(Debug, Clone, Copy)]
struct WideMap {
    slot: u32,
    from: u32,
    to: u32,
}

impl Tape {
    /// Reads a single JSON value; anything after it is an error.
    pub fn read(
        text: &str,
        dialect: Dialect,
        max_depth: usize,
        warnings: &mut ReadWarnings,
    ) -> Result<Tape, ScanError> {
        let (tape, open, keys) = (Tape::default(), Vec::new(), Vec::new());
        let mut builder = TapeBuilder { text, tape, open, keys, warnings };
        let mut scanner = Scanner::new(text, dialect, max_depth);
        scanner.walk(&mut builder)?;
        scanner.end()?;
        let mut tape = builder.tape;
        tape.slots.shrink_to_fit();
        tape.wide.sort_unstable_by_key(|wide| wide.slot);
        Ok(tape)
    }

    /// The decoded string in a slot.
    pub(super) fn string<'t>(&self, text: &'t str, slot: u32) -> Cow<'t, str> {
        string(text, self.slots[slot as usize])
    }

    /// The value of a key in a large map; `None` if the key is missing or the map is not large.
    pub(super) fn find(&self, text: &str, map: u32, key: &str) -> Option<u32> {
        let at = self.wide.binary_search_by_key(&map, |wide| wide.slot).ok()?;
        let WideMap { from, to, .. } = self.wide[at];
        let keys = &self.sorted[from as usize..to as usize];
        let found = keys.binary_search_by(|slot| (*self.string(text, *slot)).cmp(key)).ok()?;
        Some(keys[found] + 1)
    }
}

fn string(text: &str, slot: TapeSlot) -> Cow<'_, str> {
    let inside = &text[slot.start() + 1..slot.end() - 1];
    if slot.is_marked() { Cow::Owned(unescape(inside)) } else { Cow::Borrowed(inside) }
}

struct TapeBuilder<'t> {
    text: &'t str,
    tape: Tape,
    /// The open lists and maps: their slots, and where the keys of a map start in `keys`.
    open: Vec<(u32, Option<u32>)>,
    /// The key slots of the open maps, innermost last.
    keys: Vec<u32>,
    warnings: &'t mut ReadWarnings,
}

impl TapeBuilder<'_> {
    fn put(&mut self, span: Range<usize>, mark: u32) -> u32 {
        let slot = self.tape.slots.len() as u32;
        let (start, end) = (span.start as u32, span.end as u32 | mark);
        self.tape.slots.push(TapeSlot { start, end, next: slot + 1 });
        slot
    }

    fn close_map(&mut self, map: u32, first: usize) {
        let (keys, slots) = (&mut self.keys[first..], &mut self.tape.slots);
        if keys.len() <= limits::NARROW_MAP {
            shadow_in_narrow(self.text, keys, slots, self.warnings);
        } else {
            let from = self.tape.sorted.len() as u32;
            sort_wide(self.text, keys, slots, self.warnings);
            let counted = keys.iter().filter(|key| !slots[**key as usize].is_shadowed());
            self.tape.sorted.extend(counted);
            slots[map as usize].end |= MARKED;
            self.tape.wide.push(WideMap { slot: map, from, to: self.tape.sorted.len() as u32 });
        }
        self.keys.truncate(first);
    }
}

impl ScanSink for TapeBuilder<'_> {
    fn open(&mut self, start: usize, is_map: bool) {
        let slot = self.put(start..start, 0);
        self.open.push((slot, is_map.then_some(self.keys.len() as u32)));
    }

    fn close(&mut self, end: usize) {
        let Some((slot, keys)) = self.open.pop() else { return };
        let next = self.tape.slots.len() as u32;
        let closed = &mut self.tape.slots[slot as usize];
        closed.end = end as u32;
        closed.next = next;
        if let Some(first) = keys {
            self.close_map(slot, first as usize);
        }
    }

    fn key(&mut self, span: Range<usize>, has_escapes: bool) {
        let slot = self.put(span, if has_escapes { MARKED } else { 0 });
        self.keys.push(slot);
    }

    fn scalar(&mut self, span: Range<usize>, has_escapes: bool) {
        self.put(span, if has_escapes { MARKED } else { 0 });
    }

    fn check_number(&mut self, written: &str, start: usize) -> Result<(), ScanErrorKind> {
        let is_whole = || !written.contains(['.', 'e', 'E']);
        // Integers up to this length always fit, and floats this short are never out of range.
        if written.len() <= 4 || (written.len() <= 18 && is_whole()) {
            return Ok(());
        }
        let shown: String = written.chars().take(24).collect();
        if written.parse::<f64>().is_ok_and(f64::is_infinite) {
            let message = || format!("`{shown}` is out of range and kept as text");
            self.warnings.add(start, "number", message);
        } else if is_whole() && written.parse::<u64>().is_err() && written.parse::<i64>().is_err() {
            let message = || format!("`{shown}` is rounded: it does not fit in 64 bits");
            self.warnings.add(start, "number", message);
        }
        Ok(())
    }

    fn check_lone_surrogate(&mut self, unit: u32, start: usize) -> Result<(), ScanErrorKind> {
        self.warnings.add(start, "lone-surrogate", || {
            format!("`\\u{unit:04x}` is half of a surrogate pair and is read as `\u{FFFD}`")
        });
        Ok(())
    }
}

/// Marks every key that is repeated later, by comparing all pairs.
fn shadow_in_narrow(text: &str, keys: &[u32], slots: &mut [TapeSlot], warnings: &mut ReadWarnings) {
    for (at, later) in keys.iter().enumerate().skip(1) {
        let one = slots[*later as usize];
        let same = |earlier: &&u32| is_same(text, slots[**earlier as usize], one);
        if let Some(earlier) = keys[..at].iter().rfind(same) {
            slots[*earlier as usize].end |= SHADOWED;
            warn_of_duplicate(text, one, warnings);
        }
    }
}

fn is_same(text: &str, one: TapeSlot, other: TapeSlot) -> bool {
    if one.is_marked() || other.is_marked() {
        return string(text, one) == string(text, other);
    }
    let bytes = text.as_bytes();
    one.end() - one.start() == other.end() - other.start()
        && bytes[one.start()..one.end()] == bytes[other.start()..other.end()]
}

/// Sorts the keys of a large map and marks those that are repeated later.
fn sort_wide(text: &str, keys: &mut [u32], slots: &mut [TapeSlot], warnings: &mut ReadWarnings) {
    let compare = |one: u32, other: u32| -> Ordering {
        string(text, slots[one as usize]).cmp(&string(text, slots[other as usize]))
    };
    keys.sort_by(|one, other| compare(*one, *other));
    let pairs = keys.windows(2).filter(|pair| compare(pair[0], pair[1]).is_eq());
    let mut repeated: Vec<(u32, u32)> = pairs.map(|pair| (pair[0], pair[1])).collect();
    // Report in text order, not alphabetically, because only the first warnings are kept.
    repeated.sort_unstable_by_key(|(_, later)| *later);
    for (earlier, later) in repeated {
        slots[earlier as usize].end |= SHADOWED;
        warn_of_duplicate(text, slots[later as usize], warnings);
    }
}

fn warn_of_duplicate(text: &str, key: TapeSlot, warnings: &mut ReadWarnings) {
    warnings.add(key.start(), "duplicate-key", || {
        let name: String = string(text, key).chars().take(80).collect();
        format!("duplicate key `{name}`; the last one wins")
    });
}

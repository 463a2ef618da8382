//! The tape: where the keys and values of a text are, and the strings in it.

use std::borrow::Cow;

/// The place of a key or a value in the text.
///
/// The two top bits of the end are free, because a text is at most 64 MiB (`limits.rs`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(super) start: u32,
    pub(super) end: u32,
    /// The slot behind this value and all that is in it.
    pub(crate) next: u32,
}

/// On a string: it has escapes. On a map: its keys are sorted in the tape's index.
pub(super) const MARKED: u32 = 0x8000_0000;
/// On a key: a later entry of the same map has the same key.
pub(super) const SHADOWED: u32 = 0x4000_0000;

impl Slot {
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    pub(crate) fn end(self) -> usize {
        (self.end & !(MARKED | SHADOWED)) as usize
    }

    pub(crate) fn is_shadowed(self) -> bool {
        self.end & SHADOWED != 0
    }

    pub(crate) fn is_marked(self) -> bool {
        self.end & MARKED != 0
    }
}

/// The slots of a text, and the sorted keys of its large maps.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    pub(crate) slots: Vec<Slot>,
    /// Keys by slot: those of one large map after the other, each sorted and without shadowed ones.
    pub(super) sorted: Vec<u32>,
    /// The large maps, by slot.
    pub(super) wide: Vec<Wide>,
}

/// A large map and where its keys are in `sorted`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wide {
    pub(super) map: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Tape {
    /// The text of the string in a slot.
    pub(crate) fn string<'t>(&self, text: &'t str, slot: u32) -> Cow<'t, str> {
        string(text, self.slots[slot as usize])
    }

    /// The value of a key of a large map; `None` when there is none or the map is not large.
    pub(crate) fn find(&self, text: &str, map: u32, key: &str) -> Option<u32> {
        let at = self.wide.binary_search_by_key(&map, |wide| wide.map).ok()?;
        let Wide { from, to, .. } = self.wide[at];
        let keys = &self.sorted[from as usize..to as usize];
        let found = keys.binary_search_by(|slot| (*self.string(text, *slot)).cmp(key)).ok()?;
        Some(keys[found] + 1)
    }
}

pub(super) fn string(text: &str, slot: Slot) -> Cow<'_, str> {
    let inside = &text[slot.start() + 1..slot.end() - 1];
    if slot.is_marked() { Cow::Owned(unescape(inside)) } else { Cow::Borrowed(inside) }
}

/// The UTF-16 unit of the escape at `pos`, which is `\uXXXX`.
pub(super) fn unit(bytes: &[u8], pos: usize) -> Option<u32> {
    let digits = bytes.get(pos + 2..pos + 6)?;
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

pub(super) fn unit_after(bytes: &[u8], pos: usize) -> Option<u32> {
    bytes.get(pos..)?.starts_with(b"\\u").then(|| unit(bytes, pos)).flatten()
}

pub(super) fn is_low(unit: Option<u32>) -> bool {
    unit.is_some_and(|unit| (0xDC00..=0xDFFF).contains(&unit))
}

/// The text a string stands for; its escapes were found to be valid when it was read.
fn unescape(raw: &str) -> String {
    let bytes = raw.as_bytes();
    let mut text = String::with_capacity(raw.len());
    let mut pos = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[pos..]) {
        text.push_str(&raw[pos..pos + found]);
        pos += found;
        let (sign, length) = match bytes[pos + 1] {
            b'b' => ('\u{8}', 2),
            b'f' => ('\u{c}', 2),
            b'n' => ('\n', 2),
            b'r' => ('\r', 2),
            b't' => ('\t', 2),
            b'u' => unescape_unit(bytes, pos),
            sign => (char::from(sign), 2),
        };
        text.push(sign);
        pos += length;
    }
    text.push_str(&raw[pos..]);
    text
}

fn unescape_unit(bytes: &[u8], pos: usize) -> (char, usize) {
    let high = unit(bytes, pos).unwrap_or(0xFFFD);
    let low = unit_after(bytes, pos + 6).filter(|low| is_low(Some(*low)));
    match (high, low) {
        (0xD800..=0xDBFF, Some(low)) => {
            let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            (char::from_u32(code).unwrap_or('\u{FFFD}'), 12)
        }
        _ => (char::from_u32(high).unwrap_or('\u{FFFD}'), 6),
    }
}

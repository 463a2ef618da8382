//! The strict JSON reader: a text becomes a tape, one small slot for each key and value in the
//! order of the text. It never copies a string, never recurses, and knows nothing of APIs.

mod tape;

use std::cmp::Ordering;

use tape::{MARKED, SHADOWED, Wide, is_low, string, unit, unit_after};
pub(crate) use tape::{Slot, Tape};

use crate::limits;

/// Something worth saying about a text that was read all the same.
#[derive(Debug)]
pub(crate) struct Remark {
    /// Where in the JSON text.
    pub(crate) at: usize,
    pub(crate) rule: &'static str,
    pub(crate) message: String,
}

/// The first remarks, and how many more there were.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    pub(crate) kept: Vec<Remark>,
    pub(crate) left_out: usize,
}

impl Remarks {
    pub(crate) fn add(&mut self, at: usize, rule: &'static str, message: impl FnOnce() -> String) {
        if self.kept.len() == limits::NOTES {
            self.left_out += 1;
        } else {
            self.kept.push(Remark { at, rule, message: message() });
        }
    }
}

/// Why a text is not read.
#[derive(Debug)]
pub(crate) enum Fault {
    Syntax { at: usize, message: &'static str },
    TooDeep { at: usize },
}

/// Reads one JSON value and nothing behind it.
pub(crate) fn read(text: &str, remarks: &mut Remarks) -> Result<Tape, Fault> {
    let mut reader = Reader {
        text,
        bytes: text.as_bytes(),
        pos: 0,
        tape: Tape::default(),
        open: Vec::new(),
        keys: Vec::new(),
        remarks,
    };
    reader.document()?;
    let mut tape = reader.tape;
    tape.slots.shrink_to_fit();
    tape.wide.sort_unstable_by_key(|wide| wide.map);
    Ok(tape)
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    pos: usize,
    tape: Tape,
    open: Vec<Open>,
    /// Keys of the open maps by slot, those of the innermost last.
    keys: Vec<u32>,
    remarks: &'t mut Remarks,
}

/// A list or map whose end is not reached.
#[derive(Clone, Copy)]
struct Open {
    slot: u32,
    /// Where its keys begin; `None` for a list.
    keys: Option<u32>,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<(), Fault> {
        self.space();
        self.value()?;
        while let Some(open) = self.open.last().copied() {
            self.space();
            match (self.peek(), open.keys) {
                (Some(b','), Some(_)) => {
                    self.pos += 1;
                    self.space();
                    self.key()?;
                    self.value()?;
                }
                (Some(b','), None) => {
                    self.pos += 1;
                    self.space();
                    self.value()?;
                }
                (Some(b'}'), Some(keys)) => self.close_map(open.slot, keys as usize),
                (Some(b']'), None) => self.close(open.slot),
                (None, _) => return Err(self.fault("the text ends inside a list or a map")),
                (_, Some(_)) => return Err(self.fault("expected `,` or `}` after a value")),
                (_, None) => return Err(self.fault("expected `,` or `]` after a value")),
            }
        }
        self.space();
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.fault("text after the end of the JSON value")),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    fn fault(&self, message: &'static str) -> Fault {
        Fault::Syntax { at: self.pos, message }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.pos += 1;
            // Half of a document that was made to be looked at is indentation.
            while self.bytes.get(self.pos..self.pos + 8) == Some(b"        ") {
                self.pos += 8;
            }
        }
    }

    /// A whole scalar, or a list or map up to its first value that is a scalar or empty.
    fn value(&mut self) -> Result<(), Fault> {
        loop {
            match self.peek() {
                Some(b'"') => return self.string().map(drop),
                Some(b'{') => {
                    let slot = self.enter(Some(self.keys.len() as u32))?;
                    if self.peek() == Some(b'}') {
                        self.close(slot);
                        return Ok(());
                    }
                    self.key()?;
                }
                Some(b'[') => {
                    let slot = self.enter(None)?;
                    if self.peek() == Some(b']') {
                        self.close(slot);
                        return Ok(());
                    }
                }
                Some(b'-' | b'0'..=b'9') => return self.number(),
                Some(b't') => return self.word("true"),
                Some(b'f') => return self.word("false"),
                Some(b'n') => return self.word("null"),
                Some(b'}' | b']') => return Err(self.fault("expected a value after `,` or `:`")),
                Some(_) => return Err(self.fault("expected a JSON value")),
                None => return Err(self.fault("the text ends where a value is expected")),
            }
        }
    }

    /// Puts a slot for what is between `start` and here.
    fn put(&mut self, start: usize, mark: u32) -> u32 {
        let slot = self.tape.slots.len() as u32;
        let end = self.pos as u32 | mark;
        self.tape.slots.push(Slot { start: start as u32, end, next: slot + 1 });
        slot
    }

    fn enter(&mut self, keys: Option<u32>) -> Result<u32, Fault> {
        if self.open.len() == limits::DEPTH {
            return Err(Fault::TooDeep { at: self.pos });
        }
        let slot = self.put(self.pos, 0);
        self.open.push(Open { slot, keys });
        self.pos += 1;
        self.space();
        Ok(slot)
    }

    fn close(&mut self, slot: u32) {
        self.open.pop();
        self.pos += 1;
        let next = self.tape.slots.len() as u32;
        let slot = &mut self.tape.slots[slot as usize];
        slot.end = self.pos as u32;
        slot.next = next;
    }

    fn close_map(&mut self, slot: u32, first: usize) {
        self.close(slot);
        let (keys, slots) = (&mut self.keys[first..], &mut self.tape.slots);
        if keys.len() <= limits::NARROW_MAP {
            shadow_in_narrow(self.text, keys, slots, self.remarks);
        } else {
            let from = self.tape.sorted.len();
            sort_wide(self.text, keys, slots, self.remarks);
            let kept = keys.iter().filter(|key| !slots[**key as usize].is_shadowed());
            self.tape.sorted.extend(kept);
            let (from, to) = (from as u32, self.tape.sorted.len() as u32);
            slots[slot as usize].end |= MARKED;
            self.tape.wide.push(Wide { map: slot, from, to });
        }
        self.keys.truncate(first);
    }

    fn key(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"') => {}
            Some(b'}') => return Err(self.fault("a comma after the last entry of a map")),
            None => return Err(self.fault("the text ends where a key is expected")),
            Some(_) => return Err(self.fault("expected a key in double quotes")),
        }
        let slot = self.string()?;
        self.keys.push(slot);
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.fault("expected `:` after a key"));
        }
        self.pos += 1;
        self.space();
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), Fault> {
        if !self.bytes[self.pos..].starts_with(word.as_bytes()) {
            return Err(self.fault("expected a JSON value"));
        }
        let start = self.pos;
        self.pos += word.len();
        self.put(start, 0);
        Ok(())
    }

    fn string(&mut self) -> Result<u32, Fault> {
        let start = self.pos;
        let mut mark = 0;
        self.pos += 1;
        loop {
            self.pos = plain_until(self.bytes, self.pos);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    mark = MARKED;
                    self.escape()?;
                }
                Some(_) => return Err(self.fault("a control character in a string; escape it")),
                None => return Err(Fault::Syntax { at: start, message: "a string without end" }),
            }
        }
        self.pos += 1;
        Ok(self.put(start, mark))
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let start = self.pos;
        let fault = |message| Err(Fault::Syntax { at: start, message });
        match self.bytes.get(start + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.pos += 2,
            Some(b'u') => {
                let Some(unit) = unit(self.bytes, start) else {
                    return fault("`\\u` needs four hexadecimal digits");
                };
                self.pos += 6;
                match unit {
                    0xD800..=0xDBFF if is_low(unit_after(self.bytes, self.pos)) => self.pos += 6,
                    0xD800..=0xDFFF => self.remarks.add(start, "lone-surrogate", || {
                        format!("`\\u{unit:04x}` is half a character and read as `\u{FFFD}`")
                    }),
                    _ => {}
                }
            }
            Some(_) => return fault("no such escape in a JSON string"),
            None => return fault("the text ends inside a string"),
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<usize, Fault> {
        let start = self.pos;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.pos += 1;
        }
        if self.pos == start {
            return Err(self.fault("expected a digit"));
        }
        Ok(self.pos - start)
    }

    fn number(&mut self) -> Result<(), Fault> {
        let start = self.pos;
        if self.peek() == Some(b'-') {
            self.pos += 1;
        }
        let zero = self.peek() == Some(b'0');
        if self.digits()? > 1 && zero {
            let message = "a number that begins with 0";
            return Err(Fault::Syntax { at: start, message });
        }
        let mut whole = true;
        if self.peek() == Some(b'.') {
            whole = false;
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            whole = false;
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            self.digits()?;
        }
        self.put(start, 0);
        // Up to here every whole number fits, and no fraction is out of range.
        let written = &self.text[start..self.pos];
        if written.len() > if whole { 18 } else { 4 } {
            self.remark_number(start, written, whole);
        }
        Ok(())
    }

    fn remark_number(&mut self, at: usize, written: &str, whole: bool) {
        let shown: String = written.chars().take(24).collect();
        if written.parse::<f64>().is_ok_and(f64::is_infinite) {
            let message = || format!("`{shown}` is beyond every number and kept as text");
            self.remarks.add(at, "number", message);
        } else if whole && written.parse::<u64>().is_err() && written.parse::<i64>().is_err() {
            let message = || format!("`{shown}` is rounded: 64 bits hold fewer digits");
            self.remarks.add(at, "number", message);
        }
    }
}

/// Marks every key that a later one repeats, by comparing each with each.
fn shadow_in_narrow(text: &str, keys: &[u32], slots: &mut [Slot], remarks: &mut Remarks) {
    for (at, later) in keys.iter().enumerate().skip(1) {
        let one = slots[*later as usize];
        let same = |earlier: &&u32| is_same(text, slots[**earlier as usize], one);
        if let Some(earlier) = keys[..at].iter().rfind(same) {
            slots[*earlier as usize].end |= SHADOWED;
            remark_duplicate(text, one, remarks);
        }
    }
}

fn is_same(text: &str, one: Slot, other: Slot) -> bool {
    if one.is_marked() || other.is_marked() {
        return string(text, one) == string(text, other);
    }
    let bytes = text.as_bytes();
    one.end() - one.start() == other.end() - other.start()
        && bytes[one.start()..one.end()] == bytes[other.start()..other.end()]
}

/// Sorts the keys of a large map and marks those that a later one repeats.
fn sort_wide(text: &str, keys: &mut [u32], slots: &mut [Slot], remarks: &mut Remarks) {
    let compare = |one: u32, other: u32| -> Ordering {
        string(text, slots[one as usize]).cmp(&string(text, slots[other as usize]))
    };
    keys.sort_by(|one, other| compare(*one, *other));
    let mut repeated: Vec<(u32, u32)> = Vec::new();
    for pair in keys.windows(2) {
        if compare(pair[0], pair[1]).is_eq() {
            repeated.push((pair[0], pair[1]));
        }
    }
    // In the order of the text, not of the alphabet: the first ones are those that are told.
    repeated.sort_unstable_by_key(|(_, later)| *later);
    for (earlier, later) in repeated {
        slots[earlier as usize].end |= SHADOWED;
        remark_duplicate(text, slots[later as usize], remarks);
    }
}

fn remark_duplicate(text: &str, key: Slot, remarks: &mut Remarks) {
    remarks.add(key.start(), "duplicate-key", || {
        let name: String = string(text, key).chars().take(80).collect();
        format!("the key `{name}` is here twice; the last one counts")
    });
}

/// Where the bytes of a string that need no attention end: at a quote, a backslash or a control
/// character. Eight at a time, because most strings are too short for a search to pay.
pub(crate) fn plain_until(bytes: &[u8], mut pos: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    while let Some(chunk) = bytes.get(pos..pos + 8) {
        let chunk = u64::from_le_bytes(chunk.try_into().expect("is eight bytes"));
        let controls = chunk.wrapping_sub(ONES * 0x20) & !chunk;
        let quotes = chunk ^ (ONES * u64::from(b'"'));
        let quotes = quotes.wrapping_sub(ONES) & !quotes;
        let slashes = chunk ^ (ONES * u64::from(b'\\'));
        let slashes = slashes.wrapping_sub(ONES) & !slashes;
        let found = (controls | quotes | slashes) & HIGHS;
        if found != 0 {
            return pos + found.trailing_zeros() as usize / 8;
        }
        pos += 8;
    }
    while bytes.get(pos).is_some_and(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1F)) {
        pos += 1;
    }
    pos
}

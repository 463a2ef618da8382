//! Looks for frames of the log that `SQLite`'s recovery would pass over.
//!
//! Recovery takes every frame up to the first that does not fit, and nothing behind it, because a
//! machine that stops may leave a torn end. Frames of the same log that fit together behind such a
//! place tell that it is no torn end but damage. Nothing is written here: `SQLite` recovers the log
//! afterwards as it always does, and what is compared is what it found with what was there.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use milepost_engine::ports::Durability;
use milepost_model::id::RunId;

use super::chain::Mac;
use crate::limits;

/// Bytes in front of the log, and in front of every page in it.
const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// What the log begins with; the last bit tells the order of bytes that its sums are made with.
const MAGIC: u32 = 0x377f_0682;
/// The bounds of the size of a page in `SQLite`, and the size that a database has by default.
const PAGE_LEAST: usize = 512;
const PAGE_MOST: usize = 65_536;
const PAGE_DEFAULT: usize = 4_096;
/// The kind of page that holds rows of a table.
const TABLE_LEAF: u8 = 0x0d;
/// Bytes of the header of such a page, and of the place of a row in it.
const LEAF_HEADER: usize = 8;
/// The columns of the table of runs that are looked at.
const RUN_ID: usize = 1;
const DURABILITY: usize = 8;
const LAST_SEQ: usize = 15;
const HEAD: usize = 16;

/// How far a run had come in a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunImage {
    pub(super) run: RunId,
    pub(super) seq: u64,
    pub(super) head: Mac,
    pub(super) durability: Durability,
}

/// What recovery passes over, commit by commit.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unreached {
    /// The runs in the pages of each commit, whether it changed them or not. What is behind the
    /// last commit was never acknowledged, and is not here.
    pub(super) commits: Vec<Vec<RunImage>>,
}

/// The log of a database.
pub(super) fn path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

/// What recovery would pass over in the log of a database. A log that is not there has nothing,
/// and one that cannot be read is `SQLite`'s to complain about.
pub(super) fn scan(database: &Path) -> Unreached {
    let opened = File::open(path(database)).map(BufReader::new);
    opened.and_then(scan_log).unwrap_or_default()
}

fn scan_log(mut log: impl Read) -> io::Result<Unreached> {
    let mut header = [0; HEADER];
    if fill(&mut log, &mut header)? < HEADER {
        return Ok(Unreached::default());
    }
    let mut scan = Scan::of(&header);
    let mut frame = vec![0; FRAME_HEADER + scan.page];
    while fill(&mut log, &mut frame)? == frame.len() {
        scan.take(&frame);
    }
    Ok(scan.found)
}

/// Reads until the buffer is full or there is no more; how much there was.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The sums that `SQLite` puts on the log, each made from the one before it.
type Sums = (u32, u32);

struct Scan {
    page: usize,
    big_endian: bool,
    /// What the frames of this log have in common; of a log without a sound header, what the first
    /// frame has.
    salt: Option<[u8; 8]>,
    /// The sums of the frame before, as they are written there.
    before: Sums,
    /// Whether recovery ends before this place.
    broken: bool,
    /// The runs in the commit that is being read.
    commit: Vec<RunImage>,
    found: Unreached,
}

impl Scan {
    fn of(header: &[u8; HEADER]) -> Scan {
        let magic = number(header, 0);
        let big_endian = magic & 1 == 1;
        let sums = (number(header, 24), number(header, 28));
        let whole = magic & !1 == MAGIC && summed(big_endian, (0, 0), &header[..24]) == sums;
        let page = number(header, 8) as usize;
        let page = match page {
            _ if !whole => PAGE_DEFAULT,
            PAGE_LEAST..=PAGE_MOST if page.is_power_of_two() => page,
            _ => PAGE_DEFAULT,
        };
        Scan {
            page,
            big_endian: if whole { big_endian } else { cfg!(target_endian = "big") },
            salt: whole.then(|| salt(header, 16)),
            before: sums,
            broken: !whole,
            commit: Vec::new(),
            found: Unreached::default(),
        }
    }

    fn take(&mut self, frame: &[u8]) {
        let own = salt(frame, 8);
        let is_own = *self.salt.get_or_insert(own) == own;
        let sums = summed(self.big_endian, self.before, &frame[..8]);
        let sums = summed(self.big_endian, sums, &frame[FRAME_HEADER..]);
        let written = (number(frame, 16), number(frame, 20));
        self.before = written;
        let fits = is_own && sums == written;
        self.broken |= !fits;
        if !is_own {
            // What an earlier log left, or nothing.
            return;
        }
        self.commit.extend(runs_in(&frame[FRAME_HEADER..]));
        let is_commit = number(frame, 4) != 0;
        if is_commit {
            let commit = std::mem::take(&mut self.commit);
            if self.broken && self.found.commits.len() < limits::UNREACHED_COMMITS {
                self.found.commits.push(commit);
            }
        }
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(four)
}

fn salt(bytes: &[u8], at: usize) -> [u8; 8] {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    eight
}

/// `SQLite`'s sums over bytes, in groups of eight.
fn summed(big_endian: bool, mut sums: Sums, bytes: &[u8]) -> Sums {
    let word = |bytes: &[u8]| {
        let told = number(bytes, 0);
        if big_endian { told } else { told.swap_bytes() }
    };
    for eight in bytes.chunks_exact(8) {
        sums.0 = sums.0.wrapping_add(word(&eight[..4])).wrapping_add(sums.1);
        sums.1 = sums.1.wrapping_add(word(&eight[4..])).wrapping_add(sums.0);
    }
    sums
}

/// The rows of the table of runs in a page. Rows of other tables do not look like them, and a row
/// that goes on in another page is passed over.
fn runs_in(page: &[u8]) -> Vec<RunImage> {
    if page.first() != Some(&TABLE_LEAF) {
        return Vec::new();
    }
    let rows = usize::from(u16::from_be_bytes([page[3], page[4]]));
    let places = page[LEAF_HEADER..].chunks_exact(2).take(rows);
    let places = places.map(|two| usize::from(u16::from_be_bytes([two[0], two[1]])));
    places.filter_map(|place| run_in(page.get(place..)?)).collect()
}

/// A row, if it is one of the table of runs.
fn run_in(cell: &[u8]) -> Option<RunImage> {
    let mut rest = cell;
    let bytes = usize::try_from(varint(&mut rest)?).ok()?;
    varint(&mut rest)?;
    let record = rest.get(..bytes.min(rest.len()))?;
    let mut head = record;
    let head_bytes = usize::try_from(varint(&mut head)?).ok()?;
    let mut kinds = record.get(record.len() - head.len()..head_bytes)?;
    let mut at = head_bytes;
    let mut columns = Vec::new();
    while !kinds.is_empty() && columns.len() <= HEAD {
        let kind = varint(&mut kinds)?;
        let length = length_of(kind)?;
        columns.push((kind, record.get(at..at.checked_add(length)?)?));
        at += length;
    }
    let column = |number: usize| columns.get(number).map(|(_, bytes)| *bytes);
    let text = |number: usize| std::str::from_utf8(column(number)?).ok();
    let (seq_kind, seq) = columns.get(LAST_SEQ)?;
    let seq = match seq_kind {
        8 => 0,
        9 => 1,
        1..=6 => seq.iter().fold(0, |value: u64, byte| value << 8 | u64::from(*byte)),
        _ => return None,
    };
    Some(RunImage {
        run: RunId::parse(text(RUN_ID)?).ok()?,
        seq,
        head: column(HEAD)?.try_into().ok()?,
        durability: Durability::parse(text(DURABILITY)?)?,
    })
}

/// How many bytes a value of a kind takes in `SQLite`'s record format.
fn length_of(kind: u64) -> Option<usize> {
    match kind {
        0 | 8 | 9 => Some(0),
        1..=4 => usize::try_from(kind).ok(),
        5 => Some(6),
        6 | 7 => Some(8),
        10 | 11 => None,
        _ => usize::try_from((kind - 12) / 2).ok(),
    }
}

/// A number of `SQLite`'s record format.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for count in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if count == 8 {
            return Some(value << 8 | u64::from(*byte));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

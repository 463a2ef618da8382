//! Every numeric bound must be in a `limits.rs`, so that all bounds of a crate are in one place.
//!
//! A bound is a constant of an integer type or a `Duration` whose value is written as a decimal
//! number. The following are not bounds and may be defined where they are used:
//! - hexadecimal and binary numbers: masks, and constants of algorithms,
//! - negative numbers: protocol codes,
//! - floats, which are measures and weights, unless their name contains `MAX` or `MIN`,
//! - a `VERSION`,
//! - an alias of another constant, without a number of its own.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::exempt::{Exempt, Hit};
use super::tokens::{
    RustFile, crate_of_production, each_production_level, ident, is_ident, is_punct,
};

/// Types whose constants are counts, sizes or times; also matches `NonZero<usize>` and
/// `Option<usize>`.
const COUNTED: &[&str] = &[
    "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize",
    "Duration",
];
const MEASURED: &[&str] = &["f32", "f64"];

pub(crate) const EXEMPT: &[Exempt] = &[
    ("crates/cli/src/wrap.rs::HANG", "layout: an indent"),
    ("crates/cli/src/server/http.rs::PORT", "a default, not a bound"),
    ("crates/cli/src/table.rs::GAP", "layout: the space between two columns"),
    ("crates/model/src/graph/text.rs::LANE_WIDTH", "layout: a column and the space after it"),
    ("crates/model/src/language/id.rs::RUN_DIGITS", "the form of an id"),
    ("crates/store/src/catalogs/derived.rs::HEAD", "the layout of a file"),
    ("crates/store/src/choices.rs::HEAD", "the layout of a file"),
    ("crates/store/src/runs/chain.rs::KEY_BYTES", "the key size of the algorithm"),
    ("crates/store/src/runs/kept_files.rs::NAME_CHARS", "the form of a hash"),
    ("crates/store/src/runs/progress.rs::NOTE_BYTES", "the layout of a file"),
    ("crates/store/src/workflows/files.rs::DIRECTORY", "an index"),
];

pub(crate) fn outside_limits(file: &RustFile) -> Vec<Hit> {
    if crate_of_production(&file.path).is_none() || file.path.ends_with("/limits.rs") {
        return Vec::new();
    }
    let mut hits = Vec::new();
    each_production_level(&file.tokens, &mut |level| {
        for (index, token) in level.iter().enumerate().filter(|(_, token)| is_ident(token, "const"))
        {
            let Some(name) = bound(&level[index + 1..]) else { continue };
            let message = format!("`{name}` is a bound: name it in the crate's `limits.rs`");
            let finding = file.finding(token.span().start().line, message);
            hits.push(Hit { place: format!("{}::{name}", file.path), finding });
        }
    });
    hits
}

/// The name of the constant whose declaration continues here, if it is a bound.
fn bound(after_const: &[TokenTree]) -> Option<String> {
    let [name, colon, rest @ ..] = after_const else { return None };
    let name = ident(Some(name)).filter(|_| is_punct(colon, ':'))?;
    // A const generic parameter has no value: it ends at a comma, a bracket or a body.
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        other => ['=', ';', ','].into_iter().any(|end| is_punct(other, end)),
    };
    let equals = rest.iter().position(is_end).filter(|end| is_punct(&rest[*end], '='))?;
    let (kind, value) = (&rest[..equals], &rest[equals + 1..]);
    let value = value.split(|token| is_punct(token, ';')).next()?;

    let kind = kind.iter().rev().find_map(|token| ident(Some(token)))?;
    let is_limit = || name.split('_').any(|word| ["MAX", "MIN"].contains(&word));
    let counts = COUNTED.contains(&kind.as_str());
    let measures = MEASURED.contains(&kind.as_str()) && is_limit();
    let is_version = name == "VERSION" || name.ends_with("_VERSION");
    ((counts || measures) && !is_version && is_written_as_decimal(value)).then_some(name)
}

fn is_written_as_decimal(value: &[TokenTree]) -> bool {
    if value.first().is_some_and(|first| is_punct(first, '-')) {
        return false;
    }
    let mut numbers = Vec::new();
    collect_numbers(value.iter().cloned().collect(), &mut numbers);
    let is_pattern = |number: &String| number.starts_with("0x") || number.starts_with("0b");
    !numbers.is_empty() && !numbers.iter().any(is_pattern)
}

fn collect_numbers(tokens: TokenStream, numbers: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => collect_numbers(group.stream(), numbers),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                numbers.extend(text.starts_with(|c: char| c.is_ascii_digit()).then_some(text));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str, source: &str) -> String {
        let hits = outside_limits(&RustFile::parse(path, source).unwrap());
        let name = |hit: &Hit| hit.place.rsplit("::").next().unwrap_or_default().to_owned();
        hits.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    const BOUNDS: &str = "\
const ROWS: usize = 20;
pub(crate) const BYTES: u64 = 64 << 10;
const WAIT: std::time::Duration = Duration::from_secs(5);
const TWICE: usize = 2 * limits::ROWS;
const SLOTS: NonZero<usize> = NonZero::new(4).unwrap();
const WIDTH_MAX: f64 = 150.0;
impl Name { pub const CHARS: usize = 64; }
fn a() { const TRIES: u32 = 3; }
";

    #[test]
    fn a_number_that_bounds_something_is_found_wherever_it_stands() {
        let expected = "ROWS BYTES WAIT TWICE SLOTS WIDTH_MAX CHARS TRIES";
        assert_eq!(names("crates/ops/src/run/list.rs", BOUNDS), expected);
    }

    #[test]
    fn limits_tests_and_chores_hold_their_own_numbers() {
        for path in [
            "crates/ops/src/limits.rs",
            "crates/ops/src/run/limits.rs",
            "crates/ops/src/run/tests.rs",
            "crates/ops/tests/it/run.rs",
            "crates/ops/examples/load.rs",
            "xtask/src/tidy/text.rs",
        ] {
            assert_eq!(names(path, BOUNDS), "", "{path}");
        }
        assert_eq!(names("crates/ops/src/a.rs", "#[cfg(test)]\nmod t { const A: u8 = 3; }"), "");
    }

    #[test]
    fn codes_masks_weights_versions_and_other_names_are_no_bounds() {
        let source = "\
const PARSE_ERROR: i32 = -32700;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
const MASK: u32 = !0b11;
const WEIGHT: f32 = 0.4;
const SCHEMA_VERSION: u32 = 2;
const VERSION: u32 = 1;
const PAGE: usize = limits::PAGE;
const NAMES: [&str; 2] = [\"a\", \"b\"];
const SIZES: &[usize] = &[1, 2];
const TEXT: &str = \"const ROWS: usize = 20;\"; // const ROWS: usize = 20;
struct Text<const MIN: usize, const MAX: usize>(String);
impl<const N: usize> Grid<N> { fn a() -> usize { 3 } }
trait Sized { const LENGTH: usize; fn a() { let b = 3; } }
const fn three() -> usize { 3 }
";
        assert_eq!(names("crates/ops/src/a.rs", source), "");
    }
}

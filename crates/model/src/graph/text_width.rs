//! Estimates how wide text is and how much of it fits.
//!
//! The reader's fonts are unknown, so widths are estimates based on the widest common fonts. Text
//! is truncated a little early rather than painted over its border.

use unicode_width::UnicodeWidthChar as _;

use super::grid::real;

/// The styles of text in a drawing, which differ in font and size.
#[derive(Clone, Copy)]
pub(super) enum Font {
    Name,
    Kind,
    Detail,
    Pill,
}

/// Truncates text to fit in `room` pixels.
pub(super) fn fit(text: &str, room: f64, font: Font) -> String {
    if measure(text, font) <= room {
        return text.to_owned();
    }
    let mut left = room - advance('…', font);
    let kept = text.chars().take_while(|&c| {
        left -= advance(c, font);
        left >= 0.0
    });
    let kept: String = kept.collect();
    format!("{}…", kept.trim_end())
}

pub(super) fn measure(text: &str, font: Font) -> f64 {
    text.chars().map(|c| advance(c, font)).sum()
}

/// The estimated advance of a character in pixels, slightly generous because fonts differ.
fn advance(c: char, font: Font) -> f64 {
    let cells = c.width().unwrap_or(0);
    match font {
        Font::Name => 13.0 * sans_em(c, cells),
        Font::Kind => 11.0 * sans_em(c, cells) * 0.92,
        Font::Detail | Font::Pill => {
            let size = if matches!(font, Font::Detail) { 11.0 } else { 10.5 };
            size * 0.605 * real(cells.min(2))
        }
    }
}

fn sans_em(c: char, cells: usize) -> f64 {
    match c {
        _ if cells == 0 => 0.0,
        _ if cells > 1 => 1.3,
        'i' | 'j' | 'l' | '\'' | '|' | '.' | ',' | ':' | ';' | '!' | 'I' => 0.38,
        'f' | 't' | 'r' | ' ' | '(' | ')' | '[' | ']' | '/' | '-' | '\\' => 0.46,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.06,
        'A'..='Z' | '&' | '…' => 0.76,
        c if c.is_ascii() => 0.67,
        _ => 0.76,
    }
}

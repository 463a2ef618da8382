//! Whole numbers in the keys of steps, each of which has only one valid notation.

use std::fmt::Write as _;

/// Appends a number.
pub fn push(text: &mut String, number: usize) {
    let _ = write!(text, "{number}");
}

/// Parses a number exactly as [`push`] writes it, so `02` is rejected.
pub(crate) fn read(text: &str) -> Option<usize> {
    text.parse().ok().filter(|number: &usize| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_reads_as_it_is_written() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, usize::MAX] {
            let mut text = "n".to_owned();
            push(&mut text, number);
            assert_eq!(text, format!("n{number}"));
            assert_eq!(read(&text[1..]), Some(number));
        }
        for text in ["", "02", "00", "+1", "-1", " 1", "1 ", "1a", "99999999999999999999"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

//! Whole numbers as text where an answer is put together: the formatting of the standard library
//! costs more than all the rest of a line.

/// Appends a number.
pub fn push(text: &mut String, number: usize) {
    // As many digits as the largest number has.
    let mut digits = [0; 20];
    let mut rest = number;
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    text.extend(digits[first..].iter().copied().map(char::from));
}

/// Reads a number that is written as [`push`] writes it: `02` would be another text for it.
pub(crate) fn read(text: &str) -> Option<usize> {
    let plain = match text.as_bytes() {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    text.parse().ok().filter(|_| plain)
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

//! Escapes text for use inside a JSON string, the way `serde_json` does.

/// Passes escaped pieces of `text` to `put`. Most of a prompt needs no escaping and is not copied.
pub fn escape(text: &str, mut put: impl FnMut(&str)) {
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at(plain_prefix(rest.as_bytes()));
        if !plain.is_empty() {
            put(plain);
        }
        let Some(byte) = special.bytes().next() else { break };
        put(match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            control => CONTROLS[usize::from(control)],
        });
        // A character that needs an escape is one byte long.
        rest = &special[1..];
    }
}

/// The escapes for the control characters.
const CONTROLS: [&str; 0x20] = [
    "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b",
    "\\t", "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012",
    "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a",
    "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
];

/// The number of leading bytes that need no escape in a JSON string.
///
/// Checks eight bytes at a time, because prompts are long and need few escapes.
pub fn plain_prefix(bytes: &[u8]) -> usize {
    const LOW: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    // Sets the high bit of each byte that is below `bound` (at most 0x80). A borrow can set a wrong
    // bit only above a correct one, and only the lowest is used.
    let below = |word: u64, bound: u64| word.wrapping_sub(LOW * bound) & !word & HIGH;
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = below(word, 0x20)
            | below(word ^ (LOW * u64::from(b'"')), 1)
            | below(word ^ (LOW * u64::from(b'\\')), 1);
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let plain = tail.iter().take_while(|byte| !matches!(byte, 0..0x20 | b'"' | b'\\'));
    words.len() * 8 + plain.count()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_text_is_escaped_as_serde_json_does() {
        let all: String = ('\0'..='\u{250}').chain("\u{2028}😀".chars()).collect();
        for text in ["", "plain", "a\"b\\c\n", "\u{7f}ä", &all] {
            let mut out = String::new();
            escape(text, |part| out.push_str(part));
            assert_eq!(format!("\"{out}\""), Value::from(text).to_string());
        }
    }

    #[test]
    fn a_plain_prefix_ends_at_the_first_byte_that_needs_an_escape() {
        for length in 0..40 {
            for special in [b'"', b'\\', b'\n', 0, 0x1f] {
                let mut bytes = vec![b'x'; 40];
                assert_eq!(plain_prefix(&bytes[..length]), length);
                bytes[length] = special;
                bytes[39] = b'"';
                assert_eq!(plain_prefix(&bytes), length);
            }
        }
        let all: Vec<u8> = (0x20..=0xff).filter(|byte| !b"\"\\".contains(byte)).collect();
        assert_eq!(plain_prefix(&all), all.len());
    }
}

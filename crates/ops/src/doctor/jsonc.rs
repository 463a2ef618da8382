//! JSON as editors write it: with comments, and a comma behind the last item.

/// The same text as JSON: what is none becomes spaces, and strings stay as they are.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string(rest),
            '/' if rest.starts_with("//") => {
                rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
                continue;
            }
            '/' if rest.starts_with("/*") => {
                rest = rest[2..].find("*/").map_or("", |end| &rest[end + 4..]);
                continue;
            }
            '}' | ']' => {
                // A comma may stand before it, with nothing but space between.
                let end = plain.trim_end().len();
                if plain[..end].ends_with(',') {
                    plain.truncate(end - 1);
                }
                1
            }
            other => other.len_utf8(),
        };
        plain.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    plain
}

/// How long the string is that a text begins with, quotes included.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::plain;

    #[test]
    fn comments_and_last_commas_go_and_strings_stay() {
        let text = r#"{ // one
            "a": "b // no comment, }", /* two
            */ "c\\\"": [1, 2, ], "url": "https://x.test/*",
        }"#;
        let read: Value = serde_json::from_str(&plain(text)).expect("is JSON");
        let url = "https://x.test/*";
        assert_eq!(read, json!({"a": "b // no comment, }", "c\\\"": [1, 2], "url": url}));
    }

    #[test]
    fn what_is_cut_off_ends() {
        for text in ["", "\"", "\"a\\", "/*", "//", "/", ",}", "]", "ä/*ä"] {
            plain(text);
        }
    }
}

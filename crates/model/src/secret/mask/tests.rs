//! What a mask finds, and what it leaves alone.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use proptest::prelude::*;
use serde_json::json;

fn mask(values: &[(&str, &str)]) -> Mask {
    let mut mask = Mask::guard();
    values.iter().for_each(|(name, value)| mask.add(name, &Secret::new(*value)));
    mask
}

#[track_caller]
fn check(secret: &str, text: &str, expected: &str) {
    assert_eq!(mask(&[("k", secret)]).text(text), expected);
}

#[test]
fn every_occurrence_goes_and_the_rest_stays() {
    check("s3cret", "a s3cret, as3cretb; s3cre", "a [secret:k], a[secret:k]b; s3cre");
    check("s3cret", "nothing", "nothing");
    check("schlüssel", "x=schlüssel&y", "x=[secret:k]&y");
}

#[test]
fn the_bytes_of_a_header_go_too() {
    let header = |text: &str| -> Vec<u8> { text.chars().map(|char| char as u8).collect() };
    let shown = mask(&[("k", "übertöne")]).bytes(&header("x: übertöne;")).into_owned();
    assert_eq!(shown, b"x: [secret:k];");
    check("übertöne", &String::from_utf8_lossy(&header("x: übertöne;")), "x: [secret:k];");
    check("schlüssel", "?k=schl%FCssel", "?k=[secret:k]");
}

#[test]
fn short_values_are_left_alone() {
    check("abc", "abcabc", "abcabc");
    check("abcd", "abcd", "[secret:k]");
}

#[test]
fn percent_encoded_forms_go() {
    check("p/w d+x%", "?k=p%2Fw%20d%2Bx%25&z", "?k=[secret:k]&z");
    check("p/w d+x%", "?k=p%2fw+d%2bx%25&z", "?k=[secret:k]&z");
    check("p/wd", "?next=%252Fa%26k=p%252Fwd", "?next=%252Fa%26k=[secret:k]");
    check("a%25b", "a%25b a%2525b", "[secret:k] [secret:k]");
    check("ключ", "%D0%BA%D0%BB%D1%8E%D1%87", "[secret:k]");
}

#[test]
fn escaped_forms_go() {
    check(r#"pa"ss\w"#, r#"{"a":"pa\"ss\\w"}"#, r#"{"a":"[secret:k]"}"#);
    check(r#"pa"ss\w"#, r#""{\"a\":\"pa\\\"ss\\\\w\"}""#, r#""{\"a\":\"[secret:k]\"}""#);
    check("line\nbreak", r"line\nbreak", "[secret:k]");
    check("a\\9b\\\nc", r"\u0061\u005c\u0039b\\\nc", "[secret:k]");
    check("a\\9b\\\nc", r"\\u0061\\u005c\\u0039b\\\\\\nc", "[secret:k]");
    check("a/b/c/d", r"a\/b\/c\/d", "[secret:k]");
    check("ключ🔑", r"\u043a\u043b\u044e\u0447\ud83d\udd11", "[secret:k]");
}

#[test]
fn base64_goes_at_every_offset() {
    for before in ["", "u", "us", "use", "user:"] {
        let encoded = STANDARD_NO_PAD.encode(format!("{before}correct-horse:x"));
        let shown = mask(&[("k", "correct-horse")]).text(&encoded).into_owned();
        assert!(shown.contains("[secret:k]"), "{before}: {shown}");
        let visible = shown.replace("[secret:k]", "");
        assert!(visible.len() <= encoded.len() - 16, "{before}: {shown}");
    }
}

#[test]
fn the_longer_of_two_secrets_wins() {
    let mask = mask(&[("short", "token"), ("long", "token-and-more")]);
    assert_eq!(mask.text("token-and-more token"), "[secret:long] [secret:short]");
}

#[test]
fn a_line_break_at_the_end_does_not_hide_the_value() {
    check("s3cret\n", "x s3cret y", "x [secret:k] y");
}

#[test]
fn json_loses_names_and_texts_and_keeps_its_numbers() {
    let mask = mask(&[("pin", "123456"), ("k", "s3cret")]);
    let shown = mask.json(&json!({"s3cret": ["a s3cret", 123_456, "n 123456", null, true]}));
    let marked = json!({"[secret:k]": ["a [secret:k]", 123_456, "n [secret:pin]", null, true]});
    assert_eq!(shown, marked);
}

#[test]
fn json_text_changes_in_its_strings_only() {
    let mut mask = mask(&[("k", "nopqrstuvwxyz"), ("q", r#"say "hi" \ bye"#)]);
    mask.add("pin", &Secret::new("123456789012"));
    for (text, expected) in [
        (r#"{"a" : 1.50, "b":"x nopqrstuvwxyz"}"#, r#"{"a" : 1.50, "b":"x [secret:k]"}"#),
        // A backslash and the secret; a line break and the secret without its first letter.
        (r#"["\\nopqrstuvwxyz", "\nopqrstuvwxyz"]"#, r#"["\\[secret:k]", "\nopqrstuvwxyz"]"#),
        (r#"["say \"hi\" \\ bye\""]"#, r#"["[secret:q]\""]"#),
        (r#"[123456789012, "123456789012"]"#, r#"[123456789012, "[secret:pin]"]"#),
        (r#"["{\"a\": \"NOPQRSTUVWXYZ\"}"]"#, r#"["{\"a\": \"[secret:k]\"}"]"#),
        ("{\"a\":1}\n{\"a\":\"nopqrstuvwxyz\"}\n", "{\"a\":1}\n{\"a\":\"[secret:k]\"}\n"),
    ] {
        assert_eq!(mask.json_text(text), expected);
        assert_eq!(mask.shown(text), expected);
    }
    assert_eq!(mask.shown("no JSON: nopqrstuvwxyz\""), "no JSON: [secret:k]\"");
}

#[test]
fn upper_and_lower_case_and_hexadecimal_go() {
    check("Correct-Horse", "x CORRECT-HORSE correct-horse y", "x [secret:k] [secret:k] y");
    check("schlüssel", "SCHLÜSSEL Schl%C3%9Cssel", "[secret:k] [secret:k]");
    check("correct-horse", "0x636F72726563742d686f727365.", "0x[secret:k].");
    check("correct-horse", &STANDARD.encode("correct-horse").to_lowercase(), "[secret:k]==");
}

#[test]
fn a_data_mask_leaves_short_secrets_alone() {
    let mut mask = Mask::new();
    mask.add("short", &Secret::new("elevenchars"));
    assert!(mask.is_empty());
    mask.add("long", &Secret::new("twelve chars"));
    assert_eq!(
        mask.text("elevenchars twelve chars twelve+chars"),
        "elevenchars [secret:long] [secret:long]"
    );
    assert!(Mask::recognizes(&Secret::new("twelve chars")));
    assert!(!Mask::recognizes(&Secret::new("elevenchars\n")));
}

#[test]
fn many_secrets_do_not_slow_down_the_search() {
    let mut mask = Mask::new();
    for number in 0..500 {
        mask.add("k", &Secret::new(format!("{number:04}-tok/en+{}", number * 7919)));
    }
    let text = r#"{"name":"Some \"quoted\" text","url":"https://a.test/?q=a%20b+c","n":12}"#;
    let text = text.repeat(50_000);
    let began = std::time::Instant::now();
    assert!(!mask.finds(&text));
    // Generous, because machines differ: one lookup per secret and byte would take minutes.
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
}

#[test]
fn debug_shows_names_only() {
    let mask = mask(&[("k", "s3cret")]);
    assert_eq!(format!("{mask:?} {:?}", Secret::new("x")), r#"Mask(["k"]) Secret(…)"#);
}

proptest! {
    #[test]
    fn no_secret_survives(
        secret in r#"[a-zA-Z0-9%+/\\"' ü🔑]{4,12}"#,
        before in r#"[a-z%\\"+]{0,6}"#,
        after in r#"[a-z%\\"+]{0,6}"#,
    ) {
        prop_assume!(secret.trim().chars().count() >= 4);
        let mask = mask(&[("k", &secret)]);
        let text = format!("{before}{secret}{after}");
        prop_assert!(!mask.text(&text).contains(&secret));
        let quoted = Value::String(text.clone()).to_string();
        let inner = Value::String(secret.clone()).to_string();
        prop_assert!(!mask.text(&quoted).contains(&inner[1..inner.len() - 1]));
    }

    #[test]
    fn any_text_is_survived(text in any::<String>(), secret in any::<String>()) {
        let mask = mask(&[("k", &secret)]);
        let hidden = mask.text(&text).into_owned();
        prop_assert!(mask.finds(&text) || hidden == text);
    }
}

//! Error messages for invalid expressions: `common_mistakes.txt` contains one case per line.
//!
//! Each case is followed by the text that the error points to and its message, the help, and the
//! result of applying the suggested replacements until none is left.

use expect_test::expect_file;
use milepost_model::expr::Expr;
use milepost_model::expr::limits::SOURCE_BYTES_MAX;

use super::show;

#[test]
fn table() {
    let mut out = Vec::new();
    let mut cases = 0;
    for line in include_str!("common_mistakes.txt").lines().filter(|line| !line.starts_with("    "))
    {
        cases += 1;
        out.push(line.to_owned());
        let Err(error) = Expr::parse(line) else {
            out.push("    parses".to_owned());
            continue;
        };
        assert_wording(&error.message);
        out.push(format!("    `{}`: {error}", &line[error.span.range()]));
        out.extend(error.help.map(|help| format!("    help: {help}")));
        out.extend(error.replace.map(|_| format!("    mended: {}", mended(line))));
    }
    assert!(cases > 100, "the table lost its cases: {cases}");
    expect_file!["./common_mistakes.txt"].assert_eq(&(out.join("\n") + "\n"));
}

/// Asserts that a message starts in lowercase and has no final full stop.
fn assert_wording(message: &str) {
    assert!(!message.ends_with('.'), "{message}");
    assert!(!message.starts_with(|first: char| first.is_uppercase()), "{message}");
}

/// The text after its replacements; suggested replacements must result in a text that parses.
fn mended(source: &str) -> String {
    let mut text = source.to_owned();
    for _ in 0..8 {
        match Expr::parse(&text) {
            Ok(_) => return text,
            Err(error) => match error.replace {
                Some((span, replacement)) => text.replace_range(span.range(), &replacement),
                None => return format!("{text} (then: {error})"),
            },
        }
    }
    panic!("mending {source} does not end");
}

#[test]
fn an_empty_source_is_told_so() {
    for source in ["", "  ", "// only a comment"] {
        assert_eq!(show(source), "syntax error: the expression is empty", "{source:?}");
    }
}

#[test]
fn a_source_has_a_greatest_length() {
    let fits = "1".to_owned() + &" ".repeat(SOURCE_BYTES_MAX - 1);
    assert_eq!(show(&fits), "1");
    assert_eq!(
        show(&(fits + " ")),
        "syntax error: the expression is 8193 bytes long, and the limit is 8192"
    );
}

//! Unusual bytes: line endings, encodings, lengths and nesting depths.

use std::io::{self, Read};

use milepost_mcp::{SessionOptions, limits};
use serde_json::Value;

use super::{INITIALIZE, LARGE_BYTES, Pieces, parse_error, refused, served};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

/// Sends bytes and returns the answers.
fn answers(input: &[u8]) -> Vec<String> {
    served(SessionOptions::default(), input).0.lines().map(str::to_owned).collect()
}

/// The answer to a line that exceeds a limit.
fn over_limit(details: &str, limit: usize) -> String {
    let data = format!(r#""details":"{details}","limit":{limit}"#);
    refused(-32600, "Invalid Request", &data)
}

#[test]
fn nothing_is_answered_with_nothing() {
    for input in ["", "\n", "\r\n", "  \t \n\n", "   "] {
        assert_eq!(answers(input.as_bytes()), [""; 0], "{input:?}");
    }
}

#[test]
fn a_line_may_end_in_either_way() {
    assert_eq!(answers(format!("{PING}\r\n\r\n{PING}\n").as_bytes()), [PONG, PONG]);
}

#[test]
fn the_last_line_needs_no_end() {
    assert_eq!(answers(format!("{PING}\n{PING}").as_bytes()), [PONG, PONG]);
    assert_eq!(answers(format!("{PING}\r").as_bytes()), [PONG]);
    let half = parse_error("Unexpected end of JSON input at line 1, column 21");
    assert_eq!(answers(format!("{PING}\n{}", &PING[..20]).as_bytes()), [PONG, &half]);
    let half = parse_error("Unexpected end of JSON input at line 1, column 2");
    assert_eq!(answers(b"{\r\n"), [half]);
}

#[test]
fn a_byte_order_mark_is_not_json() {
    let fault = parse_error("Unexpected token in JSON: a byte order mark at line 1, column 1");
    let input = format!("\u{feff}{PING}\n{PING}\n\u{feff}\n");
    assert_eq!(answers(input.as_bytes()), [&fault, PONG, &fault]);
}

#[test]
fn what_is_no_utf_8_is_no_json() {
    let fault = "Unexpected token in JSON: bytes that are not UTF-8 at line 1, column";
    let mut input = "{\"é\":\"".as_bytes().to_vec();
    // Truncated, overlong, a surrogate, beyond the last code point, and a stray byte.
    let broken: [&[u8]; 5] = [b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff"];
    for bytes in broken {
        input.truncate(7);
        input.extend_from_slice(bytes);
        input.extend_from_slice(b"\"}\n");
        input.extend_from_slice(PING.as_bytes());
        assert_eq!(answers(&input), [&parse_error(&format!("{fault} 7")), PONG], "{bytes:x?}");
    }
}

#[test]
fn a_zero_byte_is_no_json() {
    let fault = parse_error("Unexpected token in JSON at line 1, column 1");
    assert_eq!(answers(b"\0\n"), [fault]);
    let fault = parse_error("Unexpected token in JSON at line 1, column 3");
    assert_eq!(answers(b"[\"\0\"]\n"), [fault]);
}

#[test]
fn characters_may_come_in_pieces() {
    let echo = r#"{"jsonrpc":"2.0","id":"é😀","method":"echo","params":{"a":"ä€😀"}}"#;
    let input = format!("{INITIALIZE}\n{echo}\n");
    let whole = served(SessionOptions::default(), input.as_bytes());
    assert!(whole.0.ends_with(
        "{\"jsonrpc\":\"2.0\",\"id\":\"é😀\",\"result\":{\"echo\":{\"a\":\"ä€😀\"}}}\n"
    ));
    for split in 0..=input.len() {
        let (head, tail) = input.as_bytes().split_at(split);
        assert_eq!(served(SessionOptions::default(), Pieces::new([head, tail])), whole, "{split}");
    }
    assert_eq!(served(SessionOptions::default(), Pieces::new(input.as_bytes().chunks(1))), whole);
}

#[test]
fn a_line_of_any_length_is_answered_once() {
    let fault = over_limit("the line exceeds the maximum message size", limits::LINE_BYTES);
    for length in [limits::LINE_BYTES as u64 + 1, 64 << 20] {
        let line = io::repeat(b'x').take(length);
        let input = PING.as_bytes().chain(&b"\n"[..]).chain(line);
        let input = input.chain(&b"\n"[..]).chain(PING.as_bytes());
        let (answers, _) = served(SessionOptions::default(), input);
        assert_eq!(answers.lines().collect::<Vec<_>>(), [PONG, &fault, PONG]);
    }
    let unended = io::repeat(b' ').take(5 << 20);
    assert_eq!(served(SessionOptions::default(), unended).0, fault + "\n");
}

#[test]
fn a_message_as_long_as_the_limit_is_served() {
    let (head, tail) = (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":""#, r#""}}"#);
    let filling = "\\n".repeat((limits::LINE_BYTES - head.len() - tail.len()) / 2);
    let mut line = format!("{head}{filling}{tail}");
    line.extend(std::iter::repeat_n(' ', limits::LINE_BYTES - line.len()));
    assert_eq!(answers(line.as_bytes()), [PONG]);
    assert_eq!(answers(format!("{line}\r\n").as_bytes()), [PONG]);
}

#[test]
fn depth_is_answered_not_followed() {
    let echo = |levels: usize| {
        let params = format!("{{\"a\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        let echo = r#"{"jsonrpc":"2.0","id":1,"method":"echo","params":"#;
        format!("{INITIALIZE}\n{echo}{params}}}\n{PING}\n")
    };
    // The message and its parameters account for two levels.
    let deepest = limits::DEPTH - 2;
    for levels in [deepest - 1, deepest] {
        let answers = answers(echo(levels).as_bytes());
        assert!(answers[1].starts_with(r#"{"jsonrpc":"2.0","id":1,"result":{"echo":{"a":[["#));
        assert_eq!(answers[2], PONG);
    }
    let fault =
        parse_error("Unexpected token in JSON: more than 128 levels deep at line 1, column 181");
    for levels in [deepest + 1, 100_000] {
        assert_eq!(answers(echo(levels).as_bytes())[1..], [fault.as_str(), PONG]);
    }
    let batch = format!("{}\n{PING}\n", "[".repeat(100_000));
    assert_eq!(answers(batch.as_bytes())[1], PONG);
}

#[test]
fn a_batch_may_be_as_long_as_the_limit_and_no_longer() {
    let batch = |count: usize| format!("[{}]\n", vec![PING; count].join(","));
    for count in [limits::BATCH_MESSAGES - 1, limits::BATCH_MESSAGES] {
        let expected = format!("[{}]", vec![PONG; count].join(","));
        assert_eq!(answers(batch(count).as_bytes()), [expected]);
    }
    let fault = over_limit("the batch contains too many messages", limits::BATCH_MESSAGES);
    assert_eq!(answers(batch(limits::BATCH_MESSAGES + 1).as_bytes()), [fault]);
}

#[test]
fn the_answers_to_a_batch_are_bounded() {
    let large = r#"{"jsonrpc":"2.0","id":1,"method":"large"}"#;
    let input = format!("{INITIALIZE}\n[{}]\n{PING}\n", vec![large; 40].join(","));
    let answers = answers(input.as_bytes());
    assert_eq!(answers[2], PONG);
    let batch: Vec<Value> = serde_json::from_str(&answers[1]).expect("is an array");
    let (given, refused) = batch.split_at(limits::BATCH_ANSWER_BYTES / LARGE_BYTES);
    assert!(given.iter().all(|answer| answer["result"]["large"].is_string()));
    let fault = &refused[0]["error"];
    assert_eq!(fault["code"], -32600);
    assert_eq!(fault["data"]["limit"], limits::BATCH_ANSWER_BYTES);
    assert!(refused.iter().all(|answer| answer["error"] == *fault));
    assert_eq!(batch.len(), 40);
}

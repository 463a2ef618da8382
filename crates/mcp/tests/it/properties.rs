//! Properties that hold for every input.

use milepost_mcp::SessionOptions;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{INITIALIZE, Pieces, served};

/// Bytes that resemble a message more often than random bytes would.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let words: Vec<&'static [u8]> = vec![
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"\"",
        b"\\",
        b"\n",
        b"\r\n",
        b" ",
        b"null",
        b"true",
        b"1e",
        b"-0.5",
        b"\"id\":",
        b"\"id\":1,",
        b"\"jsonrpc\":\"2.0\",",
        b"\"method\":\"ping\"",
        b"\"method\":\"echo\",",
        b"\"params\":",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}",
        b"\\ud800",
        b"\\u0041",
        b"\xef\xbb\xbf",
        b"\xf0\x9f\x98\x80",
        b"\xff",
        b"\"method\":\"tools/call\",\"params\":{\"name\":\"echo\"}",
    ];
    prop_oneof![
        4 => prop::sample::select(words).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..8),
    ]
}

fn input() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(fragment(), 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn how_bytes_arrive_makes_no_difference(
        input in input(),
        cuts in prop::collection::vec(any::<Index>(), 0..20),
    ) {
        let input = [INITIALIZE.as_bytes(), b"\n", &input].concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&input[from..cut]);
            from = cut;
        }
        pieces.push(&input[from..]);
        let whole = served(SessionOptions::default(), input.as_slice());
        prop_assert_eq!(served(SessionOptions::default(), Pieces::new(pieces)), whole);
    }

    #[test]
    fn a_ping_is_answered_whatever_came_before(input in input(), noise in any::<Vec<u8>>()) {
        let ping = br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#;
        let input = [INITIALIZE.as_bytes(), b"\n", &input, b"\n", &noise, b"\n", ping].concat();
        let (answers, _) = served(SessionOptions::default(), input.as_slice());
        let pong = r#"{"jsonrpc":"2.0","id":"last","result":{}}"#;
        prop_assert_eq!(answers.lines().last(), Some(pong));
        for answer in answers.lines() {
            prop_assert!(serde_json::from_str::<serde_json::Value>(answer).is_ok(), "{}", answer);
        }
    }

    #[test]
    fn a_line_is_json_where_serde_says_so(input in input()) {
        let line: Vec<u8> = input.into_iter().filter(|byte| *byte != b'\n').collect();
        prop_assume!(!line.trim_ascii().is_empty());
        let (answers, _) = served(SessionOptions::default(), line.as_slice());
        let parses = serde_json::from_slice::<serde_json::Value>(&line).is_ok();
        prop_assert_eq!(!answers.contains("\"code\":-32700"), parses, "{}", answers);
    }
}

//! Ordering, flushing, and broken pipes.

use std::io::{self, ErrorKind, Read, Write};

use milepost_mcp::{Contracts, ServeError, SessionOptions, limits, serve_stdio};

use super::{INITIALIZE, Pieces, Tools, parse_error, served, text};

/// A line of the mix, and its expected answer.
fn mixed(number: usize) -> (String, Option<String>) {
    let request = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{params}}}"#)
    };
    let answer = |rest: &str| Some(format!(r#"{{"jsonrpc":"2.0","id":{number},{rest}}}"#));
    match number % 8 {
        0 => (request("ping", "{}"), answer(r#""result":{}"#)),
        1 => (r#"{"jsonrpc":"2.0","method":"notifications/x"}"#.to_owned(), None),
        2 => (String::new(), None),
        3 => (
            request("echo", &format!("{{\"n\":{number}}}")),
            answer(&format!(r#""result":{{"echo":{{"n":{number}}}}}"#)),
        ),
        4 => (
            request("refuse", "[]"),
            answer(concat!(
                r#""error":{"code":-32602,"message":"Invalid params","#,
                r#""data":{"details":"workflowId is required"}}"#,
            )),
        ),
        5 => {
            ("{".to_owned(), Some(parse_error("Unexpected end of JSON input at line 1, column 2")))
        }
        6 => (
            format!("[{},{}]", request("ping", "null"), request("prompts/list", "{}")),
            answer(r#""result":{}"#)
                .zip(answer(r#""result":{"prompts":[]}"#))
                .map(|(first, second)| format!("[{first},{second}]")),
        ),
        _ => (
            request("tools/call", &format!(r#"{{"name":"echo","arguments":{{"n":{number}}}}}"#)),
            answer(&format!(
                concat!(
                    r#""result":{{"content":[{{"type":"text","#,
                    r#""text":"{{\"echo\":{{\"n\":{}}}}}"}}],"#,
                    r#""structuredContent":{{"echo":{{"n":{}}}}}}}"#,
                ),
                number, number,
            )),
        ),
    }
}

#[test]
fn ten_thousand_lines_are_answered_once_each_and_in_order() {
    let (lines, expected): (Vec<String>, Vec<Option<String>>) = (0..10_000).map(mixed).unzip();
    let input = format!("{INITIALIZE}\n{}\n", lines.join("\n"));
    let (answers, log) = served(SessionOptions::default(), input.as_bytes());
    let expected: Vec<String> = expected.into_iter().flatten().collect();
    let answers: Vec<&str> = answers.lines().skip(1).collect();
    assert_eq!(answers.len(), expected.len());
    for (answer, expected) in answers.iter().zip(&expected) {
        assert_eq!(answer, expected);
    }
    assert_eq!(log, "");
}

/// Counts the writes and flushes that reach it.
#[derive(Default)]
struct Counted {
    writes: Vec<usize>,
    flushes: usize,
}

impl Write for &mut Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes.push(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushes += 1;
        Ok(())
    }
}

fn counted(pieces: &[&[u8]]) -> Counted {
    let mut counted = Counted::default();
    let input = Pieces::new(pieces.iter().copied());
    serve_stdio(
        &Contracts::guides(&Tools),
        SessionOptions::default(),
        input,
        &mut counted,
        io::sink(),
    )
    .expect("serves");
    counted
}

#[test]
fn what_a_read_brings_is_flushed_once() {
    let pings = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".repeat(100);
    let all = counted(&[pings.as_bytes()]);
    assert_eq!((all.writes.len(), all.flushes), (1, 1));
    let (head, tail) = pings.as_bytes().split_at(1_000);
    let all = counted(&[head, tail]);
    assert_eq!((all.writes.len(), all.flushes), (2, 2));
    assert_eq!(counted(&[b"\n\n", b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n"]).flushes, 0);
}

#[test]
fn a_long_answer_is_written_before_the_next_line_is_read() {
    let echo = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{{\"a\":\"{}\"}}}}\n",
        "x".repeat(20_000)
    );
    let input = format!("{INITIALIZE}\n{}", echo.repeat(20));
    let all = counted(&[input.as_bytes()]);
    assert!(all.writes.iter().all(|count| *count < limits::UNSENT_BYTES + 21_000));
    assert!(all.writes.len() > 4);
}

/// A pipe whose other end is closed after this many writes.
struct Closing(usize);

impl Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_client_that_is_gone_ends_the_server() {
    let ping: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let mut input = Pieces::new([ping; 10]);
    let mut log = Vec::new();
    let served = serve_stdio(
        &Contracts::guides(&Tools),
        SessionOptions::default(),
        &mut input,
        Closing(3),
        &mut log,
    );
    assert!(
        matches!(served, Err(ServeError::Write(error)) if error.kind() == ErrorKind::BrokenPipe)
    );
    assert_eq!(text(log), "error: cannot write to the client: broken pipe\n");
    assert_eq!(input.0.len(), 6, "nothing is read that cannot be answered");
}

/// Fails with each of these errors in turn, then reports the end of input.
struct Failing(Vec<ErrorKind>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.pop().map_or(Ok(0), |kind| Err(kind.into()))
    }
}

#[test]
fn an_input_that_fails_ends_the_server_and_an_interruption_does_not() {
    let mut log = Vec::new();
    let input = Failing(vec![ErrorKind::Interrupted; 3]);
    serve_stdio(&Contracts::guides(&Tools), SessionOptions::default(), input, io::sink(), &mut log)
        .expect("ends well");
    assert_eq!(text(log), "");

    let mut log = Vec::new();
    let ping: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let input = ping.chain(Failing(vec![ErrorKind::ConnectionReset]));
    let mut answers = Vec::new();
    let served = serve_stdio(
        &Contracts::guides(&Tools),
        SessionOptions::default(),
        input,
        &mut answers,
        &mut log,
    );
    assert!(matches!(served, Err(ServeError::Read(_))));
    assert_eq!(text(answers), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    assert_eq!(text(log), "error: cannot read from the client: connection reset\n");
}

#[test]
fn a_log_that_is_gone_keeps_nobody_from_an_answer() {
    let input = format!("{INITIALIZE}\n{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"burst\"}}\n");
    let mut answers = Vec::new();
    serve_stdio(
        &Contracts::guides(&Tools),
        SessionOptions::default(),
        input.as_bytes(),
        &mut answers,
        Closing(0),
    )
    .expect("serves");
    assert_eq!(text(answers).lines().count(), 2);
}

#[test]
fn a_broken_invariant_is_a_number_for_the_client_and_words_for_the_log() {
    for tool in ["stumble", "burst"] {
        let call = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{tool}\"}}");
        let (answers, log) =
            crate::served(SessionOptions::default(), format!("{INITIALIZE}\n{call}\n").as_bytes());
        let answer: serde_json::Value =
            serde_json::from_str(answers.lines().nth(1).expect("an answer")).expect("JSON");
        assert_eq!(answer["error"]["code"], -32603, "{tool}");
        let id = answer["error"]["data"]["correlationId"].as_str().expect("a number");
        assert_eq!(id.len(), 32);
        assert_eq!(answer["error"]["data"].as_object().map(serde_json::Map::len), Some(1));
        assert!(log.contains(id) && log.contains("seam"), "{tool}: {log}");
        assert_eq!(log.lines().count(), 1, "{log}");
    }
}

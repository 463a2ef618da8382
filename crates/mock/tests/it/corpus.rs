//! For every operation of every real document, each documented response can be generated so that it
//! satisfies its schema.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use milepost_mock::{Mock, MockRequest, MockSettings};

use crate::support::{corpus, documented};

/// Responses that nothing can satisfy, as `document METHOD path status`. Each requires a match with
/// exactly one of several identical schemas.
const IMPOSSIBLE: &[&str] = &[
    "guru__nexmo.com_messages-olympus_1.4.0_openapi POST / 202",
    "guru__nexmo.com_messages-olympus_1.4.0_openapi POST / 401",
    "guru__nexmo.com_messages-olympus_1.4.0_openapi POST / 422",
];
/// The number of operations checked per document; all of them if `MILEPOST_MOCK_ALL` is set.
const SAMPLE: usize = 40;
/// The time limit for one operation in an unoptimised build on a busy machine.
const OPERATION_TIME: Duration = Duration::from_mins(1);

#[test]
fn every_documented_answer_fits_its_schema() {
    let (mut answers, mut bad, mut told) = (0_usize, String::new(), 0);
    let all = std::env::var_os("MILEPOST_MOCK_ALL").is_some();
    for path in corpus() {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let bytes = fs::read(&path).expect("a file");
        let operations = documented(&bytes);
        let again = documented(&bytes);
        let mut mock = Mock::new(operations, MockSettings::default());
        let started = Instant::now();
        let step = if all { 1 } else { again.rows.len().div_ceil(SAMPLE).max(1) };
        for (index, row) in again.rows.iter().enumerate().step_by(step) {
            let (method, template) = (row.method, &row.path);
            let command = again.command(index).expect("a command");
            let begun = Instant::now();
            for response in &command.responses {
                let status = response.status.replace("default", "500").to_uppercase();
                let status = status.replace("XX", "00");
                let (request, headers) = request(template, &status);
                let (path, query) = (request.0.as_str(), request.1);
                let answer = mock.answer(&MockRequest { method, path, query, headers, body: b"" });
                answers += 1;
                let mark = answer.header("x-milepost-mock");
                let place = format!("{name} {} {template} {}", method.name(), response.status);
                if answer.status.to_string() != status {
                    writeln!(bad, "{place}: answered {}", answer.status).expect("writes");
                } else if mark.is_some() && !IMPOSSIBLE.contains(&place.as_str()) {
                    let body = String::from_utf8_lossy(&answer.body);
                    let body: String = body.chars().take(200).collect();
                    writeln!(bad, "{place}: {body}").expect("writes");
                }
            }
            let took = begun.elapsed();
            assert!(took < OPERATION_TIME, "{name} {template} took {took:?}");
        }
        eprint!("{}", &bad[told..]);
        told = bad.len();
        eprintln!("{name}: {:?}", started.elapsed());
    }
    eprintln!("{answers} answers");
    assert_eq!(bad, "");
}

type Pairs = Vec<(String, String)>;

/// A path, query and headers that select an operation and request a status.
fn request(template: &str, status: &str) -> ((String, Pairs), Pairs) {
    let plain = template.replace(['{', '}'], "");
    let (path, rest) = plain.split_once(['?', '#']).unwrap_or((&plain, ""));
    let pair = |part: &str| {
        let (name, value) = part.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    let query: Pairs = rest.split('&').filter_map(pair).collect();
    let status = ("x-milepost-mock-status".to_owned(), status.to_owned());
    ((path.to_owned(), query), vec![status])
}

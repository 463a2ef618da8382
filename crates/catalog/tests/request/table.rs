//! Builds each case of the table and compares the request byte by byte.

use milepost_catalog::request::{Misuse, Payload, Request};

use crate::bytes;
use crate::cases::{self, Case, Expected};

#[test]
fn every_case_is_what_the_specifications_say() {
    let cases = cases::load();
    assert!(cases.len() >= 200, "only {} cases", cases.len());
    let faults: Vec<String> = cases.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

fn fault(case: &Case) -> Option<String> {
    let found = match cases::build(&case.command, &case.base, &case.arguments) {
        Ok(request) => sent(&request),
        Err(misuses) => misuses.iter().map(kind).collect::<Vec<_>>().join(" "),
    };
    let boundary = boundary(case);
    let wanted = match &case.expected {
        Expected::Refused(kind) => kind.clone(),
        Expected::Sent { target, headers, body } => {
            let lines = headers.iter().map(|(name, value)| format!("{name}: {value}\n"));
            let head = format!("{target}\n{}", lines.collect::<String>());
            let body = body.as_ref().map(|(content, sent)| format!("<{content}>{sent}"));
            head + &body.unwrap_or_default().replace("{boundary}", &boundary)
        }
    };
    let name = &case.name;
    (found != wanted).then(|| format!("{name}\n  wanted {wanted:?}\n  found  {found:?}"))
}

fn sent(request: &Request) -> String {
    let url = &request.url;
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let headers = request.headers.iter().filter(|(name, _)| name != "Accept");
    let headers = headers.map(|(name, value)| format!("{name}: {value}\n"));
    let body = request.body.as_ref().map(|body| {
        format!("<{}>{}", body.content_type(), String::from_utf8(bytes(body)).expect("is text"))
    });
    format!("{target}\n{}{}", headers.collect::<String>(), body.unwrap_or_default())
}

fn boundary(case: &Case) -> String {
    match cases::build(&case.command, &case.base, &case.arguments) {
        Ok(Request { body: Some(Payload::Multipart { boundary, .. }), .. }) => boundary,
        _ => String::new(),
    }
}

/// The variant name of a misuse.
fn kind(misuse: &Misuse) -> String {
    let text = format!("{misuse:?}");
    text.split([' ', '{']).next().unwrap_or_default().to_owned()
}

//! Requests as shown to people: as a `curl` command that a shell parses correctly.

use std::io::Read;
use std::process::Command;

use expect_test::expect;
use milepost_catalog::request::{Request, curl};
use proptest::prelude::*;
use serde_json::json;

use crate::{request, with};

fn order() -> Request {
    let operation = json!({"method": "POST", "path": "/orders/{id}", "parameters": [
        {"name": "id", "in": "path"}, {"name": "X-Key", "in": "header"},
        {"name": "X-Empty", "in": "header"}], "body": {"content": {"application/json": {}}}});
    let mut arguments = with(&json!({"id": "o'1", "X-Key": "canary", "X-Empty": ""}));
    arguments.body = Some(json!({"note": "it's $HOME `x` \\"}));
    request(&operation, &arguments).expect("is sound")
}

#[test]
fn as_curl() {
    let shown = curl(&order(), &["X-KEY"]).replace(" --", "\n--");
    expect![[r#"
        curl
        --request POST 'http://api.test/v1/orders/o%271'
        --header 'Accept: */*'
        --header 'X-Key: ***'
        --header 'X-Empty;'
        --header 'Content-Type: application/json'
        --data-raw '{"note":"it'\''s $HOME `x` \\"}'"#]]
    .assert_eq(&shown);
    assert!(curl(&order(), &[]).contains("canary"));
    let plain = request(&json!({}), &with(&json!({}))).unwrap();
    assert_eq!(curl(&plain, &[]), "curl 'http://api.test/v1/t' --header 'Accept: */*'");
    let head = request(&json!({"method": "HEAD"}), &with(&json!({}))).unwrap();
    assert_eq!(curl(&head, &[]), "curl --head 'http://api.test/v1/t' --header 'Accept: */*'");
}

#[test]
fn files_and_bytes_are_printed_by_commands() {
    let form = json!({"method": "POST", "body": {"content": {"multipart/form-data": {}}}});
    let mut arguments = with(&json!({}));
    arguments.body = Some(json!({"f": {"$file": "a b.bin"}, "g": {"$base64": "/w=="}}));
    let request = request(&form, &arguments).unwrap();
    let command = curl(&request, &[]);
    assert!(command.contains("; cat -- 'a b.bin'; printf"), "{command}");
    assert!(command.contains("printf -- '\\377'"), "{command}");
    assert!(command.ends_with(" --data-binary @-"), "{command}");
}

/// The arguments that a shell passes to `curl`, each followed by a zero byte, and then its input.
#[cfg(unix)]
fn run_by_shell(command: &str) -> Vec<u8> {
    let script = format!(
        "curl() {{ printf '%s\\0' \"$@\"; case \" $* \" in *' @- ') cat;; esac; }}\n{command}"
    );
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut out = Vec::new();
    let mut stdout = child.stdout.take().expect("is a pipe");
    stdout.read_to_end(&mut out).expect("reads");
    assert!(child.wait().expect("ends").success(), "{command}");
    out
}

#[cfg(unix)]
proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_shell_hands_over_exactly_the_body(note in any::<String>(), bytes in any::<Vec<u8>>()) {
        let words = |out: &[u8]| -> Vec<Vec<u8>> {
            out.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
        };
        let as_text = json!({"method": "POST", "body": {"content": {"text/plain": {}}}});
        let mut arguments = with(&json!({}));
        let plain = note.replace('\0', "");
        arguments.body = Some(json!(plain));
        let sent = request(&as_text, &arguments).unwrap();
        let out = words(&run_by_shell(&curl(&sent, &[])));
        prop_assert_eq!(&out[out.len() - 2], plain.as_bytes());

        let as_bytes = json!({"method": "POST", "body": {"content": {"image/png": {}}}});
        // Starts with an invalid UTF-8 byte, so that the body is passed through the input of the
        // command.
        let bytes: Vec<u8> = std::iter::once(0xFF).chain(bytes).collect();
        arguments.body = Some(json!({"$base64": base64(&bytes)}));
        let sent = request(&as_bytes, &arguments).unwrap();
        let out = run_by_shell(&curl(&sent, &[]));
        prop_assert!(out.ends_with(&[b"@-\0", bytes.as_slice()].concat()));
    }
}

#[cfg(unix)]
fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

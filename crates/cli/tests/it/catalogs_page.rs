//! `docs/catalogs.md` is true: its commands run, in order, and say what the page says they do.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::docs::{blocks, read};

/// The mock that the page has in another terminal; it ends with the test.
struct Mock {
    child: Child,
    url: String,
}

impl Mock {
    fn start(folder: &Path) -> Mock {
        let mut child = Command::new(env!("CARGO_BIN_EXE_milepost"))
            .args(["catalog", "mock", "shop.yaml", "--port", "0"])
            .current_dir(folder)
            .env_clear()
            .env("HOME", folder.join("home"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let mut lines = BufReader::new(child.stdout.take().expect("is piped")).lines();
        let url = lines.next().expect("a line").expect("is text");
        Mock { child, url: url.trim_end_matches('/').to_owned() }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.child.kill().expect("is there");
        self.child.wait().expect("ends");
    }
}

/// Runs a line of the page in a shell that has `milepost`.
fn shell(line: &str, folder: &Path) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_milepost")).parent().expect("a folder");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", binary.display());
    Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder.join("home"))
        .env("PATH", path)
        .env("COLUMNS", "100")
        .output()
        .expect("a shell")
}

/// Whether a text is what the page shows; `…` stands for anything.
fn fits(shown: &str, found: &str) -> bool {
    let mut rest = found.trim_end();
    let mut parts = shown.trim_end().split('…');
    let first = parts.next().unwrap_or_default();
    let Some(after) = rest.strip_prefix(first) else {
        // What is left out at the end may be nothing.
        return shown.trim_end().ends_with('…') && rest == first.trim_end();
    };
    rest = after;
    let mut open = false;
    for part in parts {
        open = true;
        if part.trim().is_empty() {
            continue;
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        open = shown.trim_end().ends_with('…');
    }
    open || rest.is_empty()
}

#[test]
fn every_command_of_the_page_says_what_the_page_says() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("shop.yaml"), read("examples/shop.yaml")).expect("written");
    let mock = Mock::start(folder.path());
    let address = mock.url.strip_prefix("http://").expect("an address").to_owned();
    let mut run = 0;
    for (language, body) in blocks(&read("docs/catalogs.md")) {
        if language != "console" {
            continue;
        }
        let body = body.replace("127.0.0.1:4010", &address);
        for session in body.split("$ ").skip(1) {
            let (line, shown) = session.split_once('\n').expect("a line");
            let output = shell(line, folder.path());
            let mut found = String::from_utf8_lossy(&output.stdout).into_owned();
            if shown.starts_with("error[") {
                found = String::from_utf8_lossy(&output.stderr).into_owned();
            }
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(
                fits(shown, &found),
                "$ {line}\n--- the page\n{shown}--- found\n{found}{error}"
            );
            run += 1;
        }
    }
    assert!(run >= 12, "only {run} commands were found");
}

#[test]
fn anything_fits_where_the_page_leaves_out() {
    assert!(fits("a\n…\n", "a\nb\nc\n"));
    assert!(fits("{\"a\":…,\"b\":2}", "{\"a\":1,\"b\":2}"));
    assert!(!fits("{\"a\":…,\"b\":3}", "{\"a\":1,\"b\":2}"));
    assert!(!fits("a\n", "a\nb\n"));
}

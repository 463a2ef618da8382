//! A server over pipes and a client that times it, with as many requests in flight as a window
//! allows.
//!
//! The client polls for responses and never sleeps. On a machine whose cores go to sleep, waking up
//! would take longer than most responses and hide their cost.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// Maximum total size of requests in flight, because more could fill both pipes and cause a
/// deadlock.
const UNDER_WAY_BYTES_MAX: usize = 60_000;

pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    /// Requests sent so far. Each has its own number, because servers refuse a number that is still
    /// in use.
    asked: usize,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Result<Server> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let input = child.stdin.take().context("stdin is not piped")?;
        let output = child.stdout.take().context("stdout is not piped")?;
        let output = BufReader::with_capacity(1 << 18, output);
        Ok(Server { child, input, output, line: Vec::new(), asked: 0 })
    }

    /// Starts a server and performs the handshake; returns the time from start to answer.
    pub(crate) fn greet(command: &mut Command) -> Result<(Server, Duration)> {
        let start = Instant::now();
        let mut server = Server::start(command)?;
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        });
        server.ask("initialize", &params)?;
        let elapsed = start.elapsed();
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        server.input.write_all(format!("{note}\n").as_bytes())?;
        Ok((server, elapsed))
    }

    /// The next line that the server prints.
    pub(crate) fn line(&mut self) -> Result<String> {
        self.receive()?;
        Ok(String::from_utf8_lossy(&self.line).into_owned())
    }

    /// Sends a request and returns its result.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        let request = request(method, params);
        self.input.write_all(&request)?;
        self.receive()?;
        let mut answer: Value = serde_json::from_slice(&self.line).context("an answer is JSON")?;
        ensure!(answer["result"].is_object(), "{method} failed: {answer}");
        Ok(answer["result"].take())
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let mut result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        ensure!(result["isError"] != true, "{tool} failed: {result}");
        Ok(result["structuredContent"].take())
    }

    /// How many requests per second are answered with this many in flight.
    pub(crate) fn rate(&mut self, request: &[u8], calls: usize, window: usize) -> Result<f64> {
        ensure!(request.len() * window < UNDER_WAY_BYTES_MAX, "the request is too long");
        let at = memchr::memmem::find(request, ID).context("a request has a number")?;
        let (head, tail) = (&request[..at + ID.len() - 1], &request[at + ID.len()..]);
        let (mut sent, mut answered) = (0, 0);
        let mut block = Vec::new();
        let start = Instant::now();
        while answered < calls {
            // Half a window at a time needs fewer writes and never leaves the pipe empty.
            if sent - answered <= window / 2 {
                let more = (window - (sent - answered)).min(calls - sent);
                block.clear();
                for _ in 0..more {
                    self.asked += 1;
                    block.extend_from_slice(head);
                    block.extend_from_slice(self.asked.to_string().as_bytes());
                    block.extend_from_slice(tail);
                }
                self.input.write_all(&block)?;
                sent += more;
            }
            self.receive()?;
            answered += 1;
        }
        let seconds = start.elapsed().as_secs_f64();
        ensure!(!self.last_failed(), "an error: {}", String::from_utf8_lossy(&self.line));
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        Ok(calls as f64 / seconds)
    }

    /// Whether the last answer was an error.
    pub(crate) fn last_failed(&self) -> bool {
        let answer = serde_json::from_slice::<Value>(&self.line);
        answer.map_or(true, |answer| {
            answer.get("error").is_some() || answer["result"]["isError"] == true
        })
    }

    fn receive(&mut self) -> Result<()> {
        self.line.clear();
        loop {
            if self.output.buffer().is_empty() {
                spin(self.output.get_ref())?;
            }
            let bytes = self.output.fill_buf()?;
            ensure!(!bytes.is_empty(), "the server exited");
            let end = memchr::memchr(b'\n', bytes);
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.line.extend_from_slice(&bytes[..used]);
            self.output.consume(used);
            if end.is_some() {
                return Ok(());
            }
        }
    }

    /// The peak memory of the server in megabytes; `None` if the system does not report it.
    pub(crate) fn peak_mb(&self) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        Some(peak_kib(&status)? * 1_024.0 / 1e6)
    }

    /// The processor time of the server in seconds; `None` if the system does not report it.
    pub(crate) fn cpu_s(&self) -> Option<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        Some(cpu_ticks(&stat)? / f64::from(TICKS_A_SECOND))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server needs no clean shutdown and may already have exited.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The id of a request that is sent only once.
const ID: &[u8] = b"\"id\":7";

/// `USER_HZ`, which is fixed on Linux.
const TICKS_A_SECOND: u32 = 100;

/// Waits, without sleeping, until there is something to read or the input ends.
#[cfg(unix)]
fn spin(output: &ChildStdout) -> Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    while poll(&mut [PollFd::new(output, PollFlags::IN)], Some(&at_once))? == 0 {
        std::hint::spin_loop();
    }
    Ok(())
}

/// On other systems, the next read blocks instead.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the version for Unix can fail")]
fn spin(_: &ChildStdout) -> Result<()> {
    Ok(())
}

/// A serialized request.
pub(crate) fn request(method: &str, params: &Value) -> Vec<u8> {
    let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    format!("{request}\n").into_bytes()
}

fn peak_kib(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// User and system time. The program's name precedes them and may contain any characters.
fn cpu_ticks(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some(ticks()? + ticks()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_read() {
        assert_eq!(peak_kib("VmPeak:\t 9 kB\nVmHWM:\t  8192 kB\n"), Some(8192.0));
        assert_eq!(peak_kib("VmPeak:\t 9 kB\n"), None);
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0";
        assert_eq!(cpu_ticks(stat), Some(300.0));
        assert_eq!(cpu_ticks("7 (a"), None);
    }
}

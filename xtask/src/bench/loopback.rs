//! A server on loopback that sends the same response to every request and counts the requests,
//! shared by all subjects of a comparison.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
    content-length: 30\r\n\r\n{\"id\":\"o-1042\",\"state\":\"paid\"}";
const HEAD_END: &[u8] = b"\r\n\r\n";
/// Maximum size of a request without a body, in bytes.
const REQUEST_BYTES: usize = 8 * 1024;

pub(crate) struct Loopback {
    pub(crate) url: String,
    answered: Arc<AtomicUsize>,
}

impl Loopback {
    /// Serves until the process ends.
    pub(crate) fn start() -> Result<Loopback> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let answered = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&answered);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = Arc::clone(&count);
                // A client that disconnects has received all its responses.
                thread::spawn(move || drop(serve(stream, &count)));
            }
        });
        Ok(Loopback { url, answered })
    }

    /// Requests answered so far.
    pub(crate) fn answered(&self) -> usize {
        self.answered.load(Ordering::SeqCst)
    }
}

/// Answers requests without bodies, one after another.
fn serve(mut stream: TcpStream, count: &AtomicUsize) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = [0; REQUEST_BYTES];
    let mut held = 0;
    loop {
        let read = stream.read(&mut buffer[held..])?;
        if read == 0 {
            return Ok(());
        }
        held += read;
        while let Some(end) = memchr::memmem::find(&buffer[..held], HEAD_END) {
            count.fetch_add(1, Ordering::SeqCst);
            stream.write_all(ANSWER)?;
            buffer.copy_within(end + HEAD_END.len()..held, 0);
            held -= end + HEAD_END.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_of_a_connection_is_answered_and_counted() {
        let server = Loopback::start().expect("a server starts");
        let address = server.url.strip_prefix("http://").expect("a URL");
        let mut stream = TcpStream::connect(address).expect("it listens");
        let request = b"GET /items/1 HTTP/1.1\r\nhost: h\r\n\r\n";
        stream.write_all(&request.repeat(2)).expect("it reads");
        let mut answers = vec![0; 2 * ANSWER.len()];
        stream.read_exact(&mut answers).expect("it answers");
        assert_eq!(answers, ANSWER.repeat(2));
        assert_eq!(server.answered(), 2);
    }
}

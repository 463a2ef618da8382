//! Measures how many requests per second one client sends to a server on loopback over eight
//! connections: `cargo run --release -p milepost-outbound --example throughput`.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use milepost_outbound::{Client, Outgoing, Policy, SendOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

const CONNECTIONS: usize = 8;
const REQUESTS: usize = 40_000;
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{\"ok\":true}";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    let mut policy = Policy::public();
    policy.allow_private(&address.to_string())?;
    let client = Arc::new(Client::new(policy));
    let request = Outgoing::get(Url::parse(&format!("http://{address}/orders/7?expand=items"))?);
    send(&client, &request, 100).await;
    let began = Instant::now();
    let workers: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (client, request) = (Arc::clone(&client), request.clone());
            tokio::spawn(async move { send(&client, &request, REQUESTS / CONNECTIONS).await })
        })
        .collect();
    for worker in workers {
        worker.await?;
    }
    let rate = REQUESTS as u128 * 1_000_000 / began.elapsed().as_micros();
    writeln!(std::io::stdout(), "{rate} requests/s over {CONNECTIONS} connections")?;
    Ok(())
}

async fn send(client: &Client, request: &Outgoing, times: usize) {
    let sending = SendOptions::default();
    for _ in 0..times {
        client.send(request, &sending).await.expect("the server answers");
    }
}

async fn serve(mut stream: TcpStream) {
    let mut buffer = [0; 4096];
    stream.set_nodelay(true).expect("sets an option");
    // On loopback, a request without a body fits into one read.
    while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
        if stream.write_all(ANSWER).await.is_err() {
            return;
        }
    }
}

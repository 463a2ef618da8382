//! The client through its public API: what it refuses, what it sends byte for byte, and what it
//! survives.

mod auth;
mod bodies;
mod canary;
#[path = "../../../catalog/tests/request/cases.rs"]
mod cases;
mod faults;
mod oauth;
mod oracle;
mod redirects;
mod retries;
mod server;
mod ssrf;
mod wire;

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use milepost_model::secret::Secret;
use milepost_outbound::{
    Addresses, Client, Delivery, DnsLookup, Outgoing, Policy, Response, SendFault,
};
use milepost_outbound::{SecretSource, SecretSourceError, SendError, SendOptions};
use server::Server;

/// A client that may reach these servers and nothing else on this machine.
fn client(servers: &[&Server]) -> Client {
    Client::with_lookup(policy(servers), Arc::new(Names::default()))
}

fn policy(servers: &[&Server]) -> Policy {
    let mut policy = Policy::public();
    for server in servers {
        policy.allow_private(&server.host()).expect("a host");
    }
    policy
}

/// Sends a request to a server that is allowed.
async fn send(server: &Server, request: &Outgoing) -> Result<Response, SendError> {
    client(&[server]).send(request, &SendOptions::default()).await
}

/// The fault of a request to a server that is allowed.
async fn fault(server: &Server, timeout: Duration) -> (SendFault, Delivery) {
    let sending = SendOptions { timeout, ..SendOptions::default() };
    let request = Outgoing::get(server.url("/"));
    let error = client(&[server]).send(&request, &sending).await.expect_err("fails");
    (error.fault, error.delivery)
}

fn text(response: &Response) -> String {
    String::from_utf8_lossy(&response.body).into_owned()
}

/// A name server: each name has a list of answers that are given in turn; the last one repeats.
#[derive(Default)]
struct Names {
    answers: BTreeMap<String, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    fn with(mut self, name: &str, answers: &[&[&str]]) -> Names {
        let parse = |answer: &&[&str]| -> Vec<IpAddr> {
            answer.iter().map(|address| address.parse().expect("an address")).collect()
        };
        self.answers.insert(name.to_owned(), answers.iter().map(parse).collect());
        self
    }

    fn times_asked(&self, name: &str) -> usize {
        self.asked.lock().expect("is whole").iter().filter(|asked| *asked == name).count()
    }
}

impl DnsLookup for Names {
    fn lookup(&self, name: &str) -> Addresses {
        let before = self.times_asked(name);
        self.asked.lock().expect("is whole").push(name.to_owned());
        let answer =
            self.answers.get(name).map(|answers| answers[before.min(answers.len() - 1)].clone());
        Box::pin(async move {
            answer.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such name"))
        })
    }
}

/// An in-memory secret store.
struct Kept(BTreeMap<String, String>);

impl Kept {
    fn of(secrets: &[(&str, &str)]) -> Arc<Kept> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Arc::new(Kept(secrets.iter().map(own).collect()))
    }
}

impl SecretSource for Kept {
    fn secret(&self, name: &str) -> Result<Secret, SecretSourceError> {
        let missing = || SecretSourceError::Missing { name: name.to_owned() };
        self.0.get(name).map(Secret::new).ok_or_else(missing)
    }
}

//! Allowed destinations: the table in `ssrf.txt`, with each URL requested directly and through a
//! redirect, and names whose addresses change.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use milepost_outbound::SendOptions;
use milepost_outbound::address::not_public;
use milepost_outbound::guard::Reach;
use milepost_outbound::{
    Client, Delivery, GuardRefusal, Outgoing, Policy, RedirectRefusal, SendFault,
};
use proptest::prelude::*;
use url::{Host, Url};

use crate::server::{Server, ok, redirect};
use crate::{Names, client, text};

struct Row {
    url: String,
    verdict: String,
}

fn table(port: u16) -> (Vec<Row>, Vec<(String, Vec<String>)>) {
    let mut rows = Vec::new();
    let mut names = Vec::new();
    for line in include_str!("ssrf.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((name, addresses)) = line.split_once(" = ") {
            let addresses = addresses.split(' ').map(str::to_owned).collect();
            names.push((name.to_owned(), addresses));
            continue;
        }
        let at = ["  refused ", "  allowed", "  no-url", " refused ", " no-url", " allowed"];
        let at = at.iter().find_map(|word| line.rfind(word)).expect("a verdict");
        let url = unescaped(line[..at].trim_end()).replace("PORT", &port.to_string());
        rows.push(Row { url, verdict: line[at..].trim().to_owned() });
    }
    (rows, names)
}

fn unescaped(text: &str) -> String {
    let mut text = text.replace("\\t", "\t").replace("\\n", "\n");
    while let Some(at) = text.find("\\u{") {
        let end = at + text[at..].find('}').expect("an end");
        let code = u32::from_str_radix(&text[at + 3..end], 16).expect("a code");
        let char = char::from_u32(code).expect("a character");
        text.replace_range(at..=end, &char.to_string());
    }
    text
}

fn lookup(names: &[(String, Vec<String>)]) -> Arc<Names> {
    let mut lookup = Names::default();
    for (name, addresses) in names {
        let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
        lookup = lookup.with(name, &[&addresses]);
    }
    Arc::new(lookup)
}

fn rule(refusal: &GuardRefusal) -> String {
    match refusal {
        GuardRefusal::Address { range, .. } => {
            let name = range.name();
            format!("refused {}", name.strip_suffix(" (CGNAT)").unwrap_or(name))
        }
        other => format!("refused {}", other.rule()),
    }
}

/// The decision of the guard, without sending anything.
fn decide(policy: &Policy, url: &Url, names: &[(String, Vec<String>)]) -> Result<(), GuardRefusal> {
    let reach = policy.check(url)?;
    assert_eq!(reach, Reach::Public, "{url}");
    if let Some(Host::Domain(name)) = url.host() {
        let name = name.trim_end_matches('.');
        let found = names.iter().find(|(known, _)| known == name).expect("a known name");
        let parse = |address: &String| -> IpAddr { address.parse().expect("an address") };
        let addresses: Vec<_> = found.1.iter().map(parse).collect();
        reach.check(name, &addresses)?;
    }
    Ok(())
}

#[tokio::test]
async fn every_url_of_the_table_goes_where_it_may() {
    let victim = Server::replies(vec![ok("should not be seen")]).await;
    let (rows, names) = table(victim.port());
    assert!(rows.len() >= 120, "{} rows", rows.len());
    let policy = Policy::public();
    let guarded = Client::with_lookup(policy.clone(), lookup(&names));
    for Row { url: written, verdict } in &rows {
        let Ok(url) = Url::parse(written) else {
            assert_eq!(verdict, "no-url", "{written}");
            continue;
        };
        let decided = decide(&policy, &url, &names);
        let found = decided.as_ref().err().map_or("allowed".to_owned(), rule);
        assert_eq!(&found, verdict, "{written}");
        // Allowed URLs are on the internet, and tests do not send requests there.
        if let Err(refusal) = decided {
            let sent = guarded.send(&Outgoing::get(url), &SendOptions::default()).await;
            let error = sent.expect_err("is refused");
            assert_eq!(error.fault, SendFault::Refused(refusal), "{written}");
            assert!(error.certainly_not_sent(), "{written}");
        }
    }
    assert_eq!(victim.connections(), 0);
}

#[tokio::test]
async fn no_redirect_leads_where_a_request_may_not_go() {
    let victim = Server::replies(vec![ok("should not be seen")]).await;
    let (rows, names) = table(victim.port());
    let refused: Vec<_> = rows.into_iter().filter(|row| row.verdict != "allowed").collect();
    // A header is a single line, and after an `http` URL, `http:host` is a path on the same server.
    let leads_away = |row: &Row| {
        let relative = row.url.starts_with("http:/127") || row.url.starts_with("http:127");
        !row.url.contains('\n') && !relative
    };
    let refused: Vec<_> = refused.into_iter().filter(leads_away).collect();
    let locations: Vec<_> = refused.iter().map(|row| row.url.clone()).collect();
    let door = Server::start(move |number, _| redirect(302, &locations[number])).await;
    let mut policy = Policy::public();
    policy.allow_private(&door.host()).expect("a host");
    let client = Client::with_lookup(policy, lookup(&names));
    for Row { url, verdict } in &refused {
        let sent = client.send(&Outgoing::get(door.url("/")), &SendOptions::default()).await;
        let error = sent.expect_err("is refused");
        let SendFault::RedirectRefused { why, .. } = &error.fault else {
            panic!("{url:?}: {:?}", error.fault)
        };
        let found = match why {
            RedirectRefusal::NoUrl => "no-url".to_owned(),
            RedirectRefusal::Refused(refusal) => rule(refusal),
            other => panic!("{url}: {other}"),
        };
        assert_eq!(&found, verdict, "{url:?}");
        assert_eq!(error.delivery, Delivery::Answered, "{url}");
    }
    assert_eq!(victim.connections(), 0);
    assert_eq!(door.received().len(), refused.len());
}

/// URLs that the table refuses are refused only by the guard.
#[tokio::test]
async fn the_same_urls_reach_a_host_that_the_user_named() {
    let server = Server::replies(vec![ok("hello")]).await;
    let client = client(&[&server]);
    for host in ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "127%2e0%2e0%2e1", "127。0。0。1"]
    {
        let url = Url::parse(&format!("http://{host}:{}/", server.port())).expect("a URL");
        let response = client.send(&Outgoing::get(url), &SendOptions::default()).await;
        assert_eq!(text(&response.expect("is allowed")), "hello", "{host}");
    }
}

#[tokio::test]
async fn a_port_that_is_allowed_allows_no_other() {
    let (named, other) =
        (Server::replies(vec![ok("a")]).await, Server::replies(vec![ok("b")]).await);
    let one_port = client(&[&named]);
    let refused = one_port.send(&Outgoing::get(other.url("/")), &SendOptions::default()).await;
    assert!(matches!(refused.expect_err("is refused").fault, SendFault::Refused(_)));
    let mut policy = Policy::public();
    policy.allow_private("127.0.0.1").expect("a host");
    let anywhere = Client::new(policy);
    let response = anywhere.send(&Outgoing::get(other.url("/")), &SendOptions::default()).await;
    assert_eq!(text(&response.expect("is allowed")), "b");
}

#[tokio::test]
async fn a_name_that_is_allowed_on_one_port_is_refused_on_another() {
    let (named, other) =
        (Server::replies(vec![ok("a")]).await, Server::replies(vec![ok("b")]).await);
    let mut policy = Policy::public();
    policy.allow_private(&format!("Shop.Test.:{}", named.port())).expect("a host");
    let lookup = Names::default().with("shop.test", &[&["127.0.0.1"]]);
    let client = Client::with_lookup(policy, Arc::new(lookup));
    let url = |port| Url::parse(&format!("http://shop.test:{port}/")).expect("a URL");
    let go = async |port| client.send(&Outgoing::get(url(port)), &SendOptions::default()).await;
    assert_eq!(text(&go(named.port()).await.expect("is allowed")), "a");
    let error = go(other.port()).await.expect_err("is refused");
    assert_eq!(rule_of(&error.fault), "refused loopback");
    // The existing connection still serves the allowed port, but does not open the way to the other
    // one.
    assert_eq!(text(&go(named.port()).await.expect("is allowed")), "a");
    assert_eq!((named.connections(), other.connections()), (1, 0));
}

fn rule_of(fault: &SendFault) -> String {
    match fault {
        SendFault::Refused(refusal) => rule(refusal),
        other => other.to_string(),
    }
}

/// The first address is on the internet (in an unassigned range), the second is not. Each
/// connection resolves the name once, and connects to the address that was checked.
#[tokio::test]
async fn a_name_that_changes_its_address_is_checked_each_time() {
    let victim = Server::replies(vec![ok("should not be seen")]).await;
    let names = Names::default().with("rebind.test", &[&["2d00::1"], &["127.0.0.1"]]);
    let names = Arc::new(names);
    let client = Client::with_lookup(Policy::public(), Arc::<Names>::clone(&names));
    let url = Url::parse(&format!("http://rebind.test:{}/", victim.port())).expect("a URL");
    let sending = SendOptions { timeout: Duration::from_millis(200), ..SendOptions::default() };
    let first = client.send(&Outgoing::get(url.clone()), &sending).await.expect_err("nobody");
    assert!(!matches!(first.fault, SendFault::Refused(_)), "{first}");
    assert_eq!(names.times_asked("rebind.test"), 1);
    let second = client.send(&Outgoing::get(url), &SendOptions::default()).await;
    let second = second.expect_err("is refused");
    assert_eq!(rule_of(&second.fault), "refused loopback");
    assert_eq!(names.times_asked("rebind.test"), 2);
    assert_eq!(victim.connections(), 0);
}

#[tokio::test]
async fn names_without_an_address_say_so() {
    let names = Names::default().with("empty.test", &[&[]]);
    let client = Client::with_lookup(Policy::public(), Arc::new(names));
    for name in ["empty.test", "unknown.test"] {
        let url = Url::parse(&format!("http://{name}/")).expect("a URL");
        let error =
            client.send(&Outgoing::get(url), &SendOptions::default()).await.expect_err("none");
        assert!(matches!(&error.fault, SendFault::Dns { name: found, .. } if found == name));
        assert!(error.certainly_not_sent() && error.fault.is_passing());
    }
}

#[test]
fn hosts_are_named_in_many_ways() {
    let mut policy = Policy::public();
    for good in ["localhost", "LOCALHOST:80", "127.0.0.1", "0x7f.1:81", "[::1]", "[::1]:82", "a.b."]
    {
        policy.allow_private(good).expect(good);
    }
    for bad in ["", ":80", "a b", "host:port", "host:99999", "http://host", "::1", "[::1", "a/b"] {
        assert!(policy.allow_private(bad).is_err(), "{bad}");
    }
    let reach = |url: &str| policy.check(&Url::parse(url).expect("a URL"));
    for url in ["http://localhost:9/", "http://[::1]:7/", "http://127.1:6/", "http://A.B/"] {
        assert_eq!(reach(url), Ok(Reach::Anywhere), "{url}");
    }
    assert!(reach("http://sub.localhost/").is_err());
    assert!(reach("http://127.0.0.2/").is_err());
    assert_eq!(reach("http://x.a.b/"), Ok(Reach::Public));
}

proptest! {
    /// An address is judged by its value, however it is written.
    #[test]
    fn an_address_is_judged_by_its_value(bits in any::<u32>(), pick in 0_u32..4) {
        // Half of them are near the relevant ranges.
        let bits = match pick {
            0 => bits,
            1 => 0x7f00_0000 | bits >> 16,
            2 => 0x0a00_0000 | bits >> 8,
            _ => 0xa9fe_0000 | bits >> 16,
        };
        let address = Ipv4Addr::from_bits(bits);
        let [a, b, c, d] = address.octets();
        let (low, tail) = (bits & 0xffff, bits & 0x00ff_ffff);
        let expected = not_public(address.into());
        for host in [
            address.to_string(),
            format!("{address}."),
            format!("{bits}"),
            format!("0x{bits:x}"),
            format!("0{bits:o}"),
            format!("0x{a:X}.0{b:o}.{c}.0x{d:x}"),
            format!("{a}.{tail}"),
            format!("{a}.{b}.0x{low:x}"),
            address.to_string().replace('.', "%2E"),
            address.to_string().replace('.', "\u{3002}"),
        ] {
            let url = Url::parse(&format!("http://{host}/")).expect("a URL");
            let found = match Policy::public().check(&url) {
                Err(GuardRefusal::Address { range, .. }) => Some(range),
                Err(other) => panic!("{host}: {other}"),
                Ok(_) => None,
            };
            prop_assert_eq!(found, expected, "{}", host);
        }
        let mapped = Url::parse(&format!("http://[::ffff:{address}]/")).expect("a URL");
        prop_assert!(Policy::public().check(&mapped).is_err());
    }
}

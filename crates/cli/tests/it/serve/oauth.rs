//! The server as an OAuth 2.1 resource, with tokens from an authorization server.

use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

use super::wire::Ask;
use super::{ASKS, Server, initialize};
use crate::Place;
use crate::server::{self, Reply};

pub(super) const RESOURCE: &str = "https://milepost.example/mcp";

/// An issuer that signs tokens.
pub(super) struct Issuer {
    pair: EcdsaKeyPair,
    id: &'static str,
}

impl Issuer {
    pub(super) fn new(id: &'static str) -> Issuer {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).expect("is one");
        Issuer { pair, id }
    }

    pub(super) fn key(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        let part = |from: usize| URL_SAFE_NO_PAD.encode(&point[from..from + 32]);
        json!({"kty": "EC", "crv": "P-256", "kid": self.id, "x": part(1), "y": part(33)})
    }

    pub(super) fn token(&self, claims: &Value) -> String {
        let header = json!({"alg": "ES256", "kid": self.id, "typ": "at+jwt"});
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("signs");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("is later").as_secs()
}

pub(super) fn claims(issuer: &str) -> Value {
    json!({"iss": issuer, "aud": RESOURCE, "sub": "ada", "exp": now_s() + 600})
}

fn with(ask: Ask, token: &str) -> Ask {
    ask.header("Authorization", &format!("Bearer {token}"))
}

#[test]
fn a_token_for_this_resource_is_taken_and_no_other() {
    let (issuer, other) = (Issuer::new("one"), Issuer::new("one"));
    let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA"}, issuer.key()]});
    let place = Place::with(&[("keys.json", &keys.to_string())]);
    let name = "https://login.example";
    let server = Server::start(
        &place,
        &["--oauth-issuer", name, "--oauth-resource", RESOURCE, "--oauth-jwks", "keys.json"],
    );
    assert_eq!(server.token, "", "there is no other token");
    let hello = initialize("2025-06-18", &json!({})).to_string();
    let ask = |token: &str| with(server.ask("POST"), token).body(hello.clone()).send();
    let right = issuer.token(&claims(name));
    assert_eq!(ask(&right).status, 200);
    let changed = |key: &str, value: Value| {
        let mut claims = claims(name);
        claims[key] = value;
        issuer.token(&claims)
    };
    assert_eq!(ask(&changed("aud", json!(["https://a.example", RESOURCE]))).status, 200);
    let mut cut = right.clone();
    cut.truncate(right.len() - 2);
    for (what, token) in [
        ("another audience", changed("aud", json!("https://milepost.example"))),
        ("no audience", changed("aud", Value::Null)),
        ("another issuer", changed("iss", json!("https://login.example/"))),
        ("expired", changed("exp", json!(now_s() - 60))),
        ("without an end", changed("exp", Value::Null)),
        ("not yet", changed("nbf", json!(now_s() + 600))),
        ("nobody's", changed("sub", Value::Null)),
        ("another key of that name", other.token(&claims(name))),
        ("another key", Issuer::new("two").token(&claims(name))),
        ("cut", cut),
        ("words", "words".to_owned()),
    ] {
        let answer = ask(&token);
        assert_eq!(answer.status, 401, "{what}: {answer:?}");
        let challenge = answer.header("www-authenticate").expect("a challenge");
        assert!(challenge.contains("error=\"invalid_token\""), "{what}: {challenge}");
    }
    let answer = server.ask("POST").without("Authorization").body(hello.clone()).send();
    assert_eq!(answer.status, 401);
    let place = "https://milepost.example/.well-known/oauth-protected-resource/mcp";
    let challenge = answer.header("www-authenticate").expect("a challenge");
    assert_eq!(challenge, format!("Bearer realm=\"milepost\", resource_metadata=\"{place}\""));
}

#[test]
fn a_client_without_a_token_learns_how_to_get_one() {
    let place =
        Place::with(&[("keys.json", &json!({"keys": [Issuer::new("a").key()]}).to_string())]);
    let name = "https://login.example";
    let server = Server::start(
        &place,
        &["--oauth-issuer", name, "--oauth-resource", RESOURCE, "--oauth-jwks", "keys.json"],
    );
    let root = "/.well-known/oauth-protected-resource";
    for target in [root, &format!("{root}/mcp")] {
        let ask = server.ask("GET").target(target).without("Authorization");
        let answer = ask.clone().send();
        assert_eq!(answer.status, 200);
        let told = answer.message();
        assert_eq!(told["resource"], RESOURCE);
        assert_eq!(told["authorization_servers"], json!([name]));
        // The metadata is public, but not accessible to every web page.
        assert_eq!(ask.clone().header("Host", "evil.example").send().status, 403);
        assert_eq!(ask.header("Origin", "https://evil.example").send().status, 403);
        let post = server.ask("POST").target(target).without("Authorization").send();
        assert_eq!(post.status, 401);
    }
    let get = |target: &str| server.ask("GET").target(target).without("Authorization").send();
    assert_eq!(get(&format!("{root}/other")).status, 401);
    assert_eq!((get("/metrics").status, get("/healthz").status), (401, 200));
}

#[test]
fn keys_are_found_by_the_issuer_and_not_asked_for_again_and_again() {
    let issuer = Issuer::new("one");
    let name = Arc::new(OnceLock::<String>::new());
    let (known, key) = (Arc::clone(&name), issuer.key());
    let login = server::Server::start(move |request| {
        let name = known.get().expect("is set");
        match request.path() {
            "/realm/.well-known/openid-configuration" => {
                server::json(200, &json!({"issuer": name, "jwks_uri": format!("{name}/keys")}))
            }
            "/realm/keys" => server::json(200, &json!({"keys": [key]})),
            _ => Reply::Answer(404, vec![], vec![]),
        }
    });
    let name = name.get_or_init(|| format!("{}/realm", login.url)).clone();
    let place = Place::new();
    let server = Server::start(&place, &["--oauth-issuer", &name, "--oauth-resource", RESOURCE]);
    let hello = initialize("2025-06-18", &json!({})).to_string();
    let ask = |token: &str| with(server.ask("POST"), token).body(hello.clone()).send().status;
    assert_eq!(ask(&issuer.token(&claims(&name))), 200);
    let asked = login.seen().len();
    assert_eq!(login.seen()[0].path(), "/.well-known/oauth-authorization-server/realm");
    // Tokens with unknown keys do not cause the keys to be fetched over and over.
    for _ in 0..3 {
        assert_eq!(ask(&issuer.token(&claims(&name))), 200);
        assert_eq!(ask(&Issuer::new("two").token(&claims(&name))), 401);
    }
    assert_eq!(login.seen().len(), asked, "the keys are young");
}

#[test]
fn a_session_belongs_to_whoever_opened_it() {
    let issuer = Issuer::new("one");
    let place = Place::with(&[("keys.json", &json!({"keys": [issuer.key()]}).to_string())]);
    let name = "https://login.example";
    let mut server = Server::start(
        &place,
        &["--oauth-issuer", name, "--oauth-resource", RESOURCE, "--oauth-jwks", "keys.json"],
    );
    server.token = issuer.token(&claims(name));
    let session = server.connect("2025-06-18");
    assert_eq!(session.call("ping", &json!({})), json!({}));
    let mut others = claims(name);
    others["sub"] = json!("eve");
    let others = issuer.token(&others);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    for method in ["POST", "GET", "DELETE"] {
        let answer = with(session.ask(method), &others).body(body.clone()).send();
        assert_eq!(answer.status, 404, "{method}: {answer:?}");
    }
    assert_eq!(session.call("ping", &json!({})), json!({}));
}

#[test]
fn an_issuer_that_cannot_be_trusted_or_reached_lets_nobody_in() {
    let place = Place::with(&[("keys.json", "{}"), ("none.json", "{\"keys\": []}")]);
    for wrong in [
        &["--oauth-issuer", "http://login.example"][..],
        &["--oauth-issuer", "login"],
        &["--oauth-issuer", "https://login.example", "--oauth-resource", "mcp"],
        &["--oauth-issuer", "https://login.example", "--oauth-jwks", "keys.json"],
        &["--oauth-issuer", "https://login.example", "--oauth-jwks", "none.json"],
        &["--oauth-resource", RESOURCE],
    ] {
        place.run([&["serve", "--port", "0"], wrong].concat()).ends(2);
    }
    // A server with a different issuer answers instead.
    let login = server::Server::start(|_| server::json(200, &json!({"issuer": "https://evil"})));
    let server = Server::start(&place, &["--oauth-issuer", &login.url]);
    let issuer = Issuer::new("one");
    let token = issuer.token(&claims(&login.url));
    let hello = initialize("2025-06-18", &json!({})).to_string();
    let answer = with(server.ask("POST"), &token).body(hello).send();
    assert_eq!(answer.status, 503, "{answer:?}");
}

/// A task belongs to its creator and does not exist for others.
#[test]
fn a_task_belongs_to_its_principal() {
    let issuer = Issuer::new("one");
    let place = Place::with(&[("keys.json", &json!({"keys": [issuer.key()]}).to_string())]);
    let name = "https://login.example";
    let mut server = Server::start(
        &place,
        &["--oauth-issuer", name, "--oauth-resource", RESOURCE, "--oauth-jwks", "keys.json"],
    );
    let of = |who: &str| {
        let mut claims = claims(name);
        claims["sub"] = json!(who);
        issuer.token(&claims)
    };
    let can = json!({"tasks": {}});
    server.token = of("ada");
    let call = json!({"name": "workflow_run", "arguments": {"manifest": ASKS}, "task": {}});
    let made = server.connect_with("2025-11-25", &can).call("tools/call", &call);
    let id = json!({"taskId": made["task"]["taskId"]});
    server.token = of("eve");
    {
        let eve = server.connect_with("2025-11-25", &can);
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            assert_eq!(eve.fault(method, &id)["code"], -32602, "{method}");
        }
        assert_eq!(eve.call("tasks/list", &json!({}))["tasks"], json!([]));
        let extension = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let mut params = id.clone();
            params["inputResponses"] = json!({});
            let answer = server.alone(method, params, &extension);
            assert_eq!(answer.code(), -32602, "{method}: {answer:?}");
        }
    }
    server.token = of("ada");
    let ada = server.connect_with("2025-11-25", &can);
    assert_eq!(ada.call("tasks/get", &id)["taskId"], id["taskId"]);
    assert_eq!(ada.call("tasks/list", &json!({}))["tasks"].as_array().map(Vec::len), Some(1));
    let listed = place.run(["runs", "--json"]).out;
    assert!(listed.contains("agent ada"), "{listed}");
}

/// One caller's runs do not exist for another, whichever operation or resource asks for them.
#[test]
fn a_run_belongs_to_its_principal() {
    let issuer = Issuer::new("one");
    let place = Place::with(&[("keys.json", &json!({"keys": [issuer.key()]}).to_string())]);
    let name = "https://login.example";
    let mut server = Server::start(
        &place,
        &["--oauth-issuer", name, "--oauth-resource", RESOURCE, "--oauth-jwks", "keys.json"],
    );
    let of = |who: &str| {
        let mut claims = claims(name);
        claims["sub"] = json!(who);
        issuer.token(&claims)
    };
    server.token = of("ada");
    let start = json!({"manifest": ASKS, "idempotency_key": "once"});
    let run = server.connect("2025-11-25").tool("workflow_run", &start)["run_id"].take();
    let run = run.as_str().expect("an id").to_owned();
    let nobodys = format!("run_{}", "0".repeat(26));
    server.token = of("eve");
    {
        let eve = server.connect("2025-11-25");
        let refused = |tool: &str, arguments: &Value| {
            let result = eve.call("tools/call", &json!({"name": tool, "arguments": arguments}));
            assert_eq!(result["isError"], true, "{tool}: {result}");
            let told = &result["structuredContent"];
            json!([told["error_code"], told["message"], told["context"]]).to_string()
        };
        for (tool, more) in [
            ("workflow_status", json!({})),
            ("workflow_status", json!({"wait_s": 1, "step_id": "look"})),
            ("workflow_submit", json!({"step_id": "look", "output": {"seen": true}})),
            ("workflow_submit", json!({"context": {"seen": true}})),
            ("workflow_cancel", json!({})),
            ("workflow_resume", json!({})),
            ("workflow_resume", json!({"plan_only": true})),
        ] {
            let asked = |id: &str| {
                let mut arguments = more.clone();
                arguments["run_id"] = json!(id);
                refused(tool, &arguments)
            };
            let told = asked(&run);
            assert!(told.contains("RUN_NOT_FOUND"), "{tool}: {told}");
            assert_eq!(told.replace(&run, "_"), asked(&nobodys).replace(&nobodys, "_"), "{tool}");
            assert!(asked(&run[..12]).contains("RUN_NOT_FOUND"), "{tool}");
        }
        assert_eq!(eve.tool("workflow_status", &json!({}))["runs"], json!([]));
        for uri in [format!("run/{run}"), format!("run/{run}/step/look/output")] {
            let fault = eve.fault("resources/read", &json!({"uri": format!("milepost://{uri}")}));
            assert!(fault.to_string().contains("RUN_NOT_FOUND"), "{fault}");
        }
        let template = json!({"type": "ref/resource", "uri": "milepost://run/{run_id}"});
        let argument = json!({"name": "run_id", "value": "run_"});
        let completed =
            eve.call("completion/complete", &json!({"ref": template, "argument": argument}));
        assert_eq!(completed["completion"]["values"], json!([]));
        let own = eve.tool("workflow_run", &start)["run_id"].take();
        assert_ne!(own, json!(run), "a key belongs to its caller");
    }
    server.token = of("ada");
    let ada = server.connect("2025-11-25");
    assert_eq!(ada.tool("workflow_run", &start)["run_id"], json!(run));
    assert_eq!(ada.tool("workflow_status", &json!({}))["runs"].as_array().map(Vec::len), Some(1));
    let done = json!({"run_id": run, "step_id": "look", "output": {"seen": true}});
    assert_eq!(ada.tool("workflow_submit", &done)["run"]["status"], "succeeded");
}

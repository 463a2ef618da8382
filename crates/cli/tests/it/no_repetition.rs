//! Finished work is not repeated by accident, however a run is continued: not in a child run, not
//! after an unreadable response, and not because an agent starts over.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::crash::THINGS;
use crate::runs::{in_terminal, last};
use crate::server::{Reply, Server, json as answer};
use crate::{Place, finish};

const CHILD: &str = "
workflow: child
steps:
  - {id: w, run: things things:create, body: {name: kept}}
  - {id: f, run: things things:get, with: {id: flaky}, depends_on: [w], retry: {max_attempts: 1}}
";
const ABOVE: &str = "
workflow: above
steps:
  - {id: c, run: workflow child}
  - {id: after, run: things things:create, body: {name: after}, depends_on: [c]}
";
const ONE: &str = "workflow: one\nsteps: [{id: w, run: things things:create, body: {}}]\n";

/// A server whose `flaky` path fails this many times.
fn things(fails: usize) -> (Server, Place) {
    let left = Arc::new(AtomicUsize::new(fails));
    let server = Server::start(move |request| {
        let fails = |left: usize| left.checked_sub(1);
        if request.path().ends_with("flaky")
            && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok()
        {
            return answer(500, &json!({"why": "not now"}));
        }
        answer(200, &json!({"id": "t1"}))
    });
    let place = place(&server);
    (server, place)
}

fn place(server: &Server) -> Place {
    let files = [("things.yaml", THINGS), ("child.yaml", CHILD), ("above.yaml", ABOVE)];
    let place = Place::with(&files);
    place.put("one.yaml", ONE);
    place.run(["catalog", "import", "things.yaml", "--base-url", &server.url]).ends(0);
    place.workflow("save child.yaml").ends(0);
    place
}

fn writes(server: &Server) -> usize {
    server.seen().iter().filter(|request| request.method == "POST").count()
}

/// When a parent resumes, its child run resumes where it failed, as often as needed, and the plan
/// states the cost.
#[test]
fn succeeded_steps_of_an_inner_run_are_kept() {
    let (server, place) = things(2);
    let run = last(&place.run(["run", "above.yaml", "--json"]).ends(1));
    let id = run["run_id"].as_str().expect("an id").to_owned();
    let plan = place.run(["resume", &id, "--plan", "--json"]).ends(0).json();
    assert_eq!(plan["forecast"]["writes"], json!({"least": 1, "most": 1}), "{plan}");
    assert_eq!(plan["forecast"]["calls"], json!({"least": 2, "most": 2}), "{plan}");
    assert_eq!(plan["forecast"]["saved_writes"], 1, "{plan}");
    place.run(["resume", &id]).ends(1);
    assert_eq!(writes(&server), 1, "what failed once more sent nothing");
    place.run(["resume", &id]).ends(0);
    assert_eq!(writes(&server), 2, "that of the child and that behind it");
}

/// A child run that was finished separately counts as done.
#[test]
fn an_inner_run_finished_separately_is_accepted() {
    let (server, place) = things(1);
    let run = last(&place.run(["run", "above.yaml", "--json"]).ends(1));
    let id = run["run_id"].as_str().expect("an id").to_owned();
    let child = run["steps"][0]["run_id"].as_str().expect("a run").to_owned();
    place.run(["resume", &child]).ends(0);
    let plan = place.run(["resume", &id, "--plan", "--json"]).ends(0).json();
    assert_eq!(plan["forecast"]["writes"], json!({"least": 1, "most": 1}), "{plan}");
    place.run(["resume", &id]).ends(0);
    assert_eq!(writes(&server), 2);
}

/// Runs the parent workflow with this budget and returns its final view.
fn above_with(place: &Place, budget: &str, exit: i32) -> Value {
    let text = ABOVE.replace("steps:", &format!("budget: {{{budget}}}\nsteps:"));
    place.put("above.yaml", &text);
    last(&place.run(["run", "above.yaml", "--json"]).ends(exit))
}

/// A child run spends from its parent's budget, and no more than is left there.
#[test]
fn a_budget_covers_the_runs_of_steps() {
    let (server, place) = things(0);
    let run = above_with(&place, "writes: 1", 4);
    assert_eq!(run["steps"][0]["status"], "succeeded", "{run}");
    assert_eq!(writes(&server), 1, "that of the child was all there was");
    let id = run["run_id"].as_str().expect("an id").to_owned();
    in_terminal(&place, &format!("resume {id} --budget writes=2"), "y\n").ends(0);
    assert_eq!(writes(&server), 2);

    let run = above_with(&place, "writes: 0", 4);
    assert_eq!(writes(&server), 2, "nothing was left for the child");
    let child = run["steps"][0]["run_id"].as_str().expect("a run").to_owned();
    let shown = place.run(["show", &child, "--json"]).ends(0).json();
    assert_eq!(shown["waiting"][0]["kind"], "budget", "{shown}");
}

/// The spending of a child run before it failed is not counted again when it resumes.
#[test]
fn spending_of_an_inner_run_is_counted_once() {
    let (server, place) = things(1);
    let run = above_with(&place, "http_calls: 4", 1);
    let id = run["run_id"].as_str().expect("an id").to_owned();
    place.run(["resume", &id]).ends(0);
    assert_eq!(server.seen().len(), 4, "a write and two tries below, and a write above");

    let (server, place) = things(1);
    let run = above_with(&place, "http_calls: 3", 1);
    let id = run["run_id"].as_str().expect("an id").to_owned();
    place.run(["resume", &id]).ends(4);
    assert_eq!(server.seen().len(), 3, "there is none left for the write above");
}

/// A budget cannot be circumvented by resuming a child run whose parent has ended.
#[test]
fn spending_outside_any_budget_needs_a_person() {
    let (server, place) = things(1);
    let run = above_with(&place, "http_calls: 9", 1);
    let child = run["steps"][0]["run_id"].as_str().expect("a run").to_owned();
    let told = insisted(&mut agent_on(&place), "workflow_resume", &json!({"run_id": child}));
    assert_eq!(told["error_code"], "PRESENCE_REQUIRED", "{told}");
    place.run(["resume", &child]).ends(8);
    assert_eq!(server.seen().len(), 2, "nothing more was sent");
    in_terminal(&place, &format!("resume {child}"), "y\n").ends(0);
    assert_eq!(server.seen().len(), 3);
}

/// Resuming from the start repeats everything.
#[test]
fn from_the_start_is_from_the_start() {
    let (server, place) = things(1);
    let run = last(&place.run(["run", "above.yaml", "--json"]).ends(1));
    let id = run["run_id"].as_str().expect("an id").to_owned();
    place.run(["resume", &id, "--from", "start", "--yes"]).ends(0);
    assert_eq!(writes(&server), 3);
}

/// An unreadable response, or a redirect that does not say whether the server has acted, does not
/// prove that nothing happened.
#[test]
fn an_unusable_answer_leaves_the_outcome_unknown() {
    let garbled = || {
        let headers = vec![("content-encoding", "gzip".to_owned())];
        Reply::Answer(201, headers, b"no gzip".to_vec())
    };
    let elsewhere =
        || Reply::Answer(302, vec![("location", "http://10.0.0.1/".to_owned())], Vec::new());
    let replies: [fn() -> Reply; 2] = [garbled, elsewhere];
    for reply in replies {
        let server = Server::start(move |_| reply());
        let place = place(&server);
        let run = last(&place.run(["run", "one.yaml", "--json"]).ends(4));
        assert_eq!(run["waiting"][0]["kind"], "decision", "{run}");
        assert_eq!(writes(&server), 1);
    }
}

/// A person agrees to one address: a redirect cannot take a write anywhere else.
#[test]
fn a_write_stays_at_the_address_that_was_shown() {
    for status in [301, 302, 307, 308] {
        let other = Server::start(|_| answer(200, &json!({"id": "stolen"})));
        let location = format!("{}/collect", other.url);
        let server = Server::start(move |_| {
            Reply::Answer(status, vec![("location", location.clone())], Vec::new())
        });
        let place = place(&server);
        // It is unclear whether a server that answers `301` or `302` has acted.
        let is_open = status < 303;
        let run = last(&place.run(["run", "one.yaml", "--json"]).ends(if is_open { 4 } else { 1 }));
        let text = run.to_string();
        assert!(text.contains(&format!("was redirected to `{}/collect`", other.url)), "{text}");
        assert_eq!((writes(&server), other.seen().len()), (1, 0), "{status}");
        let sent = ["command", "run", "things", "things:create", "--body", "{}", "--json"];
        let told = last(&place.run(sent));
        assert_eq!((&told["status"], other.seen().len()), (&json!(status), 0), "{told}");
    }
}

const LOGIN: &str = "
security: [{login: []}]
components:
  securitySchemes:
    login: {type: oauth2, flows: {clientCredentials: {tokenUrl: /token, scopes: {}}}}
";

/// A refused token is replaced by the run, which counts every request: a budget of one write is one
/// request.
#[test]
fn a_refused_token_costs_an_attempt() {
    for (budget, posts, code) in [("", 2, 0), ("budget: {writes: 1}\n", 1, 4)] {
        let tokens = AtomicUsize::new(0);
        let server = Server::start(move |request| match request.header("authorization") {
            _ if request.path() == "/token" => {
                let token = format!("t{}", tokens.fetch_add(1, Ordering::SeqCst));
                answer(200, &json!({"access_token": token, "expires_in": 3600}))
            }
            Some("Bearer t0") => answer(401, &json!({"why": "revoked"})),
            _ => answer(201, &json!({"id": "t1"})),
        });
        let place = Place::with(&[("things.yaml", &format!("{THINGS}{LOGIN}"))]);
        place.put("one.yaml", &format!("{ONE}{budget}"));
        place.run(["catalog", "import", "things.yaml", "--base-url", &server.url]).ends(0);
        for name in ["ID", "KEY"] {
            finish(place.command().args(["secret", "set", name]), "a-long-enough-value").ends(0);
        }
        let auth = ["catalog", "auth", "things", "--client-id", "ID", "--client-secret", "KEY"];
        place.run(auth).ends(0);
        let run = last(&place.run(["run", "one.yaml", "--json"]).ends(code));
        let sent = server.seen().iter().filter(|request| request.path() == "/things").count();
        assert_eq!(sent, posts, "{run}");
    }
}

fn agent_on(place: &Place) -> Agent {
    Agent::connect(place, &["--surface", "workflows"])
}

/// Calls a tool again with the confirmation it requested.
fn insisted(agent: &mut Agent, tool: &str, arguments: &Value) -> Value {
    let told = agent.ask(tool, arguments)["result"]["structuredContent"].take();
    let next = &told["next"]["arguments"];
    if next["confirm"].is_null() {
        return told;
    }
    let again = next.clone();
    agent.ask(tool, &again)["result"]["structuredContent"].take()
}

/// An agent cannot settle an unknown outcome by stopping the run and starting over; only a person
/// can settle it.
#[test]
fn an_agent_cannot_settle_an_unknown_outcome() {
    let server = Server::start(|_| Reply::HangUp);
    let place = place(&server);
    let run = last(&place.run(["run", "one.yaml", "--json"]).ends(4));
    let id = run["run_id"].as_str().expect("an id").to_owned();
    place.run(["cancel", &id, "--yes"]).ends(0);
    let mut agent = agent_on(&place);
    let told = insisted(&mut agent, "workflow_resume", &json!({"run_id": id}));
    assert_eq!(told["error_code"], "PRESENCE_REQUIRED", "{told}");
    assert_eq!(writes(&server), 1, "{told}");
    // Neither can a script: a person has to confirm at a terminal.
    let refused = place.run(["resume", &id, "--yes"]).ends(8);
    assert!(refused.err.contains("may have taken effect") || refused.err.contains("terminal"));
    in_terminal(&place, &format!("resume {id} --yes"), "y\n");
    assert_eq!(writes(&server), 2);
}

/// An agent cannot repeat a write that succeeded.
#[test]
fn an_agent_cannot_repeat_a_write() {
    let (server, place) = things(0);
    let run = last(&place.run(["run", "one.yaml", "--json"]).ends(0));
    let mut agent = agent_on(&place);
    for more in [json!({"redo": ["w"]}), json!({"from": "w"}), json!({"from": "start"})] {
        let mut asked = more.clone();
        asked["run_id"] = run["run_id"].clone();
        let told = insisted(&mut agent, "workflow_resume", &asked);
        assert_eq!(told["error_code"], "PRESENCE_REQUIRED", "{more}: {told}");
    }
    assert_eq!(writes(&server), 1);
}

/// A question that was answered with no does not disappear because a newer manifest no longer asks
/// it.
#[test]
fn an_agent_cannot_edit_a_question_away() {
    let (server, place) = things(0);
    let asking = "workflow: asks\nsteps:\n  - {id: ok, approve: Do it?}\n  - {id: w, run: things \
                  things:create, body: {}, depends_on: [ok]}\n";
    let without = "workflow: asks\nsteps:\n  - {id: w, run: things things:create, body: {}}\n";
    let before = "workflow: asks\nsteps:\n  - {id: w, run: things things:create, body: {}}\n  \
                  - {id: ok, approve: Do it?, depends_on: [w]}\n";
    for text in [without, before] {
        place.put("asks.yaml", asking);
        place.workflow("save asks.yaml --overwrite").ends(0);
        let run = last(&place.run(["run", "asks", "--json"]).ends(4));
        let id = run["run_id"].as_str().expect("an id").to_owned();
        in_terminal(&place, &format!("reject {id} -m never"), "y\n");
        place.put("asks.yaml", text);
        place.workflow("save asks.yaml --overwrite").ends(0);
        let mut agent = agent_on(&place);
        let latest = json!({"run_id": id, "version": "latest"});
        let told = insisted(&mut agent, "workflow_resume", &latest);
        assert_eq!(told["error_code"], "PRESENCE_REQUIRED", "{told}");
        assert_eq!(writes(&server), 0);
    }
}

/// An approval covers the inner workflows that the run pinned when it started: one that was swapped
/// since is not run.
#[test]
fn a_workflow_that_was_swapped_is_not_run() {
    let (server, place) = things(0);
    place.put(
        "asks.yaml",
        "workflow: asks\nsteps:\n  - {id: ok, approve: Do it?}\n  - {id: c, run: workflow child, \
         depends_on: [ok]}\n",
    );
    let run = last(&place.run(["run", "asks.yaml", "--json"]).ends(4));
    let id = run["run_id"].as_str().expect("an id").to_owned();
    place.put("child.yaml", &CHILD.replace("kept", "swapped"));
    place.workflow("save child.yaml --overwrite").ends(0);
    in_terminal(&place, &format!("approve {id}"), "y\n");
    let shown = place.run(["show", &id, "--json"]).ends(0).json();
    assert_eq!(shown["status"], "succeeded", "{shown}");
    let bodies: Vec<String> = server.seen().iter().map(|request| request.body.clone()).collect();
    assert_eq!(writes(&server), 1);
    assert!(bodies.iter().any(|body| body.contains("kept")), "{bodies:?}");
    assert!(bodies.iter().all(|body| !body.contains("swapped")), "{bodies:?}");
}

/// The placeholder of a secret is only replaced as a whole, so nothing else may be done with it;
/// and a secret that an API echoes is not passed on.
#[test]
fn a_secret_can_only_be_passed_on() {
    let text = |value: &str| {
        format!(
            "workflow: s\ninputs: {{tok: {{type: string, secret: true}}}}\nsteps:\n  - {{id: a, \
             run: things things:create, body: {{x: \"{value}\"}}}}\n  - {{id: b, run: things \
             things:create, body: {{x: '${{{{ steps.a.output.x }}}}'}}}}\n"
        )
    };
    let server = Server::start(|request| {
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        answer(200, &json!({"id": "t1", "x": body["x"]}))
    });
    let place = place(&server);
    let wrong = [
        "${{ base64('u:' + inputs.tok) }}",
        "${{ url_encode(inputs.tok) }}",
        "${{ inputs.tok.size() }}",
        "${{ inputs.tok == 'a' }}",
        "${{ inputs.tok.startsWith('a') ? 1 : 2 }}",
    ];
    for value in wrong {
        place.put("s.yaml", &text(value));
        let told = place.workflow("validate s.yaml").ends(3);
        let found = told.out + &told.err;
        assert!(found.contains("error[secret-exposed]"), "{value}: {found}");
    }
    for value in ["${{ inputs.tok }}", "${{ 'Bearer ' + inputs.tok }}", "a ${{ inputs.tok }}"] {
        place.put("s.yaml", &text(value));
        place.workflow("validate s.yaml").ends(0);
    }
    place.run(["run", "s.yaml", "-i", "tok=verysecretvalue"]).ends(0);
    let sent: Vec<String> = server.seen().iter().map(|request| request.body.clone()).collect();
    assert!(sent[0].contains("verysecretvalue"), "{sent:?}");
    // What the API returned is data, and stays the same when it is sent on.
    assert_eq!(sent[0], sent[1]);
}

/// A client with the work profile can run existing workflows, but none of its own, however it
/// spells them.
#[test]
fn the_work_profile_accepts_no_workflow_text() {
    let (server, place) = things(0);
    let mut agent = Agent::connect(&place, &["--tools", "work"]);
    for name in ["manifest", "content", "manifest_content"] {
        let told = insisted(&mut agent, "workflow_run", &json!({name: ONE}));
        assert_eq!(told["error_code"], "PARAMS_INVALID", "{name}: {told}");
    }
    assert_eq!(writes(&server), 0);
}

/// Only a person can grant more attempts, however the run is restarted.
#[test]
fn an_agent_cannot_grant_itself_more_attempts() {
    let (_server, place) = things(0);
    place.put(
        "tries.yaml",
        "workflow: tries\nsteps:\n  - {id: a, prompt: Do it, max_attempts: 1, output_schema: \
         {type: object}}\n",
    );
    place.put("wrong.txt", "wrong");
    let run = last(&place.run(["run", "tries.yaml", "--json"]).ends(5));
    let id = run["run_id"].as_str().expect("an id").to_owned();
    place.run(["submit", &id, "a", "wrong.txt"]).ends(1);
    place.run(["cancel", &id, "--yes"]).ends(0);
    let mut agent = agent_on(&place);
    let told = insisted(&mut agent, "workflow_resume", &json!({"run_id": id}));
    assert_eq!(told["error_code"], "PRESENCE_REQUIRED", "{told}");
}

//! No answer over HTTP shows a secret, whatever form it has.

use serde_json::json;

use super::Server;
use crate::data::{look, waiting};

#[test]
fn no_answer_shows_a_secret_that_a_run_has_read() {
    let waiting = waiting(79, 5);
    let server = Server::start(&waiting.place, &[]);
    let session = server.connect("2025-06-18");
    let call = json!({"name": "command_run", "arguments": {"command": "records text:get"}});
    let status = json!({"name": "workflow_status",
        "arguments": {"run_id": waiting.run, "inline_max": 200_000}});
    let uri = format!("milepost://run/{}/step/read/output", waiting.run);
    for (method, params) in
        [("tools/call", &call), ("tools/call", &status), ("resources/read", &json!({ "uri": uri }))]
    {
        let text = session.request(method, params).to_string();
        look(method, text.as_bytes());
        assert!(text.contains("[secret:PASSWORD]"), "{method}: {text}");
        if method == "tools/call" {
            let alone = server.alone(method, params.clone(), &json!({})).message().to_string();
            look(method, alone.as_bytes());
            assert!(alone.contains("[secret:PASSWORD]"), "{method}: {alone}");
        }
        let body = json!({"jsonrpc": "2.0", "id": "e", "method": method, "params": params});
        let events = session.ask("POST").header("Accept", "text/event-stream, application/json");
        let events = events.body(body.to_string()).send();
        look(method, format!("{events:?}").as_bytes());
        assert!(events.message().to_string().contains("[secret:PASSWORD]"), "{events:?}");
    }
}

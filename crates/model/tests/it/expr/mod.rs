//! The expression language and its templates.
#![expect(clippy::unwrap_used, reason = "what helps a test may fail like a test")]

mod analysis;
mod common_mistakes;
mod conformance;
mod determinism;
mod language;
mod limits;
mod never_panics;
mod template;

use milepost_model::expr::{Expr, Fuel, MapScope, Outcome, Scope};
use serde_json::{Value as Json, json};

/// The data that most tests use.
fn data() -> Json {
    json!({
        "inputs": {
            "n": 20,
            "price": 20.5,
            "name": "Ada",
            "empty": "",
            "none": null,
            "flag": true,
            "my-key": "hyphen",
            "größe": "L",
            "big": 18_446_744_073_709_551_615_u64,
            "tags": ["b", "a", "c"],
            "user": {"name": "Lin", "manager": null},
        },
        "steps": {
            "lookup": {
                "output": {
                    "id": "o-1",
                    "number": 1001,
                    "total": 99.5,
                    "items": [
                        {"sku": "x", "count": 2, "price": 10},
                        {"sku": "y", "count": 1, "price": 79.5},
                    ],
                    "zeta": 1,
                    "alpha": 2,
                },
                "status": "succeeded",
            },
            "my-step": {"output": {"ok": true}},
        },
        "item": "{{ ${{ inputs.name }} }}",
    })
}

/// A scope with a clock that stands still and one secret.
#[derive(Default)]
struct TestScope(MapScope);

impl Scope for TestScope {
    fn root(&self, name: &str) -> Option<&Json> {
        self.0.root(name)
    }

    fn roots(&self) -> Vec<&str> {
        self.0.roots()
    }

    fn now(&self) -> Option<&str> {
        Some("2026-01-02T03:04:05Z")
    }

    fn secret(&self, name: &str) -> Option<String> {
        (name == "token").then(|| "<sentinel>".to_owned())
    }
}

fn scope_of(data: Json) -> TestScope {
    let Json::Object(roots) = data else { panic!("the roots are an object") };
    TestScope(MapScope::new(roots))
}

/// The result of an expression over [`data`] as one line of text.
fn show(source: &str) -> String {
    show_in(source, &scope_of(data()))
}

fn show_in(source: &str, scope: &dyn Scope) -> String {
    match Expr::parse(source) {
        Err(error) => format!("syntax error: {error}"),
        Ok(expr) => match expr.eval(scope, &mut Fuel::default()) {
            Ok(Outcome::Value(value)) => value.to_string(),
            Ok(Outcome::Omit) => "omitted".to_owned(),
            Err(error) => {
                let at = &source[error.span.range()];
                format!("error at `{at}`: {error}")
            }
        },
    }
}

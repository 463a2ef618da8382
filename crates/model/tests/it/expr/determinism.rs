//! The same evaluation yields the same bytes in every process.

use std::process::Command;

use milepost_model::expr::{Expr, Fuel};
use serde_json::json;

use super::{scope_of, show_in};

const CHILD: &str = "EXPR_DETERMINISM_CHILD";
const MARK: &str = "evaluated: ";

fn evaluated() -> String {
    let wide: serde_json::Map<_, _> =
        (0..200).map(|n| (format!("k{}", n * 7919 % 200), json!(n))).collect();
    let scope = scope_of(json!({"m": wide}));
    let sources = [
        "m",
        "m.map(k, m[k])",
        "m.filter(k, m[k] % 3 == 0)",
        "{'z': m, 'a': [m.k1, m.k2], 'm': {'y': 1, 'x': 2}}",
        "json(m)",
        "m.nope",
        "{'b': 1, 'a': 2}.nope",
        "nope",
    ];
    let mut out: Vec<String> = sources.iter().map(|source| show_in(source, &scope)).collect();
    let mut fuel = Fuel::default();
    Expr::parse("m.map(k, m[k])").unwrap().eval(&scope, &mut fuel).unwrap();
    out.push(fuel.left().to_string());
    out.join(" ")
}

#[test]
#[expect(clippy::print_stdout, reason = "it is how the child process answers")]
fn two_processes_agree() {
    let here = evaluated();
    if std::env::var_os(CHILD).is_some() {
        println!("\n{MARK}{here}");
        return;
    }
    let (_crate, module) = module_path!().split_once("::").unwrap();
    let this_test = format!("{module}::two_processes_agree");
    for _ in 0..2 {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &this_test, "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let text = String::from_utf8(child.stdout).unwrap();
        let there = text.lines().find_map(|line| line.strip_prefix(MARK)).unwrap();
        assert_eq!(there, here);
    }
}

//! Generates workflows from a seed: graphs with steps of all kinds.

use std::fmt::Write;

use crate::chance::Chance;

/// A workflow that may run these other workflows.
pub(crate) fn workflow(chance: &mut Chance, id: &str, others: &[&str]) -> String {
    let count = 1 + chance.below(if others.len() > 1 { 6 } else { 3 });
    let mut text = format!("workflow: {id}\nconcurrency: {}\n", 1 + chance.below(3));
    text += "inputs: {n: {type: integer}}\nsteps:\n";
    for index in 0..count {
        let above: Vec<usize> = (0..index).filter(|_| chance.one_in(3)).collect();
        let names: Vec<String> = above.iter().map(|index| format!("s{index}")).collect();
        let _ = write!(text, "  - {{id: s{index}, ");
        if !names.is_empty() {
            let _ = write!(text, "depends_on: [{}], ", names.join(", "));
        }
        text += &settings(chance);
        text += &action(chance, index, names.first(), others);
        text += "}\n";
    }
    if chance.one_in(2) {
        text += "finally:\n";
        for index in 0..=chance.below(2) {
            let action = action(chance, 100 + index, None, others);
            let _ = writeln!(text, "  - {{id: f{index}, {action}}}");
        }
    }
    text
}

/// Keys that every step may have.
fn settings(chance: &mut Chance) -> String {
    let mut text = String::new();
    if chance.one_in(5) {
        let _ = write!(text, "if: inputs.n > {}, ", chance.below(6));
    }
    if chance.one_in(5) {
        text += "needs: any, ";
    }
    if chance.one_in(4) {
        text += "on_error: continue, ";
    }
    text
}

fn action(chance: &mut Chance, index: usize, above: Option<&String>, others: &[&str]) -> String {
    match chance.below(13) {
        0 => "set: {x: '${{ inputs.n + 1 }}'}".to_owned(),
        // Inner waits are short, because a command following a run polls its child runs many times
        // a second.
        1 => format!("wait: {}s", 1 + chance.below(if others.len() > 1 { 300 } else { 20 })),
        2 | 3 if !others.is_empty() => {
            format!("run: workflow {}, with: {{n: '${{{{ inputs.n }}}}'}}", chance.pick(others))
        }
        3 => "fail: it was meant to".to_owned(),
        4 | 5 => prompt(chance),
        6 | 7 => match above.filter(|_| chance.one_in(2)) {
            Some(above) => format!("approve: {{message: Go?, on_reject: {{to: {above}, max: 2}}}}"),
            None if chance.one_in(2) => "approve: {message: Go?, expires: 2h}".to_owned(),
            None => "approve: Go on?".to_owned(),
        },
        8 => {
            let (run, prompt) = (run(chance), prompt(chance));
            let body = format!("[{{id: b{index}, {run}}}, {{id: c{index}, {prompt}}}]");
            format!("type: loop, loop: {{type: for, count: 2, maxIterations: 3}}, body: {body}")
        }
        9 => format!("for_each: [1, 2, 3], concurrency: {}, {}", 1 + chance.below(3), run(chance)),
        _ => run(chance),
    }
}

fn run(chance: &mut Chance) -> String {
    let verb = *chance.pick(&["get", "put", "delete", "create", "create"]);
    let mut text = format!("run: 'api x:{verb}', with: {{n: '${{{{ inputs.n }}}}'}}");
    match chance.below(6) {
        0 => text += ", retry: {max_attempts: 3, on: [503, network]}",
        1 => text += ", idempotent: true",
        2 => text += ", repeat: {until: output.n > 2, every: 2s, max_attempts: 3}",
        _ => {}
    }
    text
}

fn prompt(chance: &mut Chance) -> String {
    let mut text = "prompt: Do it, max_attempts: 2".to_owned();
    match chance.below(5) {
        0 => text += ", verify: [{run: 'api v:get', check: output.n > 1}]",
        1 => text += ", verify: [{run: 'api v:create', check: output.n > 1}]",
        2 => text += ", validation: [{type: contains, value: done, message: Do it}]",
        3 => text += ", require_confirmation: true",
        _ => {}
    }
    text
}

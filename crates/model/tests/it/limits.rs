//! Every limit of the language: one below, at, and one above it.

use std::fmt::Write;

use milepost_model::document::Document;
use milepost_model::limits as limit;
use milepost_syntax::limits as syntax_limit;

use crate::{guide, manifest, read};

/// Checks that documents of this size are valid below and at the limit, and invalid above it.
fn check(limit: usize, message: &str, document: impl Fn(usize) -> String) {
    for size in [limit - 1, limit] {
        let found = read(document(size));
        assert!(found.is_valid(), "{size}: {:?}", found.violations);
    }
    let found = read(document(limit + 1));
    assert_eq!(errors(&found), [message], "{}", limit + 1);
}

fn errors(document: &Document) -> Vec<&str> {
    let errors = document.violations.iter().filter(|one| one.severity.name() == "error");
    errors.map(|violation| violation.message.as_str()).collect()
}

fn step(more: &str) -> String {
    guide(&format!(r#"{{"id": "a", "title": "t", "prompt": "p"{more}}}"#))
}

#[test]
fn bytes() {
    let text = manifest("#");
    check(syntax_limit::DOCUMENT_BYTES, "the document is 1048577 bytes long", |size| {
        format!("{text}{}", "x".repeat(size - text.len()))
    });
}

#[test]
fn depth() {
    // Levels: the document's map, the `example` of an input, and the values nested in it.
    let nested = |depth: usize, open: &str, close: &str| {
        let inside = depth - 3;
        let value = format!("{}1{}", open.repeat(inside), close.repeat(inside));
        format!(
            "{{\"workflow\": \"a\", \"steps\": [{{\"id\": \"a\", \"prompt\": \
             \"${{{{ inputs.x }}}}\"}}], \"inputs\": {{\"x\": {{\"example\": {value}}}}}}}"
        )
    };
    let message = "nested deeper than 64 levels";
    check(syntax_limit::DEPTH, message, |depth| nested(depth, "[", "]"));
    check(syntax_limit::DEPTH, message, |depth| nested(depth, "{\"a\":", "}"));
    check(syntax_limit::DEPTH, message, |depth| format!("# YAML\n{}", nested(depth, "[", "]")));
    check(syntax_limit::DEPTH, message, |depth| {
        format!("# YAML\n{}", nested(depth, "{\"a\": ", "}"))
    });
    check(syntax_limit::DEPTH, message, |depth| {
        let block = "- ".repeat(depth - 3);
        let head = "workflow: a\nsteps: [{id: a, prompt: '${{ inputs.x }}'}]\n";
        format!("{head}inputs:\n  x:\n    example:\n      {block}1\n")
    });
}

#[test]
fn aliases() {
    check(syntax_limit::ALIAS_NODES, "aliases add up to more than 1000 values", |nodes| {
        let aliases = vec!["*x"; nodes].join(", ");
        format!("workflow: a\nsteps: [{{id: a, prompt: p}}]\ntags: [&x t, {aliases}]\n")
    });
}

#[test]
fn nodes() {
    let around = 12;
    check(syntax_limit::NODES, "more than 100000 keys and values", |nodes| {
        let tags = vec!["\"t\""; nodes - around].join(",");
        format!(
            "{{\"workflow\": \"a\", \"steps\": [{{\"id\": \"a\", \"prompt\": \"p\"}}], \
             \"tags\": [{tags}]}}"
        )
    });
    check(syntax_limit::NODES, "more than 100000 keys and values", |nodes| {
        manifest(&format!("tags: [{}]\n", vec!["t"; nodes - around].join(",")))
    });
}

#[test]
fn findings() {
    let document = |count: usize| {
        let keys: Vec<String> = (0..count).map(|number| format!("k{number}: 1\n")).collect();
        read(manifest(&keys.concat()))
    };
    assert_eq!(document(limit::FINDINGS - 1).violations.len(), limit::FINDINGS - 1);
    assert_eq!(document(limit::FINDINGS).violations.len(), limit::FINDINGS);
    let over = document(limit::FINDINGS + 1);
    assert_eq!(over.violations.len(), limit::FINDINGS + 1);
    assert!(errors(&over).contains(&"further findings not shown: 1"));
}

#[test]
fn findings_in_one_text() {
    for count in [limit::FINDINGS_IN_TEXT - 1, limit::FINDINGS_IN_TEXT, limit::FINDINGS_IN_TEXT + 1]
    {
        let names: Vec<String> = (0..count).map(|index| format!("${{{{ x{index} }}}}")).collect();
        let document = read(manifest("").replace("Look", &format!("'{}'", names.concat())));
        let cut = usize::from(count > limit::FINDINGS_IN_TEXT);
        assert_eq!(errors(&document).len(), count.min(limit::FINDINGS_IN_TEXT) + cut, "{count}");
    }
}

#[test]
fn anchors() {
    for count in [syntax_limit::ANCHORS - 1, syntax_limit::ANCHORS, syntax_limit::ANCHORS + 1] {
        let tags: Vec<String> = (0..count).map(|index| format!("&a{index} t")).collect();
        let document = read(manifest(&format!("tags: [{}]\n", tags.join(", "))));
        assert_eq!(document.is_valid(), count <= syntax_limit::ANCHORS, "{count}");
    }
}

#[test]
fn expressions() {
    for count in [limit::EXPRESSIONS - 1, limit::EXPRESSIONS, limit::EXPRESSIONS + 1] {
        let text = "${{ run.id }}".repeat(count);
        let document = read(manifest("").replace("Look", &format!("'{text}'")));
        assert_eq!(document.is_valid(), count <= limit::EXPRESSIONS, "{count}");
    }
}

#[test]
fn messages() {
    let around = "unknown key ``".len();
    for length in [limit::MESSAGE_CHARS - 1, limit::MESSAGE_CHARS, limit::MESSAGE_CHARS + 1] {
        let document = read(manifest(&format!("{}: 1\n", "k".repeat(length - around))));
        let message = errors(&document)[0];
        assert_eq!(message.chars().count(), length.min(limit::MESSAGE_CHARS));
        assert_eq!(message.contains('…'), length > limit::MESSAGE_CHARS);
        assert!(message.ends_with('`'));
    }
}

#[test]
fn fixes() {
    for (length, fixed) in [
        (syntax_limit::FIX_BYTES - 1, true),
        (syntax_limit::FIX_BYTES, true),
        (syntax_limit::FIX_BYTES + 1, false),
    ] {
        let text = format!("{{{{ inputs.x }}}}{}", "x".repeat(length - "{{ inputs.x }}".len()));
        let document = read(format!(
            "workflow: a\ninputs: {{x: {{type: string}}}}\nsteps: [{{id: a, fail: \"{text}\"}}]\n"
        ));
        let slip = document.violations.iter().find(|one| one.severity.name() == "error");
        assert_eq!(slip.expect("is found").fix.is_some(), fixed, "{length}");
    }
}

#[test]
fn rings() {
    for rings in [limit::RINGS - 1, limit::RINGS, limit::RINGS + 1] {
        let mut steps = String::new();
        for ring in 0..rings {
            writeln!(steps, "  - {{id: a{ring}, prompt: p, depends_on: [b{ring}]}}")
                .expect("writes");
            writeln!(steps, "  - {{id: b{ring}, prompt: p, depends_on: [a{ring}]}}")
                .expect("writes");
        }
        let document = read(format!("workflow: a\nsteps:\n{steps}"));
        assert_eq!(errors(&document).len(), rings.min(limit::RINGS));
    }
}

#[test]
fn steps() {
    let many = |count: usize| -> Vec<String> {
        (0..count)
            .map(|index| format!("{{\"id\": \"s{index}\", \"title\": \"t\", \"prompt\": \"p\"}}"))
            .collect()
    };
    check(limit::STEPS, "1001 steps", |count| {
        format!("{{\"workflow\": \"a\", \"steps\": [{}]}}", many(count).join(","))
    });
    check(limit::STEPS, "1001 steps", |count| guide(&many(count).join(",")));
    check(limit::STEPS, "1001 steps, counting those in loops", |count| {
        let body = many(count - 1).join(",");
        guide(&format!(
            "{{\"id\": \"l\", \"type\": \"loop\", \"title\": \"t\", \"loop\": {{\"type\": \"for\", \
             \"count\": 2, \"maxIterations\": 2}}, \"body\": [{body}]}}"
        ))
    });
}

#[test]
fn inputs() {
    check(limit::INPUTS, "201 inputs", |count| {
        let inputs: Vec<String> =
            (0..count).map(|index| format!("i{index}: {{type: string}}")).collect();
        manifest(&format!("inputs: {{{}}}\n", inputs.join(", ")))
    });
}

#[test]
fn patterns() {
    let long = "the pattern does not compile: it is longer than 4096 bytes";
    check(limit::PATTERN_BYTES, long, |size| {
        step(&format!(
            ", \"runCondition\": {{\"var\": \"x\", \"matches\": \"{}\"}}",
            "a".repeat(size)
        ))
    });
}

#[test]
fn schemas() {
    check(limit::SCHEMA_BYTES, "the schema is larger than 262144 bytes", |size| {
        let around = r#"{"description":""}"#.len();
        let text = "x".repeat(size - around);
        manifest(&format!(
            "finally: [{{id: b, prompt: p, output_schema: {{description: \"{text}\"}}}}]\n"
        ))
    });
    check(limit::SCHEMA_NODES, "the schema has more than 10000 parts", |nodes| {
        let values: Vec<String> = (0..nodes - 3).map(|number| number.to_string()).collect();
        manifest(&format!(
            "finally: [{{id: b, prompt: p, output_schema: {{enum: [{}]}}}}]\n",
            values.join(",")
        ))
    });
}

#[test]
fn ids() {
    let ids = |length: usize| "x".repeat(length);
    for length in [limit::ID_CHARS - 1, limit::ID_CHARS] {
        assert!(
            read(manifest("").replace("workflow: a", &format!("workflow: {}", ids(length))))
                .is_valid()
        );
        assert!(read(manifest("").replace("id: a", &format!("id: {}", ids(length)))).is_valid());
    }
    let long = ids(limit::ID_CHARS + 1);
    assert!(!read(manifest("").replace("workflow: a", &format!("workflow: {long}"))).is_valid());
    assert!(!read(manifest("").replace("id: a", &format!("id: {long}"))).is_valid());
}

#[test]
fn concurrency() {
    let limit = usize::try_from(limit::CONCURRENCY).expect("is small");
    check(limit, "65 is out of range", |value| manifest(&format!("concurrency: {value}\n")));
    assert_eq!(errors(&read(manifest("concurrency: 0\n"))), ["0 is out of range"]);
}

#[test]
fn iterations() {
    let limit = usize::try_from(limit::ITERATIONS).expect("is small");
    let looped = |passes: usize| {
        guide(&format!(
            "{{\"id\": \"l\", \"type\": \"loop\", \"title\": \"t\", \"loop\": {{\"type\": \"for\", \
             \"count\": 2, \"maxIterations\": {passes}}}, \
             \"body\": [{{\"id\": \"b\", \"title\": \"t\", \
             \"prompt\": \"p\"}}]}}"
        ))
    };
    check(limit, "1001 is out of range", looped);
    assert_eq!(errors(&read(looped(0))), ["0 is out of range"]);
}

#[test]
fn prompts() {
    check(limit::GUIDE_PROMPT_CHARS, "a string of length 8193", |length| {
        guide(&format!(
            "{{\"id\": \"a\", \"title\": \"t\", \"prompt\": \"{}\"}}",
            "é".repeat(length)
        ))
    });
}

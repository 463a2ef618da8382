//! Hostile input gets one clear finding at the right place, quickly.

use std::fmt::Write;
use std::time::{Duration, Instant};

use milepost_model::document::Document;
use milepost_model::finding::Severity;
use milepost_syntax::source::Format;

use crate::{guide, manifest, read, read_as};

/// Far above the time that any of these takes, far below that of a quadratic walk.
const SOON: Duration = Duration::from_secs(5);

const MANY: usize = 100_000;

fn soon(bytes: impl AsRef<[u8]>) -> Document {
    let bytes = bytes.as_ref();
    let began = Instant::now();
    let document = read(bytes);
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
    assert!(began.elapsed() < SOON, "{:?} for {head:?}", began.elapsed());
    document
}

/// Asserts exactly one error, at this position, with this message and a suggestion.
fn one(bytes: impl AsRef<[u8]>, line: u32, column: u32, message: &str) {
    one_of(&soon(bytes), line, column, message);
}

fn one_of(document: &Document, line: u32, column: u32, message: &str) {
    let found: Vec<(u32, u32, &str)> = document
        .violations
        .iter()
        .map(|violation| (violation.line, violation.column, violation.message.as_str()))
        .collect();
    assert_eq!(found, [(line, column, message)]);
    let violation = &document.violations[0];
    assert_eq!(violation.severity, Severity::Error);
    assert!(violation.suggestion.as_ref().is_some_and(|words| !words.is_empty()), "{message}");
    assert!(document.workflow.is_none());
}

fn fine(bytes: impl AsRef<[u8]>) {
    let document = soon(bytes);
    assert!(document.is_valid(), "{:#?}", document.violations);
}

#[test]
fn marks_and_line_ends_of_other_systems_are_fine() {
    let text = manifest("title: x\n");
    fine(format!("\u{feff}{text}"));
    fine(text.replace('\n', "\r\n"));
    fine(format!("\u{feff}{}", guide(r#"{"id": "a", "title": "t", "prompt": "p"}"#)));
    fine(guide("\r\n{\"id\": \"a\",\r\n\"title\": \"t\", \"prompt\": \"p\"}\r\n"));
}

#[test]
fn positions_count_lines_of_other_systems_and_no_mark() {
    let text = "\u{feff}workflow: a\r\nsteps: [{id: a, prompt: Look}]\r\nbogus: 1\r\n";
    one(text, 3, 1, "unknown key `bogus`");
}

#[test]
fn other_encodings_are_named() {
    let text = manifest("");
    let wide = |unit: fn(u16) -> [u8; 2], mark: &str| -> Vec<u8> {
        mark.encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
    };
    for mark in ["", "\u{feff}"] {
        one(wide(u16::to_le_bytes, mark), 1, 1, "the file is UTF-16");
        one(wide(u16::to_be_bytes, mark), 1, 1, "the file is UTF-16");
    }
}

#[test]
fn bytes_that_are_no_text_are_placed() {
    one(b"workflow: a\ntitle: \xe9\n", 2, 8, "byte 0xe9 is not UTF-8");
    one(b"workflow: a\ntitle: \xc0\xaf\n", 2, 8, "byte 0xc0 is not UTF-8");
    one(b"workflow: a\ntitle: \xed\xa0\x80\n", 2, 8, "byte 0xed is not UTF-8");
    one(b"workflow: a\ntitle: \xe2\x82", 2, 8, "byte 0xe2 is not UTF-8");
    one(
        "workflow: é\n".as_bytes().iter().chain(b"\xff").copied().collect::<Vec<u8>>(),
        2,
        1,
        "byte 0xff is not UTF-8",
    );
    one("workflow: a\ntitle: x\0y\n", 2, 9, "a NUL character");
    one("{\"workflow\": \"a\0\"}", 1, 16, "a NUL character");
}

#[test]
fn documents_over_the_limit_are_not_read() {
    let size = 64 * 1024 * 1024;
    one(vec![b'x'; size], 1, 1, "the document is 67108864 bytes long");
    one_of(&Document::too_large(Some(size)), 1, 1, "the document is 67108864 bytes long");
}

#[test]
fn nothing_in_it_is_said() {
    one("", 1, 1, "the document is empty");
    one(" \n\t\n", 1, 1, "the document is empty");
    one("#x\n".repeat(MANY), 1, 1, "the document is empty");
    one("\n".repeat(1_000_000), 1, 1, "the document is empty");
    one("---\n---\n", 2, 1, "a second YAML document");
}

#[test]
fn depth_is_bounded_in_every_bracket() {
    let deep = "nested deeper than 64 levels";
    one("[".repeat(MANY), 1, 65, deep);
    one("[".repeat(MANY) + &"]".repeat(MANY), 1, 65, deep);
    one("{\"a\":".repeat(MANY) + "1" + &"}".repeat(MANY), 1, 64 * 5 + 1, deep);
    one("[{\"a\":".repeat(MANY) + "1" + &"}]".repeat(MANY), 1, 32 * 6 + 1, deep);
    // The YAML scanner looks ahead, and stops within two brackets of the excess one.
    let flow = |text: String, column: u32| {
        let document = soon(text);
        let [violation] = document.violations.as_slice() else { unreachable!("one cause") };
        assert_eq!((violation.message.as_str(), violation.line), (deep, 1));
        assert!(violation.column.abs_diff(column) <= 10, "{} for {column}", violation.column);
    };
    flow(format!("a: {}", "[".repeat(MANY)), 67);
    flow(format!("a: {}1{}", "{a: ".repeat(MANY), "}".repeat(MANY)), 4 + 63 * 4);
    flow(format!("a: {}1", "[{a: ".repeat(MANY)), 4 + 31 * 5 + 1);
    one(format!("a:\n  {}1\n", "- ".repeat(MANY)), 2, 3 + 63 * 2, deep);
    let mut block = String::new();
    for depth in 0..1_000 {
        writeln!(block, "{}a:", " ".repeat(depth)).expect("writes to a string");
    }
    one(block, 65, 65, deep);
    one("? ".repeat(MANY), 1, 3, "a key that is a list or a map");
}

#[test]
fn alias_bombs_are_charged_before_they_go_off() {
    let mut nested = "workflow: a\nx0: &x0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
    for level in 1..10 {
        let parts = vec![format!("*x{}", level - 1); 10].join(",");
        writeln!(nested, "x{level}: &x{level} [{parts}]").expect("writes to a string");
    }
    let bomb = "aliases add up to more than 1000 values";
    one(nested, 4, 42, bomb);
    let list = vec!["1"; 499].join(",");
    let quadratic = format!("x: &x [{list}]\ny: [{}]\n", vec!["*x"; 1_000].join(","));
    one(quadratic, 2, 11, bomb);
    one("x: &a [*a]\n", 1, 8, "an alias inside its own anchor");
    one("x: &a {b: *a}\n", 1, 11, "an alias inside its own anchor");
    one("x: *nope\n", 1, 4, "an alias without its anchor");
}

#[test]
fn anchors_around_much_are_not_copied() {
    let anchors = (0..60).fold(String::new(), |text, level| text + &format!("&a{level} ["));
    let list = vec!["1"; 90_000].join(",");
    let document = soon(manifest(&format!("tags: {anchors}{list}{}\n", "]".repeat(60))));
    assert_eq!(document.violations.len(), 1);
}

#[test]
fn specials_of_yaml_are_refused_by_name() {
    one(manifest("title: !!binary aGk=\n"), 3, 8, "YAML tags are not supported");
    one(manifest("tags: !!set {a}\n"), 3, 7, "YAML tags are not supported");
    one(manifest("title: !t &a x\n"), 3, 8, "YAML tags are not supported");
    one("workflow: a\n? [a, b]\n: c\n", 2, 3, "a key that is a list or a map");
    one("workflow: a\n? {a: b}\n: c\n", 2, 3, "a key that is a list or a map");
    one(manifest("<<: {title: x}\n"), 3, 1, "merge keys are not supported");
    let directive = "YAML directives are not supported";
    one(format!("%YAML 2.0\n---\n{}", manifest("")), 1, 1, directive);
    one(manifest("\ttitle: x\n"), 3, 1, "a tab in the indentation");
    one(manifest("title: \"\\ud800\"\n"), 3, 8, "half of a surrogate pair");
    one("workflow: a\ntitle: \u{1b}[31m\n", 2, 8, "a control character");
}

#[test]
fn duplicate_keys_are_refused_in_every_spelling() {
    let twice = "duplicate key `title` (first used on line 3)";
    one(manifest("title: x\ntitle: y\n"), 4, 1, twice);
    one(manifest("title: x\n\"title\": x\n"), 4, 1, twice);
    let text = "{\"workflow\": \"a\", \"steps\": [{\"id\": \"a\", \"prompt\": \"p\"}],\n\
        \"title\": \"x\",\n\"t\\u0069tle\": \"y\"}";
    one(text, 3, 1, "duplicate key `title` (first used on line 2)");
}

#[test]
fn escapes_that_are_none_are_placed() {
    let json = |text: &str| format!("{{\"workflow\": \"a\",\n\"title\": \"{text}\"}}");
    one(json("\\ud800"), 2, 11, "`\\ud800` is not a JSON escape");
    one(json("ab\\udc00"), 2, 13, "`\\udc00` is not a JSON escape");
    one(json("\\ud800\\ud800"), 2, 11, "`\\ud800` is not a JSON escape");
    one(json("\\ud83d\\ude00 \\ud800x"), 2, 24, "`\\ud800` is not a JSON escape");
    one(json("\\u12"), 2, 11, "`\\u` is not a JSON escape");
    one(json("é\\d+"), 2, 12, "a backslash that escapes nothing");
    one(json("\\é"), 2, 11, "a backslash that escapes nothing");
    one("{\"a\": \"\\", 1, 7, "an unclosed string");
    one("{\"a\": \"\u{1b}\"}", 1, 8, "a control character in a string");
}

#[test]
fn a_backslash_of_a_pattern_is_doubled() {
    let text = r#"{"workflow": "a", "steps": [{"id": "a", "prompt": "\d"}]}"#;
    let fixed = read(text).fixed().expect("has a fix");
    assert!(fixed.contains(r"\\d"), "{fixed}");
    fine(fixed);
}

#[test]
fn numbers_that_are_none_are_refused() {
    let yaml = |number: &str| manifest(&format!("concurrency: {number}\n"));
    let json = |number: &str| {
        format!(
            "{{\"workflow\": \"a\", \"steps\": [{{\"id\": \"a\", \"prompt\": \"p\"}}],\n\
             \"concurrency\": {number}}}"
        )
    };
    for number in ["1e999", "-1e999"] {
        one(yaml(number), 3, 14, &format!("`{number}` is not a finite number"));
        one(json(number), 2, 16, &format!("`{number}` is not a finite number"));
    }
    for number in [".nan", ".inf", "-.inf", ".NaN"] {
        one(yaml(number), 3, 14, &format!("`{number}` is not a finite number"));
    }
    for number in ["NaN", "Infinity", "-Infinity"] {
        one(json(number), 2, 16, &format!("`{number}` is not a finite number"));
    }
    let long = "123456789012345678901234567890";
    for number in [long, "-123456789012345678901234567890", "9223372036854775808"] {
        one(yaml(number), 3, 14, &format!("`{number}` has too many digits"));
        one(json(number), 2, 16, &format!("`{number}` has too many digits"));
    }
    one(yaml("0xffffffffffffffffff"), 3, 14, "`0xffffffffffffffffff` has too many digits");
    one(json("01"), 2, 16, "a number with leading zeros");
    one(json("1.2.3"), 2, 16, "`1.2.3` is not a number");
    one(json("-"), 2, 16, "`-` is not a number");
}

#[test]
fn endless_words_are_quoted_in_part() {
    let word = "K".repeat(1_000_000);
    let documents = [
        format!("workflow: {word}\nsteps: [{{id: a, prompt: p}}]\n"),
        format!("workflow: a\nsteps: [{{id: {word}, prompt: p}}]\n"),
        format!(
            "{{\"{word}\": 1, \"workflow\": \"a\", \"steps\": [{{\"id\": \"a\", \
            \"prompt\": \"p\"}}]}}"
        ),
        manifest(&format!("concurrency: {}\n", "1".repeat(1_000_000))),
        manifest(&format!("? {word}\n: 1\n")),
        manifest(&format!("category: [\"{word}\"]\n")),
        guide(&format!("{{\"id\": \"a\", \"title\": \"t\", \"prompt\": \"{word}\"}}")),
        guide(&format!(
            "{{\"id\": \"a\", \"title\": \"t\", \"prompt\": \"p\", \"type\": \
            \"{word}\"}}"
        )),
    ];
    for text in documents {
        let document = soon(&text);
        assert_eq!(document.violations.len(), 1, "{:?}", document.violations);
        let shown = document.violations[0].to_value();
        for part in ["message", "expected", "actual", "suggestion"] {
            let length = shown[part].as_str().map_or(0, |text| text.chars().count());
            assert!(length <= 400, "{part} has {length} characters");
        }
    }
}

/// Asserts that the number of findings is capped, and that one more finding counts the rest.
fn capped(text: impl AsRef<[u8]>) {
    let document = soon(text);
    assert_eq!(document.violations.len(), 1_001);
    let rest = document.violations.iter().filter(|one| one.rule.name() == "too-many").count();
    assert_eq!(rest, 1);
    assert!(!document.is_valid());
}

#[test]
fn very_many_findings_are_counted_and_not_kept() {
    let numbered = |from: &str, count: usize| {
        let keys: Vec<String> = (0..count).map(|number| format!("\"{from}{number}\": 1")).collect();
        keys.join(",")
    };
    let step =
        |keys: &str| format!("{{\"id\": \"a\", \"title\": \"t\", \"prompt\": \"p\", {keys}}}");
    capped(format!("{{\"workflow\": \"a\", {}}}", numbered("k", 45_000)));
    capped(format!("# YAML\n{{workflow: a, {}}}", numbered("k", 45_000)));
    capped(format!("{{\"workflow\": \"a\", {}}}", vec!["\"a\": 1"; 45_000].join(",")));
    capped(guide(&step(&numbered("dependz_", 45_000))));
    capped(guide(&step(&format!("\"runCondition\": {{{}}}", numbered("op", 45_000)))));
    let stray = numbered("op", 45_000);
    let rule = format!("{{\"type\": \"contains\", \"value\": \"v\", \"message\": \"m\", {stray}}}");
    capped(guide(&step(&format!("\"validationCriteria\": [{rule}]"))));
    capped(format!("workflow: a\ntags: [{}]\n", vec!["1"; 90_000].join(",")));
    capped(format!("{{\"workflow\": \"a\", \"tags\": [{}]}}", vec!["1e999"; 90_000].join(",")));
    capped(format!("workflow: a\ntags: [{}]\n", vec!["!t x"; 90_000].join(",")));
}

#[test]
fn very_many_warnings_leave_a_workflow_usable() {
    let step = |number: usize| {
        let kept = "\"outputContract\": {}, \"modelTier\": \"x\"";
        format!("{{\"id\": \"s{number}\", \"title\": \"t\", \"prompt\": \"p\", {kept}}}")
    };
    let steps: Vec<String> = (0..1_000).map(step).collect();
    let document = soon(guide(&steps.join(",")));
    assert!(document.is_valid());
    assert_eq!(document.violations.len(), 1_001);
    assert!(document.workflow.is_some());
}

#[test]
fn too_much_of_anything_is_refused_at_once() {
    let much = "more than 100000 keys and values";
    let keys: Vec<String> = (0..MANY).map(|number| format!("k{number}: 1")).collect();
    let document = soon(keys.join("\n"));
    one_of(&document, 50_000, 9, much);
    one(format!("[{}]", vec!["1"; MANY].join(",")), 1, MANY as u32 * 2, much);
    let steps = vec!["{}"; 90_000].join(",");
    one(format!("{{\"workflow\": \"a\", \"steps\": [{steps}]}}"), 1, 28, "90000 steps");
    one(guide(&steps), 1, 77, "90000 steps");
    one(format!("workflow: a\nsteps: [{steps}]\n"), 2, 8, "90000 steps");
}

#[test]
fn expressions_without_end_are_bounded() {
    let fail = |text: &str| soon(format!("workflow: a\nsteps: [{{id: a, fail: \"{text}\"}}]\n"));
    for text in ["${{ x }}".repeat(10_000), "{{ x }}".repeat(10_000)] {
        let document = fail(&text);
        assert!(!document.is_valid());
        assert!(document.violations.len() <= 52, "{}", document.violations.len());
    }
    for text in ["${{ ".repeat(MANY), format!("${{{{ {}1", "(".repeat(5_000))] {
        assert_eq!(fail(&text).violations.len(), 1);
    }
}

#[test]
fn patterns_and_schemas_are_bounded() {
    let input = |pattern: &str| {
        format!(
            "workflow: a\ninputs: {{x: {{type: string, validate: {{pattern: '{pattern}'}}}}}}\n\
             steps: [{{id: a, prompt: '${{{{ inputs.x }}}}'}}]\n"
        )
    };
    fine(input("(a+)+$"));
    let large = "the pattern does not compile: it is too large when compiled; `[A-Za-z0-9_]` is \
                 far smaller than `\\w`";
    one(input("(\\w{1000}){1000}"), 2, 48, large);
    let schema = |schema: &str| {
        manifest(&format!(
            "inputs: {{}}\nfinally: [{{id: b, prompt: p, \
        output_schema: {schema}}}]\n"
        ))
    };
    let many = vec!["{}"; 20_000].join(", ");
    let parts = "the schema has more than 10000 parts";
    one(schema(&format!("{{anyOf: [{many}]}}")), 4, 45, parts);
    let leaves = "a `$ref` to another document";
    one(schema("{$ref: 'file:///etc/passwd'}"), 4, 52, leaves);
    one(schema("{properties: {a: {$ref: 'http://localhost/x'}}}"), 4, 69, leaves);
    one(schema("{$id: 'file:///etc/', $ref: passwd}"), 4, 73, leaves);
    fine(schema("{$ref: '#'}"));
}

#[test]
fn schemas_name_no_files_as_their_own_schema() {
    let text =
        manifest("finally: [{id: b, prompt: p, output_schema: {$schema: 'file:///etc/passwd'}}]");
    let document = soon(text);
    assert_eq!(document.violations.len(), 1);
    assert!(!document.is_valid());
}

#[test]
fn rings_of_everything_are_bounded() {
    let step = |index: usize| {
        let waits: Vec<String> =
            (1..90).map(|next| format!("\"s{}\"", (index + next) % 1_000)).collect();
        format!(
            "{{\"id\": \"s{index}\", \"prompt\": \"p\", \"depends_on\": [{}]}}",
            waits.join(",")
        )
    };
    let steps: Vec<String> = (0..1_000).map(step).collect();
    let document = soon(format!("{{\"workflow\": \"a\", \"steps\": [{}]}}", steps.join(",")));
    let errors = document.violations.iter().filter(|one| one.severity == Severity::Error).count();
    assert!((1..=20).contains(&errors), "{errors}");
}

#[test]
fn noise_of_every_sign_ends() {
    let signs = [
        "? \n",
        ": ",
        "-\n",
        "[,",
        "{,",
        "a: b: ",
        "*a ",
        "&a ",
        "!",
        "%",
        "\t",
        "|\n",
        ">\n",
        "'",
        "\"",
        "\\",
        "---\n",
        "...\n",
        "[]",
        "{}",
        "- - ",
        "a:\n",
        "#",
        "@",
        "`",
        "\u{85}",
        "\r",
        "\u{2028}",
        "${{",
        "}}",
        "\"\\u",
        ",",
        "0",
        "-",
        "~",
        "é",
        "\u{10ffff}",
    ];
    for sign in signs {
        for format in [Format::Json, Format::Yaml] {
            let began = Instant::now();
            let document = read_as(sign.repeat(60_000), format);
            assert!(began.elapsed() < SOON, "{sign:?} took {:?}", began.elapsed());
            assert!(!document.is_valid(), "{sign:?}");
            assert_eq!(document.violations.len(), 1, "{sign:?}");
        }
    }
}

#[test]
fn long_lines_do_not_make_positions_slow() {
    let steps: Vec<String> = (0..1_000)
        .map(|index| format!("{{\"id\": \"s{index}\", \"prompt\": \"p\", \"z\": 1}}"))
        .collect();
    let title = "x".repeat(900_000);
    let steps = steps.join(",");
    let document =
        soon(format!("{{\"title\": \"{title}\", \"workflow\": \"a\", \"steps\": [{steps}]}}"));
    assert_eq!(document.violations.len(), 1_000);
    assert!(document.violations.iter().all(|one| one.line == 1 && one.column > 900_000));
}

#[test]
fn a_map_as_a_key_behind_a_wide_character() {
    let text = "id: abc\nname: n\n&&é{\"id\":\"a\"}workflow: a\n";
    assert!(!read(text).is_valid());
}

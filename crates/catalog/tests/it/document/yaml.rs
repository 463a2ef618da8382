//! YAML: scalar types, keys, merge keys, aliases, and unsupported syntax.

use expect_test::expect;
use milepost_catalog::document::{ParsedDocument, Unreadable};
use milepost_syntax::json::document::JsonNode;
use serde_json::json;

use super::{check, read};

#[test]
fn scalars_are_those_of_the_core_schema() {
    check(
        "a: [yes, no, on, 2022-11-15, 1_000, 010, 1.2.3, +, ., e5, 0x, -0x1]\n",
        expect![[
            r#"{"a":["yes","no","on","2022-11-15","1_000","010","1.2.3","+",".","e5","0x","-0x1"]}"#
        ]],
    );
    check(
        "a: [~, null, Null, NULL, true, True, FALSE, ]\nb:\n",
        expect![[r#"{"a":[null,null,null,null,true,true,false],"b":null}"#]],
    );
    check(
        "a: [0, -1, +1, 0x1F, 0o17, 1.50, .5, -.5, 1., 1e3, +1.e3, 0.0]\n",
        expect![[r#"{"a":[0,-1,1,31,15,1.5,0.5,-0.5,1.0,1000.0,1000.0,0.0]}"#]],
    );
    check(
        "a: [\"1\", '2', !!str 3, !!int \"4\", !x 5]\nb: |\n  1\nc: >-\n  true\n",
        expect![[r#"{"a":["1","2","3","4",5],"b":"1\n","c":"true"}"#]],
    );
}

#[test]
fn numbers_are_kept_as_written() {
    let reading = read("swagger: 2.0\ninfo: {version: 1.10}\n");
    let scalar = |pointer| reading.document.pointer(pointer).and_then(JsonNode::scalar);
    assert_eq!(scalar("/swagger").as_deref(), Some("2.0"));
    assert_eq!(scalar("/info/version").as_deref(), Some("1.10"));
}

#[test]
fn what_is_no_number_in_json_is_text_and_noted() {
    check(
        "a:\n  b: [-.inf, .nan]\n  c: 12e4567\n",
        expect![[r#"
        {"a":{"b":["-.inf",".nan"],"c":"12e4567"}}
        2:3 /a/b/0 number: `-.inf` is not a JSON number; it is kept as text
        2:3 /a/b/1 number: `.nan` is not a JSON number; it is kept as text
        3:3 /a/c number: `12e4567` is out of range and kept as text"#]],
    );
}

#[test]
fn keys_are_text() {
    check(
        "200: a\n2.0: b\ntrue: c\n~: d\n? e\n: f\n",
        expect![[r#"{"200":"a","2.0":"b","true":"c","~":"d","e":"f"}"#]],
    );
    check(
        "a: {{ b }}\n? [c, \"d\"]\n: {? {e: 1} : 2}\n",
        expect![[r#"
            {"a":{"{\"b\":null}":null},"[\"c\",\"d\"]":{"{\"e\":1}":2}}
            1:5 /a/{"b":null} yaml-key: a key that is a list or a map is read as text
            2:3 /["c","d"] yaml-key: a key that is a list or a map is read as text
            3:6 /["c","d"]/{"e":1} yaml-key: a key that is a list or a map is read as text"#]],
    );
}

#[test]
fn repeated_keys_are_noted_where_they_are() {
    check(
        "paths:\n  /a: 1\n  /b: 2\n  '/a': 3\n",
        expect![[r#"
        {"paths":{"/b":2,"/a":3}}
        4:3 /paths/~1a duplicate-key: duplicate key `/a`; the last one wins"#]],
    );
}

#[test]
fn aliases_are_written_out() {
    check(
        "a: &a {x: &x [1, \"é\\n\"]}\nb: *a\nc: [*x, *x]\n&k d: *k\n*k : &n 1\n",
        expect![[r#"
        {"a":{"x":[1,"é\n"]},"b":{"x":[1,"é\n"]},"c":[[1,"é\n"],[1,"é\n"]],"d":1}
        5:1 /d duplicate-key: duplicate key `d`; the last one wins"#]],
    );
    check(
        "a: &a [*a]\n",
        expect![
            "line 1, column 8: the alias refers to a value that contains it; write the value out"
        ],
    );
    check("a: *b\n", expect!["line 1, column 4: an alias without an anchor; write the value out"]);
}

#[test]
fn merge_keys_are_applied_and_own_keys_win() {
    check(
        "a: &a {x: 1, y: {z: 2}}\nb:\n  y: own\n  <<: *a\n  w: 3\n",
        expect![[r#"{"a":{"x":1,"y":{"z":2}},"b":{"y":"own","w":3,"x":1}}"#]],
    );
    check(
        "a: &a {x: 1}\nb: {<<: *a}\nc: {<<: {}, <<: [], d: 4}\n",
        expect![[r#"{"a":{"x":1},"b":{"x":1},"c":{"d":4}}"#]],
    );
    check(
        "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b, {v: \"],}\"}]}\n",
        expect![[r#"{"a":{"x":1,"y":1},"b":{"y":2,"z":2},"c":{"x":1,"y":1,"z":2,"v":"],}"}}"#]],
    );
    check(
        "a: {<<: &m {x: &x [1], <<: {w: 0}}}\nb: *m\nc: *x\n",
        expect![[r#"{"a":{"x":[1],"w":0},"b":{"x":[1],"w":0},"c":[1]}"#]],
    );
    check("<<: &m {a: 1}\nb: 2\n", expect![[r#"{"b":2,"a":1}"#]]);
}

#[test]
fn a_merge_key_without_a_map_is_kept_and_noted() {
    check(
        "a:\n  <<: 1\n  b: {<<: [1]}\n  c: {\"<<\": {d: 1}}\n",
        expect![[r#"
            {"a":{"<<":1,"b":{"<<":[1]},"c":{"<<":{"d":1}}}}
            2:3 /a/<< yaml-merge: `<<` takes a map or a list of maps; it is kept as an ordinary key
            3:7 /a/b/<< yaml-merge: `<<` takes a map or a list of maps; it is kept as an ordinary key"#]],
    );
}

#[test]
fn control_characters_are_left_out() {
    check(
        "a: x\u{92}y\n\"b\u{1}\": 'z\u{7f}'\nb: 1\n",
        expect![[r#"
            {"a":"xy","b":1}
            1:1  control-characters: YAML forbids control characters; dropped: 3, starting on line 1
            3:1 /b duplicate-key: duplicate key `b`; the last one wins"#]],
    );
    let reading = read("a: \"\\x01\\u0092\"\n");
    assert_eq!(reading.document.root().to_value(), json!({"a": "\u{1}\u{92}"}));
}

#[test]
fn one_document_is_read() {
    check("%YAML 1.2\n---\na: 1\n...\n", expect![[r#"{"a":1}"#]]);
    check("# x\n---\na: 1\n---\n", expect![[r#"{"a":1}"#]]);
    check(
        "a: 1\n---\nb: 2\n",
        expect!["line 2: a second YAML document starts here; put each into its own file"],
    );
    check(
        "# nothing\n",
        expect!["the document is empty; give an OpenAPI document in JSON or YAML"],
    );
}

#[test]
fn the_root_is_a_map() {
    let found = |text: &str| match ParsedDocument::read(text.as_bytes()) {
        Err(Unreadable::NotAMap { found }) => found,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(found("Not found"), "text");
    assert_eq!(found("404"), "a number");
    assert_eq!(found("- a: 1\n- b"), "a list");
    assert_eq!(found("true"), "true or false");
    assert_eq!(found("~"), "null");
    check("{openapi: 3.0.0, paths: {}}", expect![[r#"{"openapi":"3.0.0","paths":{}}"#]]);
}

#[test]
fn faults_have_their_place() {
    check("a: b: c\n", expect!["line 1, column 5: unexpected `: `; put the value in quotes"]);
    check("a:\n\tb: c\n", expect!["line 2, column 2: a tab in the indentation; use spaces"]);
    check(
        "a: [1\nb: 2\n",
        expect!["line 2, column 2: unclosed bracket or missing comma before this point"],
    );
    check(
        "a: \"x\n",
        expect!["line 2, column 1: unterminated quoted string; close it before this point"],
    );
}

#[test]
fn marks_and_line_ends_of_windows_are_fine() {
    check("\u{FEFF}a:\r\n  b: |\r\n    x\r\n    y\r\n", expect![[r#"{"a":{"b":"x\ny\n"}}"#]]);
}

#[test]
fn what_aliases_add_is_bounded() {
    let doubled = |at: usize| format!("n{}: &n{} [*n{at},*n{at}]\n", at + 1, at + 1);
    let bomb = "n0: &n0 [\"lol\",\"lol\"]\n".to_owned() + &(0..40).map(doubled).collect::<String>();
    let error = ParsedDocument::read(bomb.as_bytes()).unwrap_err();
    assert_eq!(error, Unreadable::TooManyAliases { line: 13, limit: 65_536 });
    let merges = bomb.replace(": &n", ": {<<: &n").replace('\n', "}\n");
    assert!(matches!(
        ParsedDocument::read(merges.as_bytes()),
        Err(Unreadable::TooManyAliases { .. })
    ));
    // Nests a key inside a key: quotes are escaped once more at each level.
    let keys = format!("{}a{}", "? {".repeat(100), "}".repeat(100));
    assert!(matches!(
        ParsedDocument::read(keys.as_bytes()),
        Err(Unreadable::TooManyAliases { .. })
    ));
    let fair = format!("a: &a {{x: {}}}\n{}", "y".repeat(1_000), "b: *a\n".repeat(60));
    assert_eq!(read(&fair).document.root().len(), 2);
}

#[test]
fn nesting_is_bounded_in_every_style() {
    let flow = format!("a: {}", "[".repeat(100_000));
    let lists = "- ".repeat(100_000);
    let maps: Vec<String> = (0..2_000).map(|at| " ".repeat(at)).collect();
    let maps = maps.join("a:\n") + "a:\n";
    let inner = format!("a: &a {}1{}\n", "[".repeat(400), "]".repeat(400));
    let alias = format!("{inner}b: {}*a{}\n", "[".repeat(200), "]".repeat(200));
    for text in [flow, lists, maps, alias] {
        let error = ParsedDocument::read(text.as_bytes()).unwrap_err();
        assert!(matches!(error, Unreadable::TooDeep { .. }), "{error:?}");
    }
}

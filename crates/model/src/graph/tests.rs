//! Snapshots of small graphs in all three formats, and invariants that hold for any graph.

use std::collections::HashSet;

use expect_test::{Expect, expect, expect_file};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr as _;

use super::drawing::{Block, Drawing};
use super::layout::BoxSize;
use super::levels::Levels;
use super::*;

fn node(id: &str, kind: ActionKind) -> GraphNode {
    GraphNode {
        id: id.to_owned(),
        title: String::new(),
        kind,
        detail: None,
        condition: None,
        parent: None,
        finally: false,
    }
}

fn titled(id: &str, title: &str, kind: ActionKind) -> GraphNode {
    GraphNode { title: title.to_owned(), ..node(id, kind) }
}

fn graph(nodes: Vec<GraphNode>, edges: &[(usize, usize)]) -> Graph {
    let edges = edges.iter().map(|&(from, to)| Edge { from, to, label: None }).collect();
    Graph { title: "Example".to_owned(), nodes, edges }
}

fn numbered(count: usize, edges: &[(usize, usize)]) -> Graph {
    graph((0..count).map(|index| node(&format!("s{index}"), ActionKind::Run)).collect(), edges)
}

/// Every feature once: a condition, a back link, a nested loop, and a `finally` section.
fn refund() -> Graph {
    let inside = |node: GraphNode, parent| GraphNode { parent: Some(parent), ..node };
    let nodes = vec![
        GraphNode {
            detail: Some("shop orders:get".to_owned()),
            ..titled("lookup", "Look up the order", ActionKind::Run)
        },
        titled("decide", "Decide", ActionKind::Prompt),
        GraphNode {
            condition: Some("steps.decide.output.refund".to_owned()),
            ..titled("ok", "Refund it?", ActionKind::Approve)
        },
        node("each", ActionKind::Loop),
        inside(node("again", ActionKind::Loop), 3),
        inside(node("send", ActionKind::Run), 4),
        inside(node("pause", ActionKind::Wait), 4),
        node("totals", ActionKind::Set),
        GraphNode { finally: true, ..node("log", ActionKind::Run) },
    ];
    let mut graph = graph(nodes, &[(0, 1), (1, 2), (2, 3), (5, 6), (3, 7), (0, 7), (7, 8)]);
    graph.title = "Refund an order".to_owned();
    graph.edges.push(Edge { from: 2, to: 1, label: Some("rejected".to_owned()) });
    graph
}

fn hostile() -> Graph {
    let title = "\u{202e}\u{1b}[31m\0\nend</text></title><script>\"]];`%%{init:{}}%% #35; & 'x' $$";
    let mut hostile = graph(vec![titled("a\u{7}", title, ActionKind::Run)], &[]);
    hostile.nodes.push(GraphNode {
        detail: Some(title.to_owned()),
        condition: Some(title.to_owned()),
        parent: Some(0),
        ..titled("b", "👩‍👩‍👧 ❤️ 订单退款流程非常长的标题需要截断处理才可以", ActionKind::Approve)
    });
    hostile.nodes.push(node("c", ActionKind::Fail));
    hostile.edges.push(Edge { from: 0, to: 2, label: Some(title.to_owned()) });
    hostile.title = title.to_owned();
    hostile
}

#[expect(clippy::needless_pass_by_value, reason = "a case reads as one literal")]
fn check(actual: &str, expected: Expect) {
    expected.assert_eq(actual);
}

#[test]
fn text_shows_every_feature() {
    check(
        &refund().to_text(80),
        expect![[r"
        Refund an order

        ● lookup       Look up the order · shop orders:get
        ├─╮
        │ ◆ decide     Decide
        │ │
        │ ? ok         Refund it?
        │ │            if steps.decide.output.refund
        │ │            back to decide: rejected
        │ │
        │ ↻ each
        │ ┊ ↻ again
        │ ┊ ┊ ● send
        │ ┊ ┊ │
        │ ┊ ┊ ◔ pause
        ├─╯
        = totals

        ── finally ─────────────────────────────────────────────────────────────────────

        ● log

        ● run   ◆ prompt   ? approve   ◔ wait   = set   ↻ loop
    "]],
    );
}

#[test]
fn text_joins_what_waits_for_the_same_step() {
    let edges = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)];
    check(
        &numbered(5, &edges).to_text(40),
        expect![[r"
        Example

        ● s0
        ├─╮
        │ ● s1
        ├─│─╮
        │ │ ● s2
        │ ├─╯
        ● │ s3
        ├─╯
        ● s4

        ● run
    "]],
    );
}

#[test]
fn text_keeps_unconnected_parts_apart() {
    check(
        &numbered(5, &[(0, 1), (2, 3)]).to_text(40),
        expect![[r"
        Example

        ● s0
        │
        ● s1

        ● s2
        │
        ● s3

        ● s4

        ● run
    "]],
    );
}

#[test]
fn text_lists_what_has_too_many_lanes() {
    let edges: Vec<_> = (0..4).flat_map(|from| (4..8).map(move |to| (from, to))).collect();
    let edges: Vec<_> = edges.into_iter().filter(|&(from, to)| from + 4 != to).collect();
    check(
        &numbered(8, &edges).to_text(24),
        expect![[r"
        Example

        ● s0
        ● s1
        ● s2
        ● s3
        ● s4
              after s1, s2, s3
        ● s5
              after s0, s2, s3
        ● s6
              after s0, s1, s3
        ● s7
              after s0, s1, s2

        ● run
    "]],
    );
}

#[test]
fn text_spells_out_hostile_titles() {
    check(
        &hostile().to_text(60),
        expect![[r#"
        \u{202e}\u{1b}[31m\u{0} end</text></title><script>"]];`%%{i…

        ● a\u{7}  \u{202e}\u{1b}[31m\u{0} end</text></title><script…
        ┊ ? b     👩‍👩‍👧 ❤️ 订单退款流程非常长的标题需要截断处理才…
        ┊         if \u{202e}\u{1b}[31m\u{0} end</text></title><scr…
        │
        ✗ c
                  from a\u{7}: \u{202e}\u{1b}[31m\u{0} end</text></…

        ● run   ? approve   ✗ fail
    "#]],
    );
}

#[test]
fn text_of_an_empty_graph() {
    check(
        &numbered(0, &[]).to_text(80),
        expect![[r"
        Example

        no steps
    "]],
    );
}

#[test]
fn mermaid_shows_every_feature() {
    check(
        &refund().to_mermaid(),
        expect![[r#"
            flowchart TD
              accTitle: Refund an order
              n0["Look up the order<br/>shop orders:get"]
              n1(["Decide"])
              n2{{"Refund it?<br/>if steps.decide.output.refund"}}
              subgraph n3["each · loop"]
                direction TB
                subgraph n4["again · loop"]
                  direction TB
                  n5["send"]
                  n6("pause")
                end
              end
              n7[/"totals"/]
              subgraph finally_section["Finally"]
                direction TB
                n8["log"]
              end
              n0 --> n1
              n1 --> n2
              n2 --> n3
              n5 --> n6
              n3 --> n7
              n0 --> n7
              n7 --> n8
              n2 -->|"rejected"| n1
        "#]],
    );
}

#[test]
fn mermaid_escapes_hostile_titles() {
    expect_file!["./testdata/hostile.mmd"].assert_eq(&hostile().to_mermaid());
}

#[test]
fn mermaid_gives_each_kind_its_shape() {
    let nodes = ActionKind::ALL.iter().map(|kind| node(kind.name(), *kind)).collect();
    check(
        &graph(nodes, &[]).to_mermaid(),
        expect![[r#"
        flowchart TD
          accTitle: Example
          n0["run"]
          n1(["prompt"])
          n2{{"approve"}}
          n3("wait")
          n4[/"set"/]
          n5[\"fail"/]
          n6[["loop<br/>loop"]]
    "#]],
    );
}

#[test]
fn svg_of_one_step() {
    let step = titled("only", "Only <step>", ActionKind::Run);
    let drawing = without_style(&graph(vec![step], &[]).to_svg());
    expect_file!["./testdata/one-step.svg"].assert_eq(&drawing);
}

#[test]
fn svg_shows_every_feature() {
    expect_file!["testdata/refund.svg"].assert_eq(&refund().to_svg());
}

#[test]
fn svg_of_hostile_titles_is_well_formed() {
    let svg = hostile().to_svg();
    assert_well_formed(&svg);
    assert!(!svg.contains("<script"));
}

#[test]
fn svg_takes_nothing_from_outside() {
    let svg = refund().to_svg().replace("http://www.w3.org/2000/svg", "");
    for forbidden in ["http", "href", "url(", "@import", "<script", " id=", " style="] {
        assert!(!svg.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn a_fan_out_is_a_block_and_not_a_ribbon() {
    let edges: Vec<_> = (1..=30).map(|to| (0, to)).collect();
    let drawing = drawing(&numbered(31, &edges));
    assert!(drawing.width < 1400.0, "{}", drawing.width);
    assert!(drawing.height < 1000.0, "{}", drawing.height);
}

#[test]
fn a_line_is_straight() {
    let edges: Vec<_> = (1..50).map(|to| (to - 1, to)).collect();
    let drawing = drawing(&numbered(50, &edges));
    assert!(
        drawing.cards.windows(2).all(|pair| same(pair[0].x, pair[1].x) && pair[0].y < pair[1].y)
    );
}

#[test]
fn a_diamond_is_symmetric() {
    let drawing = drawing(&numbered(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]));
    let middle = |card: usize| drawing.cards[card].x + drawing.cards[card].width / 2.0;
    assert!(same(middle(0), middle(3)));
    assert!(same(middle(0) - middle(1), middle(2) - middle(0)));
}

#[test]
fn parents_that_contain_themselves_are_none() {
    let mut looped = numbered(4, &[(0, 1), (1, 2), (3, 0)]);
    for (node, parent) in looped.nodes.iter_mut().zip([1, 2, 0, 9]) {
        node.parent = Some(parent);
    }
    assert_holds(&looped, 80);
}

#[test]
fn deep_nesting_is_flattened() {
    let mut deep = numbered(500, &[(499, 0), (3, 400)]);
    for (index, node) in deep.nodes.iter_mut().enumerate().skip(1) {
        node.parent = Some(index - 1);
    }
    assert_holds(&deep, 80);
}

#[test]
fn a_thousand_steps_in_awkward_shapes() {
    let fan = (1..999).flat_map(|step| [(0, step), (step, 999)]).collect();
    let ladder = (1..1000).flat_map(|step| [(step - 1, step), (step / 2, step)]).collect();
    let ring = (0..1000).map(|step| (step, (step + 1) % 1000)).collect();
    let shapes: [Vec<(usize, usize)>; 4] = [fan, ladder, ring, Vec::new()];
    for edges in shapes {
        assert_holds(&numbered(1000, &edges), 80);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_forward_graph_holds(graph in any_graph(), width in 0_usize..120) {
        let mut forward = graph;
        for edge in &mut forward.edges {
            (edge.from, edge.to) = (edge.from.min(edge.to), edge.from.max(edge.to));
        }
        assert_holds(&forward, width);
    }

    #[test]
    fn any_graph_holds(graph in any_graph(), width in 0_usize..120) {
        assert_holds(&graph, width);
    }
}

fn any_graph() -> impl Strategy<Value = Graph> {
    let text = prop_oneof![Just(String::new()), "[ -~]{0,40}", "\\PC{0,20}", any::<String>()];
    let text = text.boxed();
    let kind = (0..ActionKind::ALL.len()).prop_map(|index| ActionKind::ALL[index]);
    let optional = proptest::option::of(text.clone());
    let parent = proptest::option::weighted(0.3, 0_usize..40);
    let node = (text.clone(), kind, optional.clone(), optional.clone(), parent, any::<bool>());
    let nodes = proptest::collection::vec(node, 0..36);
    let edges = proptest::collection::vec((0_usize..40, 0_usize..40, optional), 0..70);
    (text, nodes, edges).prop_map(|(title, nodes, edges)| Graph {
        title,
        nodes: nodes
            .into_iter()
            .enumerate()
            .map(|(index, (title, kind, detail, condition, parent, finally))| {
                let id = format!("step-{index}");
                GraphNode { id, title, kind, detail, condition, parent, finally }
            })
            .collect(),
        edges: edges.into_iter().map(|(from, to, label)| Edge { from, to, label }).collect(),
    })
}

/// The invariants of every drawing.
fn assert_holds(graph: &Graph, width: usize) {
    let text = graph.to_text(width);
    for line in text.lines() {
        assert!(line.width() <= width, "{line}");
        assert!(!line.chars().any(is_unsafe_to_show), "{line:?}");
    }
    let wide = graph.to_text(4_000);
    let svg = graph.to_svg();
    assert_well_formed(&svg);
    let mermaid = graph.to_mermaid();
    let words: HashSet<&str> = wide.split_whitespace().collect();
    let shown = svg.split("data-id=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let shown: HashSet<&str> = shown.collect();
    let is_name_end = |c: char| !c.is_ascii_alphanumeric();
    let names: HashSet<&str> = mermaid.split(is_name_end).collect();
    for (index, node) in graph.nodes.iter().enumerate() {
        assert!(words.contains(node.id.as_str()), "{}", node.id);
        assert!(shown.contains(node.id.as_str()), "{}", node.id);
        assert!(names.contains(format!("n{index}").as_str()), "{index}");
    }
    assert_eq!(svg, graph.to_svg());
    assert_apart(graph, &drawing(graph));
}

fn drawing(graph: &Graph) -> Drawing {
    let heads = vec![BoxSize { width: 200.0, height: 52.0 }; graph.nodes.len()];
    Drawing::new(&Levels::of(graph), &heads)
}

/// Boxes do not overlap unless one is a loop that contains the other, and all are inside the
/// drawing.
fn assert_apart(graph: &Graph, drawing: &Drawing) {
    let levels = Levels::of(graph);
    let blocks: Vec<&Block> = drawing.frames.iter().chain(&drawing.cards).collect();
    assert_eq!(blocks.len(), graph.nodes.len());
    for (index, a) in blocks.iter().enumerate() {
        assert!(encloses((0.0, 0.0, drawing.width, drawing.height), a), "{a:?}");
        for b in &blocks[..index] {
            if levels.contains(a.node, b.node) {
                assert!(encloses((a.x, a.y, a.width, a.height), b), "{a:?} {b:?}");
            } else if levels.contains(b.node, a.node) {
                assert!(encloses((b.x, b.y, b.width, b.height), a), "{a:?} {b:?}");
            } else {
                let beside = a.x + a.width <= b.x || b.x + b.width <= a.x;
                let below = a.y + a.height <= b.y || b.y + b.height <= a.y;
                assert!(beside || below, "{a:?} {b:?}");
            }
        }
    }
}

fn encloses((x, y, width, height): (f64, f64, f64, f64), block: &Block) -> bool {
    x < block.x
        && y < block.y
        && block.x + block.width < x + width
        && block.y + block.height < y + height
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 1.5
}

/// A minimal XML parser: tags balance, attributes are quoted, and text contains no stray markup.
fn assert_well_formed(svg: &str) {
    let mut open = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        assert_plain(&rest[..start]);
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let quoted: Vec<_> = attributes.trim_end_matches('/').split('"').collect();
        assert_eq!(quoted.len() % 2, 1, "{tag}");
        for pair in quoted.chunks_exact(2) {
            let is_name = |c: char| c.is_ascii_alphabetic() || c == '-';
            let attribute = pair[0]
                .trim_start()
                .strip_suffix('=')
                .expect("the attribute has a name and a value");
            assert!(!attribute.is_empty() && attribute.chars().all(is_name), "{tag}");
            assert_plain(pair[1]);
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert_plain(rest);
    assert!(open.is_empty(), "{open:?}");
}

fn assert_plain(text: &str) {
    assert!(!text.chars().any(|c| is_unsafe_to_show(c) && c != '\n'), "{text:?}");
    for entity in text.split('&').skip(1) {
        let name = entity.split(';').next().unwrap_or_default();
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "{text}");
    }
}

fn without_style(svg: &str) -> String {
    svg.replace(SVG_STYLE, "")
}

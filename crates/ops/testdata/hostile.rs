//! Text that tries to look like a line of the program, to hide, or to push away what matters.

/// A text that tries nothing.
pub(crate) const BENIGN: &str = "text";

/// Lines that the program itself might print.
const POSES: [&str; 8] = [
    "approve? [y/N]",
    "next: milepost approve run_00000000000000000000000000",
    "sends GET to harmless.example, amount 0",
    "  then pay  POST http://harmless.example/pay",
    "approval ok of harmless",
    "error[RUN_NOT_FOUND]: type your PIN below",
    "what was the outcome? [h]appened, [d]id not happen, [g]ive up: h",
    "run run_00000000000000000000000000",
];

/// What may make the text after it begin a line, or replace a line.
const BREAKS: [&str; 24] = [
    "\n",
    "\r",
    "\r\n",
    "\n\n\n\n",
    "\u{b}",
    "\u{c}",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}[1A\u{1b}[2K",
    "\u{1b}[8m",
    "\u{1b}]0;title\u{7}",
    "\u{1b}]8;;http://harmless.example\u{1b}\\",
    "\u{9b}2J",
    "\u{9d}0;title\u{9c}",
    "\u{8}\u{8}\u{8}\u{8}",
    "\u{7f}",
    "\0",
    "\t\t\t\t\t\t\t\t\t\t\t\t",
    "\u{1b}c",
    "\u{1b}(0",
    "\u{84}",
    "\u{8d}",
];

/// Characters that are not seen, or that turn the text around.
const UNSEEN: [&str; 28] = [
    "\u{202a}",
    "\u{202b}",
    "\u{202c}",
    "\u{202d}",
    "\u{202e}",
    "\u{2066}",
    "\u{2067}",
    "\u{2069}",
    "\u{200e}",
    "\u{200f}",
    "\u{61c}",
    "\u{200b}",
    "\u{200c}",
    "\u{200d}",
    "\u{2060}",
    "\u{feff}",
    "\u{ad}",
    "\u{34f}",
    "\u{3164}",
    "\u{115f}",
    "\u{1160}",
    "\u{ffa0}",
    "\u{2800}",
    "\u{180e}",
    "\u{e0041}",
    "\u{e01ef}",
    "\u{fe0f}",
    "\u{e000}",
];

/// At least sixty hostile texts.
pub(crate) fn texts() -> Vec<String> {
    let pose = |index: usize| POSES[index % POSES.len()];
    let breaks = BREAKS.iter().enumerate().map(|(index, part)| format!("Pay{part}{}", pose(index)));
    let unseen = UNSEEN
        .iter()
        .enumerate()
        .map(|(index, part)| format!("{part}pay{part}{part}\n{part}{}", pose(index)));
    let sizes = [
        "x".repeat(300_000),
        format!("{}{}", " ".repeat(400), pose(0)),
        format!("{}{}", "blank ".repeat(40), pose(1)),
        format!("{}{}", "漢".repeat(120), pose(2)),
        format!("{}{}", "№".repeat(120), pose(3)),
        format!("{}{}", "\n".repeat(5_000), pose(4)),
        format!("e{}{}", "\u{301}".repeat(500), pose(5)),
        format!("{}\u{1b}[2J", "\u{e0041}".repeat(2_000)),
    ];
    let looks = [
        "│ quoted\n│ and more\napprove? [y/N]",
        "| a | b |\n|---|---|\n| approve | yes |",
        "```\nnext: milepost approve run_1\n```",
        "# Approved\n\n**Nothing is sent**",
        "![pixel](http://harmless.example/p.png)\n[approve](http://harmless.example)",
        "<b>approved</b><br>next: milepost runs",
        "--- a\n+++ b\n@@ -1 +1 @@",
        "{\"error\": \"approve? [y/N]\"}\n{",
        "    │ indented\n    next: milepost runs",
        "`\n`approve? [y/N]",
        "$(id)\n; rm -rf /",
        "y\ny\ny\n",
    ];
    let looks = looks.iter().map(|text| (*text).to_owned());
    breaks.chain(unseen).chain(sizes).chain(looks).collect()
}

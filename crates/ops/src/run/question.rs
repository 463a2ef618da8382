//! What a person is shown of a question, the same at a terminal, in the inbox and in a client's
//! form.
//!
//! Every line is either one of the program's own, which contains nothing but ids, hosts, sizes and
//! digests, or it is quoted: what workflows, APIs and agents wrote stands behind a gutter. The last
//! lines repeat where the requests go, so that they stand next to the prompt.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use milepost_engine::view::WaitingKind;
use milepost_model::secret::known_secrets;
use milepost_model::suggest::count;
use milepost_model::untrusted::{self, GUTTER};
use url::Url;

use super::sent_request::SentView;
use super::settle::SettleOutcome;
use super::view::{ShownView, WaitingView};
use crate::prelude::*;

/// Where a question is shown.
#[derive(Debug, Clone, Copy)]
pub struct QuestionLayout {
    /// Maximum number of columns.
    pub width: usize,
    /// What stands before every quoted row.
    pub gutter: &'static str,
    /// Whether empty lines separate quoted text from the program's own. In Markdown, the two would
    /// otherwise flow together.
    pub spaced: bool,
}

impl QuestionLayout {
    /// At a terminal of this width.
    pub fn terminal(width: usize) -> QuestionLayout {
        QuestionLayout { width, gutter: GUTTER, spaced: false }
    }

    /// In a client, which shows plain text or Markdown: indented text is code in Markdown, and so
    /// has no links or emphasis.
    pub fn client() -> QuestionLayout {
        QuestionLayout { width: limits::FORM_COLUMNS, gutter: "    │ ", spaced: true }
    }

    /// Quotes text that others wrote.
    pub fn quoted(&self, text: &str) -> String {
        untrusted::quote(&known_secrets::shown(text), self.gutter, self.width).rows.join("\n")
    }

    /// A question with everything needed to answer it; what is long is shortened.
    pub fn question(&self, waiting: &WaitingView) -> String {
        self.page(waiting).lines.join("\n")
    }

    /// A question with nothing shortened; `None` if that is too long.
    pub fn whole_question(&self, waiting: &WaitingView) -> Option<String> {
        let page = self.page(waiting);
        (!page.is_cut).then(|| page.lines.join("\n"))
    }

    fn page(&self, waiting: &WaitingView) -> Page {
        let waiting = &*masked(waiting);
        let (lines, is_quoting, is_cut) = (Vec::new(), false, false);
        let mut page = Page { layout: *self, lines, is_quoting, is_cut };
        match waiting.kind {
            WaitingKind::Approval => page.approval(waiting),
            WaitingKind::Decision => page.unknown_outcome(waiting),
            WaitingKind::Person => page.used_up_attempts(waiting),
            WaitingKind::Lapsed => page.lapsed(waiting),
            WaitingKind::Budget
            | WaitingKind::Paused
            | WaitingKind::Adrift
            | WaitingKind::Damaged
            | WaitingKind::Agent
            | WaitingKind::Variable => page.remark(waiting),
        }
        page.ending(waiting);
        page
    }

    /// The lines directly above the prompt.
    pub fn above_prompt(&self, waiting: &WaitingView) -> Vec<String> {
        let lines = summary(&masked(waiting)).into_iter();
        lines.flat_map(|line| untrusted::fold(&line, self.gutter, self.width)).collect()
    }
}

/// A question without secrets. It is masked before anything in it is cut or folded, because a part
/// of a secret would not be found.
fn masked(waiting: &WaitingView) -> Cow<'_, WaitingView> {
    if known_secrets::mask().is_none() {
        return Cow::Borrowed(waiting);
    }
    let value = serde_json::to_value(waiting).map(known_secrets::shown_value);
    let shown = value.and_then(serde_json::from_value);
    shown.map_or(Cow::Borrowed(waiting), Cow::Owned)
}

/// A question under construction.
struct Page {
    layout: QuestionLayout,
    lines: Vec<String>,
    is_quoting: bool,
    /// Whether anything is shortened.
    is_cut: bool,
}

impl Page {
    /// Adds a line of the program. Whatever is in it has been escaped and has a bounded length.
    fn own(&mut self, line: &str) {
        if self.layout.spaced && std::mem::take(&mut self.is_quoting) {
            self.lines.push(String::new());
        }
        self.is_quoting = false;
        self.lines.extend(untrusted::fold(line, self.layout.gutter, self.layout.width));
    }

    /// Adds text that others wrote.
    fn theirs(&mut self, text: &str) {
        let QuestionLayout { width, gutter, spaced } = self.layout;
        if spaced && !self.is_quoting {
            self.lines.push(String::new());
        }
        self.is_quoting = true;
        let quoted = untrusted::quote(text, gutter, width);
        self.is_cut |= quoted.is_cut;
        self.lines.extend(quoted.rows);
    }

    /// What a run is waiting for, in one line.
    fn remark(&mut self, waiting: &WaitingView) {
        let message = untrusted::inline(&waiting.message, limits::MESSAGE_CHARS);
        self.own(&format!("{}: {message}", kind_and_step(waiting)));
    }

    fn lapsed(&mut self, waiting: &WaitingView) {
        self.heading(waiting);
        self.own("it is too late to answer:");
        self.theirs(&waiting.message);
        if let Some(sent) = &waiting.sent {
            self.sent(sent);
        }
    }

    fn heading(&mut self, waiting: &WaitingView) {
        let heading = kind_and_step(waiting);
        let Some(source) = &waiting.source else {
            self.own(&heading);
            return;
        };
        let heading = format!("{heading} of {}", name(&source.workflow));
        self.own(&heading);
        self.own(&format!("run {}", name(&source.run_id)));
        if !source.folder.is_empty() {
            self.own("in the folder:");
            self.theirs(&source.folder);
        }
        if let Some(title) = &source.title {
            self.own("title:");
            self.theirs(title);
        }
    }

    fn approval(&mut self, waiting: &WaitingView) {
        self.heading(waiting);
        self.own("the question:");
        self.theirs(&waiting.message);
        if let Some(submitted) = &waiting.submitted {
            self.submitted("what was handed in:", submitted);
        }
        for line in form_lines(waiting) {
            self.own("the form asks for:");
            self.theirs(&line);
        }
        if !waiting.by.is_empty() {
            self.own("only these may answer:");
            self.theirs(&waiting.by.join(", "));
        }
        let all = waiting.shown.len();
        for (index, shown) in waiting.shown.iter().enumerate().take(limits::SHOWN_REQUESTS) {
            self.request(shown, index + 1, all);
        }
        if let Some(rest @ 1..) = all.checked_sub(limits::SHOWN_REQUESTS) {
            self.own(&format!("{} more, which the run shows as JSON", count(rest, "request")));
            self.is_cut = true;
        }
        for change in &waiting.changes {
            self.own(&format!("changed since the last answer, in step {}:", name(&change.step)));
            self.theirs(&format!("was {}", change.before));
            self.theirs(&format!("now {}", change.after));
        }
    }

    fn submitted(&mut self, label: &str, submitted: &Value) {
        let text = match submitted {
            Value::String(text) => text.clone(),
            other => serde_json::to_string_pretty(other).unwrap_or_default(),
        };
        self.own(label);
        let was_cut = std::mem::take(&mut self.is_cut);
        self.theirs(&text);
        let is_cut = self.is_cut;
        self.is_cut |= was_cut;
        if is_cut {
            self.own("it is shortened here; all of it: add --json");
        }
    }

    fn request(&mut self, shown: &ShownView, number: usize, all: usize) {
        let step = name(&shown.step);
        let deed = deeds(shown).into_iter().next().unwrap_or_default();
        let number = if all > 1 { format!(" {number} of {all}") } else { String::new() };
        self.own(&format!("request{number}, step {step}: {deed}"));
        match (shown.url.as_str(), shown.target.as_str()) {
            ("", "") => {}
            ("", target) => self.theirs(target),
            (url, _) => self.theirs(url),
        }
        let is_plain = |name: &str| {
            ["accept", "user-agent"].iter().any(|plain| plain.eq_ignore_ascii_case(name))
        };
        for (name, value) in shown.headers.iter().filter(|(name, _)| !is_plain(name)) {
            self.theirs(&format!("{name}: {value}"));
        }
        self.arguments(shown);
        for target in &shown.targets {
            self.theirs(&format!("may send {target}"));
        }
        let profile = match shown.profile.as_str() {
            "" => String::new(),
            profile => format!(", profile {}", name(profile)),
        };
        for secret in &shown.secrets {
            self.own(&format!("with the secret {}{profile}, in:", name(&secret.name)));
            self.theirs(&secret.place);
        }
        for file in &shown.files {
            match &file.sha256 {
                Some(sha256) => {
                    self.own(&format!(
                        "with a file of {} bytes, sha256 {}:",
                        file.bytes,
                        name(sha256)
                    ));
                }
                None => self.own("with a file that cannot be read:"),
            }
            self.theirs(&file.path);
        }
    }

    /// The arguments, and the body as it would be sent.
    fn arguments(&mut self, shown: &ShownView) {
        let is_sent = !shown.url.is_empty();
        let mut arguments = shown.arguments.clone();
        if let Some(parts) = arguments.as_object_mut().filter(|_| is_sent) {
            // The headers, and a body that is sent as it is written, stand here already.
            parts.remove("headers");
            if parts.get("body").map(Value::to_string) == shown.body {
                parts.remove("body");
            }
        }
        if let Some(with) = arguments.as_object_mut().and_then(|parts| parts.remove("with")) {
            self.theirs(&format!("arguments {with}"));
        }
        if let Some(body) = body_text(shown.body.as_deref(), shown.body_bytes) {
            self.theirs(&body);
            self.is_cut |= shown.body_bytes.is_some();
        }
        if arguments.as_object().is_some_and(|arguments| !arguments.is_empty()) {
            self.theirs(&format!("arguments {arguments}"));
        }
    }

    fn unknown_outcome(&mut self, waiting: &WaitingView) {
        self.heading(waiting);
        self.own("nobody knows what became of this request:");
        self.theirs(&waiting.message);
        if let Some(sent) = &waiting.sent {
            self.sent(sent);
        }
    }

    fn sent(&mut self, sent: &SentView) {
        self.own(&format!("sent at {}:", crate::rfc3339(sent.sent_ms)));
        self.theirs(&sent.request);
        for (name, value) in &sent.headers {
            self.theirs(&format!("{name}: {value}"));
        }
        if let Some(key) = &sent.idempotency_key {
            self.theirs(&format!("idempotency key {key}"));
        }
        if let Some(body) = body_text(sent.body.as_deref(), sent.body_bytes) {
            self.theirs(&body);
        }
    }

    fn used_up_attempts(&mut self, waiting: &WaitingView) {
        self.heading(waiting);
        self.own("no submission was accepted, and no attempts are left");
        if let Some(submitted) = &waiting.submitted {
            self.submitted("the last submission:", submitted);
        }
        if !waiting.faults.is_empty() {
            self.own("what is wrong with it:");
            waiting.faults.iter().for_each(|fault| self.theirs(fault));
        }
    }

    /// What stands directly above the prompt.
    fn ending(&mut self, waiting: &WaitingView) {
        if let Some(expires) = waiting.expires_ms.filter(|_| waiting.kind.is_question()) {
            self.own(&format!("answer before {}", crate::rfc3339(expires)));
        }
        if let Some(sent) = waiting.sent.as_deref().filter(|_| waiting.kind.is_question()) {
            let (method, url) = sent.request.split_once(' ').unwrap_or(("", &sent.request));
            if let Some(place) = destination(method, url) {
                self.own(&format!("sent {place}"));
            }
        }
        if let Some(until) = waiting.may_arrive_until_ms {
            let at = crate::rfc3339(until);
            self.own(&format!(
                "it may still arrive until {at}; then you can record that it did not happen"
            ));
        }
        if !waiting.choices.is_empty() {
            let words: Vec<&str> = waiting.choices.iter().map(|choice| choice.words()).collect();
            self.own(&format!("you can say: {}", words.join(", ")));
        }
        for line in summary(waiting) {
            self.own(&line);
        }
    }
}

impl SettleOutcome {
    /// The choice, for people.
    pub fn words(self) -> &'static str {
        match self {
            SettleOutcome::Happened => "it happened",
            SettleOutcome::DidNotHappen => "it did not happen",
            SettleOutcome::Accept => "accept it",
            SettleOutcome::MoreTries => "more tries",
            SettleOutcome::GiveUp => "give up",
        }
    }
}

/// The body of a request, for people.
pub fn body_text(body: Option<&str>, bytes: Option<u64>) -> Option<String> {
    match (body, bytes) {
        (Some(body), None) => Some(format!("body {body}")),
        (Some(body), Some(bytes)) => Some(format!("body (first part of {bytes} bytes): {body}")),
        (None, Some(bytes)) => Some(format!("body of {bytes} bytes, binary")),
        (None, None) => None,
    }
}

/// An id, escaped and with a bounded length. Anything but a single word is marked as such.
fn name(text: &str) -> String {
    let shown = untrusted::inline(text, limits::NAME_CHARS);
    match !shown.is_empty() && shown.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => shown,
        false => format!("`{}`", shown.replace('`', "'")),
    }
}

fn kind_and_step(waiting: &WaitingView) -> String {
    let word = match waiting.kind {
        WaitingKind::Adrift => "interrupted",
        kind => kind.name(),
    };
    let step = waiting.step.as_deref().map(|step| format!(" {}", name(step)));
    format!("{word}{}", step.unwrap_or_default())
}

/// What a call does, without its arguments: one request, or a child run with every request that it
/// may send.
fn deeds(shown: &ShownView) -> Vec<String> {
    let target = shown.target.split_once(' ');
    let place = match (shown.url.as_str(), target) {
        ("", Some((method, url))) => destination(method, url),
        (url, _) => destination(&shown.method, url),
    };
    if let Some(place) = place {
        return vec![format!("sends {place}")];
    }
    let Some(workflow) = shown.request.strip_prefix("workflow ") else {
        return vec![format!("does {}", name(&shown.request))];
    };
    let calls = shown.targets.iter().filter_map(|target| target.split_once(' '));
    let places = calls.filter_map(|(method, url)| destination(method, url));
    let places: BTreeSet<String> = places.map(|place| format!("may send {place}")).collect();
    let mut all = vec![format!("runs the workflow {}", name(workflow))];
    all.extend(places);
    all
}

/// A method with a host.
fn destination(method: &str, url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str()?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let clear = if url.scheme() == "https" { "" } else { " without TLS" };
    Some(format!("{} to {}{port}{clear}", name(method), untrusted::escape(host)))
}

/// The amount that a request is about, if one of its arguments is called so.
fn amount(arguments: &Value) -> Option<String> {
    let words = ["amount", "total", "sum", "price", "quantity"];
    let found = words.iter().find_map(|word| Some((*word, named(arguments, word, 0)?)));
    let (word, (value, currency)) = found?;
    let currency = currency.map(|currency| format!(" {}", figure(&currency))).unwrap_or_default();
    Some(format!("{word} {}{currency}", figure(&value)))
}

/// A number as it is, and any other text in quotes.
fn figure(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(_) => name(text),
        Err(_) => {
            format!("\"{}\"", untrusted::inline(text, limits::FIGURE_CHARS).replace('"', "'"))
        }
    }
}

/// The value of the first field of this name, with the currency beside it.
fn named(value: &Value, word: &str, depth: usize) -> Option<(String, Option<String>)> {
    if depth > limits::AMOUNT_DEPTH {
        return None;
    }
    match value {
        Value::Object(fields) => {
            let text = |value: &Value| match value {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            let own = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
            let own = own.and_then(|(_, value)| text(value));
            let currency = fields.get("currency").and_then(text);
            own.map(|own| (own, currency))
                .or_else(|| fields.values().find_map(|inner| named(inner, word, depth + 1)))
        }
        Value::Array(items) => items.iter().find_map(|item| named(item, word, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The fields of a question's form, one line each.
fn form_lines(waiting: &WaitingView) -> Vec<String> {
    let Some(form) = &waiting.form else { return Vec::new() };
    let required = form.get("required").and_then(Value::as_array);
    let fields = form.get("properties").and_then(Value::as_object).into_iter().flatten();
    let line = |(name, schema): (&String, &Value)| {
        let is_required = required.is_some_and(|all| all.iter().any(|one| one == name));
        form_field(name, schema, is_required)
    };
    fields.map(line).collect()
}

/// A field's name, type, choices and description.
fn form_field(name: &str, schema: &Value, is_required: bool) -> String {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("value");
    let need = if is_required { "" } else { ", optional" };
    let choices = schema.get("enum").map(|all| format!(", one of {all}")).unwrap_or_default();
    let about = ["description", "title"].iter().find_map(|key| schema.get(key)?.as_str());
    let about = about.map(|about| format!(": {about}")).unwrap_or_default();
    format!("`{name}` ({kind}{need}{choices}){about}")
}

/// How many requests go where.
fn summary(waiting: &WaitingView) -> Vec<String> {
    if !matches!(waiting.kind, WaitingKind::Approval) {
        return Vec::new();
    }
    let mut targets: BTreeMap<String, Vec<&ShownView>> = BTreeMap::new();
    for shown in &waiting.shown {
        for target in deeds(shown) {
            targets.entry(target).or_default().push(shown);
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for (target, shown) in targets.iter().take(limits::SHOWN_TARGETS) {
        let amount = match shown.as_slice() {
            [only] => amount(&only.arguments),
            _ => None,
        };
        let amount = amount.map(|amount| format!(", {amount}")).unwrap_or_default();
        let times = match shown.len() {
            0 | 1 => String::new(),
            times => format!(", {times} times"),
        };
        lines.push(format!("{target}{times}{amount}"));
    }
    if let Some(rest @ 1..) = targets.len().checked_sub(limits::SHOWN_TARGETS) {
        lines.push(format!("and {}", count(rest, "more place")));
    }
    for step in waiting.unshown.iter().take(limits::SHOWN_TARGETS) {
        lines.push(format!("sends more in step {}, which cannot be shown yet", name(step)));
    }
    if let Some(rest @ 1..) = waiting.unshown.len().checked_sub(limits::SHOWN_TARGETS) {
        lines.push(format!("sends more in {rest} more steps, which cannot be shown yet"));
    }
    lines
}

#[cfg(test)]
#[path = "../../testdata/hostile.rs"]
mod hostile;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::hostile::{BENIGN, texts};
    use super::*;

    const LAYOUTS: [fn() -> QuestionLayout; 3] =
        [|| QuestionLayout::terminal(80), || QuestionLayout::terminal(120), QuestionLayout::client];

    /// Questions of every kind in which everything that others write is this text.
    fn questions(text: &str) -> Vec<WaitingView> {
        let source = json!({"run_id": "run_1", "workflow": "pay", "title": text, "folder": text});
        let sent = json!({"attempt": 1, "sent_ms": 0, "request": "POST https://api.example/refunds",
            "headers": {"X-Note": text}, "body": text, "idempotency_key": text});
        let shown = json!({"step": "refund", "request": "POST /refunds",
            "target": "POST https://api.example/refunds", "method": "POST",
            "url": "https://api.example/refunds", "headers": {"X-Note": text},
            "arguments": {"with": {"note": text}, "body": {"amount": 12, "text": text}},
            "body": json!({"amount": 12, "text": text}).to_string(),
            "secrets": [{"name": "API_KEY", "place": text}], "profile": "default",
            "files": [{"path": text, "bytes": 7, "sha256": "00ff"}]});
        let child = json!({"step": "more", "request": "workflow inner", "arguments": {"n": text},
            "targets": ["POST https://api.example/refunds", "GET https://api.example/refunds"]});
        let changes = json!([{"step": "refund", "before": text, "after": {"a": text}}]);
        let form = json!({"type": "object", "required": [text],
            "properties": {text: {"type": "string", "description": text, "enum": [text]}}});
        let all = json!([
            {"kind": "approval", "step": "ok", "message": text, "source": source, "form": form,
             "by": [text], "shown": [shown, child], "unshown": ["later"], "submitted": text,
             "changes": changes, "expires_ms": 5},
            {"kind": "approval", "step": "draft", "message": "Confirm?", "source": source,
             "submitted": {"text": text, "more": [text]}},
            {"kind": "lapsed", "step": "ok", "message": text, "source": source},
            {"kind": "decision", "step": "lost", "message": text, "source": source, "sent": sent,
             "may_arrive_until_ms": 9, "choices": ["happened", "did_not_happen", "give_up"]},
            {"kind": "person", "step": "draft", "message": text, "source": source,
             "submitted": text, "faults": [text, text], "choices": ["accept", "give_up"]},
        ]);
        serde_json::from_value(all).expect("are questions")
    }

    /// The lines of the program itself, after a check that the others have the gutter.
    fn own_lines(layout: QuestionLayout, question: &str) -> Vec<String> {
        for line in question.split('\n') {
            assert!(!line.contains(untrusted::is_hidden), "{line:?}");
            let seen = line.chars().filter(|c| *c != '\u{301}').count();
            assert!(seen <= layout.width, "{line:?}");
        }
        let own = question.split('\n').filter(|line| !line.starts_with(layout.gutter));
        own.filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn no_text_of_others_begins_a_line() {
        let texts = texts();
        assert!(texts.len() >= 60, "{}", texts.len());
        let benign = questions(BENIGN);
        for text in &texts {
            for (hostile, benign) in questions(text).iter().zip(&benign) {
                for layout in LAYOUTS {
                    let (layout, shown) = (layout(), layout().question(hostile));
                    let mut own = own_lines(layout, &shown);
                    // A long submission is said to be shortened.
                    own.retain(|line| !line.starts_with("it is shortened"));
                    let expected = own_lines(layout, &layout.question(benign));
                    assert_eq!(own, expected, "{text:?}\n{shown}");
                    assert!(shown.lines().count() < 1_000, "{text:?}");
                }
            }
        }
    }

    /// Ids cannot contain such text today; if they ever can, they still do not begin a line.
    #[test]
    fn an_id_and_an_amount_stay_within_their_line() {
        for text in texts() {
            let mut question = questions(BENIGN).remove(0);
            question.step = Some(text.clone());
            question.shown[0].step.clone_from(&text);
            question.shown[0].arguments = json!({"amount": text, "currency": text});
            question.unshown = vec![text.clone()];
            if let Some(source) = &mut question.source {
                source.workflow.clone_from(&text);
            }
            let layout = QuestionLayout::terminal(80);
            let first = [
                "approval ",
                "run run_1",
                "in the folder:",
                "title:",
                "the question:",
                "what was handed in:",
                "the form asks for:",
                "only these may answer:",
                "request ",
                "with ",
                "changed ",
                "answer before ",
                "sends ",
                "runs ",
                "may send ",
                "it is shortened",
            ];
            for line in own_lines(layout, &layout.question(&question)) {
                assert!(first.iter().any(|first| line.starts_with(first)), "{text:?}: {line:?}");
            }
        }
    }

    #[test]
    fn method_host_and_amount_stand_directly_above_the_prompt() {
        let text = "x".repeat(300_000);
        for layout in LAYOUTS {
            let question = layout().question(&questions(&text)[0]);
            let last: Vec<&str> = question.lines().rev().take(4).collect();
            assert_eq!(last[3], "may send POST to api.example", "{question}");
            assert_eq!(last[2], "runs the workflow inner");
            assert_eq!(last[1], "sends POST to api.example, amount 12");
            assert_eq!(last[0], "sends more in step later, which cannot be shown yet");
        }
    }

    #[test]
    fn a_question_says_everything_that_is_sent() {
        let question = QuestionLayout::terminal(80).question(&questions("some text")[0]);
        expect_test::expect![[r#"
            approval ok of pay
            run run_1
            in the folder:
            │ some text
            title:
            │ some text
            the question:
            │ some text
            what was handed in:
            │ some text
            the form asks for:
            │ `some text` (string, one of ["some text"]): some text
            only these may answer:
            │ some text
            request 1 of 2, step refund: sends POST to api.example
            │ https://api.example/refunds
            │ X-Note: some text
            │ arguments {"note":"some text"}
            │ body {"amount":12,"text":"some text"}
            with the secret API_KEY, profile default, in:
            │ some text
            with a file of 7 bytes, sha256 00ff:
            │ some text
            request 2 of 2, step more: runs the workflow inner
            │ arguments {"n":"some text"}
            │ may send POST https://api.example/refunds
            │ may send GET https://api.example/refunds
            changed since the last answer, in step refund:
            │ was "some text"
            │ now {"a":"some text"}
            answer before 1970-01-01T00:00:00.005Z
            may send GET to api.example
            may send POST to api.example
            runs the workflow inner
            sends POST to api.example, amount 12
            sends more in step later, which cannot be shown yet"#]]
        .assert_eq(&question);
    }
}

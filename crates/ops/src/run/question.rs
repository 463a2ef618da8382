//! What a person is shown of a question, the same at a terminal, in the inbox and in a client's
//! form.
//!
//! Every line is either one of the program's own, which contains nothing but ids, hosts, sizes and
//! digests, or it is quoted: what workflows, APIs and agents wrote stands behind a gutter. The last
//! lines repeat where the requests go, so that they stand next to the prompt.

use std::collections::BTreeMap;

use milepost_engine::view::WaitingKind;
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
        untrusted::quote(text, self.gutter, self.width).join("\n")
    }

    /// A question with everything needed to answer it.
    pub fn question(&self, waiting: &WaitingView) -> String {
        let mut page = Page { layout: *self, lines: Vec::new(), is_quoting: false };
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
        page.lines.join("\n")
    }

    /// The lines directly above the prompt.
    pub fn above_prompt(&self, waiting: &WaitingView) -> Vec<String> {
        let lines = self.summary(waiting).into_iter();
        lines.flat_map(|line| untrusted::fold(&line, self.gutter, self.width)).collect()
    }

    /// How many requests go where.
    fn summary(&self, waiting: &WaitingView) -> Vec<String> {
        if !matches!(waiting.kind, WaitingKind::Approval) {
            return Vec::new();
        }
        let mut targets: BTreeMap<String, Vec<&ShownView>> = BTreeMap::new();
        for shown in &waiting.shown {
            for target in destinations(shown) {
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
            let times = if shown.len() > 1 { format!("{} times ", shown.len()) } else { String::new() };
            lines.push(format!("sends {times}{target}{amount}"));
        }
        if let Some(rest @ 1..) = targets.len().checked_sub(limits::SHOWN_TARGETS) {
            lines.push(format!("sends to {rest} more places"));
        }
        for step in waiting.unshown.iter().take(limits::SHOWN_TARGETS) {
            lines.push(format!("sends more in step {}, which is not known yet", name(step)));
        }
        if let Some(rest @ 1..) = waiting.unshown.len().checked_sub(limits::SHOWN_TARGETS) {
            lines.push(format!("sends more in {rest} more steps, which is not known yet"));
        }
        lines
    }
}

/// A question under construction.
struct Page {
    layout: QuestionLayout,
    lines: Vec<String>,
    is_quoting: bool,
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
        self.lines.extend(untrusted::quote(text, gutter, width));
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
        let mut heading = kind_and_step(waiting);
        let Some(source) = &waiting.source else {
            self.own(&heading);
            return;
        };
        heading.push_str(&format!(" of {}", name(&source.workflow)));
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
        self.own("the workflow asks:");
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
            let run = waiting.source.as_ref().map_or("<run>", |source| source.run_id.as_str());
            self.own(&format!("{} more: milepost show {} --json", count(rest, "request"), name(run)));
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
        self.theirs(&text);
        if text.chars().count() > milepost_model::limits::QUOTED_CHARS
            || text.lines().count() > milepost_model::limits::QUOTED_ROWS
        {
            self.own("it is shortened here; all of it: add --json");
        }
    }

    fn request(&mut self, shown: &ShownView, number: usize, all: usize) {
        let step = name(&shown.step);
        let place = destinations(shown).join(" and ");
        let place = if place.is_empty() { "a workflow".to_owned() } else { place };
        let number = if all > 1 { format!(" {number} of {all}") } else { String::new() };
        self.own(&format!("request{number}, step {step}: {}", untrusted::cut(&place, limits::PLACE_CHARS)));
        let target = match (shown.url.as_str(), shown.target.as_str()) {
            ("", "") => &shown.request,
            ("", target) => target,
            (url, _) => url,
        };
        self.theirs(target);
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
                    self.own(&format!("with a file of {} bytes, sha256 {}:", file.bytes, name(sha256)));
                }
                None => self.own("with a file that cannot be read:"),
            }
            self.theirs(&file.path);
        }
    }

    /// The arguments, and the body as it would be sent.
    fn arguments(&mut self, shown: &ShownView) {
        let mut arguments = shown.arguments.clone();
        let written = arguments.get("body").map(Value::to_string);
        if let Some(body) = body_text(shown.body.as_deref(), shown.body_bytes) {
            self.theirs(&body);
            // It is the body in other words, unless that is what is sent.
            if written == shown.body
                && let Some(arguments) = arguments.as_object_mut()
            {
                arguments.remove("body");
            }
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
        for line in self.layout.summary(waiting) {
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

/// Where a call goes: one place for a request, or every place that a child run may call.
fn destinations(shown: &ShownView) -> Vec<String> {
    let (url, request) = (shown.url.as_str(), shown.target.as_str());
    let mut all: Vec<String> = match request.split_once(' ') {
        _ if !url.is_empty() => destination(&shown.method, url).into_iter().collect(),
        Some((method, url)) => destination(method, url).into_iter().collect(),
        None => {
            let calls = shown.targets.iter().filter_map(|target| target.split_once(' '));
            calls.filter_map(|(method, url)| destination(method, url)).collect()
        }
    };
    all.dedup();
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
    let currency = currency.map(|currency| format!(" {}", name(&currency))).unwrap_or_default();
    Some(format!("{word} {}{currency}", name(&value)))
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
pub fn form_field(name: &str, schema: &Value, is_required: bool) -> String {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("value");
    let need = if is_required { "" } else { ", optional" };
    let choices = schema.get("enum").map(|all| format!(", one of {all}")).unwrap_or_default();
    let about = ["description", "title"].iter().find_map(|key| schema.get(key)?.as_str());
    let about = about.map(|about| format!(": {about}")).unwrap_or_default();
    format!("`{name}` ({kind}{need}{choices}){about}")
}

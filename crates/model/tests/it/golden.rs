//! Each planted mistake yields one violation, at the right place, with a suggestion that fixes it.
//!
//! A case is a paragraph in one of the text files next to the base documents:
//!
//! ```text
//! ## unknown-step-key
//! base: manifest.yaml
//! rule: unknown-key
//! - timeout: 30s
//! + ‸tiemout: 30s
//! ```
//!
//! `-` is text that occurs once in the base, `+` is its replacement, and `‸` marks where the
//! violation is expected. A violation with a fix is repaired by that fix. A violation without one
//! needs the steps a person would take: `help:` is the exact suggestion, and `=` is the text after
//! following it (`= -` for the text of the base). Lines with `-`, `+` and `=` may repeat, and so
//! may the whole change. `severity: warning` marks a warning. Lines with `#`, and lines before the
//! first `##`, are comments; a `base:` there applies to every case of the file.

use std::sync::LazyLock;

use expect_test::expect;
use milepost_model::check::World;
use milepost_model::document::Document;
use milepost_model::plan;
use milepost_model::violation::Violation;
use milepost_syntax::fix;
use milepost_syntax::source::Format;

use crate::depot::Depot;

const BASES: &[(&str, &str)] = &[
    ("manifest.yaml", include_str!("golden/manifest.yaml")),
    ("manifest.json", include_str!("golden/manifest.json")),
    ("guide.yaml", include_str!("golden/guide.yaml")),
    ("guide.json", include_str!("golden/guide.json")),
];

const CASES: &[&str] = &[
    include_str!("golden/syntax.txt"),
    include_str!("golden/keys.txt"),
    include_str!("golden/values.txt"),
    include_str!("golden/names.txt"),
    include_str!("golden/commands.txt"),
    include_str!("golden/guides.txt"),
];

const MARK: char = '‸';

#[test]
fn every_base_is_flawless_and_its_twin_means_the_same() {
    for (name, text) in BASES {
        assert_eq!(shown(&read(name, text).violations), "", "{name}");
    }
    assert_eq!(plan_of("manifest.yaml"), plan_of("manifest.json"));
    assert_eq!(plan_of("guide.yaml"), plan_of("guide.json"));
}

#[test]
fn each_mistake_is_one_violation_with_its_mend() {
    let cases: Vec<Case> = CASES.iter().flat_map(|file| Case::all(file)).collect();
    assert!(cases.len() >= 380, "{} cases are too few", cases.len());
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| Some(format!("## {}\n{}", case.name, case.check().err()?)))
        .collect();
    let (count, all) = (failures.len(), cases.len());
    assert!(failures.is_empty(), "{count} of {all} cases fail\n\n{}", failures.join("\n\n"));
}

#[test]
fn cases_have_names_of_their_own_and_cover_every_base() {
    let mut names: Vec<String> =
        CASES.iter().flat_map(|file| Case::all(file)).map(|case| case.name).collect();
    names.sort();
    let twice = names.windows(2).find(|two| two[0] == two[1]);
    assert_eq!(twice, None, "two cases of one name");
    for (name, _) in BASES {
        let of_base = CASES.iter().flat_map(|file| Case::all(file));
        assert!(of_base.filter(|case| case.base == *name).count() >= 10, "few cases for {name}");
    }
}

#[test]
fn twenty_five_mistakes_are_told_in_one_answer() {
    let document = read("many.yaml", include_str!("golden/many.yaml"));
    assert_eq!(document.violations.len(), 25, "{}", shown(&document.violations));
    assert!(document.violations.iter().all(|violation| violation.suggestion.is_some()));
    let places = |one: &Violation| format!("{}:{} {}\n", one.line, one.column, one.rule.name());
    let places: Vec<String> = document.violations.iter().map(places).collect();
    expect![[r"
        2:11 id
        4:10 format
        5:14 range
        6:10 format
        9:18 choice
        10:35 type
        11:45 pattern
        12:35 command
        13:69 secret-exposed
        17:31 unknown-name
        17:49 argument
        18:5 unknown-key
        19:9 duplicate-id
        22:20 expression
        23:41 criteria
        24:61 schema
        26:49 secret-exposed
        27:9 expression-type
        30:18 cycle
        36:11 argument
        37:37 expression
        40:5 combination
        43:11 loop
        49:25 unknown-name
        50:38 unknown-path
    "]]
    .assert_eq(&places.concat());
}

struct Case {
    name: String,
    base: String,
    rule: String,
    severity: String,
    help: Option<String>,
    hunks: Vec<Hunk>,
}

/// One change to the base.
#[derive(Default)]
struct Hunk {
    base: Vec<String>,
    broken: Vec<String>,
    mended: Vec<String>,
}

impl Case {
    fn all(file: &str) -> Vec<Case> {
        let mut parts = file.split("\n## ");
        let head = parts.next().unwrap_or_default();
        parts.map(|part| Case::parse(head, part)).collect()
    }

    fn parse(head: &str, part: &str) -> Case {
        let (name, lines) = part.split_once('\n').expect("a case has lines");
        let mut case = Case {
            name: name.to_owned(),
            base: String::new(),
            rule: String::new(),
            severity: "error".into(),
            help: None,
            hunks: vec![Hunk::default()],
        };
        for line in head.lines().filter(|line| line.starts_with("base:")).chain(lines.lines()) {
            case.line(line);
        }
        case
    }

    fn line(&mut self, line: &str) {
        if self.hunks.last().is_some_and(|hunk| line.starts_with('-') && !hunk.broken.is_empty()) {
            self.hunks.push(Hunk::default());
        }
        let hunk = self.hunks.last_mut().expect("there is always one");
        let (sign, text) = line.split_at(line.find([' ']).unwrap_or(line.len()));
        let text = text.strip_prefix(' ').unwrap_or(text).to_owned();
        match sign {
            "-" => hunk.base.push(text),
            "+" => hunk.broken.push(text),
            "=" => hunk.mended.push(text),
            "base:" => self.base = text,
            "rule:" => self.rule = text,
            "severity:" => self.severity = text,
            "help:" => self.help = Some(text),
            "#" | "" => {}
            other => panic!("{}: what is `{other}`?", self.name),
        }
    }

    fn check(&self) -> Result<(), String> {
        let base = base(&self.base);
        let marked = self.changed(base, |hunk| hunk.broken.join("\n"))?;
        let broken = marked.replace(MARK, "");
        let wanted = place(&marked).ok_or("no mark says where the violation is expected")?;
        let document = read(&self.base, &broken);
        let [violation] = document.violations.as_slice() else {
            return Err(format!("expected one violation\n{}", shown(&document.violations)));
        };
        let found = (violation.line, violation.column);
        let right = found == wanted
            && violation.rule.name() == self.rule
            && violation.severity.name() == self.severity;
        if !right {
            let (line, column) = wanted;
            let head = format!("expected {line}:{column} {} {}", self.severity, self.rule);
            return Err(format!("{head}\n{}", shown(&document.violations)));
        }
        let suggestion = violation.suggestion.as_deref().unwrap_or_default();
        if suggestion.is_empty() {
            return Err(format!("no suggestion\n{}", shown(&document.violations)));
        }
        self.mended(violation, base, &broken)
    }

    /// Checks that the violation's fix, or its suggestion followed by hand, restores the plan of
    /// the base.
    fn mended(&self, violation: &Violation, base: &str, broken: &str) -> Result<(), String> {
        let by_hand = self.hunks.iter().any(|hunk| !hunk.mended.is_empty());
        let text = match (&violation.fix, by_hand) {
            (Some(_), true) => return Err("there is a fix, so `=` is too much".into()),
            (Some(fix), false) => fix::apply(broken, [fix]),
            (None, false) => {
                return Err(format!("neither a fix nor `=`\n{}", shown([violation])));
            }
            (None, true) if self.help != violation.suggestion => {
                let found = violation.suggestion.as_deref().unwrap_or_default();
                return Err(format!("expected another suggestion\nhelp: {found}"));
            }
            (None, true) => self.changed(base, |hunk| match hunk.mended.as_slice() {
                [] => hunk.base.join("\n"),
                [sign] if sign == "-" => hunk.base.join("\n"),
                lines => lines.join("\n"),
            })?,
        };
        let document = read(&self.base, &text);
        if !document.violations.is_empty() {
            let left = shown(&document.violations);
            return Err(format!("the mend does not mend\n{left}\n{}", difference(base, &text)));
        }
        if plan::hash(&document).as_deref() == Some(plan_of(&self.base)) {
            return Ok(());
        }
        Err(format!("the mend changes the plan\n{}", difference(base, &text)))
    }

    fn changed(&self, base: &str, new: impl Fn(&Hunk) -> String) -> Result<String, String> {
        self.hunks.iter().try_fold(base.to_owned(), |text, hunk| {
            let old = hunk.base.join("\n");
            match text.matches(&old).count() {
                1 => Ok(text.replacen(&old, &new(hunk), 1)),
                count => Err(format!("`{old}` stands {count} times in the base")),
            }
        })
    }
}

fn base(name: &str) -> &'static str {
    let found = BASES.iter().find(|(base, _)| *base == name);
    found.map_or_else(|| panic!("no base `{name}`"), |(_, text)| *text)
}

/// The plan hash of a base.
fn plan_of(name: &str) -> &'static str {
    static PLANS: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
        let plan = |name, text| plan::hash(&read(name, text)).expect("a base is valid");
        BASES.iter().map(|(name, text)| (*name, plan(name, text))).collect()
    });
    PLANS.iter().find(|(base, _)| *base == name).map_or("", |(_, plan)| plan)
}

fn read(name: &str, text: &str) -> Document {
    let allowed = ["REGION".to_owned()];
    let world = World { commands: &Depot, env_allow: Some(&allowed) };
    let format = name.rsplit_once('.').and_then(|(_, extension)| Format::of_extension(extension));
    Document::read(text.as_bytes(), format, world)
}

/// The line and column of the mark.
fn place(text: &str) -> Option<(u32, u32)> {
    let before = text.split_once(MARK)?.0;
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    Some((u32::try_from(line).ok()?, u32::try_from(column).ok()?))
}

fn shown<'v>(violations: impl IntoIterator<Item = &'v Violation>) -> String {
    let mut lines = String::new();
    for one in violations {
        let (line, column) = (one.line, one.column);
        let (severity, rule) = (one.severity.name(), one.rule.name());
        let fix = if one.fix.is_some() { " [fix]" } else { "" };
        let help = one.suggestion.as_deref().unwrap_or("-");
        let text = format!("{line}:{column} {severity} {rule}: {}; {help}{fix}\n", one.message);
        lines.push_str(&text);
    }
    lines
}

/// The lines that differ between the two texts.
fn difference(base: &str, text: &str) -> String {
    let only = |lines: &str, others: &str, sign: &str| {
        let lines = lines.lines().filter(|line| !others.lines().any(|other| other == *line));
        lines.map(|line| [sign, line, "\n"].concat()).collect::<String>()
    };
    only(base, text, "-") + &only(text, base, "+")
}

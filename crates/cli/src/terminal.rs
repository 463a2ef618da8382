//! Standard output for results, standard error for the rest, and what the terminal can show.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use unicode_width::UnicodeWidthStr;

use crate::prose;

/// The two streams of the process.
pub(crate) struct Terminal {
    out: anstream::AutoStream<io::StdoutLock<'static>>,
    err: Remarks,
    /// The reader of the result has gone. What is still to be found out is found out all the same:
    /// the exit code must not depend on how much was read.
    gone: bool,
    /// Nothing is said beside the result but what went wrong.
    quiet: bool,
    width: usize,
    /// Whether results and remarks are read on a terminal, where prose is broken between words.
    is_read: (bool, bool),
}

/// Whether `--quiet` was given: said once, before anything else is.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on nothing is said but results, questions and what went wrong.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether nothing else is to be said.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// The variable that tells a command that it is run within a demo.
pub(crate) const WITHIN_DEMO: &str = "MILEPOST_WITHIN_DEMO";

/// Whether this command is run within a demo, whose runs are not the user's.
static IN_DEMO: LazyLock<bool> = LazyLock::new(|| std::env::var_os(WITHIN_DEMO).is_some());

/// Where remarks go.
enum Remarks {
    Apart(anstream::AutoStream<io::Stderr>),
    /// Among the results, for those who watch both.
    Between,
}

impl Terminal {
    pub(crate) fn new() -> Terminal {
        let out = anstream::AutoStream::auto(io::stdout().lock());
        let err = Remarks::Apart(anstream::AutoStream::auto(io::stderr()));
        let is_read = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Terminal { out, err, gone: false, quiet: is_quiet(), width: width(), is_read }
    }

    /// With the remarks among the results.
    pub(crate) fn merged() -> Terminal {
        Terminal { err: Remarks::Between, ..Terminal::new() }
    }

    /// The same for whoever reads this one; nothing is said where nobody does.
    pub(crate) fn merged_for_reader(&self) -> Terminal {
        Terminal { gone: self.gone, ..Terminal::merged() }
    }

    /// For nobody: nothing is said.
    pub(crate) fn closed() -> Terminal {
        Terminal { gone: true, ..Terminal::merged() }
    }

    /// The stream for results; colours are dropped where nobody would see them.
    pub(crate) fn out(&mut self) -> &mut impl Write {
        &mut self.out
    }

    /// Writes a line of the result.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        let text = match text.starts_with(NEXT) {
            true => typeable(text, *IN_DEMO),
            false => Cow::Borrowed(text),
        };
        match writeln!(self.out, "{text}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            result => result,
        }
    }

    /// Writes paragraphs, as part of the result.
    pub(crate) fn page(&mut self, text: &str) -> io::Result<()> {
        match self.is_read.0 {
            true => self.line(&prose::page(text, self.width)),
            false => self.line(text),
        }
    }

    /// Writes text of others as it is: for those who pass it on, not for a terminal.
    pub(crate) fn exact(&mut self, text: &str) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        // Past the filter for colours. The lock is ours, and may be taken again.
        match io::stdout().write_all(text.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            result => result,
        }
    }

    /// Says what nobody may miss: what went wrong, and what a question is about.
    pub(crate) fn complain(&mut self, text: &str) {
        self.say(text);
    }

    /// Says anything else: how far it is, what is worth knowing, what to do next. Whoever wants
    /// none of it is not told.
    pub(crate) fn remark(&mut self, text: &str) {
        if !(self.quiet && matches!(self.err, Remarks::Apart(_))) {
            self.say(text);
        }
    }

    /// A closed standard error leaves nobody to tell.
    fn say(&mut self, text: &str) {
        let text = typeable(text, *IN_DEMO);
        let is_read = match self.err {
            Remarks::Apart(_) => self.is_read.1,
            Remarks::Between => self.is_read.0,
        };
        let text = &*if is_read { prose::fitted(&text, self.width) } else { text };
        match &mut self.err {
            // In one piece: several processes may share a terminal.
            Remarks::Apart(err) => drop(err.write_all(format!("{text}\n").as_bytes())),
            Remarks::Between => drop(self.line(text)),
        }
    }

    /// Columns of the terminal, or a usual number of them.
    pub(crate) fn width(&self) -> usize {
        self.width
    }
}

/// What is to be done next begins with this.
const NEXT: &str = "next: ";
/// The commands that mean the same in a demo and outside of it, or that lead out of it.
const EVERYWHERE: [&str; 4] = ["demo", "docs", "init", "mcp"];

/// Commands that a text names, as they work where the user is: within a demo, only `milepost demo
/// -- …` leads to its runs.
fn typeable(text: &str, in_demo: bool) -> Cow<'_, str> {
    const PROGRAM: &str = "milepost ";
    if !in_demo || !text.contains(PROGRAM) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for (index, part) in text.split(PROGRAM).enumerate() {
        if index > 0 {
            let named = [NEXT, "with: ", "; ", "`"].iter().any(|lead| shown.ends_with(lead));
            shown.push_str(PROGRAM);
            if named && !EVERYWHERE.iter().any(|word| part.starts_with(word)) {
                shown.push_str("demo -- ");
            }
        }
        shown.push_str(part);
    }
    Cow::Owned(shown)
}

/// Columns of the terminal, or a usual number of them.
pub(crate) fn width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let asked = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.or_else(asked).filter(|width| (20..=400).contains(width)).unwrap_or(100)
}

/// Whether a terminal would act on a letter, or be fooled by it.
fn acts(c: char) -> bool {
    // Marks of direction, and the mark that has no width at all.
    let turns = matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}');
    c.is_control() || turns || matches!(c, '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// JSON that says the same without letters that a terminal would act on: they are in strings.
pub(crate) fn safe_json(json: &str) -> String {
    if !json.contains(acts) {
        return json.to_owned();
    }
    // Every one of them has a code of four digits.
    let code = |c: char| format!("\\u{:04x}", u32::from(c));
    let parts = json.chars().map(|c| if acts(c) { code(c) } else { c.to_string() });
    parts.collect()
}

/// Text of others without what a terminal would act on or be fooled by.
pub(crate) fn safe(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) && c != '\n' {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// `1 step`, `2 steps`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A word as a shell takes it whole.
pub(crate) fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Text in lines of at most so many columns, broken between words.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::with_capacity(text.len());
    let mut used = 0;
    for (index, word) in text.split(' ').enumerate() {
        let fits = used + 1 + word.width() <= width;
        if index > 0 {
            wrapped.push(if fits { ' ' } else { '\n' });
        }
        used = if fits && index > 0 { used + 1 + word.width() } else { word.width() };
        wrapped.push_str(word);
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::typeable;

    #[test]
    fn in_a_demo_commands_lead_to_its_runs() {
        let told = |text| typeable(text, true).into_owned();
        assert_eq!(told("next: milepost approve run_1"), "next: milepost demo -- approve run_1");
        assert_eq!(
            told("hint: see `milepost runs`, or `milepost demo`"),
            "hint: see `milepost demo -- runs`, or `milepost demo`"
        );
        assert_eq!(told("more: milepost docs RUN_NOT_FOUND"), "more: milepost docs RUN_NOT_FOUND");
        assert_eq!(told("a milepost stands here"), "a milepost stands here");
        assert_eq!(typeable("next: milepost runs", false), "next: milepost runs");
    }
}

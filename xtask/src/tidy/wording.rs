//! Forbids `milepost <command>` in the crates below the interfaces: there a next step is an
//! operation with arguments, which each interface words in its own way.

use anyhow::{Result, ensure};
use proc_macro2::TokenTree;

use super::exempt::{Exempt, Hit};
use super::finding::Finding;
use super::tokens::{
    Attribute, RustFile, crate_of_production, each_production_level, ident, is_ident, is_punct,
    trees,
};

/// Crates that must not know about the command line.
const CRATES: &[&str] = &["engine", "driver", "ops"];

/// Where the commands are declared.
pub(crate) const COMMANDS: &str = "crates/cli/src/args.rs";

const PROGRAM: &str = "milepost ";

pub(crate) const EXEMPT: &[Exempt] = &[];

/// The commands of the command line, read from the enum that declares them.
pub(crate) fn commands(args: &RustFile) -> Result<Vec<String>> {
    let level = trees(&args.tokens);
    let variants = level.windows(3).find_map(|window| match window {
        [keyword, name, TokenTree::Group(body)]
            if is_ident(keyword, "enum") && is_ident(name, "CliCommand") =>
        {
            Some(trees(&body.stream()))
        }
        _ => None,
    });
    let commands: Vec<String> = variants
        .iter()
        .flat_map(|body| body.split(|t| is_punct(t, ',')))
        .filter_map(name)
        .collect();
    ensure!(!commands.is_empty(), "{COMMANDS} declares no commands in `enum CliCommand`");
    Ok(commands)
}

/// The name by which a variant is typed: the one that is set explicitly, or its own in kebab case.
fn name(variant: &[TokenTree]) -> Option<String> {
    let mut index = 0;
    let mut given = None;
    while let Some(attribute) = Attribute::at(variant, index) {
        given = given.or_else(|| {
            attribute.settings().iter().find_map(|setting| match setting.as_slice() {
                [command, TokenTree::Group(group)] if is_ident(command, "command") => {
                    name_setting(&trees(&group.stream()))
                }
                _ => None,
            })
        });
        index += 2;
    }
    let own = ident(variant.get(index))?;
    Some(given.unwrap_or_else(|| kebab_case(&own)))
}

fn name_setting(settings: &[TokenTree]) -> Option<String> {
    settings.windows(3).find_map(|window| match window {
        [key, equals, TokenTree::Literal(value)]
            if is_ident(key, "name") && is_punct(equals, '=') =>
        {
            Some(value.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    })
}

fn kebab_case(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.extend(character.to_lowercase());
    }
    text
}

/// Finds strings in a Rust file that name a command. Doc comments are exempt, because they are for
/// readers of the code.
pub(crate) fn commands_in_code(file: &RustFile, commands: &[String]) -> Vec<Hit> {
    if !is_below_the_doors(&file.path) {
        return Vec::new();
    }
    let mut hits = Vec::new();
    each_production_level(&file.tokens, &mut |level| {
        for (index, token) in level.iter().enumerate() {
            let TokenTree::Literal(literal) = token else { continue };
            let is_doc = index >= 2 && is_ident(&level[index - 2], "doc");
            if let (Some(command), false) = (named(&joined(&literal.to_string()), commands), is_doc)
            {
                hits.push(hit(&file.path, token.span().start().line, command));
            }
        }
    });
    hits
}

/// Finds lines that name a command in a Markdown page that is included in the code.
pub(crate) fn commands_in_page(path: &str, text: &str, commands: &[String]) -> Vec<Hit> {
    if !is_below_the_doors(path) {
        return Vec::new();
    }
    let lines = text.lines().enumerate();
    lines.filter_map(|(index, line)| Some(hit(path, index + 1, named(line, commands)?))).collect()
}

fn is_below_the_doors(path: &str) -> bool {
    crate_of_production(path).is_some_and(|name| CRATES.contains(&name))
}

fn hit(path: &str, line: usize, command: &str) -> Hit {
    let message = format!(
        "`{PROGRAM}{command}` belongs to the command line: name the operation and its arguments"
    );
    Hit { place: path.to_owned(), finding: Finding::new(path, line, message) }
}

/// The value of a literal: a backslash at the end of a line continues it on the next one.
fn joined(literal: &str) -> String {
    let mut lines = literal.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + line.trim_start())
}

/// The first command that `text` names.
fn named<'c>(text: &str, commands: &'c [String]) -> Option<&'c str> {
    let is_of_word = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(PROGRAM).find_map(|(start, _)| {
        let rest = &text[start + PROGRAM.len()..];
        let word = rest.split(|c| !is_of_word(c)).next()?;
        // `milepost workflow:check` is a built-in catalog command, which is not typed on a command
        // line.
        let is_catalog = rest[word.len()..].starts_with(':');
        let begins = !text[..start].ends_with(is_of_word) && !is_catalog;
        commands.iter().find(|command| begins && *command == word).map(String::as_str)
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::places;
    use super::*;

    fn commands_of_a_test() -> Vec<String> {
        let source = "
enum Other { Nothing }
pub(crate) enum CliCommand {
    /// Run a workflow
    #[command(after_help = \"Example: milepost run\", name = \"run\")]
    Start(Deferred<Start>),
    Catalog(Deferred<Catalog>),
    SetPin,
}";
        commands(&RustFile::parse(COMMANDS, source).unwrap()).unwrap()
    }

    #[test]
    fn commands_are_named_as_they_are_typed() {
        assert_eq!(commands_of_a_test(), ["run", "catalog", "set-pin"]);
        let none = RustFile::parse(COMMANDS, "enum Others { A }").unwrap();
        assert!(commands(&none).is_err());
    }

    #[test]
    fn a_text_that_names_a_command_is_found() {
        let source = "\
/// milepost run
fn a() { hint(\"try `milepost run`\"); }
// milepost run
const B: &str = \"milepost \\
    catalog list\";
const C: &str = r#\"milepost set-pin\"#;
const D: &str = \"milepost 0.1, milepost runs, milepost catalog-a, xmilepost run\";
#[error(\"see milepost catalog\")]
struct E;
#[cfg(test)]
mod tests { const F: &str = \"milepost run\"; }
";
        let found = |path: &str| {
            let file = RustFile::parse(path, source).unwrap();
            let mut findings: Vec<Finding> = commands_in_code(&file, &commands_of_a_test())
                .into_iter()
                .map(|hit| hit.finding)
                .collect();
            findings.sort();
            places(&findings).join(" ").replace(path, "")
        };
        assert_eq!(found("crates/ops/src/a.rs"), ":2 :4 :6 :8");
        assert_eq!(found("crates/driver/src/a.rs"), ":2 :4 :6 :8");
        assert_eq!(found("crates/cli/src/a.rs"), "");
        assert_eq!(found("crates/ops/tests/it/a.rs"), "");
    }

    #[test]
    fn a_page_beside_the_code_is_read_as_well() {
        let page = "# Runs\nSay `milepost run`.\nA milepost, run by run.\n";
        let found = |path| {
            let hits = commands_in_page(path, page, &commands_of_a_test());
            places(&hits.into_iter().map(|hit| hit.finding).collect::<Vec<_>>())
        };
        assert_eq!(found("crates/ops/src/run.md"), ["crates/ops/src/run.md:2"]);
        assert_eq!(found("docs/run.md"), Vec::<String>::new());
    }
}

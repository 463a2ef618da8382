//! `milepost command …`.

pub(crate) mod args;
pub(crate) mod lists;
mod run;
mod show;

use milepost_model::problem::Code;
use milepost_ops::command::CommandSummary;
use milepost_ops::command::run::RequestView;

use self::args::CommandSubcommand;
use crate::argument_values::pair;
use crate::failure::CliResult;
use crate::terminal::Terminal;

pub(crate) fn run(command: &CommandSubcommand, terminal: &mut Terminal) -> CliResult {
    match command {
        CommandSubcommand::Search(args) => lists::search(args, terminal),
        CommandSubcommand::Show(args) => show::run(args, terminal),
        CommandSubcommand::Run(args) => run::run(args, terminal),
        CommandSubcommand::Providers(args) => lists::providers(args, terminal),
        CommandSubcommand::Choices(args) => lists::choices(args, terminal),
    }
}

/// Shows a table of commands.
pub(crate) fn show_commands(commands: &[CommandSummary], terminal: &mut Terminal) {
    let row = |one: &CommandSummary| {
        let deprecated = if one.deprecated { "(deprecated) " } else { "" };
        let summary = format!("{deprecated}{}", one.summary);
        vec![one.command.clone(), one.method.clone(), summary]
    };
    terminal.table(&["command", "method", "summary"], commands.iter().map(row));
}

/// Splits arguments given as `name=value`.
fn pairs(texts: &[String]) -> CliResult<Vec<(String, String)>> {
    let split = |text: &String| {
        let (name, value) = pair(text, Code::ArgumentsInvalid, "name=value")?;
        Ok((name.to_owned(), value.to_owned()))
    };
    texts.iter().map(split).collect()
}

/// A request as it is sent.
pub(crate) fn request_text(request: &RequestView) -> String {
    let (_, rest) = request.url.split_once("://").unwrap_or(("", &request.url));
    let (host, target) = match rest.find(['/', '?']) {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let mut lines = vec![format!("{} {target} HTTP/1.1", request.method), format!("Host: {host}")];
    lines.extend(request.headers.iter().map(|one| format!("{}: {}", one.name, one.value)));
    if let Some(body) = &request.body {
        lines.push(String::new());
        lines.push(body.clone());
    }
    // Lines of a multipart body end in CRLF, and the CR would be shown escaped.
    lines.join("\n").replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use milepost_ops::command::run::{HeaderView, RequestView};

    use super::request_text;

    #[test]
    fn a_request_reads_as_it_is_sent() {
        let request = RequestView {
            method: "POST".to_owned(),
            url: "https://api.shop.test/v1/orders?dry=1".to_owned(),
            headers: vec![HeaderView { name: "Accept".to_owned(), value: "*/*".to_owned() }],
            body: Some("{}".to_owned()),
        };
        let words = "POST /v1/orders?dry=1 HTTP/1.1\nHost: api.shop.test\nAccept: */*\n\n{}";
        assert_eq!(request_text(&request), words);
    }
}

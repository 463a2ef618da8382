//! A request as text, as it goes over the wire.

use milepost_ops::command::run::RequestView;

pub(crate) fn text(request: &RequestView) -> String {
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
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use milepost_ops::command::run::{HeaderView, RequestView};

    use super::text;

    #[test]
    fn a_request_reads_as_it_is_sent() {
        let request = RequestView {
            method: "POST".to_owned(),
            url: "https://api.shop.test/v1/orders?dry=1".to_owned(),
            headers: vec![HeaderView { name: "Accept".to_owned(), value: "*/*".to_owned() }],
            body: Some("{}".to_owned()),
        };
        let words = "POST /v1/orders?dry=1 HTTP/1.1\nHost: api.shop.test\nAccept: */*\n\n{}";
        assert_eq!(text(&request), words);
    }
}

//! Pagination: which method a command uses, what follows a response, and protection against servers
//! that lead in circles.

use std::collections::BTreeMap;

use milepost_catalog::command::{ApiCommand, Content, Method, Response};
use milepost_catalog::pagination::{
    NextPage, PageCount, PageResponse, PageStep, PageWalk, PagingError, PagingScheme, detect,
    items, next,
};
use milepost_catalog::request::Arguments;
use serde_json::{Value, json};
use url::Url;

use crate::{cases, with};

/// A GET command with these query parameters and their schemas, and a response of this shape.
fn command(parameters: &Value, answer: &Value, headers: &[&str]) -> ApiCommand {
    let parameters: Vec<Value> = parameters
        .as_object()
        .expect("is a map")
        .iter()
        .map(|(name, schema)| json!({"name": name, "in": "query", "schema": schema}))
        .collect();
    let mut command = cases::command(&json!({"parameters": parameters}));
    command.responses = vec![Response {
        status: "200".to_owned(),
        description: String::new(),
        contents: vec![Content {
            media_type: "application/json".to_owned(),
            schema: schema(answer),
            encoding: Vec::new(),
            example: None,
        }],
        headers: headers.iter().map(|&name| name.to_owned()).collect(),
        links: Vec::new(),
    }];
    command
}

/// A schema derived from an example value: the types of its parts.
fn schema(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let properties: BTreeMap<_, _> =
                map.iter().map(|(key, value)| (key.clone(), schema(value))).collect();
            json!({"type": "object", "properties": properties})
        }
        Value::Array(_) => json!({"type": "array", "items": {"type": "object"}}),
        Value::String(_) => json!({"type": "string"}),
        Value::Number(_) => json!({"type": "integer"}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Null => json!({}),
    }
}

fn integer() -> Value {
    json!({"type": "integer"})
}

fn text() -> Value {
    json!({"type": "string"})
}

#[track_caller]
fn check_detect(parameters: &Value, answer: &Value, headers: &[&str], wanted: Option<&str>) {
    let found = detect(&command(parameters, answer, headers)).map(|scheme| match scheme {
        PagingScheme::Link => "link".to_owned(),
        PagingScheme::NextUrl { at } => format!("url {at}"),
        PagingScheme::Cursor { parameter, at, .. } => format!("{parameter} <- {at}"),
        PagingScheme::LastItem { parameter, field, .. } => format!("{parameter} <- last {field}"),
        PagingScheme::Counted(PageCount { parameter, first, by_page, .. }) => {
            let what = if by_page { "page" } else { "offset" };
            format!("{what} {parameter} from {first}")
        }
    });
    assert_eq!(found.as_deref(), wanted);
}

#[test]
fn the_ways_of_known_apis() {
    // GitHub
    let page = json!({"page": integer(), "per_page": integer()});
    check_detect(&page, &json!([]), &["Link"], Some("link"));
    // Stripe
    let stripe = json!({"starting_after": text(), "ending_before": text(), "limit": integer()});
    let list = json!({"data": [], "has_more": true, "object": "list", "url": ""});
    check_detect(&stripe, &list, &[], Some("starting_after <- last id"));
    // Kubernetes
    let kubernetes = json!({"continue": text(), "limit": integer()});
    let list = json!({"items": [], "metadata": {"continue": "", "resourceVersion": ""}});
    check_detect(&kubernetes, &list, &[], Some("continue <- /metadata/continue"));
    // Google
    let google = json!({"pageToken": text(), "maxResults": integer()});
    let list = json!({"items": [], "nextPageToken": ""});
    check_detect(&google, &list, &[], Some("pageToken <- /nextPageToken"));
    // Slack
    let slack = json!({"cursor": text(), "limit": integer()});
    let list = json!({"ok": true, "members": [], "response_metadata": {"next_cursor": ""}});
    check_detect(&slack, &list, &[], Some("cursor <- /response_metadata/next_cursor"));
    // HubSpot
    let hubspot = json!({"after": text(), "limit": integer()});
    let list = json!({"results": [], "paging": {"next": {"after": "", "link": ""}}});
    check_detect(&hubspot, &list, &[], Some("after <- /paging/next/after"));
    // Microsoft Graph
    let graph = json!({"$top": integer(), "$skip": integer()});
    let list = json!({"value": [], "@odata.nextLink": ""});
    check_detect(&graph, &list, &[], Some("url /@odata.nextLink"));
    // DigitalOcean
    let list = json!({"droplets": [], "links": {"pages": {}}, "meta": {"total": 1}});
    check_detect(&page, &list, &[], Some("page page from 1"));
    // Jira
    let jira = json!({"startAt": integer(), "maxResults": integer()});
    let list = json!({"values": [], "startAt": 0, "total": 1, "isLast": true});
    check_detect(&jira, &list, &[], Some("offset startAt from 0"));
    // Spring
    let spring = json!({"page": {"type": "integer", "default": 0}, "size": integer()});
    let list = json!({"content": [], "totalPages": 1});
    check_detect(&spring, &list, &[], Some("page page from 0"));
    // Django
    let list = json!({"count": 1, "next": "", "previous": "", "results": []});
    check_detect(&page, &list, &[], Some("url /next"));
}

#[test]
fn what_is_no_list_is_not_paged() {
    check_detect(&json!({}), &json!([]), &[], None);
    check_detect(&json!({"page": integer()}), &json!({"id": 1}), &[], None);
    check_detect(&json!({"start": text()}), &json!([]), &[], None);
    check_detect(&json!({"cursor": text()}), &json!({"id": 1}), &[], None);
    // Kubernetes deletes whole collections with the same parameters.
    let list = json!({"items": [], "metadata": {"continue": ""}});
    let mut delete = command(&json!({"continue": text()}), &list, &[]);
    delete.method = Method::Delete;
    assert_eq!(detect(&delete), None);
}

#[test]
fn a_cursor_in_the_body_of_a_search() {
    let mut search = command(&json!({}), &json!({"results": [], "next_cursor": ""}), &[]);
    let body = json!({"method": "POST", "body": {"content": {"application/json": {"schema":
        {"properties": {"start_cursor": {"type": "string"}, "query": {"type": "string"}}}}}}});
    let post = cases::command(&body);
    (search.method, search.body) = (post.method, post.body);
    let wanted = PagingScheme::Cursor {
        parameter: "start_cursor".to_owned(),
        at: "/next_cursor".to_owned(),
        more: None,
    };
    assert_eq!(detect(&search), Some(wanted));
}

fn url() -> Url {
    Url::parse("https://api.test/v1/orders?page=1").expect("is a URL")
}

fn follow(
    scheme: &PagingScheme,
    arguments: &Value,
    body: &Value,
) -> Result<Option<NextPage>, PagingError> {
    let answer = PageResponse { url: &url(), headers: &[], body };
    next(scheme, &with(arguments), &answer)
}

fn follow_link(header: &str) -> Result<Option<NextPage>, PagingError> {
    let headers = [("link".to_owned(), header.to_owned())];
    let answer = PageResponse { url: &url(), headers: &headers, body: &json!([1]) };
    next(&PagingScheme::Link, &Arguments::default(), &answer)
}

#[expect(clippy::unnecessary_wraps, reason = "what it is compared with may be nothing")]
fn to(text: &str) -> Option<NextPage> {
    Some(NextPage::Url(Url::parse(text).expect("is a URL")))
}

#[expect(clippy::unnecessary_wraps, reason = "what it is compared with may be nothing")]
fn set(name: &str, value: impl Into<Value>) -> Option<NextPage> {
    Some(NextPage::With { name: name.to_owned(), value: value.into() })
}

#[test]
fn links_of_a_header() {
    let both = r#"<https://api.test/v1/orders?page=2>; rel="next", <x?page=9>; rel="last""#;
    assert_eq!(follow_link(both), Ok(to("https://api.test/v1/orders?page=2")));
    let last = r#"<x?a=1,2>; title="a, rel=next"; rel="last", </v1/orders?b=1,2>; rel="prev NEXT""#;
    assert_eq!(follow_link(last), Ok(to("https://api.test/v1/orders?b=1,2")));
    assert_eq!(follow_link("<?page=2>;rel=next"), Ok(to("https://api.test/v1/orders?page=2")));
    assert_eq!(follow_link(r#"<x>; rel="last""#), Ok(None));
    assert_eq!(follow_link("<x"), Ok(None));
    assert_eq!(follow_link(""), Ok(None));
}

#[test]
fn a_link_stays_on_its_server() {
    let elsewhere = |link: &str| {
        let found = follow_link(&format!("<{link}>; rel=next"));
        assert!(matches!(found, Err(PagingError::Elsewhere { .. })), "{link}: {found:?}");
    };
    elsewhere("https://evil.test/v1/orders?page=2");
    elsewhere("https://api.test:444/v1");
    elsewhere("http://api.test:8080/v1");
    elsewhere("//evil.test/");
    elsewhere("https://user:password@api.test/v1");
    elsewhere("file:///etc/passwd");
    elsewhere("javascript:alert(1)");
    assert!(matches!(follow_link("<https://[>; rel=next"), Err(PagingError::NoUrl { .. })));
    let behind_a_proxy = follow_link("<http://api.test/v1?page=2#x>; rel=next");
    assert_eq!(behind_a_proxy, Ok(to("https://api.test/v1?page=2")));
}

#[test]
fn cursors() {
    let scheme = PagingScheme::Cursor {
        parameter: "cursor".to_owned(),
        at: "/next".to_owned(),
        more: Some("/has_more".to_owned()),
    };
    let check = |body: Value, wanted: Option<NextPage>| {
        assert_eq!(follow(&scheme, &json!({}), &body), Ok(wanted), "{body}");
    };
    check(json!({"next": "abc"}), set("cursor", "abc"));
    check(json!({"next": 5}), set("cursor", 5));
    check(json!({"next": "abc", "has_more": false}), None);
    check(json!({"next": ""}), None);
    check(json!({"next": null}), None);
    check(json!({}), None);
    check(json!({"next": "https://api.test/p2"}), to("https://api.test/p2"));
    let qualified = follow(&scheme, &json!({"query.cursor": "a"}), &json!({"next": "b"}));
    assert_eq!(qualified, Ok(set("query.cursor", "b")), "the argument given is replaced");
}

#[test]
fn the_last_item() {
    let scheme = PagingScheme::LastItem {
        parameter: "starting_after".to_owned(),
        field: "id".to_owned(),
        more: Some("/has_more".to_owned()),
    };
    let page = json!({"data": [{"id": "a"}, {"id": "b"}], "has_more": true});
    assert_eq!(follow(&scheme, &json!({}), &page), Ok(set("starting_after", "b")));
    let last = json!({"data": [{"id": "c"}], "has_more": false});
    assert_eq!(follow(&scheme, &json!({}), &last), Ok(None));
    let empty = json!({"data": [], "has_more": true});
    assert_eq!(follow(&scheme, &json!({}), &empty), Ok(None));
}

#[test]
fn pages_by_number() {
    let parameters = json!({"page": integer(),
        "per_page": {"type": "integer", "default": 2, "maximum": 100}});
    let scheme = detect(&command(&parameters, &json!([]), &[])).unwrap();
    let check = |arguments: Value, body: Value, wanted: Option<NextPage>| {
        assert_eq!(follow(&scheme, &arguments, &body), Ok(wanted), "{arguments} {body}");
    };
    check(json!({}), json!([1, 2]), set("page", 2));
    check(json!({"page": 4}), json!([1, 2]), set("page", 5));
    check(json!({}), json!([1]), None);
    check(json!({}), json!([]), None);
    check(json!({"per_page": 100}), json!([1, 2]), None);
    check(json!({"per_page": 1000}), json!(vec![0; 100]), set("page", 2));
    check(json!({"page": 2}), json!({"data": [1, 2], "total_pages": 2}), None);
    check(json!({"page": 2}), json!({"data": [1], "total_pages": 3}), set("page", 3));
    check(json!({}), json!({"data": [1, 2], "meta": {"has_more": false}}), None);
}

#[test]
fn items_by_number() {
    let parameters = json!({"offset": integer(), "limit": integer()});
    let scheme = detect(&command(&parameters, &json!([]), &[])).unwrap();
    let check = |arguments: Value, body: Value, wanted: Option<NextPage>| {
        assert_eq!(follow(&scheme, &arguments, &body), Ok(wanted), "{arguments} {body}");
    };
    check(json!({"limit": 10}), json!([1, 2]), set("offset", 2));
    check(json!({"offset": 2}), json!({"items": [1, 2], "total": 5}), set("offset", 4));
    check(json!({"offset": 4}), json!({"items": [1], "total": 5}), None);
    check(json!({"offset": "4"}), json!({"items": [1], "total": 6}), set("offset", 5));
    check(json!({"offset": 4}), json!([]), None);
}

#[test]
fn where_the_list_is() {
    let check = |body: Value, wanted: Option<&str>| {
        assert_eq!(items(&body).as_deref(), wanted, "{body}");
    };
    check(json!([]), Some(""));
    check(json!({"data": [1], "included": [2]}), Some("/data"));
    check(json!({"droplets": [1], "meta": {}}), Some("/droplets"));
    check(json!({"a/b": []}), Some("/a~1b"));
    check(json!({"data": {"items": [1], "errors": []}}), Some("/data/items"));
    check(json!({"_embedded": {"orders": [1]}}), Some("/_embedded/orders"));
    check(json!({"a": [], "b": []}), None);
    check(json!({"id": 1}), None);
    check(json!("x"), None);
}

/// Pages through the responses that a server gives to its arguments.
fn walk(
    scheme: &PagingScheme,
    mut walk: PageWalk,
    server: impl Fn(&Arguments) -> Value,
) -> Result<(usize, PageStep), PagingError> {
    let mut arguments = Arguments::default();
    let mut pages = 0;
    loop {
        let body = server(&arguments);
        pages += 1;
        match walk.step(
            scheme,
            &arguments,
            &PageResponse { url: &url(), headers: &[], body: &body },
        )? {
            PageStep::More(NextPage::With { name, value }) => {
                _ = arguments.with.insert(name, value);
            }
            end => return Ok((pages, end)),
        }
    }
}

fn by_cursor() -> PagingScheme {
    PagingScheme::Cursor { parameter: "c".to_owned(), at: "/next_cursor".to_owned(), more: None }
}

#[test]
fn a_walk_ends_where_the_list_ends() {
    let server = |arguments: &Arguments| {
        let at = arguments.with.get("c").and_then(Value::as_u64).unwrap_or(0);
        let next = if at < 4 { json!(at + 1) } else { Value::Null };
        json!({"data": [at], "next_cursor": next})
    };
    assert_eq!(walk(&by_cursor(), PageWalk::new(None, None), server), Ok((5, PageStep::End)));
    assert_eq!(walk(&by_cursor(), PageWalk::new(Some(2), None), server), Ok((2, PageStep::Full)));
    assert_eq!(walk(&by_cursor(), PageWalk::new(None, Some(3)), server), Ok((3, PageStep::Full)));
}

#[test]
fn a_walk_never_goes_in_a_circle() {
    let two = |arguments: &Arguments| {
        let odd = arguments.with.get("c") == Some(&json!("odd"));
        json!({"data": [odd], "next_cursor": if odd { "even" } else { "odd" }})
    };
    let found = walk(&by_cursor(), PageWalk::new(None, None), two);
    assert_eq!(found, Err(PagingError::Circle { page: 3 }));
    let parameter = "page".to_owned();
    let scheme =
        PagingScheme::Counted(PageCount { parameter, first: 1, size: None, by_page: true });
    let deaf = |_: &Arguments| json!({"data": [1, 2]});
    let found = walk(&scheme, PageWalk::new(None, None), deaf);
    assert_eq!(found, Err(PagingError::Circle { page: 2 }));
}

#[test]
fn a_walk_is_never_longer_than_the_limit() {
    let endless = |arguments: &Arguments| {
        let at = arguments.with.get("c").and_then(Value::as_u64).unwrap_or(0);
        json!({"data": [at], "next_cursor": at + 1})
    };
    let found = walk(&by_cursor(), PageWalk::new(Some(usize::MAX), Some(usize::MAX)), endless);
    assert_eq!(found, Ok((milepost_catalog::limits::PAGES, PageStep::Full)));
}

#[test]
fn the_next_page_is_a_request_again() {
    let command = command(&json!({"page": integer()}), &json!([]), &[]);
    let scheme = detect(&command).unwrap();
    let Ok(Some(NextPage::With { name, value })) = follow(&scheme, &json!({}), &json!([1])) else {
        panic!("no next page");
    };
    let mut arguments = Arguments::default();
    arguments.with.insert(name, value);
    let request = crate::cases::build(&command, &crate::base(), &arguments).unwrap();
    assert_eq!(request.url.query(), Some("page=2"));
}

//! Creating, reading, listing, updating and deleting resources of real documents.

use std::fs;

use milepost_mock::{Mock, MockSettings};
use serde_json::{Value, json};

use crate::support::{corpus, documented, json as body, send, send_with};

/// The life cycle of a resource in a real document.
struct Life {
    document: &'static str,
    collection: &'static str,
    /// The media type and text of the body that creates the resource.
    create: (&'static str, &'static str),
    /// The pointer to the id in the response.
    id: &'static str,
    /// The pointer to the list.
    list: &'static str,
    /// The part of an item's path after the id.
    suffix: &'static str,
    /// The method and body of an update, and where its effect is visible.
    update: Option<(&'static str, &'static str, &'static str, &'static str)>,
    /// The body that deletes the resource, if there is such an operation.
    #[expect(
        clippy::option_option,
        reason = "no such operation, or one whose answer says nothing"
    )]
    delete: Option<Option<&'static str>>,
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

const LIVES: &[Life] = &[
    Life {
        document: "oai-example__v3.0_petstore.yaml",
        collection: "/pets",
        create: (JSON, r#"{"id": 77, "name": "Rex"}"#),
        id: "",
        list: "",
        suffix: "",
        update: None,
        delete: None,
    },
    Life {
        document: "guru__asana.com_1.0_openapi.yaml",
        collection: "/tags",
        create: (JSON, r#"{"data": {"name": "urgent"}}"#),
        id: "/data/gid",
        list: "/data",
        suffix: "",
        update: Some(("PUT", "{}", "/data/name", "urgent")),
        delete: Some(None),
    },
    Life {
        document: "guru__stripe.com_2022-11-15_openapi.yaml",
        collection: "/v1/coupons",
        create: (FORM, "name=Summer&percent_off=20"),
        id: "/id",
        list: "/data",
        suffix: "",
        update: Some(("POST", "name=Winter", "/name", "Winter")),
        delete: Some(None),
    },
    Life {
        document: "guru__kubernetes.io_v1.10.0_swagger.yaml",
        collection: "/api/v1/namespaces/default/configmaps",
        create: (JSON, r#"{"metadata": {"name": "settings"}, "data": {"a": "1"}}"#),
        id: "/metadata/name",
        list: "/items",
        suffix: "",
        update: Some(("PUT", r#"{"data": {"a": "2"}}"#, "/data/a", "2")),
        delete: Some(Some("{}")),
    },
    Life {
        document: "twilio__spec_json_twilio_api_v2010.json",
        collection: "/2010-04-01/Accounts/ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/Queues",
        create: (FORM, "FriendlyName=line"),
        id: "/sid",
        list: "/queues",
        suffix: ".json",
        update: None,
        delete: Some(None),
    },
];

#[test]
fn resources_of_real_documents_live_and_die() {
    let files = corpus();
    for life in LIVES {
        let mut found = files.iter();
        let Some(path) = found.find(|path| path.ends_with(life.document)) else {
            eprintln!("skipped: no {}", life.document);
            continue;
        };
        let operations = documented(&fs::read(path).expect("a file"));
        let settings = MockSettings { seed: 5, ..MockSettings::default() };
        live(life, &mut Mock::new(operations, settings));
    }
}

fn live(life: &Life, mock: &mut Mock) {
    let Life { document, suffix, .. } = life;
    let collection = format!("{}{suffix}", life.collection);
    let (kind, text) = life.create;
    let count = |mock: &mut Mock| {
        let answer = send(mock, &format!("GET {collection}"), None);
        assert_eq!(answer.status, 200, "{document} lists: {answer:?}");
        body(&answer).pointer(life.list).and_then(Value::as_array).map_or(0, Vec::len)
    };
    let before = count(mock);
    assert_eq!(before, 3, "{document}");
    let headers = [("content-type", kind)];
    let made = send_with(mock, &format!("POST {collection}"), Some(json!(text)), &headers);
    assert!(matches!(made.status, 200..=202), "{document} creates: {made:?}");
    assert_eq!(count(mock), before + 1, "{document}");
    if life.id.is_empty() {
        return;
    }
    let made = body(&made);
    let id = made.pointer(life.id).and_then(Value::as_str).expect("an id").to_owned();
    let item = format!("{}/{id}{suffix}", life.collection);
    let read = body(&send(mock, &format!("GET {item}"), None));
    assert_eq!(read.pointer(life.id), made.pointer(life.id), "{document}");
    if let Some((method, text, place, expected)) = life.update {
        let changed = send_with(mock, &format!("{method} {item}"), Some(json!(text)), &headers);
        assert_eq!(changed.status, 200, "{document} changes: {changed:?}");
        let read = body(&send(mock, &format!("GET {item}"), None));
        assert_eq!(read.pointer(place), Some(&json!(expected)), "{document}");
    }
    if let Some(text) = life.delete {
        let text = text.map(|text| json!(text));
        let gone = send_with(mock, &format!("DELETE {item}"), text, &headers);
        assert!(matches!(gone.status, 200..=204), "{document} deletes: {gone:?}");
        assert_eq!(count(mock), before, "{document}");
        let status = send(mock, &format!("GET {item}"), None).status;
        assert!((400..500).contains(&status), "{document} has no more: {status}");
    }
}

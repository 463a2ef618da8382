//! Resources: once created, they can be read, listed, changed and deleted.

use milepost_mock::{Mock, MockSettings};
use serde_json::{Value, json};

use crate::support::{json as body, mock, mock_with, send, send_with};

/// Orders in a wrapped list, with refunds nested below them.
const SHOP: &str = r##"
openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "https://shop.example.com/v1"}]
paths:
  /orders:
    get:
      parameters:
        - {name: limit, in: query, schema: {type: integer, maximum: 50}}
        - {name: cursor, in: query, schema: {type: string}}
      responses:
        "200":
          description: Orders
          content:
            application/json:
              schema:
                type: object
                required: [orders, has_more, total]
                properties:
                  orders: {type: array, items: {$ref: "#/components/schemas/Order"}}
                  has_more: {type: boolean}
                  total: {type: integer}
                  next_cursor: {type: [string, "null"]}
    post:
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/NewOrder"}}}
      responses:
        "201":
          description: Created
          content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}
  /orders/{order_id}:
    parameters: [{name: order_id, in: path, required: true, schema: {type: string}}]
    get:
      responses:
        "200":
          description: An order
          content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}
        "404":
          description: None
          content:
            application/json:
              schema: {type: object, required: [message], properties: {message: {type: string}}}
    patch:
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/NewOrder"}}}}
      responses:
        "200":
          description: Changed
          content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}
    delete:
      responses: {"204": {description: Gone}}
  /orders/{order_id}/refunds:
    parameters: [{name: order_id, in: path, required: true, schema: {type: string}}]
    get:
      responses:
        "200":
          description: Refunds
          content:
            application/json:
              schema: {type: array, items: {$ref: "#/components/schemas/Refund"}}
    post:
      responses:
        "201":
          description: Made
          content: {application/json: {schema: {$ref: "#/components/schemas/Refund"}}}
components:
  schemas:
    NewOrder:
      type: object
      properties:
        note: {type: string}
        size: {type: string}
        address: {type: object, properties: {city: {type: string}, street: {type: string}}}
        secret: {type: string, writeOnly: true}
    Order:
      type: object
      additionalProperties: false
      required: [id, created_at]
      properties:
        id: {type: string, format: uuid, example: 7c9e6679-7425-40de-944b-e07fc1f90ae7}
        note: {type: string, example: as in the document}
        size: {type: string, enum: [small, large]}
        created_at: {type: string, format: date-time}
        address: {type: object, properties: {city: {type: string}, street: {type: string}}}
        secret: {type: string, writeOnly: true}
    Refund:
      type: object
      required: [id]
      properties: {id: {type: integer}, amount: {type: number, minimum: 0, multipleOf: 0.01}}
"##;

fn ids(answer: &Value, list: &str) -> Vec<Value> {
    let list = answer.pointer(list).and_then(Value::as_array).expect("a list");
    list.iter().map(|item| item["id"].clone()).collect()
}

#[test]
fn a_fresh_collection_has_resources_that_can_be_read() {
    let mut mock = mock(SHOP);
    let list = body(&send(&mut mock, "GET /v1/orders", None));
    let listed = list["orders"].as_array().expect("a list").clone();
    assert_eq!(listed.len(), 3);
    assert_eq!(
        (&list["total"], &list["has_more"], &list["next_cursor"]),
        (&json!(3), &json!(false), &json!(null))
    );
    for order in listed {
        let read =
            send(&mut mock, &format!("GET /orders/{}", order["id"].as_str().expect("an id")), None);
        assert_eq!(body(&read), order, "the list and the item tell the same");
    }
}

#[test]
fn what_is_created_is_read_listed_changed_and_deleted() {
    let mut mock = mock(SHOP);
    let given = json!({"note": "two of them", "size": "enormous", "secret": "s",
        "address": {"city": "Oslo", "street": "A"}});
    let made = send(&mut mock, "POST /orders", Some(given));
    assert_eq!(made.status, 201);
    let order = body(&made);
    let id = order["id"].as_str().expect("an id").to_owned();
    assert_eq!(order["note"], "two of them");
    assert!(["small", "large"].contains(&order["size"].as_str().expect("a size")), "stays valid");
    assert_eq!(order.get("secret"), None, "write-only");
    assert_eq!(made.header("location"), Some(format!("/orders/{id}").as_str()));

    let item = format!("/orders/{id}");
    assert_eq!(body(&send(&mut mock, &format!("GET {item}"), None)), order);
    let list = body(&send(&mut mock, "GET /orders", None));
    assert_eq!(ids(&list, "/orders").last(), Some(&order["id"]));

    let changes = json!({"note": "three", "address": {"city": "Riga"}});
    let after = body(&send(&mut mock, &format!("PATCH {item}"), Some(changes)));
    assert_eq!(after["note"], "three");
    assert_eq!(after["address"], json!({"city": "Riga", "street": "A"}));
    assert_eq!((&after["id"], &after["created_at"]), (&order["id"], &order["created_at"]));

    let gone = send(&mut mock, &format!("DELETE {item}"), None);
    assert_eq!((gone.status, gone.body.len()), (204, 0));
    assert_eq!(send(&mut mock, &format!("GET {item}"), None).status, 404);
    assert_eq!(send(&mut mock, &format!("DELETE {item}"), None).status, 404);
    assert_eq!(ids(&body(&send(&mut mock, "GET /orders", None)), "/orders").len(), 3);
}

#[test]
fn an_unknown_id_is_the_documented_404_with_the_reason() {
    let answer = send(&mut mock(SHOP), "GET /orders/nope", None);
    assert_eq!(answer.status, 404);
    assert_eq!(body(&answer), json!({"message": "there is no `nope` in `/orders`"}));
}

#[test]
fn lenient_mocks_make_up_what_no_404_is_documented_for() {
    let settings = MockSettings { lenient_ids: true, ..MockSettings::default() };
    let mut mock = mock_with(SHOP, settings);
    let changed = send(&mut mock, "PATCH /orders/nope", Some(json!({})));
    assert_eq!(changed.status, 200);
    assert_eq!(send(&mut mock, "GET /orders/nope", None).status, 404, "documented");
}

#[test]
fn collections_below_different_resources_are_apart() {
    let mut mock = mock(SHOP);
    let made = send(&mut mock, "POST /orders/a/refunds", None);
    let refund = body(&made);
    let of_a = body(&send(&mut mock, "GET /orders/a/refunds", None));
    let of_b = body(&send(&mut mock, "GET /orders/b/refunds", None));
    assert_eq!(ids(&of_a, "").last(), Some(&refund["id"]));
    assert_eq!(ids(&of_a, "").len(), 4);
    assert!(!ids(&of_b, "").contains(&refund["id"]));
}

#[test]
fn pages_lead_through_the_whole_list() {
    let mut mock = mock(SHOP);
    for _ in 0..4 {
        send(&mut mock, "POST /orders", Some(json!({})));
    }
    let all = ids(&body(&send(&mut mock, "GET /orders", None)), "/orders");
    assert_eq!(all.len(), 7);
    let (mut found, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = body(&send(&mut mock, &format!("GET /orders?limit=3{cursor}"), None));
        found.extend(ids(&page, "/orders"));
        pages += 1;
        assert_eq!(page["has_more"], json!(page["next_cursor"].is_string()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!((found, pages), (all, 3));
    let nowhere = body(&send(&mut mock, "GET /orders?cursor=nowhere", None));
    assert_eq!(ids(&nowhere, "/orders"), Vec::<Value>::new());
}

#[test]
fn the_same_requests_get_the_same_answers() {
    let walk = |mock: &mut Mock| {
        let requests = ["GET /orders", "POST /orders", "GET /orders", "GET /orders/x/refunds"];
        let one = |request: &&str| {
            let given = request.starts_with("POST").then(|| json!({"note": "n"}));
            send(mock, request, given)
        };
        requests.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(walk(&mut mock(SHOP)), walk(&mut mock(SHOP)));
    let other = MockSettings { seed: 2, ..MockSettings::default() };
    assert_ne!(walk(&mut mock(SHOP)), walk(&mut mock_with(SHOP, other)));
}

#[test]
fn objects_named_in_their_metadata_are_resources() {
    let pod = json!({"type": "object", "required": ["metadata"], "properties": {
        "kind": {"type": "string"},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"},
            "uid": {"type": "string"}}},
    }});
    let answer = |schema: &Value| {
        json!({"200": {"description": "",
        "content": {"application/json": {"schema": schema}}}})
    };
    let content = json!({"content": {"application/json": {"schema": pod}}});
    let document = json!({"openapi": "3.0.0", "info": {"title": "K", "version": "1"}, "paths": {
        "/pods": {
            "get": {"responses": answer(&json!({"type": "object",
                "properties": {"items": {"type": "array", "items": pod}}}))},
            "post": {"requestBody": content, "responses": answer(&pod)},
        },
        "/pods/{name}": {
            "parameters": [{"name": "name", "in": "path", "required": true,
                "schema": {"type": "string"}}],
            "get": {"responses": answer(&pod)},
            "put": {"requestBody": content, "responses": answer(&pod)},
        },
    }});
    let mut mock = mock(&document.to_string());
    let given = json!({"kind": "Pod", "metadata": {"name": "web"}});
    let made = body(&send(&mut mock, "POST /pods", Some(given)));
    assert_eq!(made["metadata"]["name"], "web");
    assert_eq!(body(&send(&mut mock, "GET /pods/web", None)), made);
    let list = body(&send(&mut mock, "GET /pods", None));
    let names = list["items"].as_array().expect("a list").iter();
    assert_eq!(names.filter(|pod| pod["metadata"]["name"] == "web").count(), 1);
    let renamed = json!({"kind": "Other", "metadata": {"name": "no"}});
    let put = body(&send(&mut mock, "PUT /pods/web", Some(renamed)));
    assert_eq!((&put["kind"], &put["metadata"]["name"]), (&json!("Other"), &json!("web")));
}

#[test]
fn forms_create_resources_too() {
    let document = r##"{"swagger": "2.0", "info": {"title": "T", "version": "1"}, "basePath": "/v1",
      "paths": {
        "/Calls.json": {
          "get": {"produces": ["application/json"], "responses": {"200": {"description": "",
              "schema":
            {"type": "object", "properties": {"calls": {"type": "array",
                "items": {"$ref": "#/definitions/Call"}}}}}}},
          "post": {"consumes": ["application/x-www-form-urlencoded"],
              "produces": ["application/json"],
            "parameters": [{"name": "To", "in": "formData", "type": "string", "required": true},
                           {"name": "Priority", "in": "formData", "type": "integer"}],
            "responses": {"201": {"description": "", "schema": {"$ref": "#/definitions/Call"}}}}},
        "/Calls/{Sid}.json": {
          "get": {"produces": ["application/json"], "parameters": [{"name": "Sid", "in": "path",
              "required": true, "type": "string"}],
            "responses": {"200": {"description": "", "schema": {"$ref": "#/definitions/Call"}}}}}},
      "definitions": {"Call": {"type": "object", "properties": {
        "sid": {"type": "string", "pattern": "^CA[0-9a-f]{32}$"}, "To": {"type": "string"},
            "Priority": {"type": "integer"}}}}}"##;
    let mut mock = mock(document);
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let bad = send_with(&mut mock, "POST /v1/Calls.json", Some(json!("Priority=high")), &form);
    assert_eq!(bad.status, 400);
    let made =
        send_with(&mut mock, "POST /v1/Calls.json", Some(json!("To=%2B1555&Priority=3")), &form);
    assert_eq!(made.status, 201);
    let call = body(&made);
    assert_eq!((&call["To"], &call["Priority"]), (&json!("+1555"), &json!(3)));
    let read = format!("GET /v1/Calls/{}.json", call["sid"].as_str().expect("a sid"));
    assert_eq!(body(&send(&mut mock, &read, None)), call);
    let list = body(&send(&mut mock, "GET /v1/Calls.json", None));
    assert_eq!(list["calls"].as_array().map(Vec::len), Some(4));
}

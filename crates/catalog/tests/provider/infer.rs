//! Which providers are inferred from small documents, and which are not.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::read::providers;

/// An object schema with these fields, each given as `name:type`.
fn item(fields: &str) -> Value {
    let fields = fields.split_whitespace().map(|field| {
        let (name, kind) = field.split_once(':').expect("name:type");
        (name.to_owned(), json!({"type": kind}))
    });
    json!({"type": "object", "properties": fields.collect::<serde_json::Map<_, _>>()})
}

fn list(fields: &str) -> Value {
    json!({"type": "array", "items": item(fields)})
}

/// A document with these paths and the schemas of their `GET` responses; parameters in braces are
/// strings.
fn document(paths: &[(&str, Value)]) -> Value {
    let answer = |schema: &Value| {
        json!({"200": {"description": "", "content":
        {"application/json": {"schema": schema}}}})
    };
    let path = |(path, schema): &(&str, Value)| {
        let names = path.split('{').skip(1).filter_map(|part| part.split('}').next());
        let parameters: Vec<Value> = names
            .map(|name| {
                json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})
            })
            .collect();
        let get = json!({"parameters": parameters, "responses": answer(schema)});
        ((*path).to_owned(), json!({"get": get}))
    };
    let paths: serde_json::Map<_, _> = paths.iter().map(path).collect();
    json!({"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": paths})
}

fn shown(document: &Value) -> String {
    let (_, providers) = providers(document.to_string().as_bytes());
    let mut text = String::new();
    for one in providers {
        for served in &one.serves {
            let binds: Vec<String> =
                one.binds.iter().map(|bind| format!("{}={}", bind.parameter, bind.from)).collect();
            let label = one.label_field.as_deref().unwrap_or("-");
            let _ = writeln!(
                text,
                "{} {} <- {} {:?} {} {label} {binds:?} {}",
                served.command,
                served.parameter,
                one.command,
                one.list_at,
                one.value_field,
                one.confidence.value(),
            );
        }
    }
    text
}

fn check(paths: &[(&str, Value)], expected: &Expect) {
    expected.assert_eq(&shown(&document(paths)));
}

#[test]
fn a_path_continues_a_list() {
    let wrapped = json!({"type": "object", "properties":
        {"data": list("id:integer order_id:string"), "total": {"type": "integer"}}});
    check(
        &[
            ("/orders", list("id:string name:string")),
            ("/orders/{order_id}", item("id:string")),
            ("/orders/{id}/items", wrapped),
            ("/orders/{order_id}/items/{item_id}", item("id:string")),
        ],
        &expect![[r#"
            orders:get order_id <- orders:list "" /id /name [] 0.95
            orders:items:list id <- orders:list "" /id /name [] 0.95
            orders:items:get order_id <- orders:list "" /id /name [] 0.95
            orders:items:get item_id <- orders:items:list "/data" /id - ["id=order_id"] 0.95
        "#]],
    );
}

#[test]
fn fields_are_chosen_by_name_and_type() {
    check(
        &[
            ("/pulls", list("id:integer number:integer title:string")),
            ("/pulls/{pull_number}", item("id:integer")),
            ("/groups", list("id:string groupId:string")),
            ("/groups/{groupId}", item("id:string")),
            ("/codes", list("id:integer code_id:string")),
            ("/codes/{code_id}", item("id:string")),
            ("/voucher", list("voucherId:string")),
            ("/voucher/{id}", item("id:string")),
            ("/tags", list("slug:string name:string")),
            ("/tags/{tag}", item("name:string")),
            ("/shops", list("name:string")),
            ("/shops/{shop}", item("id:integer")),
            ("/domains", list("domain:string uri:string")),
            ("/domains/{domain}", item("id:string")),
            ("/comments", list("comment:string id:string")),
            ("/comments/{comment}", item("id:string")),
            ("/teams", list("created:string")),
            ("/teams/{team_id}", item("id:string")),
            ("/flags", list("id:boolean key:object")),
            ("/flags/{flagId}", item("id:string")),
        ],
        &expect![[r#"
            pulls:get pull_number <- pulls:list "" /number /title [] 0.95
            groups:get groupId <- groups:list "" /id - [] 0.8
            codes:get code_id <- codes:list "" /code_id - [] 0.95
            voucher:get id <- voucher:list "" /voucherId - [] 0.95
            tags:get tag <- tags:list "" /slug /name [] 0.8
            domains:get domain <- domains:list "" /domain - [] 0.95
            comments:get comment <- comments:list "" /id - [] 0.8
        "#]],
    );
}

#[test]
fn what_is_no_list_of_things_provides_nothing() {
    check(
        &[
            ("/names", json!({"type": "array", "items": {"type": "string"}})),
            ("/names/{name}", item("id:string")),
            ("/orders", item("id:string")),
            ("/orders/{id}", item("id:string")),
            ("/things", json!({"type": "array", "items": {"type": "object"}})),
            ("/things/{id}", item("id:string")),
            (
                "/carts",
                json!({"type": "object", "properties":
                {"id": {"type": "string"}, "lines": list("id:string")}}),
            ),
            ("/carts/{cart_id}", item("id:string")),
        ],
        &expect![""],
    );
}

#[test]
fn what_is_no_choice_gets_none() {
    check(
        &[
            ("/rates", list("date:string version:string id:string")),
            ("/rates/{date}", item("id:string")),
            ("/rates/{date}/{version}", item("id:string")),
        ],
        &expect![""],
    );
    let mut choices = document(&[("/pets", list("id:string")), ("/pets/{id}", item("id:string"))]);
    let schema = "/paths/~1pets~1{id}/get/parameters/0/schema";
    *choices.pointer_mut(schema).expect("a schema") = json!({"type": "string", "enum": ["a", "b"]});
    assert_eq!(shown(&choices), "");
    *choices.pointer_mut(schema).expect("a schema") = json!({"type": "boolean"});
    assert_eq!(shown(&choices), "");
}

#[test]
fn required_parameters_are_bound_or_there_is_no_provider() {
    let tenant = json!({"name": "tenant", "in": "header", "required": true,
        "schema": {"type": "string"}});
    let mut bound = document(&[("/pets", list("id:string")), ("/pets/{id}", item("id:string"))]);
    let push = |document: &mut Value, path: &str| {
        let list = document.pointer_mut(&format!("/paths/{path}/get/parameters"));
        list.and_then(Value::as_array_mut).expect("a list").push(tenant.clone());
    };
    push(&mut bound, "~1pets");
    assert_eq!(shown(&bound), "");
    push(&mut bound, "~1pets~1{id}");
    expect![[r#"
        pets:get id <- pets:list "" /id - ["tenant=tenant"] 0.95
    "#]]
    .assert_eq(&shown(&bound));
    bound["paths"]["/pets"]["get"]["deprecated"] = true.into();
    assert_eq!(shown(&bound), "");
}

#[test]
fn parameters_are_named_after_lists_elsewhere() {
    let mut orders = document(&[
        ("/v1/customers", list("id:string name:string")),
        ("/v1/orders", list("id:string")),
        ("/v1/albums/comments/{comment_id}", item("id:string")),
        ("/v1/comments", list("id:string")),
        ("/v1/shops/{owner}/{customer}", item("id:string")),
    ]);
    let query = |name: &str, description: &str| {
        json!({"name": name, "in": "query", "description": description,
            "schema": {"type": "string"}})
    };
    orders["paths"]["/v1/orders"]["get"]["parameters"] = json!([
        query("customer_id", ""),
        query("customer", "Orders of this customer ID."),
        query("comment", "A text that is in a comment."),
        query("customer_name", "A text that is in the name."),
        query("limit", ""),
    ]);
    expect![[r#"
        orders:list customer_id <- customers:list "" /id /name [] 0.95
        orders:list customer <- customers:list "" /id /name [] 0.95
    "#]]
    .assert_eq(&shown(&orders));
}

#[test]
fn items_may_hold_the_thing() {
    let held = json!({"type": "array", "items": {"type": "object", "properties":
        {"id": {"type": "string"}, "artist": item("id:string")}}});
    let kube = json!({"type": "object", "properties": {"items": {"type": "array", "items":
        {"type": "object", "properties": {"metadata": item("name:string namespace:string")}}}}});
    check(
        &[
            ("/me/followed-artists", held),
            ("/me/followed-artists/{artist_id}", item("id:string")),
            ("/api/v1/namespaces", kube.clone()),
            ("/api/v1/namespaces/{name}", item("id:string")),
            ("/apis/apps/v1/namespaces/{namespace}/pods", kube),
        ],
        &expect![[r#"
            me:followed-artists:get artist_id <- me:followed-artists:list "" /artist/id - [] 0.8
            namespaces:get name <- namespaces:list "/items" /metadata/name - [] 0.95
            apps:namespaces:pods:list namespace <- namespaces:list "/items" /metadata/name - [] 0.95
        "#]],
    );
}

#[test]
fn adding_to_a_list_is_no_choice_from_it() {
    let mut follow = document(&[
        ("/me/following", list("login:string")),
        ("/me/following/{username}", item("login:string")),
    ]);
    let path = &mut follow["paths"]["/me/following/{username}"];
    path["put"] = path["get"].clone();
    path["delete"] = path["get"].clone();
    expect![[r#"
        me:following:get username <- me:following:list "" /login - [] 0.8
        me:following:delete username <- me:following:list "" /login - [] 0.8
    "#]]
    .assert_eq(&shown(&follow));
}

#[test]
fn the_id_of_what_is_made_is_no_choice() {
    let mut made = document(&[("/backups", list("id:string")), ("/restores", list("id:string"))]);
    let id = json!([{"name": "backup_id", "in": "query", "schema": {"type": "string"}}]);
    let post = json!({"parameters": id, "responses": {}});
    made["paths"]["/backups"]["post"] = post.clone();
    made["paths"]["/restores"]["post"] = post;
    expect![[r#"
        restores:create backup_id <- backups:list "" /id - [] 0.95
    "#]]
    .assert_eq(&shown(&made));
}

#[test]
fn links_say_what_a_parameter_is() {
    let mut linked = document(&[
        ("/repositories/{username}", list("slug:string owner:string")),
        ("/code/{username}/{slug}", item("slug:string")),
        ("/pulls", list("id:string ref:string")),
        ("/pulls/{pid}", item("id:string")),
    ]);
    linked["paths"]["/code/{username}/{slug}"]["get"]["operationId"] = "getCode".into();
    linked["paths"]["/pulls/{pid}"]["get"]["operationId"] = "getPull".into();
    let answer = "/paths/~1repositories~1{username}/get/responses/200/links";
    let (parent, _) = answer.rsplit_once('/').expect("a parent");
    linked.pointer_mut(parent).expect("an answer")["links"] = json!({"code": {
        "operationId": "getCode",
        "parameters": {"username": "$response.body#/owner", "slug": "$response.body#/slug"}}});
    linked["paths"]["/pulls"]["post"] = json!({"responses": {"201": {"description": "", "links":
        {"pull": {"operationId": "getPull", "parameters": {"pid": "$response.body#/ref"}}}}}});
    expect![[r#"
        code:get slug <- repositories:get "" /slug - ["username=username"] 1
        pulls:get pid <- pulls:list "" /ref - [] 1
    "#]]
    .assert_eq(&shown(&linked));
}

#[test]
fn lists_of_what_is_known_already_provide_nothing() {
    let mut known = document(&[("/items", list("id:string")), ("/items/{id}", item("id:string"))]);
    let ids = json!({"name": "item_ids", "in": "query", "schema": {"type": "string"}});
    let paged = json!({"name": "limit", "in": "query", "schema": {"type": "integer"}});
    known["paths"]["/items"]["get"]["parameters"] = json!([ids]);
    assert_eq!(shown(&known), "");
    known["paths"]["/items"]["get"]["parameters"] = json!([ids, paged]);
    expect![[r#"
        items:get id <- items:list "" /id - [] 0.95
    "#]]
    .assert_eq(&shown(&known));
}

#[test]
fn schemas_that_turn_in_circles_end() {
    let mut circle = document(&[
        ("/nodes", json!({"type": "array", "items": {"$ref": "#/components/schemas/Node"}})),
        ("/nodes/{node_id}", item("id:string")),
    ]);
    let node = json!({"$ref": "#/components/schemas/Node"});
    circle["components"]["schemas"]["Node"] = json!({"allOf": [node, node, item("id:string")],
        "anyOf": [node, node]});
    expect![[r#"
        nodes:get node_id <- nodes:list "" /id - [] 0.95
    "#]]
    .assert_eq(&shown(&circle));
}

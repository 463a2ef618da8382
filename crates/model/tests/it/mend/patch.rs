//! The parts of JSON Patch (RFC 6902) that fixes use.

use serde_json::Value;

pub(super) fn apply(document: &Value, operations: &[Value]) -> Result<Value, String> {
    let mut document = document.clone();
    for operation in operations {
        let text = |key: &str| operation[key].as_str().ok_or(format!("no `{key}` in {operation}"));
        let path = text("path")?;
        match text("op")? {
            "add" => add(&mut document, path, operation["value"].clone())?,
            "remove" => drop(remove(&mut document, path)?),
            "replace" => {
                let target = document.pointer_mut(path).ok_or(format!("nothing at {path}"))?;
                *target = operation["value"].clone();
            }
            "move" => {
                let value = remove(&mut document, text("from")?)?;
                add(&mut document, path, value)?;
            }
            other => return Err(format!("unknown operation {other}")),
        }
    }
    Ok(document)
}

fn split(path: &str) -> Result<(&str, String), String> {
    let (parent, last) = path.rsplit_once('/').ok_or(format!("{path} has no parent"))?;
    Ok((parent, last.replace("~1", "/").replace("~0", "~")))
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let (parent, last) = split(path)?;
    match document.pointer_mut(parent).ok_or(format!("nothing at {parent}"))? {
        Value::Object(map) => drop(map.insert(last, value)),
        Value::Array(items) => {
            let index = if last == "-" { Ok(items.len()) } else { last.parse::<usize>() };
            let index = index.map_err(|_| format!("{last} is no index"))?;
            if index > items.len() {
                return Err(format!("{path} is beyond the end"));
            }
            items.insert(index, value);
        }
        _ => return Err(format!("{parent} holds nothing")),
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str) -> Result<Value, String> {
    let (parent, last) = split(path)?;
    let removed = match document.pointer_mut(parent).ok_or(format!("nothing at {parent}"))? {
        Value::Object(map) => map.shift_remove(&last),
        Value::Array(items) => {
            let index = last.parse::<usize>().ok().filter(|index| *index < items.len());
            index.map(|index| items.remove(index))
        }
        _ => None,
    };
    removed.ok_or(format!("nothing at {path}"))
}

#[test]
fn operations() {
    use serde_json::json;
    let document = json!({"a": [1, 2], "b/c": {"d": 3}});
    let patch = [
        json!({"op": "move", "from": "/b~1c/d", "path": "/a/0"}),
        json!({"op": "replace", "path": "/a/1", "value": 9}),
        json!({"op": "remove", "path": "/b~1c"}),
        json!({"op": "add", "path": "/e", "value": {}}),
    ];
    assert_eq!(apply(&document, &patch), Ok(json!({"a": [3, 9, 2], "e": {}})));
    assert!(apply(&document, &[json!({"op": "remove", "path": "/x"})]).is_err());
}

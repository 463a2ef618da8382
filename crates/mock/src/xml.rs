//! Renders values as XML, for responses with an XML media type.

use serde_json::Value;

/// Renders a document.
pub(crate) fn document(value: &Value) -> String {
    if let Value::String(text) = value
        && text.trim_start().starts_with('<')
    {
        return text.clone();
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    element("response", value, &mut out);
    out
}

fn element(name: &str, value: &Value, out: &mut String) {
    if let Value::Array(items) = value {
        items.iter().for_each(|item| element(name, item, out));
        return;
    }
    let name = tag(name);
    out.extend(["<", &name, ">"]);
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| element(name, value, out));
        }
        Value::Null | Value::Array(_) => {}
        Value::String(text) => out.push_str(&escaped(text)),
        scalar => out.push_str(&scalar.to_string()),
    }
    out.extend(["</", &name, ">"]);
}

fn tag(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let name: String = name.chars().map(fits).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name
    } else {
        format!("_{name}")
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_become_elements_and_lists_repeat_them() {
        let value = serde_json::json!({"a b": [1, "<&>"], "1": null});
        let body = "<response><a_b>1</a_b><a_b>&lt;&amp;&gt;</a_b><_1></_1></response>";
        assert_eq!(document(&value), format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>{body}"));
    }
}

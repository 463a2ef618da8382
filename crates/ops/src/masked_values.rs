//! Refuses values in which a mask stands for a secret. What was shown masked has lost its value, so
//! sending or storing it would overwrite the secret with the mask.
//!
//! Only what a caller gives is checked. The same text in an API's answer is data.

use milepost_model::secret::{mark, marked_name, marked_name_in};
use milepost_store::secrets::SecretName;

use crate::prelude::*;

/// Refuses a value that contains a mask; `what` names the argument.
pub(crate) fn refuse(what: &str, value: Option<&Value>) -> Result<()> {
    value.and_then(marked_name_in).map_or(Ok(()), |name| Err(refused(what, name)))
}

/// Refuses values of which one contains a mask.
pub(crate) fn refuse_in_map(what: &str, values: &Map<String, Value>) -> Result<()> {
    let found = values.iter().find_map(|(key, value)| {
        let name = marked_name(key).or_else(|| marked_name_in(value))?;
        Some(refused(&format!("{what}.{key}"), name))
    });
    found.map_or(Ok(()), Err)
}

/// Refuses a text that contains a mask.
pub(crate) fn refuse_in_text(what: &str, text: &str) -> Result<()> {
    marked_name(text).map_or(Ok(()), |name| Err(refused(what, name)))
}

fn refused(what: &str, name: &str) -> Problem {
    let message =
        format!("`{what}` contains `{}`, which is shown in place of a secret", mark(name));
    let hint = match SecretName::parse(name) {
        Ok(name) => format!(
            "leave that part out; a workflow that needs the value reads it with \
             `${{{{ secret('{}') }}}}`",
            name.as_str()
        ),
        Err(_) => "leave that part out, or let a workflow pass the value on: a run keeps it".into(),
    };
    Problem::new(Code::MaskedValue, message, hint).context("argument", what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_refused_wherever_it_stands() {
        let body = json!({"a": [{"b": "Bearer [secret:SHOP_TOKEN]"}]});
        let problem = refuse("body", Some(&body)).expect_err("is refused");
        assert_eq!(problem.code, Code::MaskedValue);
        assert_eq!(
            problem.message,
            "`body` contains `[secret:SHOP_TOKEN]`, which is shown in place of a secret"
        );
        assert!(
            problem.hint.worded(&milepost_model::wording::Neutral).contains("secret('SHOP_TOKEN')")
        );
        let map = json!({"x": 1, "y": "[secret:token for oauth]"});
        let problem = refuse_in_map("with", map.as_object().expect("an object"));
        assert!(problem.expect_err("is refused").message.starts_with("`with.y` contains"));
        assert!(refuse_in_text("content", "steps: [secret:${{ x }}]").is_ok());
        assert!(refuse("body", Some(&json!({"secret": "[a]"}))).is_ok());
        assert!(refuse("body", None).is_ok());
    }
}

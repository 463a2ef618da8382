//! Requests that ask the server to treat them as having another method.

use super::ANY_METHOD;

/// The headers that name another method.
const HEADERS: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];
/// The parameter of a query or a form that names another method.
const PARAMETER: &str = "_method";

/// Whether a header or a parameter names another method. An argument may say where it belongs, as
/// in `header.X-HTTP-Method`.
pub fn is_override(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    let bare = name.split_once('.').map_or(name.as_str(), |(_, bare)| bare);
    bare == PARAMETER || HEADERS.contains(&bare)
}

/// Whether requests with this method change nothing.
pub fn is_read(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
}

/// The method that a server may act on, given the methods that the request names elsewhere. A
/// request never counts as less than its own method.
pub fn effective<'m>(own: &str, named: impl IntoIterator<Item = &'m str>) -> String {
    let named: Vec<String> = named.into_iter().map(|one| one.trim().to_uppercase()).collect();
    let mut writes = named.iter().filter(|method| !is_read(method) && !method.is_empty());
    match (writes.next(), writes.next()) {
        (None, _) => own.to_owned(),
        (Some(one), None) if is_method(one) => one.clone(),
        // Several, or one that is no method: nobody knows what the server makes of it.
        (Some(_), _) => ANY_METHOD.to_owned(),
    }
}

fn is_method(text: &str) -> bool {
    text.len() <= 32 && text.chars().all(|c| c.is_ascii_uppercase() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overridden_method_counts_as_what_it_says() {
        assert_eq!(effective("POST", []), "POST");
        assert_eq!(effective("POST", ["delete"]), "DELETE");
        assert_eq!(effective("GET", ["DELETE"]), "DELETE");
        assert_eq!(effective("POST", ["GET"]), "POST", "a server may ignore it");
        assert_eq!(effective("GET", ["HEAD"]), "GET");
        assert_eq!(effective("POST", ["DELETE", "PUT"]), ANY_METHOD);
        assert_eq!(effective("POST", ["DELETE /x"]), ANY_METHOD);
        assert!(is_override("X-HTTP-Method-Override") && is_override("query._method"));
        assert!(!is_override("method") && !is_override("x-method"));
    }
}

//! Computes the request that follows a redirect. The client sends it, and checks the new URL like
//! the first one.

use bytes::Bytes;
use milepost_catalog::text::WordList;
use milepost_model::secret::Mask;
use url::Url;

use crate::fault::RedirectRefusal;
use crate::outgoing::Outgoing;

/// Whether this status is a redirect.
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The request that a redirect leads to.
pub(crate) fn follow(
    request: &Outgoing,
    status: u16,
    location: &str,
    mask: &Mask,
) -> Result<Outgoing, RedirectRefusal> {
    let url = request.url.join(location).map_err(|_| RedirectRefusal::NoUrl)?;
    if request.url.scheme() == "https" && url.scheme() == "http" {
        return Err(RedirectRefusal::Downgrade);
    }
    let mut next = Outgoing { url, ..request.clone() };
    next.url.set_fragment(None);
    if becomes_get(&request.method, status) {
        "GET".clone_into(&mut next.method);
        next.body = Bytes::new();
        next.headers.retain(|(name, _)| !name.to_ascii_lowercase().starts_with("content-"));
    }
    if next.url.origin() != request.url.origin() {
        next.headers.retain(|(name, _)| may_cross(name));
        let in_headers = || next.headers.iter().any(|(_, value)| mask.finds(value));
        if mask.finds(next.url.as_str()) || in_headers() || mask.finds_bytes(&next.body) {
            return Err(RedirectRefusal::CarriesSecret);
        }
    }
    Ok(next)
}

/// Whether the method changes to `GET`. As in browsers, a submitted form is not submitted again.
fn becomes_get(method: &str, status: u16) -> bool {
    match status {
        301 | 302 => method == "POST",
        303 => !matches!(method, "GET" | "HEAD"),
        _ => false,
    }
}

/// Whether a header is known not to identify the caller. All other headers are dropped if the
/// redirect leads to another origin, because only the API knows which of them are credentials.
fn may_cross(name: &str) -> bool {
    const NAMES: WordList = WordList(
        "accept accept-language content-type content-language range user-agent if-none-match \
         if-modified-since",
    );
    NAMES.contains(&name.to_ascii_lowercase())
}

/// The part of a refused redirect target that may be shown.
pub(crate) fn target(from: &Url, location: &str) -> String {
    match from.join(location) {
        Ok(mut url) => {
            url.set_query(None);
            url.set_fragment(None);
            url.to_string()
        }
        Err(_) => location.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use milepost_model::secret::Secret;

    fn request(method: &str, url: &str) -> Outgoing {
        Outgoing {
            method: method.to_owned(),
            url: Url::parse(url).expect("a URL"),
            headers: Vec::new(),
            body: Bytes::from_static(b"body"),
        }
        .header("Content-Type", "text/plain")
        .header("X-Trace", "1")
        .header("Authorization", "Bearer user-typed")
    }

    fn go(method: &str, status: u16, location: &str) -> Result<Outgoing, RedirectRefusal> {
        follow(&request(method, "https://a.test/x/y"), status, location, &Mask::new())
    }

    #[test]
    fn methods_change_as_browsers_change_them() {
        let table = [
            ("POST", 301, "GET"),
            ("POST", 302, "GET"),
            ("POST", 303, "GET"),
            ("POST", 307, "POST"),
            ("POST", 308, "POST"),
            ("PUT", 301, "PUT"),
            ("PUT", 303, "GET"),
            ("DELETE", 302, "DELETE"),
            ("HEAD", 303, "HEAD"),
            ("GET", 302, "GET"),
        ];
        for (method, status, expected) in table {
            let next = go(method, status, "/z").expect("is followed");
            assert_eq!(next.method, expected, "{method} {status}");
            assert_eq!(next.body.is_empty(), expected == "GET" && method != "GET");
            let typed = next.headers.iter().any(|(name, _)| name == "Content-Type");
            assert_eq!(typed, !next.body.is_empty(), "{method} {status}");
        }
    }

    #[test]
    fn targets_are_relative_to_the_request() {
        for (location, expected) in [
            ("z", "https://a.test/x/z"),
            ("/z?q=1#f", "https://a.test/z?q=1"),
            ("//b.test/z", "https://b.test/z"),
            ("?q", "https://a.test/x/y?q"),
        ] {
            assert_eq!(go("GET", 302, location).expect("is followed").url.as_str(), expected);
        }
    }

    #[test]
    fn https_never_becomes_http() {
        assert_eq!(go("GET", 302, "http://a.test/"), Err(RedirectRefusal::Downgrade));
        assert_eq!(go("GET", 302, "https://[::g]/"), Err(RedirectRefusal::NoUrl));
    }

    #[test]
    fn only_headers_without_an_owner_cross_origins() {
        let names = |location| -> Vec<String> {
            let next = go("GET", 307, location).expect("is followed");
            next.headers.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("/same"), ["Content-Type", "X-Trace", "Authorization"]);
        for other in ["https://b.test/", "https://a.test:444/", "https://a.test./"] {
            assert_eq!(names(other), ["Content-Type"], "{other}");
        }
    }

    #[test]
    fn a_secret_never_crosses_origins() {
        let mut mask = Mask::new();
        mask.add("key", &Secret::new("s3cr/et"));
        let from = request("POST", "https://a.test/?key=s3cr%2Fet");
        let go = |status, location| follow(&from, status, location, &mask);
        assert!(go(302, "/z?key=s3cr%2Fet").is_ok());
        for location in ["https://b.test/?key=s3cr%2Fet", "https://b.test/s3cr/et/z"] {
            assert_eq!(go(302, location), Err(RedirectRefusal::CarriesSecret), "{location}");
        }
        let body = Outgoing { body: Bytes::from_static(b"{\"k\":\"s3cr\\/et\"}"), ..from };
        let crossed = follow(&body, 307, "https://b.test/", &mask);
        assert_eq!(crossed, Err(RedirectRefusal::CarriesSecret));
    }
}

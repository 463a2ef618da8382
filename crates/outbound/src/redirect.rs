//! Computes the request that follows a redirect. The client sends it, and checks the new URL like
//! the first one.

use milepost_catalog::text::WordList;
use milepost_model::secret::Mask;
use url::Url;

use crate::fault::RedirectRefusal;
use crate::outgoing::Outgoing;

/// Whether a response is a redirect that is followed. A write follows none: the response is its
/// answer, because nobody has agreed to send the write anywhere else.
pub(crate) fn is_followed(method: &str, status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308) && matches!(method, "GET" | "HEAD" | "OPTIONS")
}

/// The request that a redirect leads to.
pub(crate) fn follow(
    request: &Outgoing,
    location: &str,
    mask: &Mask,
) -> Result<Outgoing, RedirectRefusal> {
    let url = request.url.join(location).map_err(|_| RedirectRefusal::NoUrl)?;
    if request.url.scheme() == "https" && url.scheme() == "http" {
        return Err(RedirectRefusal::Downgrade);
    }
    let mut next = Outgoing { url, ..request.clone() };
    next.url.set_fragment(None);
    if next.url.origin() != request.url.origin() {
        next.headers.retain(|(name, _)| may_cross(name));
        let in_headers = || next.headers.iter().any(|(_, value)| mask.finds(value));
        if mask.finds(next.url.as_str()) || in_headers() || mask.finds_bytes(&next.body) {
            return Err(RedirectRefusal::CarriesSecret);
        }
    }
    Ok(next)
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
    use bytes::Bytes;
    use milepost_model::secret::Secret;

    use super::*;

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

    fn go(location: &str) -> Result<Outgoing, RedirectRefusal> {
        follow(&request("GET", "https://a.test/x/y"), location, &Mask::new())
    }

    #[test]
    fn only_reads_follow_redirects() {
        for status in [301, 302, 303, 307, 308] {
            assert!(["GET", "HEAD", "OPTIONS"].iter().all(|method| is_followed(method, status)));
            let writes = ["POST", "PUT", "PATCH", "DELETE", "PURGE"];
            assert!(!writes.iter().any(|method| is_followed(method, status)), "{status}");
        }
        assert!(!is_followed("GET", 200) && !is_followed("GET", 304));
    }

    #[test]
    fn targets_are_relative_to_the_request() {
        for (location, expected) in [
            ("z", "https://a.test/x/z"),
            ("/z?q=1#f", "https://a.test/z?q=1"),
            ("//b.test/z", "https://b.test/z"),
            ("?q", "https://a.test/x/y?q"),
        ] {
            assert_eq!(go(location).expect("is followed").url.as_str(), expected);
        }
    }

    #[test]
    fn https_never_becomes_http() {
        assert_eq!(go("http://a.test/"), Err(RedirectRefusal::Downgrade));
        assert_eq!(go("https://[::g]/"), Err(RedirectRefusal::NoUrl));
    }

    #[test]
    fn only_headers_without_an_owner_cross_origins() {
        let names = |location| -> Vec<String> {
            let next = go(location).expect("is followed");
            next.headers.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("/same"), ["Content-Type", "X-Trace", "Authorization"]);
        for other in ["https://b.test/", "https://a.test:444/", "https://a.test./"] {
            assert_eq!(names(other), ["Content-Type"], "{other}");
        }
    }

    #[test]
    fn a_secret_never_crosses_origins() {
        let mut mask = Mask::guard();
        mask.add("key", &Secret::new("s3cr/et"));
        let from = request("GET", "https://a.test/?key=s3cr%2Fet");
        let go = |location| follow(&from, location, &mask);
        assert!(go("/z?key=s3cr%2Fet").is_ok());
        for location in ["https://b.test/?key=s3cr%2Fet", "https://b.test/s3cr/et/z"] {
            assert_eq!(go(location), Err(RedirectRefusal::CarriesSecret), "{location}");
        }
        let body = Outgoing { body: Bytes::from_static(b"{\"k\":\"s3cr\\/et\"}"), ..from };
        let crossed = follow(&body, "https://b.test/", &mask);
        assert_eq!(crossed, Err(RedirectRefusal::CarriesSecret));
    }
}

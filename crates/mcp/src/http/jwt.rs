//! Checks access tokens from an authorization server: whether a token is for this server, and whose
//! it is. Nothing here does I/O.
//!
//! Tokens are signed with RS256 or ES256 by a key in the key set. The algorithm that a token names
//! is trusted only if it matches the type of the key.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use crate::limits;

/// The keys that an authorization server signs with.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys(Vec<Key>);

#[derive(Debug, Clone)]
struct Key {
    id: Option<String>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// The modulus and the exponent, for RS256.
    Rsa(Vec<u8>, Vec<u8>),
    /// A point on P-256, for ES256.
    P256(Vec<u8>),
}

/// What a token must contain.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpectedClaims<'a> {
    pub(super) issuer: &'a str,
    pub(super) audience: &'a str,
    pub(super) now_s: u64,
}

/// Why a token is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokenFault {
    #[error("this is not a signed token")]
    Malformed,
    #[error("the token's signature algorithm is not supported; use RS256 or ES256")]
    Algorithm,
    /// The key set may be outdated.
    #[error("the token is signed with a key that its issuer does not publish")]
    UnknownKey,
    #[error("the token's signature is invalid")]
    Signature,
    #[error("the token is from another issuer")]
    Issuer,
    #[error("the token is for another resource")]
    Audience,
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    NotYet,
    #[error("the token has no subject")]
    NoSubject,
    #[error("the token's subject is longer than {} characters", limits::SUBJECT_CHARS)]
    LongSubject,
}

impl Keys {
    /// The usable keys in a key set (RFC 7517); `None` if it is not a key set.
    pub(super) fn parse(bytes: &[u8]) -> Option<Keys> {
        let set: Value = serde_json::from_slice(bytes).ok()?;
        Some(Keys(set["keys"].as_array()?.iter().filter_map(Key::parse).collect()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Key {
    fn parse(key: &Value) -> Option<Key> {
        if key["use"].as_str().is_some_and(|usage| usage != "sig") {
            return None;
        }
        let kind = match (key["kty"].as_str()?, key["crv"].as_str()) {
            ("RSA", None) => Kind::Rsa(number(&key["n"])?, number(&key["e"])?),
            ("EC", Some("P-256")) => {
                let point = [decoded(&key["x"])?, decoded(&key["y"])?].concat();
                Kind::P256([&[4], point.as_slice()].concat())
            }
            _ => return None,
        };
        Some(Key { id: key["kid"].as_str().map(str::to_owned), kind })
    }

    fn has_algorithm(&self, name: &str) -> bool {
        matches!((&self.kind, name), (Kind::Rsa(..), "RS256") | (Kind::P256(_), "ES256"))
    }

    fn signed(&self, text: &[u8], signature: &[u8]) -> bool {
        match &self.kind {
            Kind::Rsa(n, e) => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, text, signature)
                .is_ok(),
            Kind::P256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                .verify(text, signature)
                .is_ok(),
        }
    }
}

fn decoded(text: &Value) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.as_str()?).ok()
}

/// Decodes a number and strips its leading zero bytes.
fn number(text: &Value) -> Option<Vec<u8>> {
    let bytes = decoded(text)?;
    let first = bytes.iter().position(|byte| *byte != 0)?;
    Some(bytes[first..].to_vec())
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

#[derive(Deserialize)]
struct Claims {
    iss: Option<String>,
    aud: Option<Audience>,
    exp: Option<f64>,
    nbf: Option<f64>,
    sub: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

/// Verifies a token and returns its subject.
pub(super) fn verify(
    token: &str,
    keys: &Keys,
    expected: ExpectedClaims<'_>,
) -> Result<String, TokenFault> {
    let malformed = || TokenFault::Malformed;
    if token.len() > limits::TOKEN_CHARS {
        return Err(malformed());
    }
    let (signed, signature) = token.rsplit_once('.').ok_or_else(malformed)?;
    let (header, claims) = signed.split_once('.').ok_or_else(malformed)?;
    let part = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| malformed());
    let header: Header = serde_json::from_slice(&part(header)?).map_err(|_| malformed())?;
    is_signed(&header, keys, signed.as_bytes(), &part(signature)?)?;
    let claims: Claims = serde_json::from_slice(&part(claims)?).map_err(|_| malformed())?;
    is_for_us(&claims, expected)?;
    let subject = claims.sub.filter(|subject| !subject.is_empty()).ok_or(TokenFault::NoSubject)?;
    // Names are compared, and must not be shortened anywhere.
    match subject.chars().nth(limits::SUBJECT_CHARS) {
        None => Ok(subject),
        Some(_) => Err(TokenFault::LongSubject),
    }
}

fn is_signed(
    header: &Header,
    keys: &Keys,
    text: &[u8],
    signature: &[u8],
) -> Result<(), TokenFault> {
    // Every extension in `crit` must be understood, and none is supported.
    if !matches!(header.alg.as_str(), "RS256" | "ES256") || header.crit.is_some() {
        return Err(TokenFault::Algorithm);
    }
    let is_named = |key: &Key| header.kid.is_none() || key.id == header.kid;
    let is_meant = |key: &&Key| key.has_algorithm(&header.alg) && is_named(key);
    let mut meant = keys.0.iter().filter(is_meant).peekable();
    if meant.peek().is_none() {
        return Err(TokenFault::UnknownKey);
    }
    if meant.any(|key| key.signed(text, signature)) { Ok(()) } else { Err(TokenFault::Signature) }
}

fn is_for_us(claims: &Claims, expected: ExpectedClaims<'_>) -> Result<(), TokenFault> {
    if claims.iss.as_deref() != Some(expected.issuer) {
        return Err(TokenFault::Issuer);
    }
    let is_ours = match &claims.aud {
        None => false,
        Some(Audience::One(one)) => one == expected.audience,
        Some(Audience::Several(all)) => all.iter().any(|one| one == expected.audience),
    };
    if !is_ours {
        return Err(TokenFault::Audience);
    }
    // A token without an expiry would be valid forever.
    if claims.exp.is_none_or(|end| seconds(end) + limits::CLOCK_LEEWAY_S <= expected.now_s) {
        return Err(TokenFault::Expired);
    }
    match claims.nbf {
        Some(begin) if seconds(begin) > expected.now_s + limits::CLOCK_LEEWAY_S => {
            Err(TokenFault::NotYet)
        }
        _ => Ok(()),
    }
}

/// Converts a timestamp to whole seconds; a negative one becomes zero, which is long past.
#[expect(clippy::cast_sign_loss, reason = "negative values saturate to zero")]
fn seconds(at: f64) -> u64 {
    (at as u64).min(u64::MAX - limits::CLOCK_LEEWAY_S)
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://login.example";
    const AUDIENCE: &str = "https://milepost.example/mcp";
    const NOW_S: u64 = 1_800_000_000;
    /// The modulus of a key whose private half was not kept, and a token that it signed.
    const MODULUS: &str = "\
        yrVMZRagP3ERFwwaBlaPYibqRwghEoUKtnacx4RuUnDyYzi5IqjPX25eJXE0RvfgRFt9U6Faq1v_CJ3FSyUQvX5b\
        znRf_SMedzRbEbyUYKQZAGyEZDPUyZAb1-qNOH1F0ZQnSYvH7WsNq0Ui_QVTzmeYm1VVXVHdYBFRepe2CBzOkhm3\
        oMRldR-tfMdYg8KIM-jgd8seln9zpkaVLJHF3l_N4zcAaSAOASTQvfB_BNQcNyb7FgJFYzKOHYMXIa8Riw_5bens\
        C0xKB5Doo3TjFgJgeLGWdpVq0h-Q9SZ2E9NP_4-X3gRuzdqeaHzMCm6ns39E1WztgiEYlLmdPWwNQQ";
    const SIGNED: &str = "\
        eyJhbGciOiJSUzI1NiIsImtpZCI6InIifQ.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUiLCJhdWQiOiJod\
        HRwczovL21pbGVwb3N0LmV4YW1wbGUvbWNwIiwic3ViIjoiYWRhIiwiZXhwIjo0MTAyNDQ0ODAwfQ.EEYezH5wEp\
        _atIaUVrW4-jwzBdIPY8OAQ6MaFkQiML6p0sq46KtQGwEUvCVWtcbQvlkJYgovNuC8GBTUSlkdZxrPo4ZIKglaHi\
        jezBM9SqRRSnyAgfJRJ73OleR3xDr983yKx9Uc2irSn9-IWMelnftLO0cVEUDXGJY7AFwqTmcLpeUvdYM0xk9uON\
        4IQpD7WUI7sKi01QVlJS2Gda6PlxYdIYHQH1_ejBLepIFWqjmKeVIbeYEGdV2m6wRO0cRLpH7uxaPbkWnY14_1HU\
        Hrov5HRWfgTGT9zZM8sFzmH0thEMSHnAzjAYgqjZ1Pxl9oLizr1cswPYJDKekVIxHCRQ";

    fn rsa() -> Value {
        json!({"kty": "RSA", "kid": "r", "use": "sig", "n": MODULUS, "e": "AQAB"})
    }

    fn pair() -> EcdsaKeyPair {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).expect("is one")
    }

    fn ec(pair: &EcdsaKeyPair, id: &str) -> Value {
        let point = pair.public_key().as_ref();
        let part = |from: usize| URL_SAFE_NO_PAD.encode(&point[from..from + 32]);
        json!({"kty": "EC", "crv": "P-256", "kid": id, "x": part(1), "y": part(33)})
    }

    fn token(pair: &EcdsaKeyPair, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(header), part(claims));
        let signature = pair.sign(&SystemRandom::new(), text.as_bytes()).expect("signs");
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn keys(keys: &[Value]) -> Keys {
        Keys::parse(json!({ "keys": keys }).to_string().as_bytes()).expect("a key set")
    }

    fn check(token: &str, keys: &Keys) -> Result<String, TokenFault> {
        verify(token, keys, ExpectedClaims { issuer: ISSUER, audience: AUDIENCE, now_s: NOW_S })
    }

    #[test]
    fn a_token_of_either_algorithm_is_taken() {
        assert_eq!(check(SIGNED, &keys(&[rsa()])), Ok("ada".to_owned()));
        let pair = pair();
        let claims = json!({"iss": ISSUER, "aud": [AUDIENCE], "sub": "ada", "exp": NOW_S + 1});
        let by_name = token(&pair, &json!({"alg": "ES256", "kid": "e"}), &claims);
        let nameless = token(&pair, &json!({"alg": "ES256"}), &claims);
        for token in [by_name, nameless] {
            assert_eq!(check(&token, &keys(&[rsa(), ec(&pair, "e")])), Ok("ada".to_owned()));
        }
    }

    #[test]
    fn a_key_signs_only_in_its_own_way() {
        let pair = pair();
        let claims = json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": NOW_S + 1});
        let all = keys(&[rsa(), ec(&pair, "e")]);
        let with = |header: Value| check(&token(&pair, &header, &claims), &all);
        assert_eq!(with(json!({"alg": "none"})), Err(TokenFault::Algorithm));
        assert_eq!(with(json!({"alg": "HS256", "kid": "r"})), Err(TokenFault::Algorithm));
        assert_eq!(with(json!({"alg": "RS256", "kid": "e"})), Err(TokenFault::UnknownKey));
        assert_eq!(with(json!({"alg": "RS256", "kid": "r"})), Err(TokenFault::Signature));
        assert_eq!(with(json!({"alg": "ES256", "kid": "x"})), Err(TokenFault::UnknownKey));
        let critical = json!({"alg": "ES256", "kid": "e", "crit": ["b64"]});
        assert_eq!(with(critical), Err(TokenFault::Algorithm));
        let mut changed = SIGNED.to_owned();
        changed.replace_range(60..61, if &SIGNED[60..61] == "A" { "B" } else { "A" });
        assert!(check(&changed, &all).is_err());
        let (text, _) = SIGNED.rsplit_once('.').expect("has parts");
        assert_eq!(check(&format!("{text}."), &all), Err(TokenFault::Signature));
        for no_token in ["", ".", "..", "a.b.c", SIGNED.split('.').next().unwrap_or_default()] {
            assert_eq!(check(no_token, &all), Err(TokenFault::Malformed), "{no_token}");
        }
        let long = "a".repeat(limits::TOKEN_CHARS + 1);
        assert_eq!(check(&long, &all), Err(TokenFault::Malformed));
    }

    #[test]
    fn what_a_token_says_must_be_about_us_and_now() {
        let pair = pair();
        let all = keys(&[ec(&pair, "e")]);
        let with = |key: &str, value: Value| {
            let mut claims = json!({"iss": ISSUER, "aud": AUDIENCE, "sub": "a", "exp": NOW_S + 1});
            claims[key] = value;
            check(&token(&pair, &json!({"alg": "ES256"}), &claims), &all).err()
        };
        assert_eq!(with("iss", json!("https://login.example/")), Some(TokenFault::Issuer));
        assert_eq!(with("aud", json!([])), Some(TokenFault::Audience));
        assert_eq!(with("aud", json!("https://milepost.example")), Some(TokenFault::Audience));
        assert_eq!(with("sub", json!("")), Some(TokenFault::NoSubject));
        assert_eq!(with("sub", json!("a".repeat(2_000))), Some(TokenFault::LongSubject));
        for (end, fault) in [
            (json!(NOW_S - limits::CLOCK_LEEWAY_S + 1), None),
            (json!(NOW_S - limits::CLOCK_LEEWAY_S), Some(TokenFault::Expired)),
            (json!(-1), Some(TokenFault::Expired)),
            (json!(1e300), None),
            (Value::Null, Some(TokenFault::Expired)),
            (json!("never"), Some(TokenFault::Malformed)),
        ] {
            assert_eq!(with("exp", end.clone()), fault, "{end}");
        }
        assert_eq!(with("nbf", json!(NOW_S + limits::CLOCK_LEEWAY_S)), None);
        assert_eq!(
            with("nbf", json!(NOW_S + limits::CLOCK_LEEWAY_S + 1)),
            Some(TokenFault::NotYet)
        );
    }

    #[test]
    fn keys_of_other_kinds_are_left_out() {
        let none = [
            json!({"kty": "RSA", "use": "enc", "n": MODULUS, "e": "AQAB"}),
            json!({"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"}),
            json!({"kty": "oct", "k": "AA"}),
            json!({"kty": "RSA", "n": "!", "e": "AQAB"}),
            json!(7),
        ];
        assert!(keys(&none).is_empty());
        assert!(Keys::parse(b"{}").is_none());
        assert!(Keys::parse(b"no JSON").is_none());
    }
}

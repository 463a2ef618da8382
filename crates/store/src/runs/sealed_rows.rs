//! Known secrets inside rows, encrypted with the journal's key.
//!
//! Data keeps its value, but a secret that an API returned must not be readable on disk. A row that
//! contains one is stored with a mark in front, and with a token in place of each secret:
//!
//! ```text
//! row    = 01 (text | token | 02 03)*     02 03 stands for a byte 02 of the text
//! token  = 02 base64url(nonce, ciphertext, tag) 03
//! plain  = JSON: the secret's name, its value, and how it was spelled, if differently
//! ```
//!
//! Every other row is stored as it is. JSON never begins with a control byte, so rows of earlier
//! versions read as before. Anyone with the directory can restore every row, without the vault. The
//! nonce is derived from the content, so that equal rows stay equal. A secret that is read from a
//! row is known from then on, and is masked in output.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac as _};
use milepost_model::secret::{Secret, SecretMatch, known_secrets};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::Sha256;

const SEALED: u8 = 0x01;
const OPEN: u8 = 0x02;
const CLOSE: u8 = 0x03;

/// Encrypts and decrypts the secrets inside rows.
#[derive(Clone)]
pub(super) struct RowSeal {
    keys: Arc<Keys>,
}

struct Keys {
    sealing: LessSafeKey,
    nonces: Hmac<Sha256>,
}

impl fmt::Debug for RowSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowSeal").finish_non_exhaustive()
    }
}

impl RowSeal {
    pub(super) fn new(sealing: &[u8; 32], nonces: &[u8; 32]) -> RowSeal {
        let key = UnboundKey::new(&CHACHA20_POLY1305, sealing);
        let sealing = LessSafeKey::new(key.expect("the key has the required length"));
        let nonces = Hmac::new_from_slice(nonces).expect("HMAC takes keys of any length");
        RowSeal { keys: Arc::new(Keys { sealing, nonces }) }
    }

    /// The row for some data.
    pub(super) fn seal<'d>(&self, data: &'d [u8]) -> Cow<'d, [u8]> {
        let mask = known_secrets::mask();
        let mut found = mask.iter().flat_map(|mask| mask.find_all(data)).peekable();
        if found.peek().is_none() && data.first() != Some(&SEALED) {
            return Cow::Borrowed(data);
        }
        let mut row = vec![SEALED];
        let mut done = 0;
        for found in found {
            let at = found.at.clone();
            escape(&data[done..at.start], &mut row);
            row.push(OPEN);
            row.extend_from_slice(self.token(&found, &data[at.clone()]).as_bytes());
            row.push(CLOSE);
            done = at.end;
        }
        escape(&data[done..], &mut row);
        Cow::Owned(row)
    }

    /// The data of a row; `None` if a token was not written with this key.
    pub(super) fn open(&self, row: Vec<u8>) -> Option<Vec<u8>> {
        let Some((&SEALED, mut rest)) = row.split_first() else { return Some(row) };
        let mut data = Vec::with_capacity(row.len());
        while let Some(at) = memchr(OPEN, rest) {
            let (text, token) = (&rest[..at], &rest[at + 1..]);
            data.extend_from_slice(text);
            let end = memchr(CLOSE, token)?;
            match end {
                0 => data.push(OPEN),
                _ => data.extend_from_slice(&self.opened(&token[..end])?),
            }
            rest = &token[end + 1..];
        }
        data.extend_from_slice(rest);
        Some(data)
    }

    fn token(&self, found: &SecretMatch<'_>, spelled: &[u8]) -> String {
        let value = found.secret.reveal();
        // Bytes that are not UTF-8 are kept as one character each.
        let latin = || spelled.iter().map(|byte| char::from(*byte)).collect::<String>();
        let spelled = (spelled != value.as_bytes()).then(latin);
        let plain = serde_json::to_vec(&(found.name, value, spelled));
        let mut text = plain.expect("strings are valid JSON");
        let code = self.keys.nonces.clone().chain_update(&text).finalize().into_bytes();
        let mut nonce = [0; NONCE_LEN];
        nonce.copy_from_slice(&code[..NONCE_LEN]);
        let unique = Nonce::assume_unique_for_key(nonce);
        let sealed = self.keys.sealing.seal_in_place_append_tag(unique, Aad::empty(), &mut text);
        sealed.expect("a secret is much shorter than the cipher's limit");
        URL_SAFE_NO_PAD.encode([&nonce[..], &text].concat())
    }

    fn opened(&self, token: &[u8]) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        let (nonce, mut sealed) = (Nonce::assume_unique_for_key(*nonce), sealed.to_vec());
        let text = self.keys.sealing.open_in_place(nonce, Aad::empty(), &mut sealed).ok()?;
        let (name, value, spelled): (String, String, Option<String>) =
            serde_json::from_slice(text).ok()?;
        known_secrets::register(&name, &Secret::new(value.as_str()));
        match spelled {
            None => Some(value.into_bytes()),
            Some(latin) => latin.chars().map(|char| u8::try_from(char).ok()).collect(),
        }
    }
}

fn memchr(byte: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|other| *other == byte)
}

fn escape(text: &[u8], row: &mut Vec<u8>) {
    for (index, part) in text.split(|byte| *byte == OPEN).enumerate() {
        if index > 0 {
            row.extend([OPEN, CLOSE]);
        }
        row.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal() -> RowSeal {
        RowSeal::new(&[7; 32], &[8; 32])
    }

    #[track_caller]
    fn round_trip(data: &[u8]) -> Vec<u8> {
        let row = seal().seal(data).into_owned();
        assert_eq!(seal().open(row.clone()).as_deref(), Some(data));
        row
    }

    #[test]
    fn rows_without_secrets_are_stored_as_they_are() {
        for data in [&b"{\"a\":1}"[..], b"", b"[\"\\u0001 [secret:K]\"]"] {
            assert_eq!(round_trip(data), data);
        }
    }

    #[test]
    fn what_looks_like_a_sealed_row_survives() {
        known_secrets::register("K", &Secret::new("correct-horse-battery"));
        let row = round_trip(b"{\"a\":\"correct-horse-battery\"}");
        for data in [&b"\x01"[..], b"\x01\x02abc\x03", b"\x02\x02\x03\x03", &row] {
            round_trip(data);
        }
        let mut twice = row.clone();
        twice.extend_from_slice(b"correct-horse-battery");
        round_trip(&twice);
    }

    #[test]
    fn every_spelling_is_encrypted_and_restored() {
        known_secrets::register("K", &Secret::new("päss/word \"7\""));
        for spelled in [
            &b"p\xc3\xa4ss/word \"7\""[..],
            b"P\xe4SS/WORD \"7\"",
            b"p%C3%A4ss%2Fword+%227%22",
            b"p\\u00e4ss\\/word \\\"7\\\"",
            b"70C3A473732f776f7264202237220",
            URL_SAFE_NO_PAD.encode("user:p\u{e4}ss/word \"7\"!").as_bytes(),
        ] {
            let data = [b"{\"a\":\"x ", spelled, b" y\",\"n\":1.50}"].concat();
            let row = round_trip(&data);
            assert_eq!(row[0], SEALED, "{}", String::from_utf8_lossy(spelled));
            assert!(!row.windows(12).any(|part| spelled.windows(12).any(|other| other == part)));
            assert_eq!(seal().seal(&data), row, "equal data gives equal rows");
        }
    }

    #[test]
    fn a_process_without_the_secret_restores_it_and_then_knows_it() {
        let found =
            SecretMatch { at: 0..1, name: "K", secret: &Secret::new("correct-horse-battery") };
        let token = seal().token(&found, b"CORRECT-HORSE-BATTERY");
        let row = [b"\x01a \x02", token.as_bytes(), b"\x03 b"].concat();
        assert!(known_secrets::mask().is_none());
        let data = seal().open(row.clone()).expect("opens");
        assert_eq!(data, b"a CORRECT-HORSE-BATTERY b");
        assert_eq!(known_secrets::shown("x correct-horse-battery"), "x [secret:K]");
        assert_eq!(RowSeal::new(&[9; 32], &[8; 32]).open(row), None, "another key");
        assert_eq!(seal().open(b"\x01a \x02abc\x03".to_vec()), None);
        assert_eq!(seal().open(b"\x01a \x02abc".to_vec()), None);
    }
}

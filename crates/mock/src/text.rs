//! Generates plausible strings: by format, by property name, or from plain words. Hosts and IP
//! addresses are those reserved for examples.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use milepost_catalog::text::bare_word;

use crate::constraints::Constraints;
use crate::limits;
use crate::pattern::{Lengths, matching};
use crate::random::Random;

const WORDS: &[&str] = &[
    "amber", "basin", "cedar", "delta", "ember", "field", "grove", "harbor", "island", "juniper",
    "kernel", "lagoon", "maple", "north", "orchid", "prairie", "quartz", "river", "summit",
    "timber",
];
const FIRST_NAMES: &[&str] = &["Ada", "Ben", "Cleo", "Dina", "Eli", "Fay", "Gus", "Hana"];
const LAST_NAMES: &[&str] = &["Adler", "Brook", "Castro", "Duarte", "Ekman", "Fischer", "Gray"];
const CITIES: &[&str] = &["Lisbon", "Oslo", "Porto", "Quito", "Riga", "Turin", "Vienna"];
const STREETS: &[&str] = &["Harbor Road", "Mill Lane", "Station Street", "Park Avenue"];
const COUNTRIES: &[&str] = &["AT", "CA", "DE", "FR", "NL", "PT", "US"];
const CURRENCIES: &[&str] = &["EUR", "USD", "GBP", "CHF"];
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const MIXED: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Generates a string that fits. `tries` is how many times this location has failed; after a
/// failure, fitting the schema takes precedence over plausibility.
pub(crate) fn text(
    constraints: &Constraints<'_>,
    name: &str,
    tries: u32,
    random: &mut Random,
) -> String {
    let min = constraints.min_length.min(limits::TEXT_CHARS);
    let max = constraints.max_length.unwrap_or(usize::MAX).min(limits::TEXT_CHARS).max(min);
    let lengths = min..=max;
    let format = constraints.format;
    let formatted = format.and_then(|format| by_format(format, random));
    if !constraints.patterns.is_empty() {
        // A string in the format may match the pattern too, but a string generated from the pattern
        // may not have the format. Alternate between them, starting with the pattern.
        if let Some(formatted) = formatted.clone().filter(|_| tries % 2 == 1) {
            return formatted;
        }
        if let Some(text) = matching(&constraints.patterns, &lengths, random) {
            return text;
        }
    }
    let fits = |text: &String| lengths.contains(&text.chars().count());
    let formatted = formatted.filter(|text| is_strict(format) || fits(text));
    let named = || by_name(name, random).filter(|text| tries == 0 && fits(text));
    formatted.or_else(named).unwrap_or_else(|| filled(&lengths, random))
}

/// Whether changing the length of a string would violate the format.
fn is_strict(format: Option<&str>) -> bool {
    !matches!(format, Some("byte" | "base64" | "base64url" | "binary" | "password" | "phone"))
}

/// Plain words of the required length.
fn filled(lengths: &Lengths, random: &mut Random) -> String {
    let mut text = random.pick(WORDS).to_owned();
    while text.chars().count() < *lengths.start() {
        text.push(' ');
        text.push_str(random.pick(WORDS));
    }
    let text: String = text.chars().take(*lengths.end()).collect();
    // Truncation can leave a trailing space, which some patterns reject.
    if text.ends_with(' ') { format!("{}x", text.trim_end()) } else { text }
}

fn by_format(format: &str, random: &mut Random) -> Option<String> {
    let word = random.pick(WORDS);
    Some(match format {
        "date-time" | "datetime" | "timestamp" => format!("{}T{}Z", date(random), time(random)),
        "date" | "full-date" => date(random),
        "time" | "full-time" => format!("{}Z", time(random)),
        "partial-time" => time(random),
        "duration" => format!("P{}D", random.between(1, 28)),
        "email" | "idn-email" => format!("{word}@example.com"),
        "hostname" | "idn-hostname" | "host" => format!("{word}.example.com"),
        "ip" | "ipv4" => format!("192.0.2.{}", random.between(1, 254)),
        "ipv6" => format!("2001:db8::{:x}", random.between(1, 0xffff)),
        "cidr" => format!("192.0.2.{}/32", random.between(1, 254)),
        "uri" | "url" | "iri" | "uri-template" => format!("https://example.com/{word}"),
        "uri-reference" | "iri-reference" | "json-pointer" => format!("/{word}"),
        "relative-json-pointer" => format!("1/{word}"),
        "regex" => "^[a-z]+$".to_owned(),
        "uuid" | "guid" | "uuid4" => uuid(random),
        "byte" | "base64" => BASE64.encode(word),
        "base64url" => BASE64.encode(random.pick(&["amber!", "cedar!", "delta!"])),
        "phone" | "phone-number" => phone(random),
        "int32" | "int64" | "integer" => random.between(1, 9_999).to_string(),
        "decimal" | "double" | "float" | "number" => {
            format!("{}.{:02}", random.between(1, 500), random.between(0, 99))
        }
        "currency" | "iso-4217" => random.pick(CURRENCIES).to_owned(),
        "country" | "iso-3166" => random.pick(COUNTRIES).to_owned(),
        "mac" => format!("02:00:5e:{}:{}:{}", random.hex(2), random.hex(2), random.hex(2)),
        "color" => format!("#{}", random.hex(6)),
        _ => return None,
    })
}

fn date(random: &mut Random) -> String {
    let year = random.between(2024, 2025);
    format!("{year}-{:02}-{:02}", random.between(1, 12), random.between(1, 28))
}

fn time(random: &mut Random) -> String {
    let (hour, minute) = (random.between(0, 23), random.between(0, 59));
    format!("{hour:02}:{minute:02}:{:02}", random.between(0, 59))
}

fn uuid(random: &mut Random) -> String {
    let variant = random.pick(&["8", "9", "a", "b"]);
    let (first, second) = (random.hex(8), random.hex(4));
    format!("{first}-{second}-4{}-{variant}{}-{}", random.hex(3), random.hex(3), random.hex(12))
}

fn phone(random: &mut Random) -> String {
    format!("+1555{}", random.chars(b"0123456789", 7))
}

/// Plausible text for a property name in any case style.
fn by_name(name: &str, random: &mut Random) -> Option<String> {
    let plain = bare_word(name);
    let ends = |end: &str| plain.ends_with(end);
    let has = |part: &str| plain.contains(part);
    let word = random.pick(WORDS);
    Some(match plain.as_str() {
        "" => return None,
        "id" | "gid" | "sid" | "key" => random.chars(MIXED, 14),
        "uuid" | "guid" => uuid(random),
        "firstname" | "givenname" => random.pick(FIRST_NAMES).to_owned(),
        "lastname" | "surname" | "familyname" => random.pick(LAST_NAMES).to_owned(),
        "fullname" | "displayname" | "author" | "owner" | "customername" => {
            format!("{} {}", random.pick(FIRST_NAMES), random.pick(LAST_NAMES))
        }
        "username" | "login" | "handle" | "slug" => {
            format!("{word}-{}", random.between(10, 99))
        }
        "country" | "countrycode" => random.pick(COUNTRIES).to_owned(),
        "locale" | "language" | "lang" => random.pick(&["en", "de", "fr", "pt"]).to_owned(),
        "timezone" | "tz" => random.pick(&["Europe/Vienna", "America/New_York"]).to_owned(),
        "city" | "town" => random.pick(CITIES).to_owned(),
        "zip" | "zipcode" | "postalcode" | "postcode" => random.between(10_000, 99_999).to_string(),
        "version" => format!("{}.{}.0", random.between(0, 3), random.between(0, 9)),
        "color" | "colour" => format!("#{}", random.hex(6)),
        "status" | "state" => "active".to_owned(),
        "message" | "description" | "summary" | "comment" | "note" | "text" | "body" => {
            format!("A {word} by the {}.", random.pick(WORDS))
        }
        "sha" | "hash" | "digest" | "checksum" => random.hex(40),
        _ if has("email") => format!("{word}@example.com"),
        _ if has("phone") || has("mobile") => phone(random),
        _ if has("street") || ends("address") || has("addressline") => {
            format!("{} {}", random.between(1, 99), random.pick(STREETS))
        }
        _ if has("currency") => random.pick(CURRENCIES).to_owned(),
        _ if ends("url") || ends("uri") || ends("href") || ends("link") => {
            format!("https://example.com/{word}")
        }
        _ if ends("at") && has("ed") || ends("time") || has("datetime") => {
            format!("{}T{}Z", date(random), time(random))
        }
        _ if ends("date") || has("dateof") => date(random),
        _ if ends("price") || ends("amount") || ends("total") || ends("cost") => {
            format!("{}.{:02}", random.between(1, 500), random.between(0, 99))
        }
        _ if ends("id") || ends("sid") || has("token") => random.chars(MIXED, 14),
        _ if ends("name") || ends("title") || ends("label") => {
            format!("{} {}", capital(word), capital(random.pick(WORDS)))
        }
        _ if ends("code") => random.chars(LETTERS, 6).to_ascii_uppercase(),
        _ => return None,
    })
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_ascii_uppercase() + rest
}

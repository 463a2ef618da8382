//! Word stems: `evict` and `eviction`, `approve` and `approval`. Based on M. F. Porter, "An
//! algorithm for suffix stripping" (1980), without the steps that conflate unrelated words such as
//! `customer` and `custom` or `author` and `authorize`.

/// The stem of a lowercase word.
pub(super) fn stem(word: &str) -> String {
    if word.len() < 4 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = word.to_owned();
    tense(&mut stem);
    if stem.ends_with('y') && stem.len() > 2 && !is_vowel(stem.as_bytes(), stem.len() - 2) {
        replace(&mut stem, 1, "i");
    }
    swap(&mut stem, LONG);
    swap(&mut stem, MIDDLE);
    strip(&mut stem);
    if let Some(rest) = stem.strip_suffix('e')
        && (measure(rest) > 1 || (measure(rest) == 1 && !short(rest)))
    {
        stem.pop();
    }
    stem
}

/// `agreed` → `agree`, `starred` → `star`, `filing` → `file`.
fn tense(stem: &mut String) {
    if stem.ends_with("eed") {
        if measure(&stem[..stem.len() - 3]) > 0 {
            stem.pop();
        }
        return;
    }
    let Some(bare) = stem.strip_suffix("ed").or_else(|| stem.strip_suffix("ing")) else { return };
    if !(0..bare.len()).any(|at| is_vowel(bare.as_bytes(), at)) {
        return;
    }
    stem.truncate(bare.len());
    let bytes = stem.as_bytes();
    let double = bytes.len() > 1 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
    if ["at", "bl", "iz"].iter().any(|end| stem.ends_with(end)) {
        stem.push('e');
    } else if double && !stem.ends_with(['l', 's', 'z', 'a', 'e', 'i', 'o', 'u']) {
        stem.pop();
    } else if measure(stem) == 1 && short(stem) {
        stem.push('e');
    }
}

const LONG: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alli", "al"),
    ("entli", "ent"),
    ("ousli", "ous"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("aliti", "al"),
];

const MIDDLE: &[(&str, &str)] =
    &[("icate", "ic"), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")];

const SHORT: &[&str] = &["ement", "ance", "ence", "able", "ible", "ment", "ent", "ate", "al"];

fn swap(stem: &mut String, table: &[(&str, &str)]) {
    if let Some((end, with)) = table.iter().find(|(end, _)| stem.ends_with(end))
        && measure(&stem[..stem.len() - end.len()]) > 0
    {
        replace(stem, end.len(), with);
    }
}

fn strip(stem: &mut String) {
    let cut = match SHORT.iter().find(|end| stem.ends_with(**end)) {
        Some(end) => end.len(),
        None if stem.ends_with("sion") || stem.ends_with("tion") => 3,
        None if stem.ends_with("ize") && !stem.ends_with("orize") => 3,
        None => return,
    };
    if measure(&stem[..stem.len() - cut]) > 1 {
        stem.truncate(stem.len() - cut);
    }
}

fn replace(stem: &mut String, cut: usize, with: &str) {
    stem.truncate(stem.len() - cut);
    stem.push_str(with);
}

fn is_vowel(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        b'a' | b'e' | b'i' | b'o' | b'u' => true,
        b'y' => at > 0 && !is_vowel(bytes, at - 1),
        _ => false,
    }
}

/// The number of vowel-consonant sequences, which is roughly the number of syllables.
fn measure(text: &str) -> usize {
    let bytes = text.as_bytes();
    (1..bytes.len()).filter(|at| is_vowel(bytes, at - 1) && !is_vowel(bytes, *at)).count()
}

/// Whether the text ends in consonant, vowel, consonant: `fil` needs its `e` back.
fn short(text: &str) -> bool {
    let bytes = text.as_bytes();
    let [.., _, _, last] = bytes else { return false };
    let at = bytes.len() - 1;
    !is_vowel(bytes, at)
        && is_vowel(bytes, at - 1)
        && !is_vowel(bytes, at - 2)
        && !b"wxy".contains(last)
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn relatives_share_a_stem() {
        let families: &[&[&str]] = &[
            &["evict", "eviction"],
            &["approve", "approval", "approved", "approving"],
            &["calculate", "calculation", "calculating"],
            &["star", "starred"],
            &["follow", "following"],
            &["invite", "invitation"],
            &["reverse", "reversal"],
            &["deploy", "deployment"],
            &["token", "tokenize"],
            &["authorize", "authorization"],
            &["subscribe", "subscribed"],
            &["file", "filing"],
            &["issue", "issuing"],
        ];
        for family in families {
            for word in *family {
                assert_eq!(stem(word), stem(family[0]), "{word}");
            }
        }
    }

    #[test]
    fn strangers_do_not() {
        let strangers = [
            ("customer", "custom"),
            ("author", "authorize"),
            ("portal", "port"),
            ("payment", "pay"),
            ("global", "globe"),
            ("runner", "run"),
        ];
        for (one, other) in strangers {
            assert_ne!(stem(one), stem(other), "{one}");
        }
    }

    #[test]
    fn other_letters_stay() {
        for word in ["", "a", "v1beta1", "größe", "日本語"] {
            assert_eq!(stem(word), word);
        }
    }
}

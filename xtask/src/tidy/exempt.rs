//! Exceptions to a rule. Each names a place and a reason. An unused exception is a finding, so that
//! the lists shrink over time.

use super::finding::Finding;

/// A place, and the reason why the rule does not apply there. The place is a file, a folder that
/// ends with `/`, or `file::NAME` for one item of a file.
pub(crate) type Exempt = (&'static str, &'static str);

/// A finding of a rule, before exceptions are applied.
pub(crate) struct Hit {
    /// `file`, or `file::NAME` if the rule is about an item.
    pub(crate) place: String,
    pub(crate) finding: Finding,
}

/// The findings that are not exempt, plus a finding for every unused exception. `rule` is the file
/// that contains the list.
pub(crate) fn judge(hits: Vec<Hit>, exempt: &[Exempt], rule: &str) -> Vec<Finding> {
    let mut used = vec![false; exempt.len()];
    let mut findings = Vec::new();
    for hit in hits {
        match exempt.iter().position(|(place, _)| covers(place, &hit.place)) {
            Some(index) => used[index] = true,
            None => findings.push(hit.finding),
        }
    }
    for ((place, _), _) in exempt.iter().zip(used).filter(|(_, used)| !used) {
        let message = format!("the exception for `{place}` is unused: remove it");
        findings.push(Finding::new(rule, 1, message));
    }
    findings
}

fn covers(exempt: &str, place: &str) -> bool {
    if exempt.ends_with('/') { place.starts_with(exempt) } else { place == exempt }
}

#[cfg(test)]
mod tests {
    use super::super::finding::places;
    use super::*;

    fn hit(place: &str, line: usize) -> Hit {
        Hit { place: place.to_owned(), finding: Finding::new(place, line, "is refused") }
    }

    #[test]
    fn a_file_a_folder_or_an_item_can_be_exempt() {
        let exempt = [("a/b.rs", "why"), ("a/c/", "why"), ("a/d.rs::PORT", "why")];
        let hits = vec![
            hit("a/b.rs", 1),
            hit("a/c/x.rs", 2),
            hit("a/c.rs", 3),
            hit("a/d.rs::PORT", 4),
            hit("a/d.rs::PORTS", 5),
        ];
        assert_eq!(places(&judge(hits, &exempt, "rule.rs")), ["a/c.rs:3", "a/d.rs::PORTS:5"]);
    }

    #[test]
    fn an_exception_that_nothing_needs_is_a_finding() {
        let exempt = [("a/b.rs", "why"), ("a/gone.rs", "why")];
        assert_eq!(places(&judge(vec![hit("a/b.rs", 1)], &exempt, "rule.rs")), ["rule.rs:1"]);
    }
}

//! Workflows that ship with the program.

/// The file name and source of each workflow.
pub(crate) const WORKFLOWS: &[(&str, &str)] = &[
    ("bug-investigation.json", include_str!("../../../examples/guides/bug-investigation.json")),
    ("code-review.json", include_str!("../../../examples/guides/code-review.json")),
    (
        "feature-implementation.json",
        include_str!("../../../examples/guides/feature-implementation.json"),
    ),
    ("refund-order.yaml", include_str!("../../../examples/refund-order.yaml")),
    ("release-checklist.json", include_str!("../../../examples/guides/release-checklist.json")),
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::identity;

    #[test]
    fn the_name_of_each_is_its_id() {
        for (name, text) in WORKFLOWS {
            let path = Path::new(name);
            assert_eq!(identity::of_bytes(text.as_bytes(), path), identity::of_name(path));
        }
    }
}

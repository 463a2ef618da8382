//! Workflows that come with the program.

/// Name and text of each.
pub(crate) const WORKFLOWS: &[(&str, &str)] = &[
    ("refund-order.yaml", include_str!("../../../examples/refund-order.yaml")),
    ("review-change.json", include_str!("../../../examples/review-change.json")),
];

//! Formats timestamps.

use milepost_engine::time::rfc3339;

/// Formats milliseconds since 1970 as RFC 3339 in UTC, to the second.
pub(crate) fn text(at_ms: u64) -> String {
    format!("{:.19}Z", rfc3339(at_ms))
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn known_moments() {
        for (at_s, written) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_772_323_200, "2026-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(text(at_s * 1_000 + 999), written);
        }
    }
}

//! The documentation pages that are built into the program.

/// The name and content of each user page.
pub(super) const TOPICS: &[(&str, &str)] = &[
    ("quick-start", include_str!("../../../../docs/quick-start.md")),
    ("demo", include_str!("../../../../docs/demo.md")),
    ("concepts", include_str!("../../../../docs/concepts.md")),
    ("workflows", include_str!("../../../../docs/workflows.md")),
    ("expressions", include_str!("../../../../docs/expressions.md")),
    ("guides", include_str!("../../../../docs/guides.md")),
    ("catalogs", include_str!("../../../../docs/catalogs.md")),
    ("durability", include_str!("../../../../docs/durability.md")),
    ("mcp", include_str!("../../../../docs/mcp.md")),
    ("clients", include_str!("../../../../docs/clients.md")),
    ("cli", include_str!("../../../../docs/cli.md")),
    ("reference", include_str!("../../../../docs/reference.md")),
    ("operations", include_str!("../../../../docs/operations.md")),
    ("security", include_str!("../../../../docs/security.md")),
    ("comparison", include_str!("../../../../docs/comparison.md")),
    ("faq", include_str!("../../../../docs/faq.md")),
    ("errors", include_str!("../../../../docs/errors/README.md")),
];

/// Embeds the page for each error code.
macro_rules! errors {
    ($($code:ident),* $(,)?) => {
        &[$((
            stringify!($code),
            include_str!(concat!("../../../../docs/errors/", stringify!($code), ".md")),
        )),*]
    };
}

/// The code and content of each error page.
pub(super) const ERRORS: &[(&str, &str)] = errors![
    ACCESS_DENIED,
    APPROVAL_REJECTED,
    ARGUMENTS_INVALID,
    AUTH_FAILED,
    BASE_URL_MISSING,
    CATALOG_DISABLED,
    CATALOG_EXISTS,
    CATALOG_INVALID,
    CATALOG_NOT_FOUND,
    CLAIM_REFUTED,
    CLIENT_CONFIG_CONFLICT,
    CLIENT_CONFIG_REFUSED,
    COMMAND_NOT_FOUND,
    CONFIG_INVALID,
    CONFIRMATION_REQUIRED,
    CRITERIA_INVALID,
    EXPRESSION_FAILED,
    FAILED_BY_AUTHOR,
    FILE_NOT_FOUND,
    FILE_REFUSED,
    ID_INVALID,
    INPUT_INVALID,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    MASKED_VALUE,
    METHOD_NOT_FOUND,
    OUTCOME_UNKNOWN,
    OUTPUT_INVALID,
    PARAMS_INVALID,
    PARSE_ERROR,
    PRESENCE_REQUIRED,
    PROJECT_UNTRUSTED,
    PROVIDER_NOT_FOUND,
    REPEAT_EXHAUSTED,
    REQUEST_REFUSED,
    RESUME_REFUSED,
    RUN_CANCELED,
    RUN_CONFLICT,
    RUN_NOT_FOUND,
    RUN_TIMEOUT,
    RUN_WORLD_MISSING,
    SECRETS_UNUSABLE,
    SECRET_NOT_ALLOWED,
    SECRET_NOT_FOUND,
    SERVER_ERROR,
    SOURCE_UNREADABLE,
    STATE_INVALID,
    STEP_NOT_DUE,
    STEP_NOT_FOUND,
    STORAGE_FAILED,
    SUBMISSIONS_EXHAUSTED,
    TASK_CAPABILITY_REQUIRED,
    UPSTREAM_FAILED,
    UPSTREAM_REJECTED,
    UPSTREAM_TIMEOUT,
    WORKFLOW_EXISTS,
    WORKFLOW_INVALID,
    WORKFLOW_NOT_FOUND,
    WORKFLOW_READ_ONLY,
    WORKFLOW_VERSION_CONFLICT,
    WORKFLOW_VERSION_NOT_FOUND,
];

#[cfg(test)]
mod tests {
    use milepost_model::problem::Code;

    use super::ERRORS;

    #[test]
    fn every_code_has_its_page() {
        let mut codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        codes.sort_unstable();
        let pages: Vec<&str> = ERRORS.iter().map(|(code, _)| *code).collect();
        assert_eq!(pages, codes);
    }
}

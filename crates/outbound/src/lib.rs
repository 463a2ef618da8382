//! The one HTTP client: its guards, limits, authentication and redaction.

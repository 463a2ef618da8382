//! Providers as they are inferred from documents.

mod dump;

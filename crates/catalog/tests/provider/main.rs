//! Providers: what is inferred from small documents, and how often it is right on real ones.

mod infer;
mod labels;
mod read;

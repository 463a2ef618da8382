//! Providers: inference from small documents, and its accuracy on real ones.

mod infer;
mod labels;
mod read;

//! The engine through its public API: workflows and a scripted world in, journals out.

#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expected texts are written by expect-test, which has one way to quote"
)]

mod agents;
mod approvals;
mod bound;
mod builtin_guides;
mod consent;
mod crash;
mod ends;
mod failures;
mod golden;
mod guide_variables;
mod guides;
mod lists;
mod order;
mod properties;
mod rendering;
mod requests;
mod resume;
mod resume_forecast;
mod resume_world;
mod rig;
mod rogue_guides;
mod scenarios;
mod shown;
mod simulation;

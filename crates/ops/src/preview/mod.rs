//! What a run would do, told before it begins: its order, and the requests as far as the inputs
//! alone decide them. Nothing is sent and no secret is read.

mod draft_step;
mod knowledge;
pub mod preview_rendered;
pub mod step_plan;

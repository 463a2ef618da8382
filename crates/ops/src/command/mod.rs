//! Operations on commands, one file each.

pub(crate) mod answer;
pub mod asked;
pub(crate) mod draft;
pub mod get;
pub mod list;
pub mod run;
pub mod typed_arguments;
pub(crate) mod view;

pub use view::{
    BodyView, CommandDetails, CommandSummary, ContentView, ParameterView, ResponseView,
};

//! The engine from outside: what happens in, what is written down and done out.

mod resume;
mod resume_forecast;
mod resume_world;

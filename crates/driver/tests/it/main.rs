//! Runs as the rest of the product sees them: scenarios, crashes, kills and simulations against
//! `&dyn RunService`, independent of the driver behind it.

mod chance;
mod crash;
mod kills;
mod life;
mod memory;
mod mortal;
mod pauses;
mod place;
mod player;
mod random_workflow;
mod rendering;
mod scenarios;
mod service;
mod simulation;
mod world;

//! Documents as they exist, and documents that attack, become tables of commands.

mod corpus;
mod hostile;
mod names;
mod read;

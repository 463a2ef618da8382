//! Servers for agents: `milepost mcp` over standard input and output, `milepost serve` over HTTP.

pub(crate) mod args;
pub(crate) mod http;
pub(crate) mod stdio;

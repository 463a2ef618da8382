//! The budget for an evaluation, which guarantees that every expression terminates quickly.

use super::limits::{BYTES_PER_FUEL, FUEL_DEFAULT};

/// A budget of evaluation work that any number of evaluations can share.
///
/// Every node evaluated, every element visited and every 64 bytes of text read or written costs one
/// unit. The count does not depend on the clock or the machine, so running out is deterministic.
#[derive(Clone, Debug)]
pub struct Fuel {
    left: u64,
}

/// Not enough fuel is left.
#[derive(Debug)]
pub(super) struct Exhausted;

impl Fuel {
    /// A budget of `units`.
    pub fn new(units: u64) -> Fuel {
        Fuel { left: units }
    }

    /// The remaining units.
    pub fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn spend(&mut self, units: u64) -> Result<(), Exhausted> {
        if let Some(left) = self.left.checked_sub(units) {
            self.left = left;
            Ok(())
        } else {
            // Later evaluations that share the budget must fail too, even if they are cheaper.
            self.left = 0;
            Err(Exhausted)
        }
    }

    pub(super) fn spend_bytes(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.spend((bytes / BYTES_PER_FUEL) as u64)
    }
}

impl Default for Fuel {
    fn default() -> Fuel {
        Fuel::new(FUEL_DEFAULT)
    }
}

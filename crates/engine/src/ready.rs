//! What the world keeps of a request between deciding on it and sending it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A request as the world made it when it was decided on. It goes with the act that sends it, so
/// that what is sent is what was written down, whatever has changed in the world meanwhile. The
/// engine never looks inside.
#[derive(Clone, Default)]
pub struct Ready(Option<Arc<dyn Any + Send + Sync>>);

impl Ready {
    /// Keeps a request.
    pub fn new<T: Any + Send + Sync>(request: T) -> Ready {
        Ready(Some(Arc::new(request)))
    }

    /// The request, for whoever made it.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.clone()?.downcast().ok()
    }
}

/// A request is known by its digest: what is kept of it makes no difference.
impl PartialEq for Ready {
    fn eq(&self, _: &Ready) -> bool {
        true
    }
}

impl Eq for Ready {}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ready")
    }
}

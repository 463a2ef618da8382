//! Resolves names through the guard. The addresses checked here are the ones connected to, because
//! the name is not resolved a second time.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::guard::Reach;
use crate::limits;

/// A pending lookup.
pub type Addresses = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// A source of addresses for names.
pub trait DnsLookup: Send + Sync {
    /// The addresses for a name.
    fn lookup(&self, name: &str) -> Addresses;
}

/// The operating system's resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

impl DnsLookup for SystemLookup {
    fn lookup(&self, name: &str) -> Addresses {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The lookup found no address.
#[derive(Debug, thiserror::Error)]
#[error("cannot resolve `{name}`")]
pub(crate) struct NoAddress {
    pub(crate) name: String,
    /// The error from the system.
    #[source]
    pub(crate) source: Option<io::Error>,
}

/// A resolver that returns only addresses that may be connected to.
pub(crate) struct GuardedResolver {
    pub(crate) lookup: Arc<dyn DnsLookup>,
    pub(crate) reach: Reach,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = self.lookup.lookup(name.as_str());
        let reach = self.reach;
        Box::pin(async move {
            let name = name.as_str();
            let no_address = |source| NoAddress { name: name.to_owned(), source };
            let addresses = addresses.await.map_err(|error| no_address(Some(error)))?;
            if addresses.is_empty() {
                return Err(no_address(None).into());
            }
            // All addresses are checked before those beyond the limit are dropped.
            reach.check(name, &addresses)?;
            let sockets = addresses.into_iter().take(limits::ADDRESSES);
            let sockets: Vec<_> = sockets.map(|address| SocketAddr::new(address, 0)).collect();
            Ok(Box::new(sockets.into_iter()) as Addrs)
        })
    }
}

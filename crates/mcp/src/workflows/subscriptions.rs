//! Client subscriptions: resources by URI, and the list of prompts, which depends on the guides in
//! the library. Anybody can edit the files, so everything is polled, but only while somebody is
//! subscribed.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use milepost_ops::AgentCaller;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use serde_json::json;
use tokio::task::AbortHandle;

use super::client::{Answer, Context, McpClient, agent};
use super::{WorkflowServer, prompts, resources};
use crate::limits;
use crate::lock::lock;

/// Subscribed resources, by client and URI.
pub(super) type Subscriptions = Mutex<HashMap<(String, String), AbortHandle>>;

/// A subscribed resource or the list of prompts, with a hash of its last known content.
struct Watched {
    /// `None` for the list of prompts.
    uri: Option<String>,
    caller: AgentCaller,
    /// Which files the library had at the last check.
    stamp: u64,
    last: u64,
}

impl Watched {
    async fn new(server: &WorkflowServer, caller: AgentCaller, uri: Option<String>) -> Watched {
        let stamp = server.operations().stamp();
        let last = said(server, &caller, uri.as_deref()).await;
        Watched { uri, caller, stamp, last }
    }

    /// Whether the content has changed since the last check. The list of prompts is rebuilt only
    /// when a file has been added or removed.
    async fn changed(&mut self, server: &WorkflowServer) -> bool {
        if self.uri.is_none() {
            let stamp = server.operations().stamp();
            if std::mem::replace(&mut self.stamp, stamp) == stamp {
                return false;
            }
        }
        let now = said(server, &self.caller, self.uri.as_deref()).await;
        std::mem::replace(&mut self.last, now) != now
    }

    /// Notifies a client in a session whenever the content changes.
    async fn tell(mut self, server: WorkflowServer, peer: Peer<RoleServer>) {
        while !peer.is_transport_closed() {
            tokio::time::sleep(limits::WATCH_EVERY).await;
            if self.changed(&server).await {
                // If the notification fails, the client is gone, which is detected above.
                let _ = match self.uri.clone().map(ResourceUpdatedNotificationParam::new) {
                    Some(note) => peer.notify_resource_updated(note).await,
                    None => peer.notify_prompt_list_changed().await,
                };
            }
        }
    }
}

/// A hash of what is watched; a resource that cannot be read counts as empty.
async fn said(server: &WorkflowServer, caller: &AgentCaller, uri: Option<&str>) -> u64 {
    let Some(uri) = uri else {
        return hashed(&json!(prompts::list(server.operations()).await).to_string());
    };
    let read = resources::read(server.operations(), caller, server.style(), uri).await;
    let text = match read {
        Some(Ok(contents)) => json!(contents).to_string(),
        Some(Err(_)) | None => String::new(),
    };
    hashed(&text)
}

fn hashed(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl WorkflowServer {
    /// Subscribes a client in a session to a resource.
    pub(super) async fn watch(&self, uri: String, context: &Context) -> Answer<()> {
        if !resources::is_known(&uri) {
            let data = json!({"uri": uri});
            return Err(ErrorData::resource_not_found("Resource not found", Some(data)));
        }
        let watched = Watched::new(self, agent(context), Some(uri.clone())).await;
        let watching = tokio::spawn(watched.tell(self.clone(), context.peer.clone()));
        let mut all = lock(&self.shared.subscriptions);
        all.retain(|_, watching| !watching.is_finished());
        let client = McpClient::Peer(context);
        let whose = client.principal();
        let is_theirs = |(key, _): &&(String, String)| ends_with_principal(key, whose.as_deref());
        let own = all.keys().filter(is_theirs).count();
        let limit = if whose.is_some() { limits::WATCHED_PER_CALLER } else { limits::WATCHED };
        if all.len() >= limits::WATCHED || own >= limit {
            watching.abort();
            let data = json!({"limit": limit});
            return Err(ErrorData::invalid_params(
                "there are already too many subscriptions",
                Some(data),
            ));
        }
        if let Some(before) = all.insert((client.key(), uri), watching.abort_handle()) {
            before.abort();
        }
        Ok(())
    }

    /// Ends a subscription. If there was none, this is a no-op.
    pub(super) fn unwatch(&self, uri: String, context: &Context) {
        let watching =
            lock(&self.shared.subscriptions).remove(&(McpClient::Peer(context).key(), uri));
        if let Some(watching) = watching {
            watching.abort();
        }
    }

    /// Notifies a client in a session when the list of prompts changes.
    pub(super) async fn tell_prompts(self, peer: Peer<RoleServer>) {
        Watched::new(&self, AgentCaller::default(), None).await.tell(self, peer).await;
    }

    /// Sends a listener the notifications that it subscribed to, until it disconnects.
    pub(super) async fn tell_listener(&self, context: SubscriptionContext) {
        let mut ended = self.shared.ended.subscribe();
        let accepted = context.accepted().clone();
        let uris = accepted.resource_subscriptions.into_iter().flatten().map(Some);
        let prompts = accepted.prompts_list_changed.filter(|wanted| *wanted).map(|_| None);
        let caller = agent(context.request_context());
        let mut watched = Vec::new();
        for uri in uris.chain(prompts) {
            watched.push(Watched::new(self, caller.clone(), uri).await);
        }
        // The subscription was acknowledged before the first check, so a change in between would go
        // unnoticed. Therefore everything is reported as changed once.
        let mut is_first = true;
        loop {
            for one in &mut watched {
                if is_first || one.changed(self).await {
                    let _ = match one.uri.clone() {
                        Some(uri) => context.sink().notify_resource_updated(uri).await,
                        None => context.sink().notify_prompt_list_changed().await,
                    };
                }
            }
            is_first = false;
            tokio::select! {
                () = tokio::time::sleep(limits::WATCH_EVERY) => {}
                () = context.cancelled() => return,
                _ = ended.wait_for(|ended| *ended) => return,
            }
        }
    }
}

/// Whether a client's key names this caller.
fn ends_with_principal(key: &str, principal: Option<&str>) -> bool {
    key.split_once('\n').map(|(_, name)| name) == Some(principal.unwrap_or_default())
}

/// The part of a requested subscription that is accepted. Tools and the list of resources never
/// change.
pub(super) fn granted(wish: &SubscriptionFilter) -> SubscriptionFilter {
    let mut granted = SubscriptionFilter::new();
    granted.prompts_list_changed = wish.prompts_list_changed;
    let known = wish.resource_subscriptions.as_ref().map(|all| {
        let known = all.iter().filter(|uri| resources::is_known(uri));
        known.take(limits::WATCHED).cloned().collect()
    });
    granted.resource_subscriptions = known;
    granted
}

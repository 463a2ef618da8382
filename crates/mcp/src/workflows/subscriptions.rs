//! What clients watch: resources that they named, and the list of prompts, which follows the
//! guides of the library. Files are edited by anybody, so everything is looked at again and again,
//! and only for as long as somebody watches.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use serde_json::json;
use tokio::task::AbortHandle;

use super::client::{Answer, Context, session};
use super::{WorkflowServer, prompts, resources};
use crate::limits;
use crate::lock::lock;

/// Resources that clients watch, each by its session and address.
pub(super) type Subscriptions = Mutex<HashMap<(String, String), AbortHandle>>;

/// Something watched, as it was when it was last looked at.
struct Watched {
    uri: String,
    last: u64,
}

impl Watched {
    async fn new(server: &WorkflowServer, uri: String) -> Watched {
        let last = said(server, &uri).await;
        Watched { uri, last }
    }

    /// Whether it says something else now.
    async fn changed(&mut self, server: &WorkflowServer) -> bool {
        let now = said(server, &self.uri).await;
        std::mem::replace(&mut self.last, now) != now
    }
}

/// The list of prompts as it was.
struct Listed {
    stamp: u64,
    last: u64,
}

impl Listed {
    async fn new(server: &WorkflowServer) -> Listed {
        Listed { stamp: server.operations().stamp(), last: listed(server).await }
    }

    /// Whether it is another one now. The list is made only when a file came or went.
    async fn changed(&mut self, server: &WorkflowServer) -> bool {
        let stamp = server.operations().stamp();
        if std::mem::replace(&mut self.stamp, stamp) == stamp {
            return false;
        }
        let now = listed(server).await;
        std::mem::replace(&mut self.last, now) != now
    }
}

/// What a resource says, or that it cannot be read.
async fn said(server: &WorkflowServer, uri: &str) -> u64 {
    let read = resources::read(server.operations(), server.style(), uri).await;
    let text = match read {
        Some(Ok(contents)) => json!(contents).to_string(),
        Some(Err(_)) | None => String::new(),
    };
    hashed(&text)
}

async fn listed(server: &WorkflowServer) -> u64 {
    hashed(&json!(prompts::list(server.operations()).await).to_string())
}

fn hashed(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl WorkflowServer {
    /// Watches a resource for a client that shook hands.
    pub(super) async fn watch(&self, uri: String, context: &Context) -> Answer<()> {
        if !resources::is_known(&uri) {
            let data = json!({"uri": uri});
            return Err(ErrorData::resource_not_found("Resource not found", Some(data)));
        }
        let mut watched = Watched::new(self, uri.clone()).await;
        let (server, peer) = (self.clone(), context.peer.clone());
        let watching = tokio::spawn(async move {
            while !peer.is_transport_closed() {
                tokio::time::sleep(limits::WATCH_EVERY).await;
                if watched.changed(&server).await {
                    let note = ResourceUpdatedNotificationParam::new(watched.uri.clone());
                    // A client that cannot be told is gone, which is seen next.
                    let _ = peer.notify_resource_updated(note).await;
                }
            }
        });
        let mut all = lock(&self.shared.subscriptions);
        all.retain(|_, watching| !watching.is_finished());
        if all.len() >= limits::WATCHED {
            watching.abort();
            let data = json!({"limit": limits::WATCHED});
            return Err(ErrorData::invalid_params("too much is watched already", Some(data)));
        }
        if let Some(before) = all.insert((session(context), uri), watching.abort_handle()) {
            before.abort();
        }
        Ok(())
    }

    /// Watches it no longer. That nobody did is as good.
    pub(super) fn unwatch(&self, uri: String, context: &Context) {
        let watching = lock(&self.shared.subscriptions).remove(&(session(context), uri));
        if let Some(watching) = watching {
            watching.abort();
        }
    }

    /// Tells a client that shook hands when there are other prompts.
    pub(super) async fn tell_prompts(self, peer: Peer<RoleServer>) {
        let mut listed = Listed::new(&self).await;
        while !peer.is_transport_closed() {
            tokio::time::sleep(limits::WATCH_EVERY).await;
            if listed.changed(&self).await {
                // A client that cannot be told is gone, which is seen next.
                let _ = peer.notify_prompt_list_changed().await;
            }
        }
    }

    /// Tells a listener what it wants to know, for as long as it is there.
    pub(super) async fn tell_listener(&self, context: SubscriptionContext) {
        let mut ended = self.shared.ended.subscribe();
        let accepted = context.accepted().clone();
        let mut watched = Vec::new();
        for uri in accepted.resource_subscriptions.into_iter().flatten() {
            watched.push(Watched::new(self, uri).await);
        }
        let mut listed = match accepted.prompts_list_changed {
            Some(true) => Some(Listed::new(self).await),
            _ => None,
        };
        // The client was told that it is heard before anything was looked at: what changed in
        // between would be known to nobody, so everything counts as changed once.
        let mut is_first = true;
        loop {
            for one in &mut watched {
                if is_first || one.changed(self).await {
                    let _ = context.sink().notify_resource_updated(one.uri.clone()).await;
                }
            }
            if let Some(listed) = &mut listed
                && (is_first || listed.changed(self).await)
            {
                let _ = context.sink().notify_prompt_list_changed().await;
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

/// What of a wish can be granted: tools and the list of resources never change.
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

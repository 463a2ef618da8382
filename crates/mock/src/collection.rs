//! Operations on collections: what is created can be read, listed, changed and deleted. Responses
//! always fit their schema. If the stored values make that impossible, the whole response is
//! generated instead.

use milepost_catalog::command::Method;
use serde_json::{Map, Value};

use crate::generate::{Examples, Generated};
use crate::limits;
use crate::overlay::overlay;
use crate::page::Page;
use crate::resource::{CollectionAction, filled, find_item, find_list, id_pointer};
use crate::response::{of_first, success};
use crate::store::Resource;
use crate::{Call, Mock, MockResponse};

/// The collection that a request targets.
#[derive(Debug, Clone)]
struct Subject<'b> {
    collection: usize,
    /// The collection's path, with parameters filled in.
    key: String,
    /// The parameter at the end of an item's path.
    parameter: Option<String>,
    /// The id in the path, for an item.
    id: Option<String>,
    /// The request body.
    body: Option<&'b Value>,
}

impl Mock {
    /// The response to an operation on a collection; `None` if it has to be generated.
    pub(crate) fn stateful(
        &mut self,
        call: &Call<'_>,
        body: Option<&Value>,
    ) -> Option<MockResponse> {
        let (collection, action) = self.actions.get(call.route).copied().flatten()?;
        let of = &self.collections[collection];
        let id = of.parameter.as_ref().filter(|_| call.command.path != of.path);
        let id = id.and_then(|name| call.values.iter().find(|(known, _)| known == name));
        let subject = Subject {
            collection,
            key: filled(&of.path, &call.values),
            parameter: of.parameter.clone(),
            id: id.map(|(_, value)| value.clone()),
            body,
        };
        self.furnish(call, &subject)?;
        match action {
            CollectionAction::List => self.list(call, &subject),
            CollectionAction::Create => self.create(call, &subject),
            CollectionAction::Clear => {
                self.store.at(&subject.key).items.clear();
                None
            }
            CollectionAction::Read => match self.known(&subject) {
                Some(resource) => Some(self.show(call, &subject, &resource)),
                None => self.unknown(call, &subject),
            },
            CollectionAction::Update => self.update(call, &subject),
            CollectionAction::Delete => self.delete(call, &subject),
        }
    }

    /// Populates a collection on first use. `None` if its resources have no id.
    fn furnish(&mut self, call: &Call<'_>, subject: &Subject<'_>) -> Option<()> {
        if self.store.has(&subject.key) {
            return Some(());
        }
        let mut fresh: Vec<Resource> = Vec::new();
        for number in 0..limits::FRESH_ITEMS * 3 {
            let examples = if number == 0 { Examples::All } else { Examples::NoIds };
            let salt = format!("{}#{number}", subject.key);
            let made = self.make_resource(call, subject, &salt, examples);
            fresh.extend(made.filter(|made| fresh.iter().all(|one| one.id != made.id)));
            if fresh.len() >= limits::FRESH_ITEMS {
                break;
            }
        }
        if fresh.is_empty() {
            return None;
        }
        let collection = self.store.at(&subject.key);
        fresh.into_iter().for_each(|resource| collection.put(resource));
        Some(())
    }

    /// Generates a resource from the most complete response that contains one.
    fn make_resource(
        &mut self,
        call: &Call<'_>,
        subject: &Subject<'_>,
        salt: &str,
        examples: Examples,
    ) -> Option<Resource> {
        use CollectionAction::{Create, List, Read, Update};
        let of = self.collections[subject.collection].clone();
        [Read, Update, Create, List].into_iter().find_map(|action| {
            let route = *of.routes.get(&action)?;
            let command = self.command(route)?;
            let choice = success(&command, None);
            let call = Call { route, values: Vec::new(), command, request: call.request };
            let (made, _) = self.draft(&call, choice, salt, examples).body?;
            let at = if action == List {
                find_list(&made.value, &of.path)? + "/0"
            } else {
                find_item(&made.value, subject.parameter.as_deref())?
            };
            let object = made.value.pointer(&at).filter(|value| value.is_object())?;
            Resource::new(object.clone(), subject.parameter.as_deref())
        })
    }

    fn list(&mut self, call: &Call<'_>, subject: &Subject<'_>) -> Option<MockResponse> {
        let choice = success(&call.command, call.request.header("accept"));
        let mut draft = self.draft(call, choice, &subject.key, Examples::NoIds);
        let (made, schema) = draft.body.as_mut()?;
        let at = find_list(&made.value, &self.collections[subject.collection].path)?;
        let items = &self.store.at(&subject.key).items;
        let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
        let page = Page::requested(call, &ids);
        let shown = &items[page.start..page.end];
        let mut base = made.value.clone();
        let list = base.pointer_mut(&at)?.as_array_mut()?;
        let like = list.first().cloned().unwrap_or_else(|| Value::Object(Map::new()));
        if !like.is_object() {
            return None;
        }
        list.clear();
        list.extend(std::iter::repeat_n(like, shown.len()));
        let layers = shown.iter().enumerate();
        let layers = layers
            .filter_map(|(index, item)| Some((format!("{at}/{index}"), item.value.as_object()?)));
        let mut value = overlay(schema, &base, &layers.collect::<Vec<_>>())?;
        page.describe(&mut value, schema, call.request);
        *made = Generated { value, verified: schema.validator.is_some() };
        let mut answer = draft.response(&call.command);
        if let Some(link) = page.link(call) {
            answer.set_header("link", link);
        }
        Some(answer)
    }

    fn create(&mut self, call: &Call<'_>, subject: &Subject<'_>) -> Option<MockResponse> {
        let resource = self.new_resource(call, subject)?;
        self.store.at(&subject.key).put(resource.clone());
        let mut answer = self.show(call, subject, &resource);
        if answer.status == 201 && answer.header("location").is_none() {
            let path = call.request.path.strip_suffix('/').unwrap_or(call.request.path);
            let id: String = url::form_urlencoded::byte_serialize(resource.id.as_bytes()).collect();
            answer.set_header("location", format!("{path}/{id}"));
        }
        Some(answer)
    }

    /// A resource with a new id and the given fields.
    fn new_resource(&mut self, call: &Call<'_>, subject: &Subject<'_>) -> Option<Resource> {
        for round in 0..limits::ID_TRIES {
            let salt = format!("{}+{}.{round}", subject.key, self.store.at(&subject.key).made);
            let mut resource = self.make_resource(call, subject, &salt, Examples::NoIds)?;
            if let Some(given) = subject.given(&resource)
                && resource.merge(given, id_pointer(given, subject.parameter.as_deref()))
            {
                return Some(resource);
            }
            if self.store.at(&subject.key).position(&resource.id).is_none() {
                return Some(resource);
            }
        }
        None
    }

    fn update(&mut self, call: &Call<'_>, subject: &Subject<'_>) -> Option<MockResponse> {
        let resource = if let Some(mut resource) = self.known(subject) {
            if let Some(given) = subject.given(&resource) {
                resource.merge(given, None);
            }
            resource
        } else {
            // PUT creates the resource if the document allows that by declaring 201.
            let makes = call.command.method == Method::Put
                && call.command.responses.iter().any(|response| response.status == "201");
            if !makes {
                return self.unknown(call, subject);
            }
            let mut resource = self.new_resource(call, subject)?;
            resource.rename(subject.id.as_deref()?);
            resource
        };
        self.store.at(&subject.key).put(resource.clone());
        Some(self.show(call, subject, &resource))
    }

    fn delete(&mut self, call: &Call<'_>, subject: &Subject<'_>) -> Option<MockResponse> {
        let id = subject.id.as_deref()?;
        let Some(at) = self.store.at(&subject.key).position(id) else {
            return self.unknown(call, subject);
        };
        let resource = self.store.at(&subject.key).remove(at);
        self.store.forget_below(&subject.key, id);
        Some(self.show(call, subject, &resource))
    }

    fn known(&mut self, subject: &Subject<'_>) -> Option<Resource> {
        let collection = self.store.at(&subject.key);
        collection.position(subject.id.as_deref()?).map(|at| collection.items[at].clone())
    }

    /// The response for an unknown id; `None` to generate one instead.
    fn unknown(&mut self, call: &Call<'_>, subject: &Subject<'_>) -> Option<MockResponse> {
        let id = subject.id.as_deref()?;
        let documented = of_first(&call.command, &[404, 410], None).is_some();
        let gone = self.store.at(&subject.key).is_gone(id);
        if self.settings.lenient_ids && !documented && !gone {
            return None;
        }
        let words = format!("there is no `{id}` in `{}`", subject.key);
        Some(self.with_status(call, &[404, 410], &words))
    }

    /// An operation's response, containing the resource.
    fn show(
        &mut self,
        call: &Call<'_>,
        subject: &Subject<'_>,
        resource: &Resource,
    ) -> MockResponse {
        let choice = success(&call.command, call.request.header("accept"));
        let salt = format!("{}={}", subject.key, resource.id);
        let mut draft = self.draft(call, choice, &salt, Examples::NoIds);
        if let Some((made, schema)) = &mut draft.body {
            let at = find_item(&made.value, subject.parameter.as_deref());
            let layer = at.zip(resource.value.as_object());
            if let Some(value) = layer.and_then(|layer| overlay(schema, &made.value, &[layer])) {
                *made = Generated { value, verified: schema.validator.is_some() };
            }
        }
        draft.response(&call.command)
    }
}

impl<'b> Subject<'b> {
    /// The fields that the body sets: its own members, or those of the member that wraps the
    /// resource.
    fn given(&self, resource: &Resource) -> Option<&'b Value> {
        let body = self.body?;
        let mut members = body.as_object()?.iter();
        let (Some((name, only)), None) = (members.next(), members.next()) else {
            return Some(body);
        };
        let inner = only.get(0).unwrap_or(only);
        // The resource may itself have a field with that name, such as `data`.
        let is_own = resource.value.get(name).is_some();
        let wraps = inner.is_object() && !is_own && is_wrapper(name, &self.key);
        Some(if wraps { inner } else { body })
    }
}

/// Whether a member with this name wraps one of the collection's resources: `data`, or `order` for
/// `/orders`.
fn is_wrapper(name: &str, collection: &str) -> bool {
    let last = collection.rsplit('/').next().unwrap_or(collection);
    let last = last.split('.').next().unwrap_or(last);
    let single = last.strip_suffix('s').unwrap_or(last);
    ["data", "item", "resource", last, single].iter().any(|one| name.eq_ignore_ascii_case(one))
}

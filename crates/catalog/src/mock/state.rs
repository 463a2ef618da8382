//! Operations on collections: what is created can be read, listed, changed and deleted. Whatever is
//! remembered, an answer still fits its schema; where it cannot, the answer is made up as a whole.

use serde_json::{Map, Value};

use super::answer::{Draft, success};
use super::check::Checked;
use super::generate::{Examples, Made};
use super::overlay::{Layer, overlay};
use super::paging::Page;
use super::resource::{Action, filled, find_item, find_list, id_field};
use super::store::{Resource, member, set};
use super::{Mock, MockRequest, MockResponse, Target};
use crate::command::Method;
use crate::limits;

/// The collection that a request is about.
#[derive(Debug, Clone)]
struct About {
    collection: usize,
    /// Its path with the values of its parameters.
    key: String,
    /// The parameter that an item's path ends with.
    parameter: Option<String>,
    /// The id in the path, for an item.
    id: Option<String>,
}

impl Mock {
    /// The answer of an operation on a collection; nothing when it has to do with none.
    pub(super) fn stateful(
        &mut self,
        target: &Target,
        request: &MockRequest<'_>,
        checked: &Checked,
    ) -> Option<MockResponse> {
        let (collection, action) = self.actions.get(target.index).copied().flatten()?;
        let of = &self.collections[collection];
        let id = of.parameter.as_ref().filter(|_| target.command.path != of.path);
        let id = id.and_then(|name| target.values.iter().find(|(known, _)| known == name));
        let about = About {
            collection,
            key: filled(&of.path, &target.values),
            parameter: of.parameter.clone(),
            id: id.map(|(_, value)| value.clone()),
        };
        self.furnish(&about)?;
        match action {
            Action::List => self.list(target, request, &about),
            Action::Create => self.create(target, request, checked, &about),
            Action::Clear => {
                self.store.at(&about.key).items.clear();
                None
            }
            Action::Read => self.read(target, request, &about),
            Action::Update => self.update(target, request, checked, &about),
            Action::Delete => self.delete(target, request, &about),
        }
    }

    /// Fills a collection that is asked for the first time. Nothing when its resources have no id.
    fn furnish(&mut self, about: &About) -> Option<()> {
        if self.store.has(&about.key) {
            return Some(());
        }
        let mut fresh: Vec<Resource> = Vec::new();
        for number in 0..limits::MOCK_FRESH_ITEMS * 3 {
            let examples = if number == 0 { Examples::All } else { Examples::NoIds };
            let made = self.make_resource(about, &format!("{}#{number}", about.key), examples);
            let new = made.filter(|made| fresh.iter().all(|one| one.id != made.id));
            fresh.extend(new);
            if fresh.len() >= limits::MOCK_FRESH_ITEMS {
                break;
            }
        }
        if fresh.is_empty() {
            return None;
        }
        let kept = self.store.at(&about.key);
        fresh.into_iter().for_each(|resource| kept.put(resource));
        Some(())
    }

    /// Makes up a resource from the fullest answer that shows one.
    fn make_resource(&mut self, about: &About, salt: &str, examples: Examples) -> Option<Resource> {
        let of = self.collections[about.collection].clone();
        for index in [of.read, of.update, of.create, of.list].into_iter().flatten() {
            let Some(command) = self.command(index) else { continue };
            let chosen = success(&command, None);
            let Some((made, _)) = self.draft(index, chosen, salt, examples).body else { continue };
            let at = if Some(index) == of.list {
                find_list(&made.value, &of.path).map(|at| at + "/0")
            } else {
                find_item(&made.value, about.parameter.as_deref())
            };
            let object = at.and_then(|at| made.value.pointer(&at)?.as_object().cloned());
            let resource =
                object.and_then(|object| Resource::new(object, about.parameter.as_deref()));
            if resource.is_some() {
                return resource;
            }
        }
        None
    }

    fn list(
        &mut self,
        target: &Target,
        request: &MockRequest<'_>,
        about: &About,
    ) -> Option<MockResponse> {
        let chosen = success(&target.command, request.header("accept"));
        let mut draft = self.draft(target.index, chosen, &about.key, Examples::NoIds);
        let (made, schema) = draft.body.as_mut()?;
        let at = find_list(&made.value, &self.collections[about.collection].path)?;
        let items = &self.store.at(&about.key).items;
        let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
        let page = Page::asked(&target.command, request, &ids);
        let shown = &items[page.start..page.end];
        let mut base = made.value.clone();
        let list = base.pointer_mut(&at)?.as_array_mut()?;
        let like = list.first().cloned().unwrap_or_else(|| Value::Object(Map::new()));
        if !like.is_object() {
            return None;
        }
        list.clear();
        list.extend(std::iter::repeat_n(like, shown.len()));
        let layer = |(index, item): (usize, &'_ Resource)| (format!("{at}/{index}"), item.clone());
        let layers: Vec<(String, Resource)> = shown.iter().enumerate().map(layer).collect();
        let layers: Vec<Layer<'_>> = layers
            .iter()
            .map(|(at, item)| Layer { at: at.clone(), fields: &item.fields })
            .collect();
        let mut value = overlay(schema, &base, &layers)?;
        page.tell(&mut value, schema, request);
        *made = Made { value, verified: schema.validator.is_some() };
        let mut answer = draft.response(&target.command);
        let link = page.link(&target.command, request);
        answer.headers.extend(link.map(|link| ("link".to_owned(), link)));
        Some(answer)
    }

    fn create(
        &mut self,
        target: &Target,
        request: &MockRequest<'_>,
        checked: &Checked,
        about: &About,
    ) -> Option<MockResponse> {
        let resource = self.new_resource(about, checked.body.as_ref())?;
        let id = resource.id.clone();
        self.store.at(&about.key).put(resource.clone());
        let mut answer = self.show(target, request, about, &resource);
        if answer.status == 201 && answer.header("location").is_none() {
            let path = request.path.strip_suffix('/').unwrap_or(request.path);
            let id: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
            answer.headers.push(("location".to_owned(), format!("{path}/{id}")));
        }
        Some(answer)
    }

    /// A resource with a new id and the fields that were given.
    fn new_resource(&mut self, about: &About, body: Option<&Value>) -> Option<Resource> {
        let parameter = about.parameter.as_deref();
        for round in 0..limits::MOCK_ID_TRIES {
            let salt = format!("{}+{}.{round}", about.key, self.store.at(&about.key).made);
            let mut resource = self.make_resource(about, &salt, Examples::NoIds)?;
            let given = body.and_then(|body| unwrapped(body, about, &resource));
            if let Some(given) = &given {
                let own = Resource::new(given.clone(), parameter);
                let own = own.filter(|_| {
                    id_field(given, parameter) == id_field(&resource.fields, parameter)
                });
                resource.merge(given, parameter);
                if let Some(own) = own {
                    let path = id_field(&own.fields, parameter)?;
                    let value = member(given, &path).cloned();
                    set(&mut resource.fields, &path, value?);
                    resource.id = own.id;
                    return Some(resource);
                }
            }
            if self.store.at(&about.key).position(&resource.id).is_none() {
                return Some(resource);
            }
        }
        None
    }

    fn read(
        &mut self,
        target: &Target,
        request: &MockRequest<'_>,
        about: &About,
    ) -> Option<MockResponse> {
        match self.known(about) {
            Some(resource) => Some(self.show(target, request, about, &resource)),
            None => self.unknown(target, request, about),
        }
    }

    fn update(
        &mut self,
        target: &Target,
        request: &MockRequest<'_>,
        checked: &Checked,
        about: &About,
    ) -> Option<MockResponse> {
        let parameter = about.parameter.as_deref();
        let Some(mut resource) = self.known(about) else {
            // What PUT puts is there afterwards, where the document says that it can be new.
            let makes = target.command.method == Method::Put
                && target.command.responses.iter().any(|response| response.status == "201");
            if !makes {
                return self.unknown(target, request, about);
            }
            let mut resource = self.new_resource(about, checked.body.as_ref())?;
            rename(&mut resource, about);
            self.store.at(&about.key).put(resource.clone());
            return Some(self.show(target, request, about, &resource));
        };
        let given = checked.body.as_ref().and_then(|body| unwrapped(body, about, &resource));
        if let Some(given) = given {
            resource.merge(&given, parameter);
        }
        let kept = self.store.at(&about.key);
        if let Some(at) = kept.position(&resource.id) {
            kept.items[at] = resource.clone();
        }
        Some(self.show(target, request, about, &resource))
    }

    fn delete(
        &mut self,
        target: &Target,
        request: &MockRequest<'_>,
        about: &About,
    ) -> Option<MockResponse> {
        let id = about.id.as_deref()?;
        let Some(at) = self.store.at(&about.key).position(id) else {
            return self.unknown(target, request, about);
        };
        let resource = self.store.at(&about.key).remove(at);
        self.store.forget_below(&about.key, id);
        Some(self.show(target, request, about, &resource))
    }

    fn known(&mut self, about: &About) -> Option<Resource> {
        let kept = self.store.at(&about.key);
        kept.position(about.id.as_deref()?).map(|at| kept.items[at].clone())
    }

    /// The answer for an id that is not there; nothing to make one up.
    fn unknown(
        &mut self,
        target: &Target,
        request: &MockRequest<'_>,
        about: &About,
    ) -> Option<MockResponse> {
        let id = about.id.as_deref()?;
        let documented = super::of_first(&target.command, &[404, 410], None).is_some();
        let gone = self.store.at(&about.key).is_gone(id);
        if self.settings.lenient_ids && !documented && !gone {
            return None;
        }
        let words = format!("there is no `{id}` in `{}`", about.key);
        Some(self.with_status(target, request, &[404, 410], &words))
    }

    /// The answer of an operation, showing a resource.
    fn show(
        &mut self,
        target: &Target,
        request: &MockRequest<'_>,
        about: &About,
        resource: &Resource,
    ) -> MockResponse {
        let chosen = success(&target.command, request.header("accept"));
        let salt = format!("{}={}", about.key, resource.id);
        let mut draft: Draft = self.draft(target.index, chosen, &salt, Examples::NoIds);
        if let Some((made, schema)) = &mut draft.body {
            let at = find_item(&made.value, about.parameter.as_deref());
            let layers = at.map(|at| [Layer { at, fields: &resource.fields }]);
            let shown = layers.and_then(|layers| overlay(schema, &made.value, &layers));
            if let Some(value) = shown {
                *made = Made { value, verified: schema.validator.is_some() };
            }
        }
        draft.response(&target.command)
    }
}

/// Gives a resource the id of the path.
fn rename(resource: &mut Resource, about: &About) {
    let Some(id) = about.id.clone() else { return };
    if let Some(path) = id_field(&resource.fields, about.parameter.as_deref()) {
        let old = member(&resource.fields, &path);
        let value = match id.parse::<i64>() {
            Ok(number) if old.is_some_and(Value::is_number) => Value::from(number),
            _ => Value::from(id.clone()),
        };
        set(&mut resource.fields, &path, value);
    }
    resource.id = id;
}

/// The fields that a body gives a resource: its own, or those of the member that wraps them.
fn unwrapped(body: &Value, about: &About, resource: &Resource) -> Option<Map<String, Value>> {
    let fields = body.as_object()?;
    let mut members = fields.iter();
    let (Some((name, only)), None) = (members.next(), members.next()) else {
        return Some(fields.clone());
    };
    let inner = match only {
        Value::Array(items) => items.first().and_then(Value::as_object),
        only => only.as_object(),
    };
    // A resource may have a `data` of its own.
    let is_own = resource.fields.contains_key(name);
    let wraps = inner.filter(|_| !is_own && is_wrapper(name, &about.key));
    Some(wraps.unwrap_or(fields).clone())
}

/// Whether a member of that name is the resource of a collection: `data`, `order` for `/orders`.
fn is_wrapper(name: &str, collection: &str) -> bool {
    let last = collection.rsplit('/').next().unwrap_or(collection);
    let last = last.split('.').next().unwrap_or(last);
    let single = last.strip_suffix('s').unwrap_or(last);
    ["data", "item", "resource", last, single].iter().any(|one| name.eq_ignore_ascii_case(one))
}

//! A query's intent, a command's actions, and how well they match.

use crate::command::Method;
use crate::text::WordList;

/// A query's intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    Create,
    List,
    Get,
    Update,
    Delete,
    Search,
    /// Any other verb that changes something: `merge`, `refund`.
    Act,
    /// A verb that ends something: `cancel`, `revoke`.
    End,
    /// Any other verb that only reads: `download`, `compare`.
    Look,
    /// No verb; names several resources.
    Things,
    /// No verb; names one resource.
    Thing,
}

/// A command's actions; there may be several if its method, name and words disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Deeds(u8);

impl Deeds {
    pub(super) const LIST: Deeds = Deeds(1);
    pub(super) const GET: Deeds = Deeds(2);
    pub(super) const CREATE: Deeds = Deeds(4);
    pub(super) const UPDATE: Deeds = Deeds(8);
    pub(super) const DELETE: Deeds = Deeds(16);
    pub(super) const SEARCH: Deeds = Deeds(32);
    /// The action applies to a whole collection.
    pub(super) const WHOLE: Deeds = Deeds(64);
    /// The action applies to one item in a collection.
    pub(super) const ONE: Deeds = Deeds(128);

    pub(super) fn add(&mut self, other: Deeds) {
        self.0 |= other.0;
    }

    pub(super) fn has(self, other: Deeds) -> bool {
        self.0 & other.0 != 0
    }

    /// The action that a verb at the start of a summary or operation id implies.
    pub(super) fn of(intent: Intent) -> Deeds {
        match intent {
            Intent::Create => Deeds::CREATE,
            Intent::List => Deeds::LIST,
            Intent::Get => Deeds::GET,
            Intent::Update => Deeds::UPDATE,
            Intent::Delete => Deeds::DELETE,
            Intent::Search => Deeds::SEARCH,
            Intent::Act | Intent::End | Intent::Look | Intent::Things | Intent::Thing => {
                Deeds::default()
            }
        }
    }
}

/// The factor by which a command's score changes, given the query's intent.
pub(super) fn fit(intent: Intent, deeds: Deeds, method: Option<Method>) -> f32 {
    // A workflow may do anything.
    let Some(method) = method else { return 1.0 };
    let has = |deed| deeds.has(deed);
    // Some APIs use `POST` for everything, and only the name shows what a command does.
    let asks = method == Method::Post && !has(Deeds::CREATE) && !has(Deeds::UPDATE);
    let reads = matches!(method, Method::Get | Method::Query) || (asks && !has(Deeds::DELETE));
    match intent {
        Intent::Create if has(Deeds::CREATE) && !reads && method != Method::Delete => 1.3,
        Intent::Update if has(Deeds::UPDATE) && !reads => 1.3,
        Intent::Delete if has(Deeds::DELETE) && !has(Deeds::WHOLE) && !reads => 1.3,
        Intent::Delete if has(Deeds::DELETE) && !reads => 1.1,
        Intent::List | Intent::Things if has(Deeds::LIST) && reads => 1.3,
        Intent::Get | Intent::Thing if has(Deeds::GET) && reads => 1.3,
        Intent::Search if has(Deeds::SEARCH) && reads => 1.3,
        Intent::Create if method == Method::Put => 0.9,
        Intent::Update if has(Deeds::CREATE) && method == Method::Post => 0.85,
        Intent::List | Intent::Things if has(Deeds::ONE) && reads => 0.9,
        Intent::List | Intent::Get | Intent::Search | Intent::Look if reads => 1.05,
        Intent::Things | Intent::Thing if reads => 1.15,
        Intent::Things | Intent::Thing => 0.9,
        Intent::Act => match method {
            Method::Post | Method::Put => 1.2,
            Method::Patch => 1.1,
            Method::Delete => 0.8,
            _ => 0.7,
        },
        Intent::End => match method {
            Method::Post | Method::Put | Method::Delete => 1.2,
            Method::Patch => 1.05,
            _ => 0.6,
        },
        Intent::Look => 0.75,
        _ => 0.5,
    }
}

/// Verbs that end something, for which some APIs have an action and others use `DELETE`.
pub(super) const ENDS: WordList = WordList(
    "abort cancel clear detach disable disconnect dismiss kill leave purge revoke stop terminate \
     unassign unblock unfollow uninstall unlink unlock unstar unsubscribe unsuspend",
);

/// Verbs that only read.
pub(super) const LOOKS: WordList = WordList(
    "check compare count download estimate export preview render track validate verify watch",
);

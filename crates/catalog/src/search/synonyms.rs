//! Words that mean the same thing to people looking for a command. The list is kept small: a word
//! is included only if people write it and documents do not, or vice versa.

use super::intent::Intent;
use crate::text::WordList;

/// Verbs grouped by intent. The verb that starts a query determines its intent; within a group,
/// each verb matches all others.
pub(super) const VERBS: &[(Intent, WordList)] = &[
    (Intent::Create, WordList("create add new make open post insert register")),
    (Intent::List, WordList("list enumerate browse ls index")),
    (Intent::Get, WordList("get fetch read show retrieve describe view see display inspect")),
    (Intent::Update, WordList("update edit change modify patch set replace alter adjust put")),
    (Intent::Delete, WordList("delete remove destroy drop erase unset")),
    (Intent::Search, WordList("search find lookup query")),
];

/// The intent of a verb.
pub(super) fn intent(verb: &str) -> Option<Intent> {
    VERBS.iter().find(|(_, verbs)| verbs.contains(verb)).map(|(intent, _)| *intent)
}

/// The verbs with this intent.
pub(super) fn verbs(intent: Intent) -> WordList {
    let found = VERBS.iter().find(|(asked, _)| *asked == intent);
    found.map_or(WordList(""), |(_, verbs)| *verbs)
}

/// Groups of words in the singular, joined by `=`, that are treated as the same.
const SAME: WordList = WordList(
    "repo=repository=repositorie org=organization=organisation env=environment \
     config=configuration=cfg=conf db=database msg=message app=application hook=webhook \
     ns=namespace id=identifier img=image doc=document param=parameter attr=attribute \
     var=variable info=information stat=statistic acct=account txn=transaction promo=promotion \
     perm=permission auth=authentication=authorization admin=administrator person=people \
     picture=photo folder=directory=dir k8s=kubernetes svc=service po=pod sts=statefulset \
     ds=daemonset rs=replicaset cm=configmap pv=persistentvolume pvc=persistentvolumeclaim \
     hpa=horizontalpodautoscaler pdb=poddisruptionbudget crd=customresourcedefinition \
     csr=certificatesigningrequest netpol=networkpolicy ing=ingress cj=cronjob",
);

/// A word, a term that documents may use for it (but not vice versa), and the confidence.
const NEAR: &[(&str, &str, f32)] = &[
    ("approve", "review", 0.5),
    ("authenticated", "current", 0.8),
    ("authenticated", "me", 0.9),
    ("authenticated", "self", 0.7),
    ("authenticated", "whoami", 1.0),
    ("branch", "ref", 0.8),
    ("branch", "reference", 0.8),
    ("cancel", "delete", 0.5),
    ("cancel", "stop", 0.6),
    ("download", "get", 0.3),
    ("email", "mail", 0.8),
    ("execute", "exec", 0.9),
    ("execute", "run", 0.8),
    ("file", "content", 0.6),
    ("find", "search", 0.9),
    ("folder", "content", 0.5),
    ("kill", "delete", 0.6),
    ("mail", "email", 0.8),
    ("money", "amount", 0.5),
    ("money", "fund", 0.7),
    ("pause", "suspend", 0.8),
    ("people", "member", 0.6),
    ("people", "user", 0.6),
    ("replica", "scale", 0.8),
    ("restart", "rerun", 0.6),
    ("retry", "rerun", 0.8),
    ("run", "execute", 0.7),
    ("send", "create", 0.3),
    ("stop", "cancel", 0.6),
    ("stop", "delete", 0.3),
    ("suspend", "pause", 0.8),
    ("trigger", "dispatch", 0.9),
    ("trigger", "run", 0.5),
    ("undo", "revert", 0.8),
    ("undo", "rollback", 0.8),
    ("upload", "create", 0.3),
    ("zip", "archive", 0.6),
    ("zip", "zipball", 1.0),
];

/// Calls `each` with every term that documents may use for a singular word, and its confidence.
pub(super) fn of(word: &str, mut each: impl FnMut(&'static str, f32)) {
    for group in SAME.iter().filter(|group| group.split('=').any(|other| other == word)) {
        group.split('=').filter(|other| *other != word).for_each(|other| each(other, 0.95));
    }
    let from = NEAR.partition_point(|(said, ..)| *said < word);
    for (_, meant, sure) in NEAR[from..].iter().take_while(|(said, ..)| *said == word) {
        each(meant, *sure);
    }
}

/// Phrases and the words that documents use for them.
pub(super) const PHRASES: &[(&[&str], &[&str])] = &[
    (&["who", "am", "i"], &["get", "authenticated", "user"]),
    (&["whoami"], &["get", "authenticated", "user"]),
    (&["current", "user"], &["authenticated", "user"]),
    (&["logged", "in", "user"], &["authenticated", "user"]),
    (&["merge", "request"], &["pull", "request"]),
    (&["pr"], &["pull", "request"]),
    (&["prs"], &["pull", "requests"]),
    (&["pv"], &["persistent", "volume"]),
    (&["pvc"], &["persistent", "volume", "claim"]),
    (&["pvcs"], &["persistent", "volume", "claims"]),
    (&["hpa"], &["horizontal", "pod", "autoscaler"]),
    (&["crd"], &["custom", "resource", "definition"]),
    (&["crds"], &["custom", "resource", "definitions"]),
    (&["csr"], &["certificate", "signing", "request"]),
    (&["roll", "back"], &["rollback"]),
    (&["look", "up"], &["find"]),
    (&["look", "for"], &["find"]),
    (&["set", "up"], &["create"]),
    (&["sign", "up"], &["create"]),
    (&["log", "in"], &["login"]),
    (&["log", "out"], &["logout"]),
    (&["get", "rid", "of"], &["delete"]),
    (&["get", "all"], &["list"]),
    (&["show", "all"], &["list"]),
    (&["show", "me", "all"], &["list"]),
    (&["fetch", "all"], &["list"]),
    (&["read", "all"], &["list"]),
    (&["retrieve", "all"], &["list"]),
    (&["all", "the"], &["all"]),
];

#[cfg(test)]
mod tests {
    use super::{NEAR, SAME, VERBS, of};

    #[test]
    fn tables_are_in_order() {
        assert!(NEAR.is_sorted_by(|a, b| (a.0, a.1) < (b.0, b.1)));
        let mut verbs: Vec<&str> = VERBS.iter().flat_map(|(_, verbs)| verbs.iter()).collect();
        verbs.sort_unstable();
        assert!(verbs.is_sorted_by(|a, b| a < b), "each verb is in only one group");
        assert!(SAME.iter().all(|group| group.contains('=')));
    }

    #[test]
    fn a_group_works_in_every_direction() {
        for (word, other) in [("repo", "repository"), ("repository", "repo"), ("trigger", "run")] {
            let mut all = Vec::new();
            of(word, |found, _| all.push(found));
            assert!(all.contains(&other), "{word}: {all:?}");
        }
    }
}

//! What writes need before they are sent, according to the configuration:
//!
//! ```toml
//! [policy]
//! writes = "consent"
//!
//! [[policy.rules]]
//! host = "api.shop.example"
//! method = "DELETE"
//! path = "/orders/**"
//! writes = "deny"
//! ```
//!
//! All rules that match a write apply, and the strictest one wins, so the order of the rules does
//! not matter. A rule that allows matches only if it covers every request of that kind; any other
//! rule matches if it covers some of them.

use milepost_engine::consent::WriteRule;
use milepost_engine::effect_bound::{ANY_METHOD, CallEffect, covers, overlaps};

use crate::settings::{TomlError, TomlField, TomlTable, UnknownKey};

/// The rules for writes, from all configuration files in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WritePolicy {
    /// What every write needs, once per file that says so.
    usual: Vec<PolicyRule>,
    rules: Vec<PolicyRule>,
}

/// A line of the policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    pub catalog: Option<String>,
    /// In capitals.
    pub method: Option<String>,
    /// A host, with its port if the port is not the usual one; `*` matches any characters except a
    /// dot.
    pub host: Option<String>,
    pub path: Option<String>,
    pub writes: WriteRule,
    /// The line as it can be found in the file, such as `policy.rules[0]`.
    pub at: String,
}

/// What the policy says about a write, and the line that decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    pub writes: WriteRule,
    /// `None` if no line matches, so that the default applies.
    pub by: Option<String>,
}

const WRITES: &str = "`allow`, `consent`, `approve` or `deny`";

impl WritePolicy {
    /// Reads the table `[policy]`.
    pub(crate) fn read(
        mut table: TomlTable<'_>,
        warnings: &mut Vec<UnknownKey>,
    ) -> Result<WritePolicy, TomlError> {
        let mut policy = WritePolicy::default();
        if let Some(writes) = table.parsed("writes", WRITES, WriteRule::named)? {
            policy.usual.push(PolicyRule {
                catalog: None,
                method: None,
                host: None,
                path: None,
                writes,
                at: "policy.writes".to_owned(),
            });
        }
        let rules = table.take_as("rules", TomlField::list)?.unwrap_or_default();
        for rule in rules {
            let at = rule.key.clone();
            policy.rules.push(PolicyRule::read(rule.table()?, at, warnings)?);
        }
        table.unknown(warnings);
        Ok(policy)
    }

    /// The rules of both files. A project's rules never loosen the user's.
    #[must_use]
    pub(crate) fn tightened(mut self, project: WritePolicy) -> WritePolicy {
        let tightens = |rule: &PolicyRule| rule.writes > WriteRule::Allow;
        self.usual.extend(project.usual.into_iter().filter(tightens));
        self.rules.extend(project.rules.into_iter().filter(tightens));
        self
    }

    /// What a kind of write of a catalog needs; `usual` applies if no line matches.
    pub fn decide(&self, catalog: &str, effect: &CallEffect, usual: WriteRule) -> PolicyDecision {
        let matching = self.usual.iter().chain(&self.rules);
        let matching = matching.filter(|rule| rule.matches(catalog, effect));
        let strictest = matching.reduce(|one, other| match other.writes > one.writes {
            true => other,
            false => one,
        });
        match strictest {
            Some(rule) => PolicyDecision { writes: rule.writes, by: Some(rule.at.clone()) },
            None => PolicyDecision { writes: usual, by: None },
        }
    }
}

impl PolicyRule {
    fn read(
        mut table: TomlTable<'_>,
        at: String,
        warnings: &mut Vec<UnknownKey>,
    ) -> Result<PolicyRule, TomlError> {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let rule = PolicyRule {
            catalog: table.parsed("catalog", "the id of a catalog", text)?,
            method: table
                .parsed("method", "a method", |name| text(name).map(|name| name.to_uppercase()))?,
            host: table
                .parsed("host", "a host", |host| text(host).map(|host| host.to_lowercase()))?,
            path: table.parsed("path", "a path that begins with `/` or `*`", |path| {
                path.starts_with(['/', '*', '{']).then(|| path.to_owned())
            })?,
            writes: table.need("writes")?.parsed(WRITES, WriteRule::named)?,
            at,
        };
        table.unknown(warnings);
        Ok(rule)
    }

    fn matches(&self, catalog: &str, effect: &CallEffect) -> bool {
        let all = self.writes == WriteRule::Allow;
        let is = |wanted: &Option<String>, fits: &dyn Fn(&str) -> bool| {
            wanted.as_deref().is_none_or(fits)
        };
        let method = |wanted: &str| {
            wanted == effect.method || wanted == ANY_METHOD || effect.method == ANY_METHOD && !all
        };
        let path = |wanted: &str| match all {
            true => covers(wanted, &effect.path),
            false => overlaps(wanted, &effect.path),
        };
        is(&self.catalog, &|wanted| wanted == catalog)
            && is(&self.method, &method)
            && is(&self.host, &|wanted| is_host(wanted, &effect.origin))
            && is(&self.path, &path)
    }
}

/// Whether an origin such as `https://api.example` has this host. A dot separates the parts of a
/// host as a slash separates those of a path.
fn is_host(wanted: &str, origin: &str) -> bool {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let bare = host.rsplit_once(':').map_or(host, |(bare, _)| bare);
    let path = |host: &str| host.replace('.', "/");
    [host, bare].iter().any(|host| covers(&path(wanted), &path(host)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::TomlTable;

    fn policy(text: &str) -> WritePolicy {
        let mut top = TomlTable::read(text).expect("is TOML");
        let table = top.take("policy").expect("a table").table().expect("a table");
        let mut warnings = Vec::new();
        let policy = WritePolicy::read(table, &mut warnings).expect("is a policy");
        assert_eq!(warnings, []);
        policy
    }

    fn effect(text: &str) -> CallEffect {
        let (method, rest) = text.split_once(' ').expect("a method");
        let (origin, path) = rest.split_at(rest[8..].find('/').expect("a path") + 8);
        CallEffect { method: method.to_owned(), origin: origin.to_owned(), path: path.to_owned() }
    }

    #[test]
    fn the_strictest_line_that_matches_decides() {
        let policy = policy(
            "[policy]\n\
             [[policy.rules]]\nhost = \"*.shop.example\"\nwrites = \"allow\"\n\
             [[policy.rules]]\nmethod = \"delete\"\nwrites = \"approve\"\n\
             [[policy.rules]]\ncatalog = \"bank\"\nwrites = \"deny\"\n\
             [[policy.rules]]\npath = \"/orders/1\"\nwrites = \"allow\"\n\
             [[policy.rules]]\npath = \"/admin/**\"\nwrites = \"deny\"\n",
        );
        for (catalog, write, writes, by) in [
            ("shop", "POST https://api.shop.example/orders", WriteRule::Allow, Some(0)),
            ("shop", "POST https://shop.example/orders", WriteRule::Consent, None),
            ("shop", "DELETE https://api.shop.example/orders/{id}", WriteRule::Approve, Some(1)),
            ("shop", "* https://api.shop.example/orders/{id}", WriteRule::Approve, Some(1)),
            ("bank", "DELETE https://api.shop.example/orders", WriteRule::Deny, Some(2)),
            // Allowing one order allows no other one.
            ("x", "PUT https://x.example/orders/{id}", WriteRule::Consent, None),
            ("x", "PUT https://x.example/orders/1", WriteRule::Allow, Some(3)),
            ("x", "PUT https://x.example/{any}/users", WriteRule::Deny, Some(4)),
        ] {
            let decided = policy.decide(catalog, &effect(write), WriteRule::Consent);
            let by = by.map(|index: usize| format!("policy.rules[{index}]"));
            assert_eq!(decided, PolicyDecision { writes, by }, "{catalog} {write}");
        }
    }

    #[test]
    fn a_project_only_tightens() {
        let user = || policy("[policy]\nwrites = \"consent\"\n");
        let project = policy(
            "[policy]\nwrites = \"allow\"\n[[policy.rules]]\nmethod = \"PUT\"\nwrites = \"deny\"\n",
        );
        let both = user().tightened(project);
        let of = |write: &str| both.decide("x", &effect(write), WriteRule::Allow).writes;
        assert_eq!(of("POST https://x.example/a"), WriteRule::Consent);
        assert_eq!(of("PUT https://x.example/a"), WriteRule::Deny);
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        for text in [
            "[policy]\nwrites = \"maybe\"\n",
            "[[policy.rules]]\nhost = \"x\"\n",
            "[[policy.rules]]\nwrites = \"deny\"\npath = \"orders\"\n",
        ] {
            let mut top = TomlTable::read(text).expect("is TOML");
            let table = top.take("policy").expect("a table").table().expect("a table");
            assert!(WritePolicy::read(table, &mut Vec::new()).is_err(), "{text}");
        }
    }
}

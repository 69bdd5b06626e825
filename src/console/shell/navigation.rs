//! The navigation: the pages that an operator may open.

use crate::callers::Caller;
use crate::console::addresses::{HOME, list_address, record_address};
use crate::console::kinds::Kinds;
use crate::resources::{self, KindDoc};

/// Some pages under one heading.
#[derive(Clone, Debug)]
pub struct Group {
    /// The heading; empty for the pages that are looked at most.
    pub heading: &'static str,
    /// The pages.
    pub items: Vec<Item>,
}

/// A page.
#[derive(Clone, Debug)]
pub struct Item {
    /// The name.
    pub label: String,
    /// The address.
    pub address: String,
    /// Whether the visitor is there.
    pub current: bool,
    /// The key that leads there after `g`.
    pub key: Option<char>,
}

/// The kinds of each heading, by namespace and path, in the order in which they are shown. Kinds that are not named here are records.
const GROUPS: [(&str, &[(&str, &str)]); 4] = [
    ("", &[("developers", "events"), ("developers", "webhooks"), ("developers", "deliveries"), ("storefront", "customers")]),
    ("Sign-in", &[("storefront", "sign-ins"), ("storefront", "tokens"), ("storefront", "texts")]),
    ("Payments", &[("ledger", "payments"), ("ledger", "callbacks")]),
    (
        "Settings",
        &[
            ("storefront", "stores"),
            ("storefront", "test-identities"),
            ("storefront", "identity-providers"),
            ("storefront", "registration-hooks"),
            ("storefront", "message-providers"),
            ("storefront", "message-wordings"),
            ("developers", "api-keys"),
            ("ledger", "gateways"),
            ("developers", "replays"),
            ("developers", "operators"),
            ("developers", "portal-links"),
            ("developers", "changes"),
        ],
    ),
];

/// The keys that lead to a kind after `g`.
const KEYS: [(&str, &str, char); 8] = [
    ("developers", "events", 'e'),
    ("developers", "webhooks", 'w'),
    ("developers", "deliveries", 'd'),
    ("storefront", "customers", 'c'),
    ("storefront", "sign-ins", 's'),
    ("storefront", "texts", 't'),
    ("ledger", "payments", 'p'),
    ("fleet", "orders", 'o'),
];

/// The pages that `caller` may open; `here` is the one that is open. Development has a mailbox.
pub(super) fn of(caller: &Caller, kinds: &Kinds, has_mailbox: bool, here: &str) -> Vec<Group> {
    let item = |kind: &KindDoc| Item::of(kind, here);
    let named = |kind: &&KindDoc| GROUPS.iter().any(|(_, names)| names.contains(&(kind.namespace.as_str(), kind.path().as_str())));
    let mut groups: Vec<Group> = GROUPS
        .iter()
        .map(|(heading, names)| {
            let items = names.iter().filter_map(|(namespace, path)| kinds.find(caller, namespace, path)).map(item);
            Group { heading, items: items.collect() }
        })
        .collect();
    let records = kinds.visible_to(caller).filter(|kind| !named(kind)).map(item).collect();
    groups.insert(GROUPS.len() - 1, Group { heading: "Records", items: records });
    let mailbox = Item {
        label: "Mailbox".to_owned(),
        address: "/console/mailbox".to_owned(),
        current: is_below(here, "/console/mailbox"),
        key: None,
    };
    groups.push(Group { heading: "Development", items: if has_mailbox { vec![mailbox] } else { Vec::new() } });
    groups.retain(|group| !group.items.is_empty());
    groups
}

/// The pages of the portal: its few kinds in the order of their declaration, webhooks first.
pub(super) fn of_portal(caller: &Caller, kinds: &Kinds, here: &str) -> Vec<Group> {
    vec![Group { heading: "", items: kinds.visible_to(caller).map(|kind| Item::of(kind, here)).collect() }]
}

/// Whether the page `here` is the one at `address`, or below it.
fn is_below(here: &str, address: &str) -> bool {
    here.strip_prefix(address).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
}

impl Item {
    fn of(kind: &KindDoc, here: &str) -> Self {
        let address = match (kind.namespace.as_str(), kind.descriptor.plural) {
            // More than a list: the rules and the pauses.
            ("storefront", "texts") => format!("{HOME}/texts"),
            _ => list_address(kind),
        };
        let page = record_address(kind, "");
        let current = is_below(here, &address) || is_below(here, page.trim_end_matches('/'));
        let key = KEYS.iter().find(|(namespace, path, _)| kind.namespace == *namespace && kind.path() == *path).map(|(.., key)| *key);
        Self { label: label(kind.descriptor.plural), address, current, key }
    }
}

/// `tracking_numbers` → `Tracking numbers`
fn label(plural: &str) -> String {
    match plural {
        "sign_ins" => "Sign-ins".to_owned(),
        other => resources::label(other),
    }
}

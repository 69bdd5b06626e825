//! The routes below `…/int/v1`: those of the kinds of records, and all others.

use reqwest::Method;

/// The operations that a kind of record supports.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// Read only.
    Log,
    /// Read and update.
    Changeable,
    /// Read, create and update, but not delete.
    Recorded,
    /// All operations.
    Editable,
}
use Kind::{Changeable, Editable, Log, Recorded};

/// Every kind of record, by namespace and path.
pub const RESOURCES: &[(&str, &str, Kind)] = &[
    ("fleet", "orders", Editable),
    ("fleet", "drivers", Editable),
    ("fleet", "vehicles", Editable),
    ("fleet", "fleets", Editable),
    ("fleet", "issues", Editable),
    ("fleet", "proofs", Editable),
    ("fleet", "tracking-numbers", Changeable),
    ("fleet", "tracking-statuses", Recorded),
    ("developers", "webhooks", Editable),
    ("developers", "deliveries", Log),
    ("developers", "events", Log),
    ("developers", "api-keys", Editable),
    ("developers", "changes", Log),
    ("developers", "operators", Editable),
    ("ledger", "gateways", Editable),
    ("ledger", "callbacks", Log),
    ("ledger", "payments", Log),
    ("developers", "replays", Log),
    ("developers", "portal-links", Editable),
    ("storefront", "stores", Editable),
    ("storefront", "test-identities", Editable),
    ("storefront", "identity-providers", Editable),
    ("storefront", "registration-hooks", Editable),
    ("storefront", "message-providers", Editable),
    ("storefront", "message-wordings", Editable),
    ("storefront", "customers", Log),
    ("storefront", "tokens", Log),
    ("storefront", "texts", Log),
    ("storefront", "sign-ins", Log),
    ("inventory", "warehouses", Editable),
    ("inventory", "stock-items", Editable),
    ("support", "tickets", Editable),
];

/// Every route besides the five conventional ones.
pub const OTHER_ROUTES: &[(Method, &str, &str)] = &[
    (Method::POST, "developers", "/events"),
    (Method::GET, "developers", "/events/stream"),
    (Method::GET, "developers", "/event-types"),
    (Method::GET, "developers", "/event-types/{name}"),
    (Method::POST, "developers", "/webhooks/{uuid}/enable"),
    (Method::POST, "developers", "/webhooks/{uuid}/disable"),
    (Method::POST, "developers", "/webhooks/{uuid}/pause"),
    (Method::POST, "developers", "/webhooks/{uuid}/resume"),
    (Method::GET, "developers", "/webhooks/{uuid}/figures"),
    (Method::GET, "developers", "/webhooks/figures"),
    (Method::GET, "developers", "/figures"),
    (Method::GET, "developers", "/webhooks/{uuid}/secret"),
    (Method::POST, "developers", "/webhooks/{uuid}/rotate-secret"),
    (Method::POST, "developers", "/webhooks/{uuid}/test"),
    (Method::POST, "developers", "/api-keys/{uuid}/roll"),
    (Method::POST, "developers", "/operators/{uuid}/send-link"),
    (Method::POST, "developers", "/operators/{uuid}/reset-totp"),
    (Method::GET, "developers", "/operators/{uuid}/sessions"),
    (Method::POST, "developers", "/operators/{uuid}/end-sessions"),
    (Method::POST, "ledger", "/gateways/{uuid}/test"),
    (Method::POST, "storefront", "/identity-providers/{uuid}/test"),
    (Method::POST, "storefront", "/registration-hooks/{uuid}/test"),
    (Method::POST, "storefront", "/registration-hooks/{uuid}/rotate-secret"),
    (Method::POST, "storefront", "/message-providers/{uuid}/test"),
    (Method::POST, "ledger", "/callbacks/{uuid}/process"),
    (Method::POST, "developers", "/webhooks/{uuid}/replay"),
    (Method::POST, "developers", "/deliveries/{uuid}/replay"),
    (Method::POST, "developers", "/deliveries/{uuid}/cancel"),
    (Method::POST, "developers", "/events/{uuid}/replay"),
    (Method::GET, "developers", "/events/{uuid}/explain"),
    (Method::POST, "fleet", "/drivers/{uuid}/track"),
    (Method::POST, "fleet", "/drivers/track"),
    (Method::POST, "fleet", "/vehicles/{uuid}/track"),
    (Method::POST, "fleet", "/vehicles/track"),
    (Method::GET, "storefront", "/texts/conversion"),
    (Method::GET, "storefront", "/texts/pauses"),
    (Method::POST, "storefront", "/texts/pauses/{uuid}/resume"),
    (Method::DELETE, "storefront", "/tokens/{uuid}"),
    (Method::POST, "storefront", "/customers/import"),
    (Method::POST, "storefront", "/customers/{uuid}/revoke-tokens"),
    (Method::GET, "storefront", "/customers/{uuid}/timeline"),
    (Method::GET, "storefront", "/customers/{uuid}/export"),
    (Method::POST, "storefront", "/customers/{uuid}/ban"),
    (Method::POST, "storefront", "/customers/{uuid}/unban"),
    (Method::POST, "storefront", "/customers/{uuid}/unlock"),
    (Method::POST, "storefront", "/customers/{uuid}/reset-password"),
    (Method::POST, "storefront", "/customers/{uuid}/remove-second-factor"),
    (Method::POST, "storefront", "/customers/{uuid}/remove-passkey"),
    (Method::POST, "storefront", "/customers/{uuid}/close"),
    (Method::POST, "storefront", "/customers/{uuid}/erase"),
    (Method::POST, "storefront", "/customers"),
    (Method::PUT, "storefront", "/customers/{uuid}"),
    (Method::POST, "storefront", "/tokens/introspect"),
    (Method::GET, "storefront", "/figures"),
];

/// An id without a record.
pub const NOBODY: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// All routes, with `id` in place of the record id.
pub fn all_routes(id: &str) -> Vec<(Method, String)> {
    let mut routes = Vec::new();
    for (namespace, plural, kind) in RESOURCES {
        let (many, one) = (format!("/{namespace}/int/v1/{plural}"), format!("/{namespace}/int/v1/{plural}/{id}"));
        routes.extend([(Method::GET, many.clone()), (Method::GET, one.clone())]);
        if matches!(kind, Recorded | Editable) {
            routes.push((Method::POST, many));
        }
        if *kind != Log {
            routes.push((Method::PUT, one.clone()));
        }
        if *kind == Editable {
            routes.push((Method::DELETE, one));
        }
    }
    routes.extend(
        OTHER_ROUTES.iter().map(|(method, namespace, path)| (method.clone(), format!("/{namespace}/int/v1{}", path.replace("{uuid}", id)))),
    );
    routes
}

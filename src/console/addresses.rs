//! Where pages are.

use crate::resources::KindDoc;

/// The first page. Every other is below it.
pub const HOME: &str = "/console";

/// Where the list of a kind is shown.
pub fn list_address(kind: &KindDoc) -> String {
    format!("{}/records/{}/{}", HOME, kind.namespace, kind.path())
}

/// Where the record `id` of a kind is shown.
pub fn record_address(kind: &KindDoc, id: &str) -> String {
    match (kind.namespace.as_str(), kind.descriptor.plural) {
        // Pages with a shape of their own.
        ("developers", "webhooks" | "deliveries" | "events") => format!("{}/{}/{id}", HOME, kind.descriptor.plural),
        _ => record_form_address(kind, id),
    }
}

/// Where the record `id` of a kind is changed and deleted.
pub fn record_form_address(kind: &KindDoc, id: &str) -> String {
    format!("{}/{id}", list_address(kind))
}

//! Where pages are.

use url::form_urlencoded;

use crate::resources::KindDoc;

/// The first page. Every other is below it.
pub const HOME: &str = "/console";

/// The first page of the portal. Every other is below it.
pub const PORTAL: &str = "/portal";

/// Where an operator proves again who they are, before what decides who gets in.
pub const CONFIRM: &str = "/console/confirm";

/// The first page of those that show a kind. The portal has kinds of its own.
fn home_of(kind: &KindDoc) -> &'static str {
    if kind.is_within_owner { PORTAL } else { HOME }
}

/// Where the list of a kind is shown.
pub fn list_address(kind: &KindDoc) -> String {
    format!("{}/records/{}/{}", home_of(kind), kind.namespace, kind.path())
}

/// Where the record `id` of a kind is shown.
pub fn record_address(kind: &KindDoc, id: &str) -> String {
    match (kind.namespace.as_str(), kind.descriptor.plural) {
        // Pages with a shape of their own.
        ("developers", "webhooks" | "deliveries" | "events" | "operators")
        | ("storefront", "customers")
        | ("ledger", "payments" | "callbacks") => format!("{}/{}/{id}", home_of(kind), kind.descriptor.plural),
        _ => record_form_address(kind, id),
    }
}

/// Where the record `id` of a kind is changed and deleted.
pub fn record_form_address(kind: &KindDoc, id: &str) -> String {
    format!("{}/{id}", list_address(kind))
}

/// Where it is told what followed from a request.
pub fn request_address(id: &str) -> String {
    format!("{HOME}/requests/{id}")
}

/// The address `path` with these parameters, without those that have no value.
pub fn with_query<'a>(path: &str, parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let given = parameters.into_iter().filter(|(_, value)| !value.is_empty());
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

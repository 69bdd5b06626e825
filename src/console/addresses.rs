//! Where pages are.

use url::form_urlencoded;

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

/// The address `path` with these parameters, without those that have no value.
pub fn with_query<'a>(path: &str, parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let given = parameters.into_iter().filter(|(_, value)| !value.is_empty());
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(given).finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}

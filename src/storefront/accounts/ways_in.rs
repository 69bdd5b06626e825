//! What a customer can sign in with: the last of it is not removed.

use crate::storefront::accounts::social::Link;
use crate::storefront::company_providers::ProvidersOfCompany;
use crate::storefront::customers::Customer;

/// Whether the customer can sign in with what remains: with a code to a proven contact, with the password, with a passkey, or with one of these
/// links.
pub fn remain<'a>(
    customer: &Customer,
    has_passkey: bool,
    providers: &ProvidersOfCompany,
    mut links: impl Iterator<Item = &'a Link>,
) -> bool {
    let has_password = customer.password_hash.is_some() && (customer.phone.is_some() || customer.email.is_some());
    let opens = |link: &Link| link.suspended_at.is_none() && providers.offers(&link.provider);
    customer.has_proven_contact() || has_password || has_passkey || links.any(opens)
}

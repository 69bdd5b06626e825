//! The provider's record of a customer: created when it is first needed, stored, and created again if the provider has lost it. A contact that
//! the provider does not take keeps nobody from having a card.

use serde_json::Value;

use crate::gateways::{self, ActiveGateway};
use crate::kernel::crypto::random_hex;
use crate::providers::card::{CardCustomerId, CardError, NewCardCustomer};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::card::queries::Entry;
use crate::storefront::card::{CardHelperError, Wish, queries};
use crate::storefront::state::Storefront;

/// Requests a secret for the calling customer at the company's active card gateway.
///
/// The provider may no longer know the customer: the record may have been deleted there, or the gateway's key may now belong to
/// another account, for example after a trial. In that case the record is created again and the request is retried once.
pub(super) async fn grant(storefront: &Storefront, caller: &SignedInCustomer, wish: &Wish) -> Result<Value, CardHelperError> {
    let (gateway, entry) = enter(storefront, caller).await?;
    match attempt(storefront, caller, &gateway, &entry, wish).await {
        Err(CardHelperError::Provider(CardError::CustomerUnknown | CardError::KeyReused)) => {
            let mut conn = storefront.pool.acquire().await?;
            let entry = queries::start_over(&mut conn, caller.customer.id, gateway.id, &entry).await?;
            drop(conn);
            attempt(storefront, caller, &gateway, &entry, wish).await
        }
        attempted => attempted,
    }
}

/// Returns the gateway, and the customer's entry for it.
async fn enter(storefront: &Storefront, caller: &SignedInCustomer) -> Result<(ActiveGateway, Entry), CardHelperError> {
    let mut conn = storefront.pool.acquire().await?;
    let gateway = gateways::find_card_gateway(&mut conn, &storefront.application_key, caller.store.company_id).await;
    let gateway = gateway.map_err(CardHelperError::Gateway)?.ok_or(CardHelperError::NotConfigured)?;
    let entry = queries::find_or_insert_entry(&mut conn, caller.customer.id, gateway.id, storefront.clock.now()).await?;
    Ok((gateway, entry))
}

async fn attempt(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    gateway: &ActiveGateway,
    entry: &Entry,
    wish: &Wish,
) -> Result<Value, CardHelperError> {
    let customer = match &entry.provider_id {
        Some(known) => known.clone(),
        None => create(storefront, caller, gateway, entry).await?,
    };
    Ok(wish.ask(&storefront.card, gateway.secret_key.reveal(), &customer, &random_hex::<16>()).await?)
}

async fn create(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    gateway: &ActiveGateway,
    entry: &Entry,
) -> Result<CardCustomerId, CardHelperError> {
    let customer = &caller.customer;
    // The provider sends mails and texts itself, so it only gets proven contact details.
    let (id, email, phone) = (customer.id.to_string(), customer.proven_email(), customer.proven_phone());
    let mut new = NewCardCustomer {
        id: &id,
        name: Some(customer.name.as_str()).filter(|name| !name.is_empty()),
        email: email.as_ref().map(|email| email.as_str()),
        phone: phone.as_ref().map(|phone| phone.as_str()),
    };
    let mut entry = entry.clone();
    loop {
        match storefront.card.create_customer(gateway.secret_key.reveal(), &new, &entry.idempotency_key).await {
            // Once more without it, and under another key: the provider may have kept its answer under the first.
            Err(CardError::ContactRefused(contact)) if new.leave_out(contact) => {
                tracing::info!(%contact, "the card provider does not take a contact of a customer, and gets none");
                entry = queries::start_over(&mut storefront.pool.acquire().await?, customer.id, gateway.id, &entry).await?;
                if let Some(known) = &entry.provider_id {
                    return Ok(known.clone());
                }
            }
            created => {
                let created = created?;
                queries::record_provider_id(&mut storefront.pool.acquire().await?, customer.id, gateway.id, &entry, &created).await?;
                return Ok(created);
            }
        }
    }
}

//! The export of the data that the storefront stores about one customer, as JSON.

use serde_json::{Value, json};

use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId};
use crate::storefront::accounts::{devices, social};
use crate::storefront::sms_guard;
use crate::storefront::{audit, card, customers, passkeys, second_factors, tokens};

/// The stored data of one customer.
#[derive(Debug)]
pub struct Exported {
    /// The company of the customer's store.
    pub company: CompanyId,
    /// The data, as a JSON object.
    pub document: Value,
}

/// Returns the customer's record, sessions, devices, provider links, passkeys, second factor, card provider records, the sign-in audit including refused attempts
/// with a proven identity of the customer, and the texts to the proven number, or `None` if the customer does not exist. The export
/// contains no secret that can be used to sign in. With the key it also contains what the push services know the devices by.
pub async fn export_customer(conn: &mut Connection, key: Option<&ApplicationKey>, id: CustomerId) -> Result<Option<Exported>, sqlx::Error> {
    // All parts are of the same moment.
    let mut tx = conn.begin_with("begin isolation level repeatable read, read only").await?;
    let Some((company, record)) = customers::export_record(&mut tx, id).await? else { return Ok(None) };
    let document = json!({
        "customer": record,
        "sessions": tokens::export_sessions(&mut tx, id).await?,
        "provider_links": social::export_links(&mut tx, id).await?,
        "second_factor": second_factors::show(&mut tx, id).await?,
        "passkeys": passkeys::export_passkeys(&mut tx, id).await?,
        "card_customers": card::export_entries(&mut tx, id).await?,
        "sign_ins": audit::export_sign_ins(&mut tx, id).await?,
        "texts": sms_guard::export_texts(&mut tx, id).await?,
        "devices": devices::list_devices(&mut tx, key, id).await?,
    });
    tx.commit().await?;
    Ok(Some(Exported { company, document }))
}

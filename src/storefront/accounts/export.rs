//! The export of the data that the storefront stores about one customer, as JSON.

use serde_json::Value;
use sqlx::PgConnection;

use crate::kernel::crypto::ApplicationKey;
use crate::kernel::ids::{CompanyId, CustomerId};
use crate::storefront::accounts::devices;

/// The stored data of one customer.
#[derive(Debug)]
pub struct Exported {
    /// The company of the customer's store.
    pub company: CompanyId,
    /// The data, as a JSON object.
    pub document: Value,
}

/// Returns the customer's record, sessions, devices, provider links, card provider records, the sign-in audit including refused attempts
/// with a proven identity of the customer, and the texts to the proven number, or `None` if the customer does not exist. The export
/// contains no secret that can be used to sign in.
pub async fn export_customer(conn: &mut PgConnection, key: &ApplicationKey, id: CustomerId) -> Result<Option<Exported>, sqlx::Error> {
    let found = sqlx::query!(
        r#"select stores.company_id, jsonb_build_object(
               'customer', to_jsonb(customers) - 'password_hash' - 'email_key' || jsonb_build_object('has_password', password_hash is not null),
               'sessions', coalesce((
                   select jsonb_agg(jsonb_build_object('uuid', uuid, 'created_at', created_at, 'last_used_at', last_used_at,
                                                       'expires_at', expires_at, 'revoked_at', revoked_at) order by created_at)
                   from customer_tokens where customer_id = customers.id), '[]'),
               'provider_links', coalesce((
                   select jsonb_agg(jsonb_build_object('provider', provider, 'subject', subject, 'linked_at', linked_at) order by linked_at)
                   from provider_links where customer_id = customers.id), '[]'),
               'card_customers', coalesce((
                   select jsonb_agg(to_jsonb(card_customers) - 'idempotency_key' order by created_at) from card_customers
                   where customer_id = customers.id), '[]'),
               'sign_ins', coalesce((
                   select jsonb_agg(to_jsonb(sign_ins) order by created_at) from sign_ins
                   where customer_id = customers.id or customer_id is null and sign_ins.store_id = customers.store_id
                         and (identity = customers.email_key and sign_ins.created_at >= customers.email_verified_at
                              or identity = customers.phone and sign_ins.created_at >= customers.phone_verified_at)), '[]'),
               'texts', coalesce((
                   select jsonb_agg(jsonb_build_object('number', number, 'status', status, 'refusal', refusal, 'created_at', created_at)
                                    order by created_at)
                   from texts where texts.store_id = customers.store_id and texts.number = customers.phone
                              and customers.phone_verified_at is not null), '[]')) as "document!"
           from customers join stores on stores.id = customers.store_id where customers.id = $1"#,
        id.uuid(),
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(mut found) = found else { return Ok(None) };
    found.document["devices"] = devices::list_devices(conn, key, id).await?.into();
    Ok(Some(Exported { company: found.company_id.into(), document: found.document }))
}

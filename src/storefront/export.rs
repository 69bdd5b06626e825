//! The export of everything that the storefront stores about one customer, as JSON, for the customer.

use serde_json::Value;
use sqlx::PgConnection;

use crate::kernel::ids::CustomerId;

/// Returns the customer's record, sessions, devices, provider links, card provider records, sign-ins and texts, or `None` if the
/// customer does not exist. The export contains no secret that can be used to sign in.
pub async fn export_customer(conn: &mut PgConnection, id: CustomerId) -> Result<Option<Value>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select jsonb_build_object(
               'customer', to_jsonb(customers) - 'password_hash' - 'email_key' || jsonb_build_object('has_password', password_hash is not null),
               'sessions', coalesce((
                   select jsonb_agg(jsonb_build_object('uuid', uuid, 'created_at', created_at, 'last_used_at', last_used_at,
                                                       'expires_at', expires_at, 'revoked_at', revoked_at) order by created_at)
                   from customer_tokens where customer_id = customers.id), '[]'),
               'devices', coalesce((
                   select jsonb_agg(to_jsonb(devices) - 'token_digest' order by created_at) from devices
                   where customer_id = customers.id), '[]'),
               'provider_links', coalesce((
                   select jsonb_agg(jsonb_build_object('provider', provider, 'subject', subject, 'linked_at', linked_at) order by linked_at)
                   from provider_links where customer_id = customers.id), '[]'),
               'card_customers', coalesce((
                   select jsonb_agg(to_jsonb(card_customers) - 'idempotency_key' order by created_at) from card_customers
                   where customer_id = customers.id), '[]'),
               'sign_ins', coalesce((
                   select jsonb_agg(to_jsonb(sign_ins) order by created_at) from sign_ins where customer_id = customers.id), '[]'),
               'texts', coalesce((
                   select jsonb_agg(jsonb_build_object('number', number, 'status', status, 'refusal', refusal, 'created_at', created_at)
                                    order by created_at)
                   from texts where texts.store_id = customers.store_id and texts.number = customers.phone
                              and customers.phone_verified_at is not null), '[]'))
           from customers where id = $1"#,
        id.uuid(),
    )
    .fetch_optional(conn)
    .await
    .map(Option::flatten)
}

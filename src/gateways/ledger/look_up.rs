//! What is known of the callbacks of one moment, in one statement for all of them.

use crate::gateways::facts::Report;
use crate::gateways::genuine::GenuineCallback;
use crate::kernel::database::{Connection, column};
use crate::kernel::ids::{CompanyId, CustomerId, GatewayId, OrderId, PaymentId};

#[derive(Clone, Debug)]
pub struct Known {
    pub is_recorded: bool,
    /// The payment, if it was recorded before.
    pub payment: Option<PaymentId>,
    /// The order, if it belongs to the company.
    pub order: Option<OrderId>,
    /// The customer, if they belong to the company.
    pub customer: Option<CustomerId>,
}

impl Known {
    /// The report of `callback` about its payment. An order or customer that does not belong to the company is omitted.
    pub fn report<'a>(&self, callback: &'a GenuineCallback) -> Option<Report<'a>> {
        let update = callback.understood()?;
        let facts = update.facts.iter().cloned().map(|mut fact| {
            (fact.order, fact.customer) = (self.order, self.customer);
            if fact.kind.is_one_of_several() && fact.reference.is_empty() {
                fact.reference.clone_from(&callback.key);
            }
            fact
        });
        Some(Report {
            company: callback.gateway.company,
            gateway: callback.gateway.id,
            transaction: &update.transaction,
            payment: self.payment,
            callback: callback.id,
            request: callback.request,
            trace: callback.trace,
            at: callback.at,
            facts: facts.collect(),
        })
    }
}

impl Known {
    /// What the callback contains and was not booked, in sentences.
    pub fn remarks(&self, callback: &GenuineCallback) -> Option<String> {
        let mut remarks = callback.understood()?.remarks.clone();
        if let Some(order) = callback.order().filter(|order| self.order != Some(*order)) {
            remarks.add(format!("The company has no order {order}."));
        }
        if let Some(customer) = callback.customer().filter(|customer| self.customer != Some(*customer)) {
            remarks.add(format!("The company has no customer {customer}."));
        }
        remarks.sentences()
    }
}

/// Looks up what is known of the callbacks, in their order.
///
/// Callbacks that were recorded before variants were have none: whatever has their key and their type repeats them.
///
/// There are two statements. If no callback of a group names an order or a customer, as is usual for some gateways, half of the steps are
/// left out: starting the steps of the plan is most of the cost of a small group (`docs/performance.md`).
pub async fn look_up(conn: &mut Connection, callbacks: &[&GenuineCallback]) -> Result<Vec<Known>, sqlx::Error> {
    let names_somebody =
        |callback: &&GenuineCallback| callback.order().is_some() || callback.customer().is_some() || callback.payer().is_some();
    match callbacks.iter().any(names_somebody) {
        true => look_up_with_subjects(conn, callbacks).await,
        false => look_up_payments(conn, callbacks).await,
    }
}

async fn look_up_payments(conn: &mut Connection, callbacks: &[&GenuineCallback]) -> Result<Vec<Known>, sqlx::Error> {
    sqlx::query_as!(
        Known,
        r#"select (select id from callbacks
                   where company_id = named.company_id and key = named.key
                   and (case when status <> 'refused' then gateway_id end) = named.gateway_id
                   and (variant = named.variant
                        or variant is null and (named.variant = '' or kind is not distinct from named.kind)) limit 1)
                  is not null as "is_recorded!",
                  (select id from payments
                   where company_id = named.company_id and transaction_id = named.transaction_id
                   and gateway_id = named.gateway_id) as "payment: PaymentId",
                  null::uuid as "order: OrderId", null::uuid as "customer: CustomerId"
           from (select unnest($1::uuid[]) as company_id, unnest($2::uuid[]) as gateway_id, unnest($3::text[]) as key,
                        unnest($4::text[]) as transaction_id, unnest($5::text[]) as variant, unnest($6::text[]) as kind,
                        generate_subscripts($1::uuid[], 1) as place) as named
           order by place"#,
        &column(callbacks, |callback| callback.gateway.company) as &[CompanyId],
        &column(callbacks, |callback| callback.gateway.id) as &[GatewayId],
        &column(callbacks, |callback| callback.key.as_str()) as &[&str],
        &column(callbacks, |callback| callback.transaction()) as &[Option<&str>],
        &column(callbacks, |callback| callback.variant.as_str()) as &[&str],
        &column(callbacks, |callback| callback.kind.as_deref()) as &[Option<&str>],
    )
    .fetch_all(conn)
    .await
}

/// `offset 0` makes it certain that an order or customer is found by its id, even with a plan that was made while there were none.
async fn look_up_with_subjects(conn: &mut Connection, callbacks: &[&GenuineCallback]) -> Result<Vec<Known>, sqlx::Error> {
    sqlx::query_as!(
        Known,
        r#"select (select id from callbacks
                   where company_id = named.company_id and key = named.key
                   and (case when status <> 'refused' then gateway_id end) = named.gateway_id
                   and (variant = named.variant
                        or variant is null and (named.variant = '' or kind is not distinct from named.kind)) limit 1)
                  is not null as "is_recorded!",
                  (select id from payments
                   where company_id = named.company_id and transaction_id = named.transaction_id
                   and gateway_id = named.gateway_id) as "payment: PaymentId",
                  (select id from (select id, company_id from order_companies where id = named.order_id offset 0) as found
                   where company_id = named.company_id) as "order: OrderId",
                  coalesce(
                      (select id from (select id, company_id from customer_companies where id = named.customer_id offset 0) as found
                       where company_id = named.company_id),
                      (select customer_id from card_payers where gateway_id = named.gateway_id and provider_id = named.payer limit 1)
                  ) as "customer: CustomerId"
           from (select unnest($1::uuid[]) as company_id, unnest($2::uuid[]) as gateway_id, unnest($3::text[]) as key,
                        unnest($4::text[]) as transaction_id, unnest($5::uuid[]) as order_id, unnest($6::uuid[]) as customer_id,
                        unnest($7::text[]) as payer, unnest($8::text[]) as variant, unnest($9::text[]) as kind,
                        generate_subscripts($1::uuid[], 1) as place) as named
           order by place"#,
        &column(callbacks, |callback| callback.gateway.company) as &[CompanyId],
        &column(callbacks, |callback| callback.gateway.id) as &[GatewayId],
        &column(callbacks, |callback| callback.key.as_str()) as &[&str],
        &column(callbacks, |callback| callback.transaction()) as &[Option<&str>],
        &column(callbacks, |callback| callback.order()) as &[Option<OrderId>],
        &column(callbacks, |callback| callback.customer()) as &[Option<CustomerId>],
        &column(callbacks, |callback| callback.payer()) as &[Option<&str>],
        &column(callbacks, |callback| callback.variant.as_str()) as &[&str],
        &column(callbacks, |callback| callback.kind.as_deref()) as &[Option<&str>],
    )
    .fetch_all(conn)
    .await
}

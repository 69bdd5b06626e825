//! What declared extensions may refer to of the kinds that the program has itself.

use crate::declared::Target;

/// Each with the table, or the view that gives it the form of one, that records can be looked up in. Their namespaces are taken.
pub(super) fn referable() -> Vec<Target> {
    let kinds = [
        ("fleet/orders", "orders", "order"),
        ("fleet/drivers", "drivers", "driver"),
        ("storefront/customers", "customer_records", "customer"),
        ("storefront/stores", "stores", "store"),
        ("ledger/payments", "payments", "payment"),
        ("developers/webhooks", "subscriptions", "webhook"),
    ];
    kinds.map(|(kind, table, prefix)| Target { kind: kind.to_owned(), table: Some(table), prefix }).into()
}

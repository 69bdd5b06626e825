//! Every column that holds values which are sealed under the application key. The list is compared with the schema
//! (`tests/it/platform/sealed_columns.rs`).

use crate::kernel::sealed_values::SealedColumn;
use crate::{gateways, operators, storefront, webhooks};

/// All of them.
pub fn sealed_columns() -> Vec<SealedColumn> {
    [gateways::SEALED.as_slice(), &webhooks::SEALED, &storefront::SEALED, &[operators::SEALED]].concat()
}

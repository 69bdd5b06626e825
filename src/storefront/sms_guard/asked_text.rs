//! A text that somebody asks for.

use chrono::{DateTime, Utc};
use ipnet::IpNet;
use uuid::Uuid;

use crate::kernel::ids::{CompanyId, StoreId};
use crate::storefront::sms_guard::recipient::{Recipient, Standing};

/// A text that somebody asks for.
#[derive(Clone, Debug)]
pub struct AskedText {
    pub store: StoreId,
    pub company: CompanyId,
    pub recipient: Recipient,
    /// The code that it carries.
    pub code: Uuid,
    /// The network of the client that asks for it.
    pub network: IpNet,
    pub at: DateTime<Utc>,
}

impl AskedText {
    pub(super) fn is_to_stranger(&self) -> bool {
        self.recipient.standing == Standing::Stranger
    }
}

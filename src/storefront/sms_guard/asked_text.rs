//! A text that is asked for.

use chrono::{DateTime, Utc};
use ipnet::IpNet;
use uuid::Uuid;

use crate::kernel::ids::{CompanyId, StoreId};
use crate::storefront::challenges;
use crate::storefront::new_codes::NewCode;
use crate::storefront::sms_guard::recipient::Recipient;

/// A text that is asked for: with a code, by somebody, or the notice of what happened to an account.
#[derive(Clone, Debug)]
pub struct AskedText {
    pub store: StoreId,
    pub company: CompanyId,
    pub recipient: Recipient,
    /// The code that it carries. A notice has none that could be used, so it tells nothing about SMS pumping.
    pub code: Option<CarriedCode>,
    /// The network of the client that asks for it. Nobody asks for a notice.
    pub network: Option<IpNet>,
    /// How the request stands to the challenge of the store.
    pub challenge: challenges::Standing,
    /// Whether anybody sends the texts of the company.
    pub has_provider: bool,
    /// Whether only a provider of the company's own does.
    pub by_own: bool,
    pub at: DateTime<Utc>,
}

/// The code that a text carries.
#[derive(Clone, Debug)]
pub enum CarriedCode {
    /// It is stored by a transaction that waits for the verdict.
    Stored(Uuid),
    /// It is stored with the verdict, if the text is sent.
    New(Box<NewCode>),
}

impl AskedText {
    /// The id of its code.
    pub(super) fn code_id(&self) -> Option<Uuid> {
        match self.code.as_ref()? {
            CarriedCode::Stored(id) => Some(*id),
            CarriedCode::New(code) => Some(code.id),
        }
    }

    /// Its code, if that is not stored yet.
    pub(super) fn new_code(&self) -> Option<&NewCode> {
        match self.code.as_ref()? {
            CarriedCode::Stored(_) => None,
            CarriedCode::New(code) => Some(code),
        }
    }

    /// Whether a solved challenge makes a difference: customers whose number is proven have not to show anything.
    pub(super) fn may_be_challenged(&self) -> bool {
        self.is_to_stranger() && self.challenge != challenges::Standing::NotOffered
    }

    pub(super) fn is_to_stranger(&self) -> bool {
        self.recipient.is_stranger()
    }
}

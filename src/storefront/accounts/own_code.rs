//! A code that a signed-in customer asks for: to prove a contact, or to prove with a proven one who they are.

use crate::contact::{EmailAddress, Identity, PhoneNumber};
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::challenges::Shown;
use crate::storefront::codes::{self, IssueRequest, Issued};
use crate::storefront::guessing::Client;
use crate::storefront::purpose::Purpose;
use crate::storefront::sms_guard::Recipient;
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;

/// A request of a signed-in customer for a code.
#[derive(Clone, Debug)]
pub struct Asking<'a> {
    pub storefront: &'a Storefront,
    pub caller: &'a SignedInCustomer,
    pub client: Client,
    pub languages: &'a AcceptedLanguages,
    pub challenge: Shown,
}

impl Asking<'_> {
    /// Sends a code for `identity`, by text if it may be texted, and otherwise by mail.
    pub async fn send(
        self,
        purpose: Purpose,
        identity: Identity,
        (text, mail): (Option<Recipient>, Option<EmailAddress>),
    ) -> Result<Issued, Problem> {
        let Self { storefront, caller, client, languages, challenge } = self;
        let issue_request = IssueRequest {
            store: Store::clone(&caller.store),
            purpose,
            client,
            languages: languages.clone(),
            challenge,
            identity,
            requested_by: Some(caller.customer.id),
            customer: Some(caller.customer.id),
            text,
            mail,
        };
        Ok(codes::issue(storefront, issue_request).await?)
    }

    /// Sends a code to contacts that the customer has proven: to the number, and to the address if there is none or the text is refused.
    pub async fn send_to_proven(self, purpose: Purpose, phone: Option<PhoneNumber>, mail: Option<EmailAddress>) -> Result<Issued, Problem> {
        let identity = phone.clone().map(Identity::Phone).or_else(|| mail.clone().map(Identity::Email));
        self.send(purpose, identity.ok_or(ProblemCode::ContactMissing)?, (phone.map(Recipient::proven), mail)).await
    }
}

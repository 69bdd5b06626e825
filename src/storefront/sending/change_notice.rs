//! Notices: mails that tell a customer that another number or address was saved for the account. An attacker with a stolen token can make
//! such a change, and must not make it unnoticed. The mail goes to the address that was proven before; a text would cost the store money, and
//! an attacker could trigger many.

use chrono::{DateTime, Utc};

use crate::kernel::languages::AcceptedLanguages;
use crate::providers::mail::Letter;
use crate::storefront::customers::Customer;
use crate::storefront::messages::Notice;
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;

/// Sends the notice of a committed change to the customer `before`. The change stays even if the mail is not sent.
pub async fn notify_of_change(
    storefront: &Storefront,
    store: &Store,
    languages: &AcceptedLanguages,
    (before, after): (&Customer, &Customer),
    now: DateTime<Utc>,
) {
    let (Some(address), Some(notice)) = (before.proven_email(), notice(before, after)) else { return };
    let mail = storefront.messages.notice(store, languages, notice);
    let this = storefront.clone();
    let sending = async move {
        let letter = Letter { to: &address, subject: &mail.subject, text: &mail.text, html: Some(&mail.html), code: None, at: now };
        this.mail.send(letter).await.ok();
    };
    storefront.lifecycle.finish(sending).await;
}

fn notice(before: &Customer, after: &Customer) -> Option<Notice> {
    let address = |customer: &Customer| customer.proven_email().map(|email| email.key());
    if address(before) != address(after) {
        Some(Notice::EmailChanged)
    } else if before.proven_phone() != after.proven_phone() {
        Some(Notice::PhoneChanged)
    } else {
        None
    }
}

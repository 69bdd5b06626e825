//! The number that somebody asks for a text to.

use crate::contact::PhoneNumber;
use crate::kernel::problem::Problem;
use crate::storefront::sms_guard;
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;

/// Parses the phone number for a text. What is no number is refused by the SMS guard, and in its log.
pub async fn read_number(storefront: &Storefront, store: &Store, text: &str) -> Result<PhoneNumber, Problem> {
    let Ok(number) = PhoneNumber::parse(text) else {
        let refusal = sms_guard::refuse_unreadable(&storefront.pool, store.id, store.company_id, storefront.clock.now()).await?;
        storefront.metrics.judged_text(refusal.rule());
        return Err(refusal.into());
    };
    Ok(number)
}

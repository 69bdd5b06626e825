//! The mail to operators about a pause.

use crate::kernel::clock::timestamp;
use crate::storefront::sms_guard::pauses::TextPause;

#[derive(Debug)]
pub(super) struct Words {
    pub(super) subject: String,
    pub(super) text: String,
}

pub(super) fn write(TextPause { scope, reason, paused_at, paused_until, .. }: &TextPause, store: &str) -> Words {
    let text = format!(
        "The SMS guard has paused texts of {store} to strangers of {scope}.\n\nSince {}: {reason}. This indicates SMS pumping: somebody may \
         earn on what is sent.\n\nThe pause ends by itself at {}. Customers whose number is proven still get their texts, everybody can use \
         a mail address. If these were customers, resume the texts in the console, under Texts.\n",
        timestamp(*paused_at),
        timestamp(*paused_until),
    );
    Words { subject: format!("Texts are paused: {store}, {scope}"), text }
}

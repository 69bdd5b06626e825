//! The series that the counters have from the start: the words that each label may have, from the rooms that count them.

use crate::kernel::metrics::Registry;
use crate::providers::sms::{Delivery, Reporter};
use crate::storefront::audit::Method;
use crate::storefront::codes::VERDICTS;
use crate::storefront::messages::Notice;
use crate::storefront::metrics::{OWN_PROVIDER, Words};
use crate::storefront::passwords::Refusal;
use crate::storefront::receipts::OTHER_OUTCOMES;
use crate::storefront::second_factors::GuessRefusal;
use crate::storefront::sending::{Channel, notices};
use crate::storefront::sms_guard::RULES;
use crate::storefront::state::Storefront;

impl Storefront {
    /// Registers what is counted here, and what is measured of the providers and the hashing threads.
    pub fn register(&self, registry: &mut Registry) {
        self.metrics.register(registry, &self.words());
        self.hashing.register(registry);
        self.message_providers.register(registry);
    }

    fn words(&self) -> Words {
        let providers: Vec<_> = self.identity_providers.words().chain([OWN_PROVIDER.to_owned()]).collect();
        let refused = |kind, reasons: &[&'static str]| reasons.iter().map(|reason| (kind, *reason)).collect::<Vec<_>>();
        Words {
            channels: Channel::ALL.map(Channel::as_str).to_vec(),
            verdicts: VERDICTS.to_vec(),
            refused_guesses: [
                refused("code", &["exceeded"]),
                refused("password", &Refusal::WORDS),
                refused("second_factor", &GuessRefusal::WORDS),
                refused("proof", &["exceeded"]),
            ]
            .concat(),
            texts: [&["allowed"][..], RULES].concat(),
            methods: Method::WORDS.map(str::to_owned).into_iter().chain(providers.iter().cloned()).collect(),
            providers,
            notices: Notice::ALL.map(Notice::as_str).to_vec(),
            notice_statuses: notices::STATUSES.to_vec(),
            reporters: Reporter::LABELS.to_vec(),
            receipts: [&Delivery::ALL.map(Delivery::as_str)[..], &OTHER_OUTCOMES].concat(),
        }
    }
}

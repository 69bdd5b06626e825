//! What is counted of codes, texts and sign-ins.

use crate::kernel::metrics::{Counter, Family, Registry};

crate::labels! {
    /// Of a code that was sent.
    pub struct ChannelLabels {
        /// `sms` or `email`.
        pub channel: &'static str,
    }
}

crate::labels! {
    /// Of a guess at a code.
    pub struct GuessLabels {
        /// `right`, `used`, `wrong`, `expired`, `locked` or `locked_out`.
        pub verdict: &'static str,
    }
}

crate::labels! {
    /// Of a guess that was not judged.
    pub struct RefusedGuessLabels {
        /// `code`, `password`, `second_factor` or `proof`.
        pub kind: &'static str,
        /// `exceeded`, `locked_out` or `in_flight`.
        pub reason: &'static str,
    }
}

crate::labels! {
    /// Of a text that somebody asked for.
    pub struct TextLabels {
        /// `allowed`, or the rule of the guard that refused it.
        pub verdict: &'static str,
    }
}

crate::labels! {
    /// Of an attempt to sign in.
    pub struct SignInLabels {
        /// As in the audit: a word of it, or an identity provider of the settings; `own_provider` for all others.
        pub method: String,
        /// `signed_in`, `second_factor` if that is asked for, or `refused`.
        pub outcome: &'static str,
    }
}

crate::labels! {
    /// Of a proof that an identity provider could not say anything about.
    pub struct ProviderFailureLabels {
        /// The word of a provider of the settings; `own_provider` for all others.
        pub provider: String,
        /// `unavailable`, or `credentials_refused` if it does not accept the app.
        pub reason: &'static str,
    }
}

crate::labels! {
    /// Of a message that tells a customer what happened to the account.
    pub struct NoticeLabels {
        /// What happened, as in the files of messages.
        pub about: &'static str,
        /// `sms` or `email`.
        pub channel: &'static str,
        /// `sent`, `not_sent`, `refused` by the SMS guard, or `limited`.
        pub status: &'static str,
    }
}

crate::labels! {
    /// Of a registration that a company's server was asked about.
    pub struct HookLabels {
        /// `allowed`, `refused`, `failed`, or `busy`: not asked, because too many questions were under way.
        pub outcome: &'static str,
    }
}

crate::labels! {
    /// Of a look-up in the list of breached passwords.
    pub struct BreachLabels {
        /// `clean`, `breached`, or `failed`.
        pub outcome: &'static str,
    }
}

crate::labels! {
    /// Of a challenge.
    pub struct ChallengeLabels {
        /// `asked`, `solved`, `not_solved`, `repeated`, `unusable`, or `not_verified`.
        pub outcome: &'static str,
    }
}

crate::labels! {
    /// Of what a provider reports of a text.
    pub struct ReceiptLabels {
        /// Its name in the settings, or `own` of any that is a company's.
        pub provider: &'static str,
        /// `delivered`, `undelivered`, `failed`, `not_final`, or `ignored`: of an unknown text, or no news.
        pub outcome: &'static str,
    }
}

/// The word for all identity providers that companies have and the settings do not: companies name them as they like.
pub const OWN_PROVIDER: &str = "own_provider";

const SIGN_INS: [&str; 3] = ["signed_in", "second_factor", "refused"];
const PROVIDER_FAILURES: [&str; 2] = ["unavailable", "credentials_refused"];
const BREACHES: [&str; 3] = ["clean", "breached", "failed"];
const CHALLENGES: [&str; 6] = ["asked", "solved", "not_solved", "repeated", "unusable", "not_verified"];
const HOOKS: [&str; 4] = ["allowed", "refused", "failed", "busy"];

/// The words of labels that are those of other rooms.
#[derive(Debug)]
pub struct Words {
    pub channels: Vec<&'static str>,
    pub verdicts: Vec<&'static str>,
    /// The kinds of guesses with the reasons why each is refused.
    pub refused_guesses: Vec<(&'static str, &'static str)>,
    pub texts: Vec<&'static str>,
    pub methods: Vec<String>,
    pub providers: Vec<String>,
    pub notices: Vec<&'static str>,
    pub notice_statuses: Vec<&'static str>,
    pub reporters: Vec<&'static str>,
    pub receipts: Vec<&'static str>,
}

/// Each of the one with each of the other.
fn pairs<A: Clone, B: Clone>(ones: &[A], others: &[B]) -> Vec<(A, B)> {
    ones.iter().flat_map(|one| others.iter().map(move |other| (one.clone(), other.clone()))).collect()
}

/// The storefront's counters. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    codes: Family<ChannelLabels, Counter>,
    guesses: Family<GuessLabels, Counter>,
    refused_guesses: Family<RefusedGuessLabels, Counter>,
    texts: Family<TextLabels, Counter>,
    sign_ins: Family<SignInLabels, Counter>,
    provider_failures: Family<ProviderFailureLabels, Counter>,
    notices: Family<NoticeLabels, Counter>,
    breaches: Family<BreachLabels, Counter>,
    challenges: Family<ChallengeLabels, Counter>,
    receipts: Family<ReceiptLabels, Counter>,
    hooks: Family<HookLabels, Counter>,
}

impl Metrics {
    /// Registers the counters, each with all of its series.
    pub fn register(&self, registry: &mut Registry, words: &Words) {
        let channels = words.channels.iter().map(|&channel| ChannelLabels { channel });
        registry.counters(
            "portico_codes_issued",
            "Verification codes that were made, by the way in which they were sent",
            &self.codes,
            channels,
        );
        let verdicts = words.verdicts.iter().map(|&verdict| GuessLabels { verdict });
        registry.counters("portico_code_guesses", "Guesses at verification codes", &self.guesses, verdicts);
        let refused = words.refused_guesses.iter().map(|&(kind, reason)| RefusedGuessLabels { kind, reason });
        registry.counters("portico_guesses_refused", "Codes, passwords and proofs that were not judged", &self.refused_guesses, refused);
        let verdicts = words.texts.iter().map(|&verdict| TextLabels { verdict });
        registry.counters("portico_texts", "Texts that the SMS guard judged", &self.texts, verdicts);
        let tried = pairs(&words.methods, &SIGN_INS).into_iter().map(|(method, outcome)| SignInLabels { method, outcome });
        registry.counters("portico_sign_ins", "Attempts of customers to sign in", &self.sign_ins, tried);
        let failures = pairs(&words.providers, &PROVIDER_FAILURES);
        registry.counters(
            "portico_identity_provider_failures",
            "Proofs that identity providers could not say anything about",
            &self.provider_failures,
            failures.into_iter().map(|(provider, reason)| ProviderFailureLabels { provider, reason }),
        );
        let notices = pairs(&pairs(&words.notices, &words.channels), &words.notice_statuses);
        registry.counters(
            "portico_notices",
            "Messages that tell customers what happened to their accounts",
            &self.notices,
            notices.into_iter().map(|((about, channel), status)| NoticeLabels { about, channel, status }),
        );
        registry.counters(
            "portico_breached_password_checks",
            "Look-ups of new passwords in the list of breached ones",
            &self.breaches,
            BREACHES.map(|outcome| BreachLabels { outcome }),
        );
        let challenges = CHALLENGES.map(|outcome| ChallengeLabels { outcome });
        registry.counters("portico_challenges", "Challenges that were asked for, and tokens that were sent", &self.challenges, challenges);
        let receipts = pairs(&words.reporters, &words.receipts).into_iter().map(|(provider, outcome)| ReceiptLabels { provider, outcome });
        registry.counters("portico_sms_receipts", "What SMS providers reported of texts", &self.receipts, receipts);
        registry.counters(
            "portico_registration_hook_questions",
            "Registrations that servers of companies were asked about",
            &self.hooks,
            HOOKS.map(|outcome| HookLabels { outcome }),
        );
    }

    pub fn issued(&self, channel: &'static str) {
        self.codes.get_or_create(&ChannelLabels { channel }).inc();
    }

    pub fn guessed(&self, verdict: &'static str) {
        self.guesses.get_or_create(&GuessLabels { verdict }).inc();
    }

    pub fn refused_guess(&self, kind: &'static str, reason: &'static str) {
        self.refused_guesses.get_or_create(&RefusedGuessLabels { kind, reason }).inc();
    }

    pub fn judged_text(&self, verdict: &'static str) {
        self.texts.get_or_create(&TextLabels { verdict }).inc();
    }

    pub fn notified(&self, about: &'static str, channel: &'static str, status: &'static str) {
        self.notices.get_or_create(&NoticeLabels { about, channel, status }).inc();
    }

    pub fn looked_up_password(&self, outcome: &'static str) {
        self.breaches.get_or_create(&BreachLabels { outcome }).inc();
    }

    pub fn challenged(&self, outcome: &'static str) {
        self.challenges.get_or_create(&ChallengeLabels { outcome }).inc();
    }

    pub fn received_receipt(&self, provider: &'static str, outcome: &'static str) {
        self.receipts.get_or_create(&ReceiptLabels { provider, outcome }).inc();
    }

    pub fn asked_hook(&self, outcome: &'static str) {
        self.hooks.get_or_create(&HookLabels { outcome }).inc();
    }

    pub fn provider_failed(&self, provider: &str, reason: &'static str) {
        self.provider_failures.get_or_create(&ProviderFailureLabels { provider: provider.to_owned(), reason }).inc();
    }

    pub fn tried(&self, method: &str, outcome: &'static str) {
        self.sign_ins.get_or_create(&SignInLabels { method: method.to_owned(), outcome }).inc();
    }
}

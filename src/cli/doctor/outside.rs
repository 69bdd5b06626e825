//! Checks of the configured external services: whether they are reachable and accept our credentials.

use std::borrow::Cow;

use uuid::Uuid;

use crate::bootstrap::application_key;
use crate::cli::doctor::Finding::{self, Bad, Good, Note};
use crate::config::{Config, Environment};
use crate::gateways::{CardGateways, count_card_gateways};
use crate::kernel::client_address::ClientAddress;
use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::StoreId;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::card::Card;
use crate::providers::challenge::ChallengeService;
use crate::providers::identity::{CodeFlow, IdentityProviders, NoAnswer, Provider, Verification};
use crate::providers::mail::Mail;
use crate::providers::reach;
use crate::providers::sms::Sms;

pub(super) fn certificates() -> Finding {
    match reqwest::Client::builder().build() {
        Ok(_) => Good("the root certificates of the system can be read".to_owned()),
        Err(error) => Bad(format!("no root certificates to verify HTTPS with ({}): install ca-certificates", chain(&error))),
    }
}

/// One finding per SMS provider, in the order in which they are tried.
pub(super) async fn texts(config: &Config) -> Vec<Finding> {
    let sms = match Sms::new(&config.sms, None) {
        Err(error) => return vec![Bad(chain(&error))],
        Ok(sms) => sms,
    };
    let mut findings = Vec::new();
    for (name, address) in sms.addresses() {
        findings.push(match address {
            None => Note(format!("{name} sends nothing: it only writes to the log that a text would have been sent")),
            Some(address) => match reach(&address).await {
                Ok(()) => Good(format!("{name} is configured and answers")),
                Err(error) => Bad(format!("{name} is configured, but {}", chain(&error))),
            },
        });
    }
    match (findings.is_empty(), config.environment()) {
        (true, Environment::Development) => vec![Note("no provider: texts go to the mailbox only".to_owned())],
        (true, Environment::Production) => vec![Note("no provider: customers cannot get texts (sms.providers)".to_owned())],
        (false, _) => findings,
    }
}

pub(super) async fn mail(config: &Config) -> Finding {
    let mail = match Mail::new(&config.mail, config.environment() == Environment::Development, None) {
        Err(error) => return Bad(chain(&error)),
        Ok(mail) => mail,
    };
    match (mail.greet().await, config.environment()) {
        (Some(Ok(())), _) => Good("the server is configured and answers".to_owned()),
        (Some(Err(error)), _) => Bad(format!("the server is configured, but {}", chain(&error))),
        (None, Environment::Development) => Note("no server: mail goes to the mailbox only".to_owned()),
        (None, Environment::Production) => Note("no server: customers cannot get mail (mail.smtp_url)".to_owned()),
    }
}

/// One finding per provider.
pub(super) async fn identity_providers(config: &Config) -> Vec<(Cow<'static, str>, Finding)> {
    let (clock, lifecycle) = (Clock::System, Lifecycle::default());
    let built = config.providers.divided(config.operators.oidc.as_deref()).and_then(|(customers, operators)| {
        let flow = operators.map(|(word, settings)| CodeFlow::new(&word, &settings, &clock, &lifecycle)).transpose()?;
        Ok((IdentityProviders::new(&customers, &clock, &lifecycle)?, flow))
    });
    let (IdentityProviders { listed, idp_c, .. }, operators) = match built {
        Err(error) => return vec![("sign-in".into(), Bad(chain(&error)))],
        Ok(providers) => providers,
    };
    let mut findings = Vec::new();
    if let Some(flow) = operators {
        findings.push((format!("sign-in of operators by {}", flow.name()).into(), keys(flow.count_keys().await)));
    }
    for listed in listed {
        let finding = match listed.oidc.offered() {
            Ok(provider) => keys(provider.count_keys().await),
            Err(_) => not_offered(&listed.provider),
        };
        findings.push((sign_in_by(&listed.provider), finding));
    }
    let finding = match idp_c.offered() {
        Ok(provider) => match provider.count_keys().await {
            Ok(_) => introduced(provider.introduce().await),
            Err(error) => keys(Err(error)),
        },
        Err(_) => not_offered(&Provider::IDP_C),
    };
    findings.push((sign_in_by(&Provider::IDP_C), finding));
    findings
}

fn sign_in_by(provider: &Provider) -> Cow<'static, str> {
    format!("sign-in by {}", provider.neutral_name()).into()
}

fn not_offered(provider: &Provider) -> Finding {
    Note(format!("not offered (providers.{provider})"))
}

fn keys(counted: Result<usize, NoAnswer>) -> Finding {
    match counted {
        Ok(keys) => Good(format!("is configured, and {keys} of the keys it publishes can be used")),
        Err(error) => Bad(format!("is configured, but its keys cannot be fetched: {}", chain(&error))),
    }
}

fn introduced(answer: Result<Verification, NoAnswer>) -> Finding {
    match answer {
        Ok(Verification::Graph) => Good("is configured, and accepts the app id and its secret".to_owned()),
        Ok(Verification::None) => Note("ids are not verified: anyone who knows a person's id can sign in as that person".to_owned()),
        Err(error) => Bad(format!("is configured, but the app id and its secret could not be verified: {}", chain(&error))),
    }
}

/// The service that verifies challenges, if there is one. It is asked about a token that nobody has, and says whether it knows us.
pub(super) async fn challenge(config: &Config) -> Option<Finding> {
    let service = ChallengeService::new(&config.storefront.challenge);
    let (kind, _) = service.kind()?;
    let (store, now) = (StoreId::from(Uuid::nil()), Clock::System.now());
    Some(match service.verify(&"doctor".into(), (store, ClientAddress::of_this_process()), now).await {
        Ok(_) => Good(format!("{} is configured, and takes the secret", kind.as_str())),
        Err(error) => Bad(format!("{} is configured, but tokens cannot be verified: {}", kind.as_str(), chain(&error))),
    })
}

/// The collector of traces, if there is one.
pub(super) async fn traces(config: &Config) -> Option<Finding> {
    let collector = config.traces.endpoint.as_ref()?;
    Some(match reach(collector).await {
        Ok(()) => Good("the collector answers".to_owned()),
        Err(error) => Bad(format!("spans are lost: {}", chain(&error))),
    })
}

/// The card provider, if a company has an account there.
pub(super) async fn cards(config: &Config, pool: &Pool) -> Finding {
    let (card, key) = match (Card::new(&config.providers.card), application_key(config)) {
        (Err(error), _) => return Bad(chain(&error)),
        (_, Err(error)) => return Bad(chain(&error)),
        (Ok(card), Ok(key)) => (card, key),
    };
    let counted = async { count_card_gateways(&mut pool.acquire().await?, &key).await };
    match counted.await {
        Err(error) => Bad(chain(&error)),
        Ok(CardGateways { active: 0, .. }) => Note("no company has a card gateway (portico gateway create)".to_owned()),
        Ok(CardGateways { active, sealed: 0 }) => match reach(card.address()).await {
            Ok(()) => Good(format!("the provider answers, and the keys of {active} gateways can be used")),
            Err(error) => Bad(format!("{active} gateways are configured, but {}", chain(&error))),
        },
        Ok(CardGateways { active, sealed }) => {
            Bad(format!("this application key cannot decrypt the secret keys of {sealed} of {active} gateways"))
        }
    }
}

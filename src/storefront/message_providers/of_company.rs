//! What sends the messages of one company's stores.

use std::io;

use tokio::net::TcpStream;
use url::Host;

use crate::kernel::ids::CompanyId;
use crate::providers::hook::About;
use crate::providers::mail::{Letter, Mail, OwnMail, SendMailError};
use crate::providers::sms::{Sms, TakenText, Text, TextNotSent};
use crate::storefront::message_providers::{Built, MessageChannel};
use crate::webhooks::CompanyClients;

/// The providers of a company, or those of the deployment in their place.
#[derive(Debug)]
pub struct ProvidersOfCompany {
    deployment: (Sms, Mail),
    sms: Sms,
    texts_by_own_alone: bool,
    own_mail: Option<OwnSender>,
}

/// The company's own sender of mails.
#[derive(Debug)]
struct OwnSender {
    /// `None` if it cannot be used.
    usable: Option<CompanyMail>,
    falls_back: bool,
}

/// A sender of a company, and how its server is connected to.
#[derive(Clone, Debug)]
pub struct CompanyMail {
    pub(super) mail: OwnMail,
    /// `None` for a hook.
    pub(super) server: Option<(Host<String>, u16)>,
    pub(super) company: CompanyId,
    pub(super) clients: CompanyClients,
}

impl CompanyMail {
    /// Sends a mail by this sender alone, in the name of the deployment's counters and mailbox.
    pub async fn send(&self, deployment: &Mail, letter: Letter<'_>, about: About<'_>) -> Result<(), SendMailError> {
        deployment.send_by(&self.mail, self.connect(), letter, about).await
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        match &self.server {
            Some((host, port)) => self.clients.connect(self.company, host, *port).await,
            None => Err(io::Error::other("a hook has no mail server")),
        }
    }
}

impl ProvidersOfCompany {
    pub(super) fn of_deployment(sms: &Sms, mail: &Mail) -> Self {
        Self { deployment: (sms.clone(), mail.clone()), sms: sms.clone(), texts_by_own_alone: false, own_mail: None }
    }

    /// Puts the company's own provider in the place of those of the deployment. `None` stands for one that cannot be used.
    pub(super) fn replace(&mut self, channel: MessageChannel, own: Option<&Built>, falls_back: bool) {
        match (channel, own) {
            (MessageChannel::Sms, Some(Built::Sms(own))) => {
                self.sms = self.deployment.0.with_own(own, falls_back);
                self.texts_by_own_alone = !falls_back;
            }
            (MessageChannel::Sms, _) if falls_back => {}
            (MessageChannel::Sms, _) => self.sms = self.deployment.0.without_providers(),
            (MessageChannel::Email, Some(Built::Mail(own))) => self.own_mail = Some(OwnSender { usable: Some(own.clone()), falls_back }),
            (MessageChannel::Email, _) => self.own_mail = Some(OwnSender { usable: None, falls_back }),
        }
    }

    /// Whether anybody sends texts.
    pub fn sends_texts(&self) -> bool {
        self.sms.is_available()
    }

    /// Whether texts are sent by the company's own provider and never by those of the deployment.
    pub fn texts_by_own_alone(&self) -> bool {
        self.texts_by_own_alone
    }

    /// Sends a text, whatever the SMS guard says of it. Returns who will report of it.
    pub async fn send_text(&self, text: Text<'_>) -> Result<Option<TakenText>, TextNotSent> {
        self.sms.send(text).await
    }

    /// Sends a mail. A mailbox that the company's own server does not know is believed to be none.
    pub async fn send_mail(&self, letter: Letter<'_>, about: About<'_>) -> Result<(), SendMailError> {
        let (_, deployment) = &self.deployment;
        let Some(OwnSender { usable, falls_back }) = &self.own_mail else { return deployment.send(letter).await };
        let sent = match usable {
            Some(own) => own.send(deployment, letter, about).await,
            None => Err(SendMailError::NotTaken("the mail provider of the company cannot be used".into())),
        };
        match sent {
            Err(SendMailError::NotTaken(_)) if *falls_back => deployment.send(letter).await,
            sent => sent,
        }
    }
}

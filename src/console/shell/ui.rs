//! What every page knows: who looks at it, in which language, and where they are.

use std::fmt::{self, Display};

use askama::filters::HtmlSafe;
use axum::extract::OriginalUri;
use axum::http::Method;
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};

use crate::callers::Caller;
use crate::console::Console;
use crate::console::kinds::Kinds;
use crate::console::shell::assets;
use crate::console::shell::instant::Moment;
use crate::console::shell::navigation::{self, Group};
use crate::console::shell::portal_theme::PortalTheme;
use crate::console::shell::preferences::{Preferences, Theme as Preference};
use crate::operators::Operator;
use crate::portal::Theme;

/// What every page knows.
#[derive(Clone, Debug)]
pub struct Ui {
    /// The first page: that of the console, or of the portal.
    pub home: &'static str,
    /// The address of the page, below the origin. A page that answers a form has none that could be opened again, but that of the first page.
    pub here: String,
    /// The path of the page, also if it answers a form.
    pub path: String,
    /// The operator's address and role, if somebody is signed in.
    pub operator: Option<(String, String)>,
    /// The company that the operator works for here; empty if nobody is signed in.
    pub company: String,
    /// What the portal looks like, if the page is shown to a visitor of it.
    pub portal: Option<PortalTheme>,
    /// The token that forms carry.
    pub form_token: SecretString,
    /// The pages that the operator may open.
    pub navigation: Vec<Group>,
    /// What the last act did.
    pub notice: Option<&'static str>,
    preferences: Preferences,
    now: DateTime<Utc>,
}

impl Ui {
    /// What a request tells.
    pub fn of(parts: &Parts, console: &Console) -> Self {
        let page = parts.extensions.get::<OriginalUri>().map_or(&parts.uri, |original| &original.0);
        let here = page.path_and_query().filter(|_| parts.method == Method::GET).map_or(console.home, |page| page.as_str()).to_owned();
        let notice = page.query().and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("done="))).and_then(done);
        Self {
            home: console.home,
            here,
            path: page.path().to_owned(),
            operator: None,
            company: String::new(),
            portal: None,
            form_token: SecretString::default(),
            navigation: Vec::new(),
            notice,
            preferences: Preferences::of(&parts.headers),
            now: console.clock.now(),
        }
    }

    /// Adds what a signed-in operator sees.
    pub fn sign_in(&mut self, operator: &Operator, company: String, caller: &Caller, kinds: &Kinds, has_mailbox: bool, form_token: String) {
        self.operator = Some((operator.email.clone(), operator.role.as_str().to_owned()));
        self.company = company;
        self.navigation = navigation::of(caller, kinds, has_mailbox, &self.path);
        self.form_token = form_token.into();
    }

    /// Adds what a visitor of the portal sees. The theme decides whether it is light or dark, not the browser's choice for the console.
    pub fn enter_portal(&mut self, theme: &Theme, caller: &Caller, kinds: &Kinds, form_token: String) {
        self.preferences.theme = Preference::of_portal(theme.color_scheme);
        self.portal = Some(PortalTheme::of(theme));
        self.navigation = navigation::of_portal(caller, kinds, &self.path);
        self.form_token = form_token.into();
    }

    /// A text of the console in the visitor's language.
    pub fn t<'a>(&self, text: &'a str) -> &'a str {
        self.preferences.language.translate(text)
    }

    /// A word of the API, such as a status, in the visitor's language.
    pub fn word(&self, word: &str) -> String {
        self.t(word).replace('_', " ")
    }

    /// A text with values in place of each `{}`.
    pub fn say<T: Display>(&self, text: &str, values: impl IntoIterator<Item = T>) -> String {
        let mut parts = self.t(text).split("{}");
        let mut said = parts.next().unwrap_or_default().to_owned();
        for (value, part) in values.into_iter().zip(parts) {
            said.push_str(&value.to_string());
            said.push_str(part);
        }
        said
    }

    /// An instant, as people read it.
    pub fn at(&self, instant: &DateTime<Utc>) -> Moment {
        Moment::new(*instant, self.now, self.preferences.language)
    }

    /// The `lang` of the page.
    pub fn language(&self) -> &'static str {
        self.preferences.language.tag()
    }

    /// The `data-theme` of the page; empty for the system's.
    pub fn theme(&self) -> &'static str {
        self.preferences.theme.map_or("", Preference::as_str)
    }

    /// Whether single keys do something.
    pub fn keys(&self) -> bool {
        self.preferences.keys
    }

    /// The address of a file of the console.
    pub fn asset(&self, name: &str) -> &'static str {
        assets::address(name)
    }

    /// The time at which the page is made.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// The field that every form which changes something needs.
    pub fn form_token_field(&self) -> FormToken<'_> {
        FormToken(self.form_token.expose_secret())
    }
}

/// What the parameter `done` of an address may say. A text of the address itself is never shown.
fn done(act: &str) -> Option<&'static str> {
    match act {
        "created" => Some("Created."),
        "saved" => Some("Saved."),
        "unchanged" => Some("Nothing was changed."),
        "deleted" => Some("Deleted."),
        "sent" => Some("Sent. The result appears below as soon as the endpoint has answered."),
        "replaying" => Some("The deliveries are being sent again."),
        "ended" => Some("Ended."),
        "mailed" => Some("The mail is on its way."),
        "paused" => Some("Paused. What is in flight may still arrive; everything else is held."),
        "resumed" => Some("Resumed. What was held is being sent."),
        _ => None,
    }
}

/// A hidden `<input>`.
pub struct FormToken<'a>(&'a str);

/// The token consists of hex digits.
impl HtmlSafe for FormToken<'_> {}

impl fmt::Display for FormToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"<input type="hidden" name="form_token" value="{}">"#, self.0)
    }
}

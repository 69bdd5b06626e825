//! A browser tab without scripts: it keeps cookies, follows redirects and sends the forms of the page it shows.

use std::collections::BTreeMap;

use portico::callers::Caller;
use portico::contact::EmailAddress;
use portico::kernel::ids::CompanyId;
use portico::operators::{self, OperatorPassword, Role};
use reqwest::Method;
use reqwest::header::HeaderMap;

use crate::support::World;
use crate::support::request;
use crate::support::waiting::in_time;

/// The password of every operator of a story.
pub const PASSWORD: &str = "correct horse battery";

/// A page.
#[derive(Debug)]
pub struct Shown {
    pub status: u16,
    pub headers: HeaderMap,
    /// The path and query.
    pub address: String,
    pub html: String,
}

impl Shown {
    /// Asserts that the page says this.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.html.contains(text), "{text:?} is not on {}:\n{}", self.address, self.html);
        self
    }

    #[track_caller]
    pub fn says_nothing_of(&self, text: &str) -> &Self {
        assert!(!self.html.contains(text), "{text:?} is on {}:\n{}", self.address, self.html);
        self
    }

    /// What stands between `before` and `after`, at its first place.
    pub fn between(&self, before: &str, after: &str) -> String {
        let rest = self.html.split_once(before).unwrap_or_else(|| panic!("{before:?} is not on {}", self.address)).1;
        rest.split_once(after).unwrap().0.to_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// A page of which a tab is told what changes.
pub struct Followed {
    response: reqwest::Response,
    text: String,
}

impl Followed {
    /// The status of the answer.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// The live region when it has changed; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<String> {
        // The stream keeps itself alive, so it is the change that must come in time.
        in_time("the page changes", self.change()).await
    }

    async fn change(&mut self) -> Option<String> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n").map(|(event, rest)| (event.to_owned(), rest.to_owned())) {
                self.text = rest;
                match event.strip_prefix("data: ") {
                    Some(data) => return serde_json::from_str(data).unwrap(),
                    None => continue,
                }
            }
            let chunk = self.response.chunk().await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

/// A tab of a browser.
pub struct Tab<'a> {
    world: &'a World,
    http: reqwest::Client,
    pub cookies: BTreeMap<String, String>,
    client: String,
    /// What the browser says about where a form comes from.
    pub site: &'static str,
    pub user_agent: &'static str,
    form_token: String,
}

impl World {
    /// Creates an operator of the company with this role.
    pub async fn operator(&self, email: &str, role: Role) {
        self.operator_of(self.company, email, role).await;
    }

    /// Creates an operator of a company.
    pub async fn operator_of(&self, company: CompanyId, email: &str, role: Role) {
        let (email, password) = (EmailAddress::parse(email).unwrap(), OperatorPassword::parse(&PASSWORD.into()).unwrap());
        let (caller, conn) = (Caller::command_line(company), &mut self.pool.acquire().await.unwrap());
        operators::create_operator(conn, &self.hashing, &caller, &email, password, role, self.clock.now()).await.unwrap();
    }

    /// The key of the link in the last mail to an address, after all mails were sent.
    pub async fn mailed_key(&self, email: &str) -> Option<String> {
        self.state.operators.send_mails().await.unwrap();
        // Notices have no link.
        let link = |text: &str| Some(text.split_once("/console/password#")?.1.to_owned());
        let key = self.messages().into_iter().filter(|message| message.to == email).find_map(|message| link(&message.text))?;
        Some(key.split_whitespace().next().unwrap().to_owned())
    }

    /// A tab in which nobody is signed in.
    pub fn tab(&self) -> Tab<'_> {
        let http = request::client();
        let client = "198.51.100.7".to_owned();
        Tab { world: self, http, cookies: BTreeMap::new(), client, site: "same-origin", user_agent: "Tab", form_token: String::new() }
    }

    /// A tab in which a new operator with this role is signed in.
    pub async fn signed_in(&self, role: Role) -> Tab<'_> {
        let email = format!("{}@acme.example", role.as_str());
        self.operator(&email, role).await;
        let mut tab = self.tab();
        let shown = tab.sign_in(&email, PASSWORD).await;
        assert_eq!((shown.status, shown.address.as_str()), (200, "/console"), "{}", shown.html);
        tab
    }
}

/// The fields of the first form on a page that is sent by POST to `…/edit` or `…/new`, as an untouched form sends them.
pub fn fields(page: &Shown) -> Vec<(String, String)> {
    let form = page.html.split("<form method=\"post\"").find(|form| form.contains("name=\"was-")).expect("there is a form");
    let form = form.split("</form>").next().unwrap();
    let text = |text: &str| {
        let pairs = [("&#34;", "\""), ("&quot;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">"), ("&lt;", "<"), ("&gt;", ">")];
        pairs
            .iter()
            .fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
            .replace("&#38;", "&")
            .replace("&amp;", "&")
    };
    let names = form.split("name=\"was-").skip(1).map(|rest| rest.split_once('"').unwrap());
    let mut fields = Vec::new();
    for (name, rest) in names {
        let was = text(rest.split_once("value=\"").unwrap().1.split('"').next().unwrap());
        let drawn = match was_of(form, name) {
            Some(value) => vec![text(&value)],
            None => serde_json::from_str::<Vec<String>>(&was).unwrap(),
        };
        fields.extend(drawn.into_iter().map(|value| (name.to_owned(), value)));
        fields.push((format!("was-{name}"), was));
    }
    fields
}

/// What an `<input>` or `<textarea>` of the form contains.
fn was_of(form: &str, name: &str) -> Option<String> {
    let control = form.split('<').find(|element| {
        element.contains(&format!(" name=\"{name}\"")) && (element.starts_with("input") || element.starts_with("textarea"))
    })?;
    if control.contains("type=\"checkbox\"") {
        return None;
    }
    match control.strip_prefix("textarea") {
        Some(rest) => Some(rest.split_once('>').unwrap().1.to_owned()),
        None => Some(control.split_once(" value=\"").unwrap().1.split('"').next().unwrap().to_owned()),
    }
}

/// The fields of a form after somebody has entered these.
pub fn with<'a>(form: &'a [(String, String)], entered: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let kept = form.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    kept.filter(|(name, _)| entered.iter().all(|(changed, _)| changed != name)).chain(entered.iter().copied()).collect()
}

impl Tab<'_> {
    /// The untouched form that changes the record of a page.
    pub async fn form(&mut self, page: &str) -> Vec<(String, String)> {
        fields(&self.open(&format!("{page}/edit")).await)
    }

    /// Sends a form that changes the record of a page, with these fields entered.
    pub async fn post(&mut self, page: &str, form: &[(String, String)], entered: &[(&str, &str)]) -> Shown {
        self.send(&format!("{page}/edit"), &with(form, entered)).await
    }

    /// Opens the form that changes the record of a page, and sends it with these fields entered.
    pub async fn edit(&mut self, page: &str, entered: &[(&str, &str)]) -> Shown {
        let form = self.form(page).await;
        self.post(page, &form, entered).await
    }

    /// The requests come from this address from now on.
    pub fn from(mut self, client: &str) -> Self {
        self.client = client.to_owned();
        self
    }

    /// Opens a page, and those that it leads to by itself.
    pub async fn open(&mut self, path: &str) -> Shown {
        self.request(Method::GET, path, None).await
    }

    /// Follows a link that leads to another site, and returns the address there.
    pub async fn leave(&mut self, path: &str) -> String {
        let shown = self.once(Method::GET, path, None).await;
        assert_eq!(shown.status, 303, "{}", shown.html);
        shown.header("location").to_owned()
    }

    /// Sends a form with the token of the last page.
    pub async fn send(&mut self, path: &str, fields: &[(&str, &str)]) -> Shown {
        let token = self.form_token.clone();
        self.request(Method::POST, path, Some(&[fields, &[("form_token", &token)]].concat())).await
    }

    /// Signs in with the form of the sign-in page.
    pub async fn sign_in(&mut self, email: &str, password: &str) -> Shown {
        self.send("/console/sign-in", &[("email", email), ("password", password)]).await
    }

    /// Follows the live region of a page.
    pub async fn follow(&mut self, path: &str) -> Followed {
        let request = self.prepared(Method::GET, path).header("accept", "text/event-stream");
        Followed { response: request.send().await.unwrap(), text: String::new() }
    }

    async fn request(&mut self, method: Method, path: &str, fields: Option<&[(&str, &str)]>) -> Shown {
        let (mut method, mut path, mut fields) = (method, path.to_owned(), fields);
        for _ in 0..5 {
            let shown = self.once(method.clone(), &path, fields).await;
            match shown.headers.get("location") {
                Some(location) if (300..400).contains(&shown.status) => {
                    (method, path, fields) = (Method::GET, location.to_str().unwrap().to_owned(), None);
                    assert!(path.starts_with('/'), "it leads to another site: {path}");
                }
                _ => return shown,
            }
        }
        panic!("{path} leads from page to page");
    }

    /// A request with the cookies of the tab.
    fn prepared(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("http://{}{path}", self.world.address);
        let cookies = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ");
        let request = self.http.request(method, url).header("x-forwarded-for", &self.client).header("user-agent", self.user_agent);
        if cookies.is_empty() { request } else { request.header("cookie", cookies) }
    }

    async fn once(&mut self, method: Method, path: &str, fields: Option<&[(&str, &str)]>) -> Shown {
        let mut request = self.prepared(method, path);
        if let Some(fields) = fields {
            let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
            request = request.header("content-type", "application/x-www-form-urlencoded").header("sec-fetch-site", self.site).body(body);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        for cookie in headers.get_all("set-cookie") {
            let (name, rest) = cookie.to_str().unwrap().split_once('=').unwrap();
            let (value, attributes) = rest.split_once(';').unwrap();
            if attributes.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        let shown = Shown { status, headers, address: path.to_owned(), html: response.text().await.unwrap() };
        if let Some((_, rest)) = shown.html.split_once(r#"name="form_token" value=""#) {
            self.form_token = rest.split('"').next().unwrap().to_owned();
        }
        shown
    }
}

//! People who work for several companies, and companies that invite the same person.

use chrono::TimeDelta;
use portico::callers::{Caller, Scope};
use portico::contact::EmailAddress;
use portico::operators::{self, OperatorPassword, Role};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::authenticator_app::app_code;
use crate::support::console::{PASSWORD, Shown, Tab};
use crate::support::fleet::id;
use crate::support::identity_provider::BrowserProvider;

const ADA: &str = "ada@acme.example";
const ANOTHER: &str = "another good password";

/// The company with this key invites somebody. Returns the operator, as the API shows it.
async fn invite(world: &World, key: &str, email: &str) -> Value {
    let body = json!({ "email": email, "role": "viewer" });
    world.request(Method::POST, "/developers/int/v1/operators").key(key).json(&body).send().await.ok(201)["operator"].take()
}

/// The key of the link in the last mail of a company to Ada.
async fn key_from(world: &World, company: &str) -> String {
    world.state.operators.send_mails().await.unwrap();
    let of_company = format!("the console of {company}");
    let is_theirs = |subject: &String| subject.ends_with(&of_company);
    let mail = world.messages().into_iter().find(|mail| mail.to == ADA && mail.subject.as_ref().is_some_and(is_theirs)).unwrap();
    let (_, key) = mail.text.split_once("/console/password#").unwrap();
    key.split_whitespace().next().unwrap().to_owned()
}

/// The operator that the button of a company stands for.
fn operator_of(page: &Shown, company: &str) -> String {
    let button = page.html.split("<button").find(|button| button.contains(&format!("title=\"{company}\""))).unwrap();
    button.split("value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// Presses the button of a company.
async fn choose(tab: &mut Tab<'_>, page: &Shown, company: &str) -> Shown {
    let (operator, then) = (operator_of(page, company), page.between("name=\"then\" value=\"", "\""));
    tab.send("/console/sign-in/company", &[("operator", &operator), ("then", &then)]).await
}

/// Ada signs in with the provider, in this tab. `claims` are changes of those that it makes about her.
async fn at_provider(provider: &BrowserProvider, world: &World, tab: &mut Tab<'_>, claims: Value) -> Shown {
    let page = tab.leave("/console/sign-in/provider").await;
    tab.open(&provider.sign_in(world, &page, claims)).await
}

/// Asserts that this is a page of the console, of this company.
#[track_caller]
fn is_of(page: &Shown, company: &str) {
    assert_eq!(page.status, 200, "{}", page.html);
    page.says("Sign out").says(&format!("<p class=\"quiet cut\" title=\"{company}\">{company}</p>"));
}

#[tokio::test]
async fn an_invitation_tells_nothing_of_other_companies_and_keeps_none_from_inviting() {
    let world = World::new().await;
    let (_, theirs) = world.another_company(&Scope::ALL).await;
    // Nobody accepts the first one, so it claims nothing.
    invite(&world, &theirs, ADA).await;
    invite(&world, &world.api_key, ADA).await;
    let key = key_from(&world, "Acme").await;
    is_of(&world.tab().send("/console/password", &[("key", &key), ("password", ANOTHER)]).await, "Acme");
    is_of(&world.tab().sign_in(ADA, ANOTHER).await, "Acme");

    // Whoever invites her now is answered as if she worked nowhere.
    let (_, third) = world.another_company(&Scope::ALL).await;
    let mut invited = Vec::new();
    for email in [ADA, "nobody@acme.example"] {
        let mut operator = invite(&world, &third, email).await;
        operator.as_object_mut().unwrap().retain(|member, _| !["id", "uuid", "email"].contains(&member.as_str()));
        invited.push(operator);
    }
    assert_eq!(invited[0], invited[1]);
    assert_eq!(invited[0]["accepted_at"], json!(null));
}

#[tokio::test]
async fn somebody_who_works_for_two_companies_chooses_one_after_the_password() {
    let world = World::new().await;
    let (other, _) = world.another_company(&Scope::ALL).await;
    world.operator(ADA, Role::Viewer).await;
    world.operator_of(other, ADA, Role::Owner).await;
    let mut tab = world.tab();
    let asked = tab.send("/console/sign-in", &[("email", ADA), ("password", PASSWORD), ("then", "/console/account")]).await;
    assert_eq!((asked.status, asked.address.as_str()), (200, "/console/sign-in/company?then=%2Fconsole%2Faccount"));
    asked.says("Choose a company").says_nothing_of("You are invited.");
    assert!(!tab.cookies.contains_key("portico-session"), "the password alone opens nothing");

    let shown = choose(&mut tab, &asked, "Other").await;
    assert_eq!(shown.address, "/console/account");
    shown.says("ada@acme.example · Other · owner");
    is_of(&shown, "Other");
    assert!(!tab.cookies.contains_key("portico-step"));
    // It is a session of this company alone.
    let listed = tab.open("/console/records/developers/operators").await;
    assert_eq!(listed.html.matches("/console/operators/operator_").count(), 1, "{}", listed.html);

    // The other one is opened by signing in again, which ends this session. The browser stays known.
    let proof = tab.cookies["portico-browser"].clone();
    let asked = tab.sign_in(ADA, PASSWORD).await;
    is_of(&choose(&mut tab, &asked, "Acme").await, "Acme");
    assert_eq!(tab.open("/console/records/developers/operators").await.status, 404, "a viewer there");
    assert_eq!((world.count("select count(*) from operator_sessions").await, &tab.cookies["portico-browser"]), (1, &proof));
}

#[tokio::test]
async fn each_company_has_a_password_of_its_own_and_resets_no_other() {
    let world = World::new().await;
    let (_, theirs) = world.another_company(&Scope::ALL).await;
    world.operator(ADA, Role::Viewer).await;
    let at_other = invite(&world, &theirs, ADA).await;
    let mut at_acme = world.tab();
    is_of(&at_acme.sign_in(ADA, PASSWORD).await, "Acme");
    let invitation = key_from(&world, "Other").await;
    world.tab().send("/console/password", &[("key", &invitation), ("password", PASSWORD)]).await;

    // A mail for each company, which names it.
    world.tab().send("/console/forgot", &[("email", ADA)]).await;
    let reset = key_from(&world, "Other").await;
    assert!(reset != invitation && reset != key_from(&world, "Acme").await);
    is_of(&world.tab().send("/console/password", &[("key", &reset), ("password", ANOTHER)]).await, "Other");
    is_of(&at_acme.open("/console").await, "Acme");
    is_of(&world.tab().sign_in(ADA, PASSWORD).await, "Acme");
    is_of(&world.tab().sign_in(ADA, ANOTHER).await, "Other");
    let wrong = world.tab().sign_in(ADA, "a third good password").await;
    assert_eq!(wrong.status, 401);
    wrong.says("The address or the password is not right.").says_nothing_of("Acme").says_nothing_of("Other");

    // Whoever is deleted in one company works for the other one as before.
    let path = format!("/developers/int/v1/operators/{}", id(&at_other));
    world.request(Method::DELETE, &path).key(&theirs).send().await.ok(200);
    assert_eq!(world.tab().sign_in(ADA, ANOTHER).await.status, 401);
    is_of(&at_acme.open("/console").await, "Acme");
}

#[tokio::test]
async fn each_company_has_a_second_factor_of_its_own() {
    let world = World::new().await;
    let (other, _) = world.another_company(&Scope::ALL).await;
    world.operator(ADA, Role::Viewer).await;
    let mut tab = world.tab();
    tab.sign_in(ADA, PASSWORD).await;
    let page = tab.open("/console/account/totp").await;
    let secret = page.between("<code data-copy>", "</code>").replace(' ', "");
    tab.send("/console/account/totp", &[("code", &app_code(&world, &secret))]).await.says("They are not shown again.");
    world.pass(TimeDelta::seconds(30));
    world.operator_of(other, ADA, Role::Viewer).await;

    // The company comes first: it decides whether there is a second factor, and which.
    let mut tab = world.tab();
    let asked = tab.sign_in(ADA, PASSWORD).await;
    is_of(&choose(&mut tab, &asked, "Other").await, "Other");
    let asked = tab.sign_in(ADA, PASSWORD).await;
    let step = choose(&mut tab, &asked, "Acme").await;
    assert_eq!(step.address, "/console/sign-in/code?then=%2Fconsole");
    is_of(&tab.send("/console/sign-in/code", &[("code", &app_code(&world, &secret))]).await, "Acme");
}

#[tokio::test]
async fn the_choice_belongs_to_the_browser_that_has_proven_the_password_and_ends() {
    let world = World::new().await;
    let (other, theirs) = world.another_company(&Scope::ALL).await;
    world.operator(ADA, Role::Viewer).await;
    world.operator("bob@acme.example", Role::Owner).await;
    world.operator_of(other, ADA, Role::Viewer).await;
    let mut ada = world.tab();
    let asked = ada.sign_in(ADA, PASSWORD).await;
    let at_acme = operator_of(&asked, "Acme");
    let page = "/console/sign-in/company";

    // Another browser has no step, one that was made up is none, and another site sends no form.
    let mut eve = world.tab();
    assert_eq!(eve.open(page).await.address, "/console/sign-in");
    let refused = eve.send(page, &[("operator", &at_acme)]).await;
    assert_eq!(refused.status, 401);
    refused.says("This sign-in was not begun in this browser").says_nothing_of("This link");
    eve.cookies.insert("portico-step".to_owned(), "planted".to_owned());
    assert_eq!(eve.send(page, &[("operator", &at_acme)]).await.status, 401);
    ada.site = "cross-site";
    assert_eq!(ada.send(page, &[("operator", &at_acme)]).await.status, 403);
    ada.site = "same-origin";
    // Only who she is herself can be chosen.
    let bob = world.api(Method::GET, "/developers/int/v1/operators?email=bob@acme.example").send().await.ok(200);
    assert_eq!(ada.send(page, &[("operator", id(&bob["operators"][0]))]).await.status, 401);
    assert_eq!(ada.send(page, &[("operator", "nobody")]).await.status, 404);
    // A link that leads elsewhere leads home, and the step is used up.
    let mut copy = world.tab();
    copy.cookies = ada.cookies.clone();
    assert_eq!(ada.send(page, &[("operator", &at_acme), ("then", "https://evil.example/")]).await.address, "/console");
    assert_eq!(copy.send(page, &[("operator", &at_acme)]).await.status, 401);

    let mut late = world.tab();
    let asked = late.sign_in(ADA, PASSWORD).await;
    world.pass(TimeDelta::minutes(10));
    assert_eq!(choose(&mut late, &asked, "Acme").await.status, 401);
    world.state.operators.sweep().await.unwrap();
    assert_eq!(world.count("select count(*) from operator_choices").await, 0);

    // Whoever is disabled meanwhile cannot be chosen.
    let asked = late.sign_in(ADA, PASSWORD).await;
    let path = format!("/developers/int/v1/operators/{}", operator_of(&asked, "Other"));
    world.request(Method::PUT, &path).key(&theirs).json(&json!({ "disabled": true })).send().await.ok(200);
    assert_eq!(choose(&mut late, &asked, "Other").await.status, 401);
    is_of(&choose(&mut late, &asked, "Acme").await, "Acme");
}

#[tokio::test]
async fn at_the_provider_an_invitation_is_accepted_by_choosing_it_and_never_beside_a_company() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    let (_, theirs) = world.another_company(&Scope::ALL).await;
    invite(&world, &theirs, ADA).await;
    let accepted = "select count(*) from operators where accepted_at is not null";
    let mut tab = world.tab();
    let back = provider.sign_in(&world, &tab.leave("/console/sign-in/provider?then=%2Fconsole%2Faccount").await, json!({}));
    let asked = tab.open(&back).await;
    assert_eq!(asked.address, "/console/sign-in/company?then=%2Fconsole%2Faccount");
    asked.says("You are invited.");
    assert_eq!(world.count(accepted).await, 0, "signing in accepts nothing");
    assert!(!tab.cookies.contains_key("portico-provider"));
    let shown = choose(&mut tab, &asked, "Other").await;
    assert_eq!(shown.address, "/console/account");
    is_of(&shown, "Other");
    assert_eq!(world.count(accepted).await, 1);
    // It is bound to her: whoever gets her address is not let in.
    assert_eq!(at_provider(&provider, &world, &mut world.tab(), json!({ "sub": "8" })).await.status, 403);

    // Another invitation does not stand in the way of the company that she works for.
    invite(&world, &world.api_key, ADA).await;
    is_of(&at_provider(&provider, &world, &mut world.tab(), json!({})).await, "Other");
    let key = key_from(&world, "Acme").await;
    is_of(&world.tab().send("/console/password", &[("key", &key), ("password", PASSWORD)]).await, "Acme");
    let mut tab = world.tab();
    let asked = at_provider(&provider, &world, &mut tab, json!({})).await;
    asked.says("Choose a company").says_nothing_of("You are invited.");
    is_of(&choose(&mut tab, &asked, "Acme").await, "Acme");
}

#[tokio::test]
async fn at_the_provider_somebody_is_one_person_in_all_companies() {
    let provider = BrowserProvider::start().await;
    let world = provider.world(&[]).await;
    let (other, _) = world.another_company(&Scope::ALL).await;
    world.operator(ADA, Role::Viewer).await;
    world.operator_of(other, ADA, Role::Viewer).await;
    let mut tab = world.tab();
    let asked = at_provider(&provider, &world, &mut tab, json!({})).await;
    is_of(&choose(&mut tab, &asked, "Other").await, "Other");
    // One sign-in was enough for both: whoever gets her address is nobody, and she is herself under any.
    let bound = "select count(*) from changes where kind = 'operator' and fields = '{provider}'";
    assert_eq!(world.count(bound).await, 2);
    let refused = at_provider(&provider, &world, &mut world.tab(), json!({ "sub": "8" })).await;
    assert_eq!(refused.status, 403);
    refused.says("Somebody else at the provider signs in as the operator with your address.");
    let asked = at_provider(&provider, &world, &mut tab, json!({ "email": "lovelace@acme.example" })).await;
    is_of(&choose(&mut tab, &asked, "Acme").await, "Acme");
    assert_eq!(world.count(bound).await, 2);

    // Each company resets its own binding. The other one still knows her.
    let (email, password) = (EmailAddress::parse(ADA).unwrap(), OperatorPassword::parse(&PASSWORD.into()).unwrap());
    let (caller, conn) = (Caller::command_line(other), &mut world.pool.acquire().await.unwrap());
    operators::reset_operator(conn, &world.hashing, &caller, &email, password, world.clock.now()).await.unwrap();
    is_of(&at_provider(&provider, &world, &mut world.tab(), json!({ "sub": "8" })).await, "Other");
    is_of(&at_provider(&provider, &world, &mut world.tab(), json!({})).await, "Acme");
}

#[tokio::test]
async fn whoever_works_for_several_companies_confirms_for_the_one_of_the_session() {
    let world = World::new().await;
    let (other, _) = world.another_company(&Scope::ALL).await;
    world.operator(ADA, Role::Owner).await;
    world.operator_of(other, ADA, Role::Owner).await;
    let mut tab = world.tab();
    let asked = tab.sign_in(ADA, PASSWORD).await;
    is_of(&choose(&mut tab, &asked, "Other").await, "Other");
    world.pass(TimeDelta::minutes(10));
    let new_key = "/console/records/developers/api-keys/new";
    tab.open(new_key).await.says("Confirm that it is you");
    let shown = tab.send("/console/confirm", &[("proof", PASSWORD), ("then", new_key)]).await;
    assert_eq!(shown.address, new_key);
    is_of(&shown, "Other");
}

#[tokio::test]
async fn guesses_at_the_second_factor_of_one_company_keep_nobody_out_of_another() {
    let world = World::new().await;
    let (other, _) = world.another_company(&Scope::ALL).await;
    world.operator(ADA, Role::Viewer).await;
    world.operator_of(other, ADA, Role::Viewer).await;
    let mut secrets = Vec::new();
    for company in ["Acme", "Other"] {
        let mut tab = world.tab();
        let asked = tab.sign_in(ADA, PASSWORD).await;
        choose(&mut tab, &asked, company).await;
        let secret = tab.open("/console/account/totp").await.between("<code data-copy>", "</code>").replace(' ', "");
        tab.send("/console/account/totp", &[("code", &app_code(&world, &secret))]).await.says("They are not shown again.");
        secrets.push(secret);
    }
    world.pass(TimeDelta::seconds(30));
    let mut guesser = world.tab();
    let asked = guesser.sign_in(ADA, PASSWORD).await;
    choose(&mut guesser, &asked, "Acme").await;
    for _ in 0..10 {
        assert_eq!(guesser.send("/console/sign-in/code", &[("code", "000000")]).await.status, 401);
    }
    let code = app_code(&world, &secrets[0]);
    assert_eq!(guesser.send("/console/sign-in/code", &[("code", &code)]).await.status, 429);
    let mut ada = world.tab();
    let asked = ada.sign_in(ADA, PASSWORD).await;
    choose(&mut ada, &asked, "Other").await;
    is_of(&ada.send("/console/sign-in/code", &[("code", &app_code(&world, &secrets[1]))]).await, "Other");
}

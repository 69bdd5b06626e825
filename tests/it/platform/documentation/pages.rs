//! The pages below `/docs`: all that there is has its place, every link leads somewhere, and nothing comes from elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use portico::dev::temporary::TemporaryDirectory;
use portico::kernel::problem::ProblemCode;
use portico::operators::Role;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::support::World;
use crate::support::console::{Shown, Tab};
use crate::support::fleet::id;
use crate::support::page::unescaped;

/// The values of an attribute in the elements of a page; what code that is shown says is no element.
fn attributes(html: &str, name: &str) -> Vec<String> {
    let elements = html.split('<').skip(1).filter_map(|rest| rest.split('>').next());
    let values = elements.filter_map(|element| element.split_once(&format!(" {name}=\""))?.1.split('"').next());
    values.map(unescaped).collect()
}

/// A page and its anchor that a link on the page `from` leads to.
fn target(from: &str, link: &str) -> (String, Option<String>) {
    let (page, anchor) = link.split_once('#').map_or((link, None), |(page, anchor)| (page, Some(anchor.to_owned())));
    let path = from.split('?').next().unwrap();
    let page = match page {
        "" => from.to_owned(),
        query if query.starts_with('?') => format!("{path}{query}"),
        page => page.to_owned(),
    };
    (page, anchor)
}

/// Every page that one gets to from `/docs`, by its address. Worlds without settings of their own have the same ones, so they are opened once.
async fn all_pages(tab: &mut Tab<'_>) -> &'static BTreeMap<String, Shown> {
    static PAGES: OnceCell<BTreeMap<String, Shown>> = OnceCell::const_new();
    let opening = open_all(tab);
    PAGES.get_or_init(|| opening).await
}

async fn open_all(tab: &mut Tab<'_>) -> BTreeMap<String, Shown> {
    let (mut pages, mut open) = (BTreeMap::new(), vec!["/docs".to_owned()]);
    while let Some(address) = open.pop() {
        let shown = tab.open(&address).await;
        assert_eq!(shown.status, 200, "{address}");
        for link in attributes(&shown.html, "href") {
            let (page, _) = target(&address, &link);
            let known = pages.contains_key(&page) || open.contains(&page) || page == address;
            // Choosing a language shows the same page again.
            if page.starts_with("/docs") && !page.contains("?code=") && !known {
                open.push(page);
            }
        }
        pages.insert(address, shown);
    }
    pages
}

/// How often each text stands between these two on all pages.
fn counted<'a>(pages: &'a BTreeMap<String, Shown>, before: &str, after: &str) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for (text, _) in pages.values().flat_map(|page| page.html.split(before).skip(1)).filter_map(|rest| rest.split_once(after)) {
        *counts.entry(text).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn every_operation_event_and_problem_has_its_place_and_every_link_leads_somewhere() {
    let world = World::new().await;
    let document = world.request(Method::GET, "/openapi.json").send().await.ok(200);
    let mut tab = world.tab();
    let pages = all_pages(&mut tab).await;
    let operations = counted(pages, r#"<p class="route"><span class="method">"#, "</code></p>");
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let heading = format!("{}</span> <code>{path}", method.to_uppercase());
            assert_eq!(operations.get(heading.as_str()), Some(&1), "{method} {path}");
        }
    }
    let sections = counted(pages, r#"<section class="operation" id=""#, "\">");
    for name in document["webhooks"].as_object().unwrap().keys() {
        assert_eq!(sections.get(name.as_str()), Some(&1), "{name}");
    }
    for code in ProblemCode::ALL {
        let page = &pages[&format!("/docs/problems/{}", code.as_str())];
        page.says("When it happens").says("What to do").says(&code.status().as_u16().to_string());
    }

    let mut anchors = BTreeMap::new();
    for (address, page) in pages {
        let ids = attributes(&page.html, "id");
        let (number, distinct) = (ids.len(), ids.into_iter().collect::<BTreeSet<_>>());
        assert_eq!(number, distinct.len(), "{address} has an id twice");
        anchors.insert(address.as_str(), distinct);
    }
    let mut asked = BTreeSet::new();
    for (address, page) in pages {
        assert_eq!(page.html.matches("<h1").count(), 1, "{address}");
        assert!(page.html.len() < 600_000, "{address} has {} bytes", page.html.len());
        for link in attributes(&page.html, "href") {
            let (to, anchor) = target(address, &link);
            if to.starts_with("https://") {
                assert!(address.starts_with("/docs/guides"), "{address} leads to {to}");
                continue;
            }
            assert!(to.starts_with('/'), "{address}: {link}");
            if let Some(anchor) = anchor.filter(|_| to.starts_with("/docs") && !to.contains('?')) {
                assert!(anchors[to.as_str()].contains(&anchor), "{address}: {link}");
            }
            if !pages.contains_key(&to) && !to.contains("?code=") {
                asked.insert(to);
            }
        }
        asked.extend(attributes(&page.html, "src"));
    }
    for address in asked {
        assert_eq!(tab.open(&address).await.status, 200, "{address}");
    }
}

#[tokio::test]
async fn no_page_has_anything_of_another_host_or_a_script_within_it() {
    let world = World::new().await;
    let mut tab = world.tab();
    for (address, page) in all_pages(&mut tab).await {
        if address.starts_with("/docs/images/") {
            continue;
        }
        let policy = page.header("content-security-policy");
        for rule in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(rule), "{address}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        for inline in ["<script>", "<style", " style=\"", " onclick=", "javascript:", "<iframe", "<link rel=\"stylesheet\" href=\"http"] {
            page.says_nothing_of(inline);
        }
        assert!(attributes(&page.html, "src").iter().all(|source| source.starts_with('/') && !source.starts_with("//")), "{address}");
    }
}

#[tokio::test]
async fn the_type_of_a_problem_is_a_page_for_people_and_json_for_programs() {
    let world = World::new().await;
    let ask = async |path: &str, accept: &str| {
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        client.get(format!("http://{}{path}", world.address)).header("accept", accept).send().await.unwrap()
    };
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (path, page) in [("/problems", "/docs/problems"), ("/problems/code_invalid", "/docs/problems/code_invalid")] {
        let shown = ask(path, browser).await;
        assert_eq!((shown.status().as_u16(), shown.headers()["location"].to_str().unwrap()), (303, page));
        for program in ["application/json", "*/*"] {
            let document = ask(path, program).await;
            assert_eq!((document.status().as_u16(), document.headers()["vary"].to_str().unwrap()), (200, "accept"));
            assert!(document.json::<Value>().await.unwrap().is_object());
        }
    }
    assert_eq!(ask("/problems/nothing", browser).await.status(), 404);
    let mut tab = world.tab();
    let page = tab.open("/docs/problems/webhook_disabled").await;
    page.says("/developers/int/v1/webhooks/{uuid}/test").says("Enable it with");
    for nowhere in ["/docs/problems/nothing", "/docs/nowhere", "/docs/resources/fleet", "/docs/guides/nothing", "/docs/files/Cargo.toml"] {
        let shown = tab.open(nowhere).await;
        assert_eq!((shown.status, shown.header("content-type")), (404, "text/html; charset=utf-8"), "{nowhere}");
    }
}

#[tokio::test]
async fn search_finds_operations_fields_events_problems_and_guides_without_a_script() {
    let world = World::new().await;
    let mut tab = world.tab();
    for (asked, found) in [
        ("rotate+secret", "/docs/hub/webhooks#post_developers_webhooks_uuid_rotate_secret"),
        ("skip_dispatch", "/docs/resources/fleet/orders#create_fleet_order"),
        ("TICKET.resolved", "/docs/events/ticket#ticket.resolved"),
        ("texts_paused", "/docs/problems/texts_paused"),
        ("sms+guard+pumping", "/docs/guides/storefront#the-sms-guard"),
    ] {
        tab.open(&format!("/docs/search?q={asked}")).await.says(&format!("href=\"{found}\""));
    }
    tab.open("/docs/search?q=there+is+no+banana").await.says("Nothing has all of these words.");
    tab.open("/docs/search").await.says("Name an operation");
    let hostile = tab.open("/docs/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").await;
    hostile.says_nothing_of("<script>alert");
    tab.open(&format!("/docs/search?q={}", "zz+".repeat(3000))).await.says("Nothing has all of these words.");
}

#[tokio::test]
async fn what_a_deployment_declares_is_documented_and_shown_as_text() {
    let hostile = "<img src=x onerror=alert(1)>'\\\"{{7*7}}`<script>alert(2)</script>`";
    let text = format!(
        "namespace = \"garden\"\n[resources.pots]\nsingular = \"pot\"\nversion = 1\ndescription = \"{hostile}\"\n\
         [resources.pots.schema]\ntype = \"object\"\nrequired = [\"label\"]\n\
         [resources.pots.schema.properties]\nlabel = {{ type = \"string\", enum = [\"{hostile}\"], default = \"{hostile}\", description = \"{hostile}\" }}\n\
         [resources.pots.sample]\nlabel = \"{hostile}\"\n"
    );
    let directory = TemporaryDirectory::make("documentation").unwrap();
    fs::write(directory.path().join("garden.toml"), text).unwrap();
    let world = World::with(&[("extensions.directory", directory.path().to_str().unwrap())]).await;
    let mut tab = world.tab();
    for page in ["/docs/resources/garden/pots", "/docs/events/pot", "/docs/search?q=onerror", "/docs"] {
        for code in ["curl", "javascript", "python", "rust"] {
            let shown = tab.open(&format!("{page}{}code={code}", if page.contains('?') { '&' } else { '?' })).await;
            assert_eq!(shown.status, 200, "{page}");
            shown.says_nothing_of("<img src=x").says_nothing_of("<script>alert");
        }
    }
    tab.open("/docs/resources/garden/pots").await.says("POST</span> <code>/garden/int/v1/pots</code>").says("onerror=alert(1)");
    tab.open("/docs/events/pot").await.says("id=\"pot.created\"");
}

#[tokio::test]
async fn an_operator_sees_records_of_their_own_company_where_their_role_has_them() {
    let world = World::new().await;
    let order = world.order(json!({})).await;
    let mut tab = world.signed_in(Role::Viewer).await;
    let page = tab.open("/docs/resources/fleet/orders").await;
    page.says(&format!("/fleet/int/v1/orders/{}", id(&order))).says("/console/records/fleet/orders").says("viewer@acme.example");
    assert!(!page.html.contains(&world.api_key));
    let mut developer = world.signed_in(Role::Developer).await;
    developer.open("/docs/storefront/customers").await.says("STORE_KEY");
    let page = developer.open("/docs/resources/storefront/customers").await;
    page.says_nothing_of("/console/records/storefront/customers").says_nothing_of("have a record of your company");
    world.tab().open("/docs/resources/fleet/orders").await.says_nothing_of(id(&order)).says("Sign in");
}

#[tokio::test]
async fn the_frame_speaks_german_and_the_pages_are_there_while_the_database_is_away() {
    let world = World::new().await;
    let mut tab = world.signed_in(Role::Owner).await;
    tab.cookies.insert("portico-language".to_owned(), "de".to_owned());
    tab.open("/docs").await.says("<html lang=\"de\"").says("Dokumentation").says("<section class=\"card\" lang=\"en\">");
    tab.open("/console").await.says("href=\"/docs\"");
    world.pool.close().await;
    tab.open("/docs/resources/fleet/orders").await.says("/fleet/int/v1/orders");
    tab.open("/docs/guides/webhooks").await.says("id=\"retries\"");
}

//! A device in a few words, by its `User-Agent` and the name that the app gives it: `Firefox, Android`, `Shop, iOS, Ada's phone`.

use crate::storefront::audit::device_name::DeviceName;

/// The longest name of an app, in characters.
const LONGEST_APP: usize = 30;

/// Browsers by what their `User-Agent` has and others' has not, the derived ones first: nearly all claim to be others too.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

const SYSTEMS: [(&str, &str); 8] = [
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Darwin/", "iOS"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// Describes the device that a request comes from.
pub(super) fn describe(user_agent: Option<&str>, name: Option<&DeviceName>) -> String {
    let agent = user_agent.unwrap_or_default();
    let find = |list: &[(&str, &'static str)]| list.iter().find(|(sign, _)| agent.contains(sign)).map(|(_, name)| (*name).to_owned());
    let browser = if agent.starts_with("Mozilla/") { find(&BROWSERS) } else { app(agent) };
    let parts = [browser, find(&SYSTEMS), name.map(|name| name.as_str().to_owned())];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "?".to_owned() } else { parts.join(", ") }
}

/// The first product of an agent that is no browser: `Shop` of `Shop/2.1 (iPhone)`.
fn app(agent: &str) -> Option<String> {
    let product = agent.split(['/', ' ', '(', ';']).next().unwrap_or_default();
    let name: String = product.chars().filter(|character| !character.is_control()).take(LONGEST_APP).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_its_browser_or_app_and_its_system_without_versions() {
        for (agent, description) in [
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36",
                "Chrome, macOS",
            ),
            ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36 Edg/130.0", "Edge, Windows"),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 (KHTML, like Gecko) Version/18.0 Safari/604.1",
                "Safari, iOS",
            ),
            ("Mozilla/5.0 (Android 15; Mobile; rv:131.0) Gecko/131.0 Firefox/131.0", "Firefox, Android"),
            ("Shop/2.1 (iPhone)", "Shop, iOS"),
            ("Shop/2.2 CFNetwork/1568 Darwin/24.0.0", "Shop, iOS"),
            ("okhttp/4.12", "okhttp"),
            ("", "?"),
        ] {
            assert_eq!(describe(Some(agent), None), description, "{agent}");
        }
        let name = DeviceName::try_from("Ada's phone".to_owned()).unwrap();
        assert_eq!(describe(Some("Shop/2.1 (iPhone)"), Some(&name)), "Shop, iOS, Ada's phone");
        assert_eq!(describe(None, Some(&name)), "Ada's phone");
        assert_eq!(describe(Some(&"x".repeat(255)), None), "x".repeat(30));
    }
}

//! The files that are shown: the guides, what they link to, and their pictures. A test names those of the repository that are missing.

macro_rules! texts {
    ($($path:literal)*) => { &[$(($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/", $path)))),*] };
}

macro_rules! images {
    ($($name:literal)*) => { &[$(($name, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/images/", $name)))),*] };
}

/// The guides, with their paths in the repository.
pub(super) const TEXTS: &[(&str, &str)] = texts![
    "README.md"
    "docs/storefront.md"
    "docs/security.md"
    "docs/asvs.md"
    "docs/challenges.md"
    "docs/messages.md"
    "docs/identity-providers.md"
    "docs/sms-providers.md"
    "docs/message-providers.md"
    "docs/moving-in.md"
    "docs/realtime.md"
    "docs/webhooks.md"
    "docs/portal.md"
    "docs/gateways.md"
    "docs/gateway-drivers.md"
    "docs/records.md"
    "docs/declared.md"
    "docs/extensions.md"
    "docs/problems.md"
    "docs/console.md"
    "docs/deployment.md"
    "docs/operating.md"
    "docs/scaling.md"
    "docs/commands.md"
    "docs/reliability.md"
    "docs/performance.md"
    "docs/architecture.md"
    "docs/specification/README.md"
    "docs/specification/customer-authentication.md"
    "docs/specification/webhooks.md"
    "docs/specification/decisions.md"
];

/// The files that guides link to.
pub const FILES: &[(&str, &str)] = texts![
    "config/default.toml"
    "config/extensions/inventory.toml"
    "config/extensions/support.toml"
    "config/messages/de.toml"
    "config/messages/en.toml"
    "config/messages/layout.html"
    "ops/grafana/portico.json"
    "ops/prometheus/alerts.yml"
    "ops/prometheus/prometheus.yml"
];

/// The pictures in `docs/images`.
pub const IMAGES: &[(&str, &[u8])] = images!["customer.png" "overview.png" "webhook.png"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn files(folder: &str, extension: &str) -> BTreeSet<String> {
        let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let wanted = entries.filter(|path| path.extension().is_some_and(|found| found == extension));
        wanted.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_guide_and_picture_of_the_repository_is_shown() {
        let guides = |folder: &str| -> BTreeSet<String> {
            let inside = TEXTS.iter().filter_map(|(path, _)| path.strip_prefix(folder)?.strip_prefix('/'));
            inside.filter(|rest| !rest.contains('/')).map(str::to_owned).collect()
        };
        for folder in ["docs", "docs/specification"] {
            assert_eq!(guides(folder), files(folder, "md"), "{folder}: the list in src/console/docs/library/files.rs");
        }
        let images: BTreeSet<_> = IMAGES.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(images, files("docs/images", "png"), "docs/images: the list in src/console/docs/library/files.rs");
    }
}

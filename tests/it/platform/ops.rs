//! What `ops` ships: the dashboard and the alerts name metrics that exist, and every alert leads to what is to be done.

use std::collections::{BTreeMap, BTreeSet};

use portico::app::Metrics;
use serde_json::Value;

use crate::support::World;

const ALERTS: &str = include_str!("../../../ops/prometheus/alerts.yml");
const TESTS: &str = include_str!("../../../ops/prometheus/alerts.test.yml");
const DASHBOARD: &str = include_str!("../../../ops/grafana/portico.json");
const GUIDE: &str = include_str!("../../../docs/operating.md");

/// The labels that Prometheus adds.
const OF_PROMETHEUS: [&str; 3] = ["job", "instance", "le"];

/// Counters whose series appear with what they count, and why they cannot be there before. No alert may wait for the first event of one.
const NOT_FROM_THE_START: [(&str, &str); 4] = [
    ("portico_http_requests_total", "every route with every method and status"),
    ("portico_statement_failures_total", "every statement with every reason"),
    ("portico_events_published_total", "the database says it when it is asked"),
    ("portico_database_replica_reads_total", "without a standby nothing is read from one"),
];

fn is_there_from_the_start(counter: &str) -> bool {
    NOT_FROM_THE_START.iter().all(|(name, _)| *name != counter)
}

/// A series of the tests of the alerts.
struct Tested {
    name: &'static str,
    /// Its labels without those that Prometheus adds, as the program writes them.
    labels: Vec<(&'static str, &'static str)>,
    values: &'static str,
}

impl Tested {
    fn read(line: &'static str) -> Option<Self> {
        let (series, values) = line.trim().strip_prefix("- { series: '")?.strip_suffix("' }")?.split_once("', values: '")?;
        let (name, labels) = series.strip_suffix('}')?.split_once('{')?;
        let labels = labels.split(", ").filter_map(|label| label.split_once('=')).filter(|(name, _)| !OF_PROMETHEUS.contains(name));
        Some(Self { name, labels: labels.collect(), values })
    }

    /// As the program writes it.
    fn series(&self) -> String {
        let labels: Vec<_> = self.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if labels.is_empty() { self.name.to_owned() } else { format!("{}{{{}}}", self.name, labels.join(",")) }
    }
}

/// The metrics in an expression, each with the labels that select of it.
fn named(expression: &str) -> Vec<(&str, Vec<&str>)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some(begins) = rest.find(|c: char| c.is_ascii_lowercase()) {
        let word = &rest[begins..];
        let (name, after) = word.split_at(word.find(|c| !is_word(c)).unwrap_or(word.len()));
        rest = after;
        if ["portico_", "process_"].iter().any(|prefix| name.starts_with(prefix)) {
            let selectors = after.strip_prefix('{').and_then(|after| after.split_once('}')).map_or("", |(selectors, _)| selectors);
            let labels = selectors.split(',').filter_map(|selector| selector.split(['=', '!']).next());
            found.push((name, labels.map(str::trim).filter(|label| !label.is_empty()).collect()));
        }
    }
    found
}

/// The names of all series, with their labels.
fn all_series(metrics: &Metrics) -> BTreeMap<String, &'static [&'static str]> {
    let mut series = BTreeMap::new();
    for metric in metrics.descriptions() {
        let suffixes: &[&str] = if metric.kind.as_str() == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        series.extend(suffixes.iter().map(|suffix| (format!("{}{suffix}", metric.name), metric.labels)));
    }
    series
}

/// The names in `expressions` that no metric has, and the labels that their metrics do not have.
fn unknown(expressions: &[&str], metrics: &Metrics) -> Vec<String> {
    let series = all_series(metrics);
    let mut unknown = Vec::new();
    for (name, labels) in expressions.iter().flat_map(|expression| named(expression)) {
        let Some(known) = series.get(name) else {
            unknown.push(name.to_owned());
            continue;
        };
        let missing = labels.iter().filter(|label| !known.contains(label) && !OF_PROMETHEUS.contains(label));
        unknown.extend(missing.map(|label| format!("{name}{{{label}}}")));
    }
    unknown
}

/// The expressions of the dashboard.
fn shown(dashboard: &Value) -> Vec<&str> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    targets.map(|target| target["expr"].as_str().unwrap()).collect()
}

/// The anchors of the headings of a page.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings.map(|heading| heading.to_lowercase().replace(' ', "-")).collect()
}

#[tokio::test]
async fn dashboard_and_alerts_name_metrics_that_exist() {
    let metrics = Metrics::new(World::new().await.state.clone());
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let shown = shown(&dashboard);
    assert!(shown.len() > 40 && named(ALERTS).len() > 20, "the expressions were found");
    assert_eq!(unknown(&shown, &metrics), Vec::<String>::new());
    assert_eq!(unknown(&[ALERTS], &metrics), Vec::<String>::new());
    let planted = r#"rate(portico_cakes_total[5m]) + portico_group_size + portico_texts_total{taste="plum", instance=~"a"}"#;
    assert_eq!(unknown(&[planted], &metrics), ["portico_cakes_total", "portico_group_size", "portico_texts_total{taste}"]);
}

#[tokio::test]
async fn a_counter_of_known_words_has_its_series_from_the_start() {
    let metrics = Metrics::new(World::new().await.state.clone());
    let text = metrics.render();
    let has_series = |name: &str| text.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
    let counters: Vec<_> = metrics.descriptions().into_iter().filter(|metric| metric.kind.as_str() == "counter").collect();
    assert!(counters.len() > 20);
    let missing: Vec<_> = counters.iter().filter(|metric| is_there_from_the_start(&metric.name) && !has_series(&metric.name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for (name, _) in NOT_FROM_THE_START {
        assert!(counters.iter().any(|metric| metric.name == name), "there is no counter {name}");
    }
    // The first pumping that is noticed, and the first sign-in for which a provider refuses the app, are increases.
    for series in [
        r#"portico_texts_total{verdict="pumping"}"#,
        r#"portico_identity_provider_failures_total{provider="idp_c",reason="credentials_refused"}"#,
    ] {
        assert!(text.lines().any(|line| line == format!("{series} 0")), "{series} in {text}");
    }
}

#[tokio::test]
async fn the_alerts_are_tested_with_the_series_as_the_program_makes_them() {
    let metrics = Metrics::new(World::new().await.state.clone());
    let (text, known) = (metrics.render(), all_series(&metrics));
    let tested: Vec<_> = TESTS.lines().filter_map(Tested::read).filter(|tested| tested.name.starts_with("portico_")).collect();
    assert_eq!(tested.len(), TESTS.matches("series: 'portico_").count(), "all of them were read");
    for tested in tested {
        let series = tested.series();
        let labels: Vec<_> = tested.labels.iter().map(|(name, _)| *name).collect();
        assert_eq!(known.get(tested.name).map(|labels| labels.to_vec()), Some(labels), "the labels of {series}");
        if !tested.name.ends_with("_total") {
            continue;
        }
        if is_there_from_the_start(tested.name) {
            assert!(text.lines().any(|line| line.rsplit_once(' ').is_some_and(|(name, _)| name == series)), "the program has no {series}");
            assert!(tested.values.starts_with('0'), "{series} begins with 0");
        } else {
            assert!(tested.values.starts_with("_ "), "{series} is absent at first");
        }
    }
}

#[test]
fn every_alert_is_tested_when_it_fires_and_when_it_does_not() {
    let fires = |name: &str| TESTS.split("- alertname: ").any(|test| test.lines().next() == Some(name) && test.contains("- exp_labels:"));
    for name in ALERTS.split("- alert: ").skip(1).filter_map(|alert| alert.lines().next()) {
        assert!(fires(name), "no test lets {name} fire");
        assert!(TESTS.contains(&format!("{{ alertname: {name}, eval_time: 50m, exp_alerts: [] }}")), "no test lets {name} be silent");
    }
}

#[test]
fn every_alert_leads_to_what_is_to_be_done() {
    let anchors = anchors(GUIDE);
    let alerts: Vec<_> = ALERTS.split("- alert: ").skip(1).collect();
    assert!(alerts.len() >= 15);
    for alert in alerts {
        let name = alert.lines().next().unwrap();
        let link =
            alert.lines().find_map(|line| line.trim().strip_prefix("runbook_url: ")).unwrap_or_else(|| panic!("{name} has no runbook"));
        let (page, anchor) = link.split_once('#').unwrap();
        assert_eq!((page, anchor), ("docs/operating.md", name.to_lowercase().as_str()));
        assert!(anchors.contains(anchor), "{name} is not in the guide");
        assert!(alert.contains("severity: critical") || alert.contains("severity: warning"), "{name}");
    }
    let listed = anchors.iter().filter(|anchor| anchor.starts_with("portico") && *anchor != "portico").count();
    assert_eq!(listed, ALERTS.matches("- alert: ").count(), "the guide has what no alert leads to");
}

#[test]
fn the_panels_of_the_dashboard_have_places_of_their_own() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut taken = BTreeSet::new();
    for panel in panels {
        let place = |side: &str| panel["gridPos"][side].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{panel}");
        for (x, y) in (place("x")..place("x") + place("w")).flat_map(|x| (place("y")..place("y") + place("h")).map(move |y| (x, y))) {
            assert!(taken.insert((x, y)), "something else is where {} is", panel["title"]);
        }
        for target in panel["targets"].as_array().into_iter().flatten() {
            assert_eq!(target["datasource"]["uid"], "${datasource}");
        }
    }
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    let variables: Vec<_> = dashboard["templating"]["list"].as_array().unwrap().iter().map(|variable| &variable["name"]).collect();
    assert_eq!(variables, ["datasource", "instance"]);
}

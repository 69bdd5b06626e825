//! What `ops` ships: the dashboard and the alerts name metrics that exist, and every alert leads to what is to be done.

use std::collections::{BTreeMap, BTreeSet};

use portico::app::Metrics;
use serde_json::Value;

use crate::support::World;

const ALERTS: &str = include_str!("../../../ops/prometheus/alerts.yml");
const DASHBOARD: &str = include_str!("../../../ops/grafana/portico.json");
const GUIDE: &str = include_str!("../../../docs/operating.md");

/// The labels that Prometheus adds.
const OF_PROMETHEUS: [&str; 3] = ["job", "instance", "le"];

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

/// The names in `expressions` that no metric has, and the labels that their metrics do not have.
fn unknown(expressions: &[&str], metrics: &Metrics) -> Vec<String> {
    let mut series = BTreeMap::new();
    for metric in metrics.descriptions() {
        let suffixes: &[&str] = if metric.kind.as_str() == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        series.extend(suffixes.iter().map(|suffix| (format!("{}{suffix}", metric.name), metric.labels)));
    }
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

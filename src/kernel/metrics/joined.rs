//! The texts of several registries as one: those of parts that a process has more than once, told apart by a label.

use std::collections::HashMap;

/// What a text ends with.
const END: &str = "# EOF\n";

/// Joins texts in the format of OpenMetrics. A label (name and value) is added to every series of its text. The series of a metric stand
/// together, as the format wants it, whatever text they come from.
pub fn joined(texts: &[(Option<(&str, &str)>, String)]) -> String {
    let (mut metrics, mut place) = (Vec::<(String, String)>::new(), HashMap::new());
    for (label, text) in texts {
        let mut at = None;
        for line in text.strip_suffix(END).unwrap_or(text).lines() {
            match line.strip_prefix("# ") {
                Some(comment) => {
                    let name = comment.split(' ').nth(1).unwrap_or_default().to_owned();
                    let known = *place.entry(name).or_insert_with(|| {
                        metrics.push((String::new(), String::new()));
                        metrics.len() - 1
                    });
                    let head = &mut metrics[known].0;
                    // Its `# HELP` and `# TYPE`, once.
                    if !head.lines().any(|said| said == line) {
                        head.extend([line, "\n"]);
                    }
                    at = Some(known);
                }
                None => {
                    let series = label.map_or_else(|| line.to_owned(), |label| labelled(line, label));
                    metrics[at.expect("a series stands behind its comments")].1.extend([series.as_str(), "\n"]);
                }
            }
        }
    }
    metrics.into_iter().flat_map(|(head, series)| [head, series]).chain([END.to_owned()]).collect()
}

/// `name{a="b"} 1` with another label.
fn labelled(line: &str, (name, value): (&str, &str)) -> String {
    let end_of_name = line.find(['{', ' ']).unwrap_or(line.len());
    let (metric, rest) = line.split_at(end_of_name);
    match rest.strip_prefix('{') {
        Some(labels) if labels.starts_with('}') => format!("{metric}{{{name}=\"{value}\"{labels}"),
        Some(labels) => format!("{metric}{{{name}=\"{value}\",{labels}"),
        None => format!("{metric}{{{name}=\"{value}\"}}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_of_a_metric_stand_together() {
        let process = "# HELP up Up.\n# TYPE up gauge\nup 1\n# EOF\n".to_owned();
        let of_a =
            "# HELP sent Sent.\n# TYPE sent counter\nsent_total 1\n# HELP lane Lanes.\n# TYPE lane gauge\nlane{lane=\"a\"} 2\n# EOF\n";
        let of_b = of_a.replace(" 1\n", " 3\n").replace(" 2\n", " 4\n");
        let text = joined(&[(None, process), (Some(("cell", "main")), of_a.to_owned()), (Some(("cell", "b")), of_b)]);
        let expected = "# HELP up Up.\n# TYPE up gauge\nup 1\n\
                        # HELP sent Sent.\n# TYPE sent counter\nsent_total{cell=\"main\"} 1\nsent_total{cell=\"b\"} 3\n\
                        # HELP lane Lanes.\n# TYPE lane gauge\nlane{cell=\"main\",lane=\"a\"} 2\nlane{cell=\"b\",lane=\"a\"} 4\n# EOF\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_only_text_stays_as_it_is() {
        let text = "# HELP up Up.\n# TYPE up gauge\nup 1\n# EOF\n".to_owned();
        assert_eq!(joined(&[(None, text.clone())]), text);
    }
}

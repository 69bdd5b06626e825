//! Bars beside one another, drawn in a box of 100 units in height and ten for each bar.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::console::shell::Ui;

/// The height of the box.
const HEIGHT: f64 = 100.0;
/// The width of a bar, with the gap to the next one.
const STRIDE: usize = 10;
/// The least height of what is not nothing.
const MIN_HEIGHT: f64 = 2.0;

/// What a bar stands for.
#[derive(Clone, Debug)]
pub struct Value {
    /// What it is about, such as an hour.
    pub about: String,
    /// The part in the colour of the chart.
    pub plain: f64,
    /// The part above it, in the colour of failures.
    pub failed: f64,
    /// What the bar says when it is pointed at.
    pub sentence: String,
    /// The numbers for the table, without what it is about.
    pub cells: Vec<String>,
}

#[derive(Clone, Debug)]
struct Bar {
    /// Where the column of the bar begins, and the bar in it.
    column: usize,
    x: usize,
    plain: Part,
    failed: Part,
    sentence: String,
}

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    y: f64,
    height: f64,
}

fn draw(values: &[Value]) -> Vec<Bar> {
    let highest = values.iter().map(|value| value.plain + value.failed).fold(0.0, f64::max);
    let height = |part: f64| if part > 0.0 { (part / highest * (HEIGHT - MIN_HEIGHT)).max(MIN_HEIGHT) } else { 0.0 };
    let bar = |(index, value): (usize, &Value)| {
        let (plain, failed) = (height(value.plain), height(value.failed));
        Bar {
            column: index * STRIDE,
            x: index * STRIDE + 1,
            plain: Part { y: HEIGHT - plain, height: plain },
            failed: Part { y: HEIGHT - plain - failed, height: failed },
            sentence: value.sentence.clone(),
        }
    };
    values.iter().enumerate().map(bar).collect()
}

/// A chart with its heading and its table.
#[derive(Template)]
#[template(path = "charts/chart.html")]
pub struct Chart {
    ui: Ui,
    heading: &'static str,
    /// The highest bar, in words.
    most: String,
    /// What the columns of the table are.
    columns: Vec<&'static str>,
    values: Vec<Value>,
    bars: Vec<Bar>,
    width: usize,
}

impl Chart {
    /// A chart of `values`; `most` tells its highest bar, `columns` the cells of the table.
    pub fn new(ui: &Ui, heading: &'static str, most: String, columns: Vec<&'static str>, values: Vec<Value>) -> Self {
        Self { ui: ui.clone(), heading, most, columns, bars: draw(&values), width: values.len() * STRIDE, values }
    }

    fn first(&self) -> &str {
        self.values.first().map_or("", |value| &value.about)
    }

    fn last(&self) -> &str {
        self.values.last().map_or("", |value| &value.about)
    }
}

/// A chart in a row, without anything beside it.
#[derive(Template)]
#[template(path = "charts/sparkline.html")]
pub struct Sparkline {
    /// What it shows, in words.
    label: String,
    bars: Vec<Bar>,
    width: usize,
}

impl Sparkline {
    /// A small chart of `values` that `label` sums up.
    pub fn new(label: String, values: &[Value]) -> Self {
        Self { label, bars: draw(values), width: values.len() * STRIDE }
    }
}

/// Templates escape what they show.
impl HtmlSafe for Chart {}
impl HtmlSafe for Sparkline {}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(plain: f64, failed: f64) -> Value {
        Value { about: String::new(), plain, failed, sentence: String::new(), cells: Vec::new() }
    }

    #[test]
    fn the_highest_bar_fills_the_box_and_a_single_failure_is_seen() {
        let bars = draw(&[value(999.0, 1.0), value(0.0, 0.0), value(0.0, 500.0)]);
        assert!(bars[0].failed.height >= MIN_HEIGHT && bars[0].failed.y >= 0.0, "{:?}", bars[0]);
        assert!((bars[0].plain.y - bars[0].failed.y - bars[0].failed.height).abs() < 1e-9, "failures are above the rest");
        assert!(bars[1].plain.height == 0.0 && bars[1].failed.height == 0.0);
        assert!((bars[2].failed.height - 49.0).abs() < 1e-9 && bars[2].failed.y + bars[2].failed.height == HEIGHT);
        assert_eq!((bars[2].column, bars[2].x), (20, 21));
    }
}

//! The colours of the console: WCAG 2.2, success criterion 1.4.3.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../../src/console/shell/style.css");

/// Contrast that text needs.
const ENOUGH: f64 = 4.5;

/// Contrast that charts need.
const ENOUGH_FOR_GRAPHICS: f64 = 3.0;

/// The colours that the first rule after `selector` defines.
fn colours(selector: &str) -> BTreeMap<&'static str, [u8; 3]> {
    let rule = STYLE.split_once(selector).unwrap().1.split('}').next().unwrap();
    let declarations = rule.split(['{', ';']).filter_map(|declaration| declaration.trim().strip_prefix("--")?.split_once(": #"));
    let channel = |hex: &str, index: usize| u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap();
    declarations.map(|(name, hex)| (name, [0, 1, 2].map(|index| channel(hex, index)))).collect()
}

/// The relative luminance, from 0 to 1.
fn luminance(colour: [u8; 3]) -> f64 {
    let linear = colour.map(|channel| {
        let share = f64::from(channel) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

#[test]
fn text_stands_out_from_what_is_behind_it_in_light_and_dark() {
    assert!((contrast([255; 3], [0; 3]) - 21.0).abs() < 1e-9);
    for theme in [":root {", ":root[data-theme=\"dark\"]"] {
        let colours = colours(theme);
        for text in ["text", "quiet", "accent", "good", "bad", "waiting", "off"] {
            for behind in ["page", "raised"] {
                let found = contrast(colours[text], colours[behind]);
                assert!(found >= ENOUGH, "{theme}: {text} on {behind} has {found:.2}");
            }
        }
        // WCAG 2.2, success criterion 1.4.11: bars of a chart are told from the page, and from failures above them by a word as well.
        for graphic in ["series", "bad"] {
            let found = contrast(colours[graphic], colours["page"]);
            assert!(found >= ENOUGH_FOR_GRAPHICS, "{theme}: {graphic} has {found:.2}");
        }
        let button = contrast(colours["on-accent"], colours["accent"]);
        assert!(button >= ENOUGH, "{theme}: the primary button has {button:.2}");
    }
}

#[test]
fn dark_by_the_system_and_by_choice_are_the_same() {
    assert_eq!(colours(":root:not([data-theme=\"light\"])"), colours(":root[data-theme=\"dark\"]"));
}

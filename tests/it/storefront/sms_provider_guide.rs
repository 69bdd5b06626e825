//! `docs/sms-providers.md` follows a provider through its files.

use std::fs;
use std::path::Path;

use crate::support::page::{files_listed, files_naming};

const PAGE: &str = include_str!("../../../docs/sms-providers.md");

#[test]
fn a_provider_takes_the_files_that_the_page_lists() {
    let spellings = ["mod vonage;", "vonage::Settings", "[sms.vonage]"];
    assert_eq!(files_naming(&["src", "config"], &spellings), files_listed(PAGE));
}

#[test]
fn the_files_contain_what_the_page_shows() {
    let sections: Vec<_> = PAGE.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), files_listed(PAGE).len());
    for section in sections {
        let (heading, rest) = section.split_once('\n').unwrap();
        let file = heading.split('`').nth(1).expect("the heading names a file");
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        let blocks = rest.split("\n```").skip(1).step_by(2).map(|block| block.split_once('\n').unwrap().1);
        for block in blocks {
            assert!(text.contains(block), "{file} does not contain\n{block}");
        }
    }
}

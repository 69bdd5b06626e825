//! Every step of a statement that stands in a file of its own has a story that fails without it: `steps.tsv` names them.
//!
//! A step is an expression of the `with` that the statement begins with. It may have several stories: of its conditions, its limits and its lock.
//! One that only names a result has a story of what is made of it.

use std::collections::BTreeSet;

use crate::architecture::sources::{Source, nesting, statement_files};
use crate::architecture::stories::is_test;

/// The file of a statement, one of its steps, and a story of that, in each line.
const TABLE: &str = include_str!("steps.tsv");

/// The names of the steps of a statement, in their order.
fn steps(sql: &str) -> Vec<&str> {
    let Some(begun) = behind("with", sql) else { return Vec::new() };
    let (mut rest, mut steps) = (behind("recursive", begun).unwrap_or(begun), Vec::new());
    loop {
        let (name, definition) = rest.split_once(" as ").expect("a step has a name");
        let name = name.split('(').next().unwrap_or_default();
        steps.push(name.trim());
        let (_, expression) = definition.split_once('(').expect("the expression of a step is in brackets");
        let mut depth = nesting('(', ')');
        let end = expression.find(|c| depth(c) < 0).expect("the brackets are closed");
        match expression[end + 1..].trim_start().strip_prefix(',') {
            Some(next) => rest = next,
            None => return steps,
        }
    }
}

/// What follows in a text that begins with this word.
fn behind<'a>(word: &str, text: &'a str) -> Option<&'a str> {
    text.trim_start().strip_prefix(word)?.strip_prefix(char::is_whitespace)
}

/// The lines of the table.
fn lines(table: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    table.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (file, rest) = line.split_once('\t').expect("a line begins with a file");
        let (step, story) = rest.split_once('\t').expect("a step stands before its story");
        (file, step, story)
    })
}

/// What is wrong with a table of these statements.
fn faults(files: &[Source], table: &str) -> Vec<String> {
    let taken: BTreeSet<_> =
        files.iter().flat_map(|file| steps(&file.text).into_iter().map(move |step| (file.path.as_str(), step))).collect();
    let listed: BTreeSet<_> = lines(table).map(|(file, step, _)| (file, step)).collect();
    let without = taken.difference(&listed).map(|(file, step)| format!("`{step}` of `{file}` has no story"));
    let unknown = listed.difference(&taken).map(|(file, step)| format!("`{file}` has no step `{step}`"));
    let missing = lines(table).filter(|(_, _, story)| !is_test(story)).map(|(_, _, story)| format!("there is no test `{story}`"));
    without.chain(unknown).chain(missing).collect()
}

#[test]
fn every_step_of_a_statement_has_a_story() {
    let files = statement_files();
    assert!(files.iter().map(|file| steps(&file.text).len()).sum::<usize>() > 60, "the steps are found");
    assert_eq!(faults(&files, TABLE), Vec::<String>::new());
}

#[test]
fn a_step_without_a_story_and_a_line_without_a_step_are_seen() {
    let sql = "with recursive\ndough as materialized (\n    select (1 + 2) as flour\n), oven (heat) as (\n    select 3 as heat\n)\n\
               select cake from (select 4 as cake) as baked, oven";
    assert_eq!(steps(sql), ["dough", "oven"]);
    assert_eq!(steps("select 1 as without"), [""; 0]);
    let files = [Source { path: "kitchen/bake.sql".to_owned(), text: sql.to_owned() }];
    let line = |step: &str, test: &str| format!("kitchen/bake.sql\t{step}\tarchitecture::steps::{test}\n");
    let story = "every_step_of_a_statement_has_a_story";
    let faults = |lines: &[String]| faults(&files, &lines.concat());
    assert_eq!(faults(&[line("dough", story), line("dough", story), line("oven", story)]), [""; 0]);
    assert_eq!(faults(&[line("oven", story)]), ["`dough` of `kitchen/bake.sql` has no story"]);
    assert_eq!(faults(&[line("dough", story), line("oven", story), line("cake", story)]), ["`kitchen/bake.sql` has no step `cake`"]);
    assert_eq!(faults(&[line("dough", story), line("oven", "steps")]), ["there is no test `architecture::steps::steps`"]);
}

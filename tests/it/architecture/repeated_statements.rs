//! No SQL statement is written twice: two that differ only in the names of tables are one function with the table as a parameter.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::architecture::sources::{sources, statement_files};

/// Statements up to this many words are simpler than a function for all of them: `delete from codes where expires_at < $1`.
const SHORT: usize = 10;

/// The SQL of the `sqlx::query…` calls in a source file. Of a statement that stands in a file of its own, there is only the path.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    let calls = text.split("sqlx::query").skip(1).filter(|call| !call.starts_with("_file"));
    calls.filter_map(|call| {
        let (before, rest) = call.split_once('"')?;
        rest.split(if before.ends_with("r#") { "\"#" } else { "\"" }).next()
    })
}

fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|c: char| !(c.is_alphanumeric() || "_$".contains(c))).filter(|word| !word.is_empty())
}

/// The statement without the names of tables and without the names that it gives its columns; `None` if it is short.
fn shape(sql: &str, tables: &BTreeSet<&str>) -> Option<String> {
    let unnamed: String = sql.split('"').step_by(2).collect();
    let words: Vec<_> = words(&unnamed).map(|word| if tables.contains(word) { "table" } else { word }).collect();
    (words.len() > SHORT).then(|| words.join(" "))
}

/// The names of the tables and views that the migrations create.
fn tables(migrations: &str) -> BTreeSet<&str> {
    let words: Vec<_> = words(migrations).collect();
    words.windows(3).filter(|words| words[0] == "create" && ["table", "view"].contains(&words[1])).map(|words| words[2]).collect()
}

/// The statements that have the same shape, by that shape.
fn repeated<'a>(statements: impl Iterator<Item = &'a str>, tables: &BTreeSet<&str>) -> Vec<Vec<&'a str>> {
    let mut shapes = BTreeMap::<_, Vec<_>>::new();
    for sql in statements {
        if let Some(shape) = shape(sql, tables) {
            shapes.entry(shape).or_default().push(sql);
        }
    }
    shapes.into_values().filter(|same| same.len() > 1).collect()
}

#[test]
fn no_two_statements_differ_only_in_the_names_of_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let texts: Vec<_> = sources().into_iter().map(|source| source.text).collect();
    let migrations: String =
        fs::read_dir(root.join("migrations")).unwrap().map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect();
    let tables = tables(&migrations);
    assert!(tables.contains("orders") && tables.contains("subscriptions"), "{tables:?}");
    assert!(texts.iter().flat_map(|text| statements(text)).count() > 100);
    let files = statement_files();
    let all = texts.iter().flat_map(|text| statements(text)).chain(files.iter().map(|file| &*file.text));
    assert_eq!(repeated(all, &tables), Vec::<Vec<&str>>::new());
}

#[test]
fn a_repeated_statement_is_seen() {
    let tables = tables("create table orders (id uuid);\ncreate table payments (id uuid)");
    let select = |table: &str, more: &str| {
        format!(r##"sqlx::query!(r#"select id as "{table}!", status from {table} where company_id = $1 and customer_id = $2{more}"#, 7)"##)
    };
    let texts = [select("orders", ""), select("payments", ""), select("orders", " limit 1")];
    let repeated = |texts: &[String]| repeated(texts.iter().flat_map(|text| statements(text)), &tables).len();
    assert_eq!((repeated(&texts[..]), repeated(&texts[1..])), (1, 0));
}

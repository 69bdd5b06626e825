//! A short name for a statement: the verb and the table of what it changes, or else of what it reads.

/// Words that are the whole name of a statement that begins with them: what follows may be made at run time, such as the day of a partition.
const WITHOUT_TABLE: [&str; 8] = ["create", "alter", "drop", "lock", "set", "savepoint", "rollback", "release"];

/// The name of a statement, such as `insert events` or `select customers`. Statements that do the same to the same table share it. There are
/// few names, because the verbs, and the tables without the days of their partitions, are few.
pub fn statement_name(sql: &str) -> String {
    let words = words(sql);
    let first = words.first().map_or("nothing", |(_, word)| *word);
    if WITHOUT_TABLE.contains(&first) {
        return first.to_owned();
    }
    let changed = (0..words.len()).find_map(|at| changed_table(&words[at..], at.checked_sub(1).map(|before| words[before].1)));
    let read = || words.windows(2).find(|pair| pair[0].1 == "from" && follows(sql, &pair[0], &pair[1])).map(|pair| ("select", pair[1].1));
    match changed.or_else(read) {
        Some((verb, table)) => format!("{verb} {}", without_day(table)),
        None => first.to_owned(),
    }
}

/// The table that a statement changes whose words begin here.
fn changed_table<'a>(words: &[(usize, &'a str)], before: Option<&str>) -> Option<(&'static str, &'a str)> {
    let word = |at: usize| words.get(at).map(|(_, word)| *word);
    let table = |at: usize| word(at).filter(|word| *word != "only").or_else(|| word(at + 1));
    match (word(0)?, word(1)?) {
        ("insert", "into") => Some(("insert", table(2)?)),
        ("delete", "from") => Some(("delete", table(2)?)),
        // `for update`, `for no key update` and `do update` change nothing here.
        ("update", _) if !before.is_some_and(|before| ["for", "key", "do", "on"].contains(&before)) => Some(("update", table(1)?)),
        _ => None,
    }
}

/// Whether only spaces are between two words: no parenthesis of a subquery. What is called is no table.
fn follows(sql: &str, (begins, word): &(usize, &str), (next, called): &(usize, &str)) -> bool {
    sql[begins + word.len()..*next].chars().all(char::is_whitespace) && !sql[next + called.len()..].starts_with('(')
}

/// The words of a statement in lower case, each with its place. A comment has none.
fn words(sql: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let (mut begins, mut is_comment) = (None, false);
    for (place, c) in sql.char_indices().chain([(sql.len(), ' ')]) {
        is_comment = c != '\n' && (is_comment || sql[place..].starts_with("--"));
        match (begins, is_word(c) && !is_comment) {
            (None, true) => begins = Some(place),
            (Some(from), false) => {
                words.push((from, &sql[from..place]));
                begins = None;
            }
            _ => {}
        }
    }
    words
}

/// The name of the table that a partition is of: `events` for `events_20260521_kept`.
fn without_day(table: &str) -> &str {
    let digits = table.find(|c: char| c.is_ascii_digit()).unwrap_or(table.len());
    table[..digits].trim_end_matches('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_called_after_what_it_changes_or_else_reads() {
        for (sql, name) in [
            ("select id from cakes where id = $1", "select cakes"),
            ("select extract(epoch from now()), (select 1 from unnest($1) limit 1) from plates for update", "select plates"),
            ("with new as (select unnest($1)), event as (\n  insert into guests (id) select id from new) select 1", "insert guests"),
            ("insert into forks values ($1) on conflict do update set digest = $1", "insert forks"),
            ("select from knives where id = $1 for no key update", "select knives"),
            ("with a as (select id from spoons for update), b as (update only knives set x = 1) delete from spoons", "update knives"),
            ("delete from guests_20260521_kept where id < $1", "delete guests"),
            (
                "-- Drop what is old:\n-- delete from plates\nwith a as (\n  -- then update some\n  delete from cups)\nselect 1",
                "delete cups",
            ),
            ("select id from bowls -- update", "select bowls"),
            ("create table guests_20260521 partition of guests", "create"),
            ("select pg_notify($1, '')", "select"),
            ("select count(*) from (select 1 from ovens limit 9) as some", "select ovens"),
            ("with a as (\n  -- delete from knives\n  select from spoons -- lock them\n) insert into forks values ($1)", "insert forks"),
            ("begin", "begin"),
            ("savepoint inner_2", "savepoint"),
            ("", "nothing"),
        ] {
            assert_eq!(statement_name(sql), name, "{sql}");
        }
    }
}

//! The settings of a session. A server gets them with the first message of a connection. A pooler in session mode may drop them from it,
//! whereupon they are set by a statement. Behind one in transaction mode each transaction begins by setting them for itself.

use sqlx::postgres::PgConnectOptions;
use sqlx::{Executor, Postgres};

/// A setting that says that the server got the others.
pub(super) const MARK: (&str, &str) = ("portico.session", "set");

/// Sets what `options` ask for.
pub(super) async fn set<'c>(conn: impl Executor<'c, Database = Postgres>, options: &PgConnectOptions) -> Result<(), sqlx::Error> {
    let (names, values): (Vec<_>, Vec<_>) = asked(options).into_iter().unzip();
    sqlx::query("select set_config(name, value, false) from unnest($1::text[], $2::text[]) as setting (name, value)")
        .bind(names)
        .bind(values)
        .execute(conn)
        .await
        .map(drop)
}

/// A command that sets for the rest of a transaction what `options` ask for.
pub(super) fn set_locally(options: &PgConnectOptions) -> String {
    let asked = asked(options);
    // The connection between the server and the pooler is an affair of those two.
    let of_statements = asked.iter().filter(|(name, _)| *name != MARK.0 && !name.starts_with("tcp_"));
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let set = of_statements.map(|(name, value)| format!("set_config({}, {}, true)", quoted(name), quoted(value)));
    format!("select {}", set.collect::<Vec<_>>().join(", "))
}

/// What the options ask for: names and values.
pub(super) fn asked(options: &PgConnectOptions) -> Vec<(String, String)> {
    options.get_options().map(settings).unwrap_or_default()
}

/// The settings in the words of a command line, in which a backslash takes the meaning of a space: `-c timezone=UTC`.
fn settings(options: &str) -> Vec<(String, String)> {
    let (mut words, mut chars) = (vec![String::new()], options.chars());
    while let Some(c) = chars.next() {
        match c {
            ' ' => words.push(String::new()),
            '\\' => words.last_mut().expect("there is always one").extend(chars.next()),
            _ => words.last_mut().expect("there is always one").push(c),
        }
    }
    let named = words.iter().filter_map(|word| word.split_once('='));
    named.map(|(name, value)| (name.trim_start_matches("--").trim_start_matches("-c").to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_are_written() {
        let asked = [("search_path", "shop_a"), ("application_name", r"a \ b=c"), ("jit", "off")];
        let options = PgConnectOptions::new_without_pgpass().options(asked);
        let expected: Vec<_> = asked.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(settings(options.get_options().unwrap()), expected);
        assert_eq!(settings("--jit=off -cgeqo=on"), [("jit".to_owned(), "off".to_owned()), ("geqo".to_owned(), "on".to_owned())]);
    }

    #[test]
    fn a_transaction_sets_what_concerns_its_statements() {
        let asked = [MARK, ("search_path", "it's, public"), ("tcp_user_timeout", "8s"), ("jit", "off")];
        let set = set_locally(&PgConnectOptions::new_without_pgpass().options(asked));
        assert_eq!(set, "select set_config('search_path', 'it''s, public', true), set_config('jit', 'off', true)");
    }
}

//! The kinds of records that have a command, and the operations on each, by the names that they have on the command line.

use std::sync::LazyLock;

use crate::cli::docs;
use crate::config::Config;
use crate::handbook::{Handbook, Operation};

/// A kind of record that has a command.
#[derive(Debug)]
pub struct Kind {
    /// The name of the command.
    pub command: &'static str,
    /// What its help says.
    pub about: &'static str,
    /// Namespace and path of the routes.
    routes: (&'static str, &'static str),
    /// What a list shows unless other columns are asked for.
    pub columns: &'static [&'static str],
}

pub const KINDS: &[Kind] = &[
    Kind {
        command: "webhook",
        about: "Webhooks of a running service",
        routes: ("developers", "webhooks"),
        columns: &["id", "url", "events", "status", "created_at"],
    },
    Kind {
        command: "event",
        about: "Events of a running service",
        routes: ("developers", "events"),
        columns: &["id", "event", "subject", "sequence", "created_at"],
    },
    Kind {
        command: "delivery",
        about: "Deliveries of a running service",
        routes: ("developers", "deliveries"),
        columns: &["id", "webhook_id", "event", "status", "attempt_count", "created_at"],
    },
    Kind {
        command: "replay",
        about: "Replays of a running service",
        routes: ("developers", "replays"),
        columns: &["id", "webhook_id", "status", "count", "made", "created_at"],
    },
    Kind {
        command: "gateway",
        about: "Accounts at payment gateways",
        routes: ("ledger", "gateways"),
        columns: &["id", "name", "driver", "status", "created_at"],
    },
    Kind {
        command: "callback",
        about: "Callbacks of payment gateways to a running service",
        routes: ("ledger", "callbacks"),
        columns: &["id", "gateway", "type", "status", "reason", "created_at"],
    },
    Kind {
        command: "payment",
        about: "Payments of a running service",
        routes: ("ledger", "payments"),
        columns: &["id", "gateway_transaction_id", "kind", "status", "amount", "currency", "created_at"],
    },
    Kind {
        command: "identity-provider",
        about: "Identity providers of a company, in place of those of the deployment",
        routes: ("storefront", "identity-providers"),
        columns: &["id", "name", "status", "audiences", "created_at"],
    },
    Kind {
        command: "registration-hook",
        about: "Servers of a company that are asked before a customer registers",
        routes: ("storefront", "registration-hooks"),
        columns: &["id", "store", "url", "status", "on_failure", "created_at"],
    },
    Kind {
        command: "message-provider",
        about: "What a company's texts and mails are sent by, in place of the providers of the deployment",
        routes: ("storefront", "message-providers"),
        columns: &["id", "channel", "kind", "status", "created_at"],
    },
    Kind {
        command: "message-wording",
        about: "What a company's texts and mails say, in place of the words of the deployment",
        routes: ("storefront", "message-wordings"),
        columns: &["id", "language", "created_at"],
    },
    Kind {
        command: "changes",
        about: "The audit trail of a running service: who changed what",
        routes: ("developers", "changes"),
        columns: &["created_at", "action", "kind", "record", "fields", "caller", "caller_id"],
    },
];

/// What the service says of itself with the default settings: nothing of these kinds depends on them.
static HANDBOOK: LazyLock<Handbook> = LazyLock::new(|| {
    let mut config = Config::with(&[]).expect("the defaults are complete");
    config.extensions = config.extensions.without_files();
    docs::handbook(&config).expect("a service with the default settings can be described")
});

impl Kind {
    /// The kind with this command.
    pub fn of(command: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.command == command)
    }

    /// The operations on its records. Those that are neither on all of them nor on one have no command.
    pub fn actions(&'static self) -> impl Iterator<Item = Action> {
        let operations = HANDBOOK.contents().operations().map(|(_, _, operation)| operation);
        operations.filter_map(move |operation| Some(Action { name: self.name_of(operation)?, kind: self, operation }))
    }

    fn name_of(&self, operation: &Operation) -> Option<String> {
        let (namespace, plural) = self.routes;
        let rest = operation.path.strip_prefix(&format!("/{namespace}/int/v1/{plural}"))?;
        let name = match (operation.method.as_str(), &rest.split('/').skip(1).collect::<Vec<_>>()[..]) {
            ("GET", []) => "list",
            ("POST", []) if self.command == "event" => "publish",
            ("POST", []) => "create",
            ("GET", [id]) if is_id(id) => "show",
            ("PUT", [id]) if is_id(id) => "update",
            ("DELETE", [id]) if is_id(id) => "delete",
            (_, [id, action]) if is_id(id) => action,
            _ => return None,
        };
        Some(name.to_owned())
    }
}

fn is_id(part: &str) -> bool {
    part.starts_with('{')
}

/// An operation on records of a kind.
#[derive(Clone, Debug)]
pub struct Action {
    pub name: String,
    pub kind: &'static Kind,
    pub operation: &'static Operation,
}

impl Action {
    /// Whether it answers with several records, page by page.
    pub fn is_list(&self) -> bool {
        self.name == "list"
    }

    /// The member of a list's answer that has the records.
    pub fn plural(&self) -> String {
        self.kind.routes.1.replace('-', "_")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_commands_are_the_operations_of_the_api() {
        let names = |command| Kind::of(command).unwrap().actions().map(|action| action.name).collect::<Vec<_>>();
        for name in ["list", "create", "show", "update", "delete", "test", "rotate-secret", "pause", "resume", "secret", "replay"] {
            assert!(names("webhook").contains(&name.to_owned()), "{name}");
        }
        for (command, some) in [("event", "publish"), ("delivery", "replay"), ("gateway", "list"), ("callback", "process")] {
            assert!(names(command).contains(&some.to_owned()), "{command} {some}");
        }
        assert_eq!(names("changes"), ["list", "show"]);
    }

    #[tokio::test]
    async fn the_columns_of_lists_are_fields_of_the_records() {
        for kind in KINDS {
            let list = kind.actions().find(Action::is_list).unwrap();
            let records = list.operation.answers[0].fields.iter().find(|field| field.name == list.plural()).unwrap();
            for column in kind.columns {
                assert!(records.members.iter().any(|field| field.name == *column), "{} {column}", kind.command);
            }
        }
    }
}

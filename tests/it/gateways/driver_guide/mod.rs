//! The driver of `docs/gateway-drivers.md`, as the page shows it, and the files that a driver takes.

mod northpay;

use portico::gateways::drivers;
use sqlx::query_scalar;

use crate::support::World;
use crate::support::page::{block, files_listed, files_naming};

mod gateways {
    pub use portico::gateways::{GatewaySigningSecret, drivers, facts, money};
}

mod kernel {
    pub use portico::kernel::crypto;
}

const PAGE: &str = include_str!("../../../../docs/gateway-drivers.md");

#[test]
fn the_page_shows_the_code_that_is_tested() {
    assert_eq!(block(PAGE, "rust").replace("crate::", "super::"), include_str!("northpay.rs"));
}

#[test]
fn a_driver_takes_the_files_that_the_page_lists() {
    // `manual` is a driver like that of the page.
    let mut listed: Vec<_> = files_listed(PAGE).into_iter().map(|file| file.replace("northpay", "manual")).collect();
    listed.sort_unstable();
    let spellings = ["mod manual;", "manual::", "\"manual\"", "`manual`"];
    assert_eq!(files_naming(&["src", "config", "docs/gateways.md"], &spellings), listed);
}

#[tokio::test]
async fn no_constraint_of_the_database_repeats_the_drivers() {
    let world = World::new().await;
    for name in drivers::names() {
        let sql = "select count(*) from pg_constraint where conrelid = 'gateways'::regclass and pg_get_constraintdef(oid) like $1";
        let repeated: i64 = query_scalar(sql).bind(format!("%'{name}'%")).fetch_one(&world.pool).await.unwrap();
        assert_eq!(repeated, 0, "{name}");
    }
}

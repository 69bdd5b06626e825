//! What happens beside a move: it fails or is killed, requests come late, deliveries are being cancelled.

use std::process::Stdio;
use std::time::Duration;

use chrono::TimeDelta;
use portico::app::{Move, Stuck};
use portico::companies::moving::{self, MoveError};
use portico::companies::{Deletion, DeletionError, Stage};
use portico::kernel::database::{MayBeConflict, Transaction};
use portico::webhooks;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;

use crate::platform::cells::two;
use crate::platform::companies::{fill, rows};
use crate::platform::moving::{belongings, moved, stages, the_move};
use crate::support::World;
use crate::support::customers::{EMAIL, PASSWORD, login};
use crate::support::program::{ask_to_stop, portico, printed};
use crate::support::waiting::until;

/// Makes each commit fail that brings a move to a stage, in one of the cells.
async fn refuse_stage(world: &World, stage: &str) {
    let refuse = format!(
        "create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
         create constraint trigger refuse after insert or update on company_moves deferrable initially deferred
         for each row when (new.stage = '{stage}') execute function refuse()"
    );
    sqlx::raw_sql(AssertSqlSafe(refuse)).execute(&world.pool).await.unwrap();
}

async fn accept_stage(world: &World) {
    sqlx::raw_sql("drop trigger refuse on company_moves; drop function refuse").execute(&world.pool).await.unwrap();
}

/// A company that has everything in one cell, and its move to another one.
async fn shop(changes: &[(&str, &str)]) -> (World, World, Move) {
    let (a, b, _) = two(changes).await;
    fill(&a).await;
    let moving = the_move(&a, &b);
    (a, b, moving)
}

/// Lets the requests of the company wait, as a move does before it copies anything.
async fn freeze(moving: &Move) {
    let (conn, now) = (&mut moving.from.pool.acquire().await.unwrap(), moving.clock.now());
    webhooks::prepare_move(conn, moving.company, moving.to.name.as_str(), now).await.unwrap();
    assert!(webhooks::freeze_for_move(conn, moving.company, now).await.unwrap());
}

/// Copies the company that is leaving, and deletes it where it was. What requests of before write at the same moment is waited for, as a move does.
async fn transfer(moving: &Move) -> Result<(), MoveError> {
    loop {
        let (mut source, mut target) = (moving.from.pool.acquire().await?, moving.to.pool.acquire().await?);
        let (from, now) = (moving.from.name.as_str(), moving.clock.now());
        match moving::transfer(&mut source, &mut target, moving.company, from, now, &mut |_| {}).await {
            Err(error) if error.is_conflict() => {}
            ended => return ended,
        }
    }
}

#[tokio::test]
async fn a_move_that_fails_at_any_point_leaves_a_company_that_is_served_and_goes_on_later() {
    let (a, b, moving) = shop(&[]).await;
    let before = belongings(&a, a.company).await;
    let is_served = async || {
        a.pass(TimeDelta::seconds(2));
        login(&a, EMAIL, PASSWORD).await.ok(200);
    };
    // The old cell refuses to let requests wait, and the new one the copy; and the old one to delete it, after the new one has it.
    for (cell, stage) in [(&a, "leaving"), (&b, "arriving"), (&a, "left")] {
        refuse_stage(cell, stage).await;
        let refusal = moving.run(&mut |_, _| {}).await.unwrap_err();
        assert!(matches!(refusal, Stuck::Stays(_)), "{stage}: {refusal:?}");
        accept_stage(cell).await;
        assert_eq!(stages(&moving).await, (None, None), "{stage}");
        assert_eq!(a.count("select count(*) from endpoints where paused").await, 0, "{stage}");
        assert!(rows(&b, a.company).await.iter().all(|(_, count)| *count == 0), "{stage}");
        assert_eq!(b.count("select count(*) from companies").await, 1, "{stage}");
        is_served().await;
    }
    // A command that was killed between the two commits leaves a copy that does not count.
    freeze(&moving).await;
    refuse_stage(&a, "left").await;
    transfer(&moving).await.unwrap_err();
    accept_stage(&a).await;
    assert_eq!(stages(&moving).await, (Some(Stage::Leaving), Some(Stage::Arriving)));
    moving.undo().await.unwrap();
    assert_eq!(stages(&moving).await, (None, None));
    is_served().await;
    // One that was killed after them is finished by the next one, and not undone.
    freeze(&moving).await;
    transfer(&moving).await.unwrap();
    assert_eq!(stages(&moving).await, (Some(Stage::Left), Some(Stage::Arriving)));
    assert!(matches!(moving.undo().await, Err(Stuck::HasLeft)));
    refuse_stage(&b, "arrived").await;
    moving.run(&mut |_, _| {}).await.unwrap_err();
    accept_stage(&b).await;
    let report = moved(&moving).await;
    assert!(report.rows == 0 && report.log_rows > 0, "{report:?}");
    let signed_in = |rows: &[(&'static str, i64)]| rows.iter().filter(|(table, _)| !table.contains("sign_in")).copied().collect::<Vec<_>>();
    let kept = |rows: &[(&'static str, i64)]| {
        signed_in(rows)
            .into_iter()
            .filter(|(table, _)| !["customer_tokens", "seen_devices", "known_clients"].contains(table))
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(&belongings(&b, a.company).await), kept(&before));
    is_served().await;
}

/// Makes the commit wait that brings a move to the stage `left`, until this transaction ends.
async fn hold_up_leaving(world: &World) -> Transaction<'static> {
    let hold_up = "create table gate as select 1 as one;
                   create function wait() returns trigger language plpgsql as $$ begin perform from gate for update; return null; end $$;
                   create constraint trigger wait after update on company_moves deferrable initially deferred
                   for each row when (new.stage = 'left') execute function wait()";
    sqlx::raw_sql(hold_up).execute(&world.pool).await.unwrap();
    let mut gate = world.hold().await;
    sqlx::query("select from gate for update").execute(&mut *gate).await.unwrap();
    gate
}

#[tokio::test]
async fn who_goes_back_or_moves_again_while_a_company_leaves_waits_and_finds_that_it_has_left() {
    // On a busy machine it takes a while until all wait.
    let (a, b, moving) = shop(&[("database.statement_timeout", "1m")]).await;
    let before = belongings(&a, a.company).await;
    freeze(&moving).await;
    let gate = hold_up_leaving(&a).await;
    let others = async {
        until("the new cell has the copy", async || stages(&moving).await == (Some(Stage::Leaving), Some(Stage::Arriving))).await;
        let opens = async {
            until("all wait", async || a.waiting_for_a_lock().await == 3).await;
            gate.rollback().await.unwrap();
        };
        tokio::join!(moving.undo(), moved(&moving), opens)
    };
    let (left, (undone, report, ())) = tokio::join!(transfer(&moving), others);
    left.unwrap();
    assert!(matches!(undone, Err(Stuck::HasLeft)), "{undone:?}");
    assert!(report.log_rows > 0, "{report:?}");
    assert_eq!(belongings(&b, a.company).await, before);
    assert!(rows(&a, a.company).await.iter().all(|(_, count)| *count == 0));
}

#[tokio::test]
async fn while_the_new_cell_is_away_a_company_goes_back_and_its_copy_does_not_count() {
    let (a, b, moving) = shop(&[]).await;
    freeze(&moving).await;
    refuse_stage(&a, "left").await;
    transfer(&moving).await.unwrap_err();
    accept_stage(&a).await;

    let company = a.company.to_string();
    let away = "postgres://127.0.0.1:1/away";
    let settings = [("database.url", a.database.as_str()), ("database.cells.b.url", away), ("application_key", &a.application_key_setting)];
    let said = portico(&["company", "move", &company, "--to", "b", "--undo"], &settings).output().await.unwrap();
    let (told, complaint) = (String::from_utf8(said.stdout).unwrap(), String::from_utf8(said.stderr).unwrap());
    assert!(said.status.success() && told.contains("main") && complaint.contains("The cell b is away"), "{told}{complaint}");
    assert_eq!(stages(&moving).await, (None, Some(Stage::Arriving)));
    a.pass(TimeDelta::seconds(2));
    a.order(json!({})).await;
    assert_eq!(a.count("select count(*) from endpoints where paused").await, 0);

    let before = belongings(&a, a.company).await;
    moved(&moving).await;
    assert_eq!(belongings(&b, a.company).await, before);
}

#[tokio::test]
async fn a_command_that_is_interrupted_while_it_clears_the_old_cell_goes_on_later() {
    let (a, b, moving) = shop(&[]).await;
    let before = belongings(&a, a.company).await;
    let keep = "create function keep() returns trigger language plpgsql as $$ begin raise 'kept'; end $$;
                create trigger keep before delete on companies for each row execute function keep()";
    sqlx::raw_sql(keep).execute(&a.pool).await.unwrap();
    let report = moving.run(&mut |_, _| {}).await.unwrap();
    moving.clear(&report, Duration::ZERO, &mut |_, _| {}).await.unwrap_err();
    assert_eq!(stages(&moving).await, (Some(Stage::Left), None));
    assert!(matches!(moving.undo().await, Err(Stuck::HasLeft)));
    sqlx::raw_sql("drop function keep cascade").execute(&a.pool).await.unwrap();
    moved(&moving).await;
    assert_eq!((stages(&moving).await, a.count("select count(*) from companies").await), ((None, None), 0));
    assert_eq!(belongings(&b, a.company).await, before);
}

#[tokio::test]
async fn what_requests_of_before_add_at_last_is_sent_before_the_old_cell_is_cleared() {
    let (a, b, moving) = shop(&[]).await;
    // Rows of which one refers to the other.
    a.order(json!({})).await;
    let prepare = "create table late_orders as select * from orders limit 1;
                   update late_orders set id = gen_random_uuid(), tracking_number = 'LATE', internal_id = null,
                                          driver_id = null, vehicle_id = null, customer_id = null;
                   create table late_numbers as select * from tracking_numbers limit 1;
                   update late_numbers set id = gen_random_uuid(), tracking_number = 'LATE', order_id = (select id from late_orders)";
    sqlx::raw_sql(prepare).execute(&a.pool).await.unwrap();
    let report = moving.run(&mut |_, _| {}).await.unwrap();
    assert_eq!(stages(&moving).await, (Some(Stage::Left), None));
    let late = a.publish_for(a.company, "driver.online").await;
    let add = "insert into orders select * from late_orders; insert into tracking_numbers select * from late_numbers";
    sqlx::raw_sql(add).execute(&a.pool).await.unwrap();
    moving.clear(&report, Duration::ZERO, &mut |_, _| {}).await.unwrap();
    a.pass(TimeDelta::seconds(2));
    a.get(&format!("events/{late}")).await;
    assert_eq!(a.count("select count(*) from events").await + a.count("select count(*) from outbox").await, 0);
    assert_eq!(
        b.count("select count(*) from tracking_numbers join orders on orders.id = order_id where orders.tracking_number = 'LATE'").await,
        1
    );
}

#[tokio::test]
async fn who_prepared_a_move_that_was_undone_meanwhile_does_not_let_requests_wait() {
    let (a, b, _) = two(&[]).await;
    let moving = the_move(&a, &b);
    let (conn, now) = (&mut a.pool.acquire().await.unwrap(), a.clock.now());
    webhooks::prepare_move(conn, a.company, "b", now).await.unwrap();
    moving.undo().await.unwrap();
    assert!(!webhooks::freeze_for_move(conn, a.company, now).await.unwrap());
    assert_eq!(a.count("select count(*) from companies where suspended_at is not null").await, 0);
    // Neither does one that comes late undo what has left.
    freeze(&moving).await;
    transfer(&moving).await.unwrap();
    assert!(!webhooks::freeze_for_move(conn, a.company, now).await.unwrap());
    assert_eq!(stages(&moving).await, (Some(Stage::Left), Some(Stage::Arriving)));
    assert!(matches!(Deletion::begin(conn, a.company).await, Err(DeletionError::Moves)));
}

#[tokio::test]
async fn a_command_that_is_stopped_goes_back_and_one_that_was_killed_is_undone_by_another() {
    let (a, b, _) = two(&[]).await;
    a.order(json!({})).await;
    let settings =
        [("database.url", a.database.as_str()), ("database.cells.b.url", &b.database), ("application_key", &a.application_key_setting)];
    let (company, moving) = (a.company.to_string(), the_move(&a, &b));
    let go = ["company", "move", company.as_str(), "--to", "b", "--grace", "0"];
    // The command cannot delete what it has copied while somebody reads an order in order to change it.
    let held_up = async || {
        let mut reader = a.hold().await;
        sqlx::query("select from orders for update").execute(&mut *reader).await.unwrap();
        let command = portico(&go, &settings).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        a.somebody_waits().await;
        (command, reader)
    };
    let is_served = async || {
        a.pass(TimeDelta::seconds(2));
        a.order(json!({})).await;
    };

    let (command, reader) = held_up().await;
    ask_to_stop(&command);
    let output = command.wait_with_output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("interrupted: Acme stays in the cell main"), "{said}");
    reader.rollback().await.unwrap();
    assert_eq!(stages(&moving).await, (None, None));
    is_served().await;

    let (mut command, reader) = held_up().await;
    command.kill().await.unwrap();
    reader.rollback().await.unwrap();
    assert_eq!(stages(&moving).await, (Some(Stage::Leaving), None));
    let listed: Value = serde_json::from_str(&printed(&["company", "list", "--json"], &settings).await).unwrap();
    let acme = listed["companies"].as_array().unwrap().iter().find(|listed| listed["id"] == company).unwrap();
    assert_eq!((&acme["cell"], &acme["moves"]), (&json!("main"), &json!("leaving b")), "{listed}");
    printed(&[&go[..], &["--undo"]].concat(), &settings).await;
    assert_eq!(stages(&moving).await, (None, None));
    is_served().await;

    let moved: Value = serde_json::from_str(&printed(&[&go[..], &["--json"]].concat(), &settings).await).unwrap();
    assert_eq!(moved["company"]["cell"], "b", "{moved}");
    is_served().await;
}

#[tokio::test]
async fn what_a_late_request_changes_or_adds_moves_too() {
    let (a, b, _) = two(&[]).await;
    let (receiver, _) = a.subscriber("shop.test").await;
    let order = a.order(json!({})).await;
    let moving = the_move(&a, &b);
    freeze(&moving).await;
    // A request that was admitted before has changed the order, and commits while the order is being deleted.
    let mut late = a.hold().await;
    sqlx::query("update orders set notes = 'late'").execute(&mut *late).await.unwrap();
    let commits = async {
        a.somebody_waits().await;
        late.commit().await.unwrap();
    };
    let (report, ()) = futures::join!(moved(&moving), commits);
    assert!(report.rows > 0);
    let notes: String = sqlx::query_scalar("select notes from orders").fetch_one(&b.pool).await.unwrap();
    assert_eq!(notes, "late", "{order}");

    // Another one is published after the company has left.
    let moving = Move { from: the_move(&a, &b).to, to: the_move(&a, &b).from, ..the_move(&a, &b) };
    freeze(&moving).await;
    transfer(&moving).await.unwrap();
    let late = b.publish_for(a.company, "driver.online").await;
    b.fan_out().await;
    moved(&moving).await;
    a.pass(TimeDelta::seconds(2));
    a.deliver().await;
    let of_late = receiver.received().iter().filter(|post| post.header("x-service-event") == "driver.online").count();
    assert_eq!(of_late, 1, "{}", a.get("deliveries").await);
    a.get(&format!("events/{late}")).await;
    assert_eq!(b.count("select count(*) from outbox").await, 0);
}

#[tokio::test]
async fn what_is_being_cancelled_is_not_made_where_the_company_goes() {
    let (a, b, _) = two(&[]).await;
    let (receiver, webhook) = a.subscriber("shop.test").await;
    a.make_deliveries(3).await;
    assert_eq!(a.count("select count(*) from waiting").await, 3);
    let now = a.clock.now();
    let (mut source, mut target) = (a.pool.acquire().await.unwrap(), b.pool.acquire().await.unwrap());
    webhooks::prepare_move(&mut source, a.company, "b", now).await.unwrap();
    // The webhook is disabled before its company leaves, and the worker has not closed its deliveries.
    sqlx::query("update endpoints set cancelled_before = nextval('waiting_places')").execute(&a.pool).await.unwrap();
    webhooks::freeze_for_move(&mut source, a.company, now).await.unwrap();
    let refusal = moving::transfer(&mut source, &mut target, a.company, "main", now, &mut |_| {}).await.unwrap_err();
    assert!(matches!(refusal, MoveError::Cancelling), "{refusal}");
    drop((source, target));
    assert_eq!(b.count("select count(*) from waiting").await, 0);
    a.close_cancelled().await;
    moved(&the_move(&a, &b)).await;
    a.pass(TimeDelta::seconds(2));
    assert_eq!(b.deliver().await, 0);
    assert!(receiver.received().is_empty());
    let listed = a.get(&format!("deliveries?webhook={}", webhook["id"].as_str().unwrap())).await;
    let states: Vec<_> = listed["deliveries"].as_array().unwrap().iter().map(|delivery| delivery["status"].clone()).collect();
    assert_eq!(states, ["cancelled"; 3], "{listed}");
}

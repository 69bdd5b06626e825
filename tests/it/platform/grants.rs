//! What the command line can do asks for the caller's grant, so that it is safe in the hands of any other caller.

use chrono::TimeDelta;
use portico::callers::{Caller, Grant, Scope, Who};
use portico::contact::EmailAddress;
use portico::developers::{ApiKeyBody, ApiKeyRecord, SomeScopes, revoke_api_key, roll_api_key};
use portico::gateways::{Gateway, GatewayBody, SecretKey, drivers};
use portico::kernel::ids::{KeyId, OperatorId};
use portico::kernel::password_hashing::PasswordHashing;
use portico::kernel::problem::{Problem, ProblemCode};
use portico::operators::{
    CreateOperatorError, OperatorPassword, RemoveOperatorError, ResetOperatorError, Role, create_operator, remove_operator, reset_operator,
};
use portico::resources::{GracePeriod, IfMatch, Line, operations};
use portico::storefront::{StoreBody, StoreRecord, create_store_key, revoke_store_key};
use uuid::Uuid;

use crate::support::World;

fn line(text: &str) -> Line<255> {
    Line::try_from(text.to_owned()).unwrap()
}

/// Asserts that the caller lacks the scope.
#[track_caller]
fn refused<T: std::fmt::Debug>(what: Result<T, Problem>) {
    assert_eq!(what.unwrap_err().code(), ProblemCode::ScopeMissing);
}

/// Asserts that the caller has to prove again who they are.
#[track_caller]
fn stale_proof<T: std::fmt::Debug>(what: Result<T, Problem>) {
    assert_eq!(what.unwrap_err().code(), ProblemCode::FreshSignInRequired);
}

fn caller(world: &World, role: Role) -> Caller {
    let who = Who::Operator(OperatorId::from(Uuid::from_u128(7)));
    Caller { grant: role.grant(), who, ..Caller::command_line(world.company) }
}

#[tokio::test]
async fn a_caller_without_the_grant_changes_no_key_gateway_or_store() {
    let world = World::new().await;
    let key: Uuid = sqlx::query_scalar("select id from api_keys").fetch_one(&world.pool).await.unwrap();
    let store_key: Uuid = sqlx::query_scalar("select id from store_keys").fetch_one(&world.pool).await.unwrap();
    let gateway = world.card_gateway(world.company).await;
    let (companies, gateways, now) = (&world.state.companies, &world.state.gateways, world.clock.now());
    let secret_key = SecretKey::parse(&"sk_live_1234567890".into()).unwrap();
    let before = world.count("select count(*) from changes").await;
    let conn = &mut world.pool.acquire().await.unwrap();
    for role in [Role::Support, Role::Viewer] {
        let caller = &caller(&world, role);
        let body = ApiKeyBody::of(line("Reports"), SomeScopes::try_from(vec![Scope::Read]).unwrap());
        refused(operations::create::<ApiKeyRecord>(companies, caller, body).await);
        refused(roll_api_key(companies, caller, KeyId::from(key), GracePeriod::default()).await);
        refused(revoke_api_key(companies, caller, KeyId::from(key)).await);
        refused(create_store_key(conn, caller, world.store, now).await);
        refused(revoke_store_key(conn, caller, KeyId::from(store_key), now).await);
        let body = GatewayBody::of(drivers::named("card").unwrap(), line("Cards"), secret_key.clone());
        refused(operations::create::<Gateway>(gateways, caller, body).await);
        let body = GatewayBody::rotating(secret_key.clone());
        refused(operations::update::<Gateway>(gateways, caller, gateway, &IfMatch::default(), body).await);
    }
    refused(operations::create::<StoreRecord>(&world.state.stores, &caller(&world, Role::Viewer), StoreBody::named(line("Outlet"))).await);
    assert_eq!(world.count("select count(*) from changes").await, before);
}

#[tokio::test]
async fn an_operator_whose_proof_is_old_changes_no_key_and_no_gateway() {
    let world = World::new().await;
    let key: Uuid = sqlx::query_scalar("select id from api_keys").fetch_one(&world.pool).await.unwrap();
    let gateway = world.card_gateway(world.company).await;
    let (companies, gateways, now) = (&world.state.companies, &world.state.gateways, world.clock.now());
    let before = world.count("select count(*) from changes").await;
    let conn = &mut world.pool.acquire().await.unwrap();
    let owner = caller(&world, Role::Owner);
    let stale = &Caller { grant: Grant { needs_proof: true, ..owner.grant.clone() }, ..owner };
    let body = ApiKeyBody::of(line("Reports"), SomeScopes::try_from(vec![Scope::Read]).unwrap());
    stale_proof(operations::create::<ApiKeyRecord>(companies, stale, body).await);
    stale_proof(roll_api_key(companies, stale, KeyId::from(key), GracePeriod::default()).await);
    stale_proof(revoke_api_key(companies, stale, KeyId::from(key)).await);
    stale_proof(create_store_key(conn, stale, world.store, now).await);
    let body = GatewayBody::rotating(SecretKey::parse(&"sk_live_1234567890".into()).unwrap());
    stale_proof(operations::update::<Gateway>(gateways, stale, gateway, &IfMatch::default(), body).await);
    assert_eq!(world.count("select count(*) from changes").await, before);
    // Keys are listed all the same.
    assert!(operations::find::<ApiKeyRecord>(companies, stale, KeyId::from(key)).await.is_ok());
}

#[tokio::test]
async fn operators_are_managed_by_administrators_alone() {
    let world = World::new().await;
    let conn = &mut world.pool.acquire().await.unwrap();
    let (hashing, now) = (PasswordHashing::start(), world.clock.now());
    let email = EmailAddress::parse("ada@example.com").unwrap();
    let password = || OperatorPassword::parse(&"correct horse battery".into()).unwrap();
    for role in [Role::Support, Role::Viewer] {
        let refused = create_operator(conn, &hashing, &caller(&world, role), &email, password(), Role::Owner, now).await;
        assert!(matches!(refused, Err(CreateOperatorError::NotAllowed(_))), "{refused:?}");
    }
    let id = create_operator(conn, &hashing, &caller(&world, Role::Owner), &email, password(), Role::Viewer, now).await.unwrap();
    for role in [Role::Support, Role::Viewer] {
        let refused = remove_operator(conn, &caller(&world, role), &email, now).await;
        assert!(matches!(refused, Err(RemoveOperatorError::NotAllowed(_))), "{refused:?}");
    }
    assert_eq!(remove_operator(conn, &caller(&world, Role::Owner), &email, now).await.unwrap(), Some(id));
}

#[tokio::test]
async fn a_caller_who_ends_lets_no_operator_in_who_does_not() {
    let world = World::new().await;
    let conn = &mut world.pool.acquire().await.unwrap();
    let (hashing, now) = (PasswordHashing::start(), world.clock.now());
    let email = EmailAddress::parse("ada@example.com").unwrap();
    let password = || OperatorPassword::parse(&"correct horse battery".into()).unwrap();
    let owner = caller(&world, Role::Owner);
    let ending = Caller { grant: Grant { until: Some(now + TimeDelta::hours(4)), ..owner.grant.clone() }, ..owner.clone() };
    let refused = create_operator(conn, &hashing, &ending, &email, password(), Role::Viewer, now).await;
    assert!(matches!(refused, Err(CreateOperatorError::NotAllowed(_))), "{refused:?}");
    create_operator(conn, &hashing, &owner, &email, password(), Role::Viewer, now).await.unwrap();
    let refused = reset_operator(conn, &hashing, &ending, &email, password(), now).await;
    assert!(matches!(refused, Err(ResetOperatorError::NotAllowed(_))), "{refused:?}");
}

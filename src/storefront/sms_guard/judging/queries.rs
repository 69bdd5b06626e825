//! The SQL of judging texts.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::kernel::database::{Connection, column};
use crate::kernel::ids::StoreId;
use crate::storefront::sms_guard::asked_text::AskedText;
use crate::storefront::sms_guard::pumping::{Codes, Conversion, PERIODS, RIPE_AFTER, UNDER_WAY_FOR};
use crate::storefront::sms_guard::rules::{RANGE_WINDOW, Seen};

/// Lets nobody else judge texts of these stores until the transaction ends. They are locked in the order of their ids, so that two groups
/// cannot wait for each other.
pub(super) async fn lock_stores(conn: &mut Connection, stores: &[Uuid], now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into text_guards (store_id, judged_at) select id, $2 from unnest($1::uuid[]) as asked (id) order by id
         on conflict on constraint text_guards_pkey do update set judged_at = excluded.judged_at",
        stores,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The texts of the last day that a solved challenge alone let through, and how many of their codes were used.
pub(super) async fn count_by_challenge(conn: &mut Connection, store: StoreId, now: DateTime<Utc>) -> Result<(i64, i64), sqlx::Error> {
    let row = sqlx::query!(
        r#"select count(*) as "sent!", count(used_at) as "used!" from texts
           where store_id = $1 and by_challenge and status = 'sent' and created_at > $2"#,
        store.uuid(),
        now - TimeDelta::days(1),
    )
    .fetch_one(conn)
    .await?;
    Ok((row.sent, row.used))
}

/// The texts of the last day to the number, its range, and from the client address of each of these texts, in their order. Each comes with the end
/// of the last pause of its range: codes of the range count since then. Of a range and of an address the latest thousand texts
/// count: nobody comes so far within the limits. What a company sends by its own provider alone does not count everywhere: it could keep a
/// number from all others without a text that arrives. For the same reason, what its own provider reports of a number is for its stores alone.
///
/// The texts to the number are read once, and not by the store as well: as long as a table that has grown has no statistics, an index by the
/// store and the time looks as good as the one by the number.
pub(super) async fn look_back(
    conn: &mut Connection,
    texts: &[(&AskedText, DateTime<Utc>)],
    unreachable_for: TimeDelta,
) -> Result<Vec<Seen>, sqlx::Error> {
    let since = |of: fn(DateTime<Utc>) -> DateTime<Utc>| column(texts, |(asked, _)| of(asked.at));
    let since_pause = |time: TimeDelta| column(texts, |(asked, paused_until)| (asked.at - time).max(*paused_until));
    let [ten_minutes, hour, day] = PERIODS.map(|period| since_pause(period.length()));
    let rows = sqlx::query!(
        r#"select everywhere.to_number as "to_number!",
                  (select nullif(max(delivery_at), max(delivery_at) filter (where not unreachable)) from texts
                   where texts.number = asked.number and status = 'sent' and delivery is not null and created_at > asked.reported_since
                         and (company_id = asked.company or not starts_with(provider, 'messageprovider_'))) as reported_unreachable,
                  everywhere.texts as "everywhere!", everywhere.since as everywhere_since,
                  range.others as "others_in_range!", range.others_since as range_since,
                  range.under_way as "under_way!", range.used as "used!",
                  range.texted_of_ten_minutes as "texted_of_ten_minutes!", range.used_of_ten_minutes as "used_of_ten_minutes!",
                  range.texted_of_hour as "texted_of_hour!", range.used_of_hour as "used_of_hour!",
                  range.texted_of_day as "texted_of_day!", range.used_of_day as "used_of_day!",
                  address.unused as "unused_of_address!", address.used as "used_of_address!", address.since as address_since
           from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bool[], $6::uuid[], $7::timestamptz[], $8::timestamptz[],
                       $9::timestamptz[], $10::timestamptz[], $11::timestamptz[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[])
                with ordinality as asked (store, number, number_range, network, to_stranger, company, today, range_window, ripe, ten_minutes,
                                          hour, day, under_way, reported_since, place),
                lateral (
                    select coalesce(array_agg(created_at order by created_at desc) filter (where store_id = asked.store), '{}') as to_number,
                           count(*) filter (where not by_own) as texts, min(created_at) filter (where not by_own) as since
                    from texts where texts.number = asked.number and status = 'sent' and created_at > asked.today
                ) as everywhere,
                lateral (
                    select count(distinct number) filter (where number <> asked.number and to_stranger = asked.to_stranger and created_at > range_window) as others,
                           min(created_at) filter (where number <> asked.number and to_stranger = asked.to_stranger and created_at > range_window) as others_since,
                           count(distinct number) filter (where to_stranger and created_at > asked.under_way)
                             - count(distinct number) filter (where to_stranger and created_at > asked.under_way and used_at is not null) as under_way,
                           count(distinct number) filter (where to_stranger and used_at is not null) as used,
                           count(distinct number) filter (where to_stranger and created_at > ten_minutes and created_at <= ripe) as texted_of_ten_minutes,
                           count(distinct number) filter (where to_stranger and used_at is not null and created_at > ten_minutes and created_at <= ripe) as used_of_ten_minutes,
                           count(distinct number) filter (where to_stranger and created_at > hour and created_at <= ripe) as texted_of_hour,
                           count(distinct number) filter (where to_stranger and used_at is not null and created_at > hour and created_at <= ripe) as used_of_hour,
                           count(distinct number) filter (where to_stranger and created_at > day and created_at <= ripe) as texted_of_day,
                           count(distinct number) filter (where to_stranger and used_at is not null and created_at > day and created_at <= ripe) as used_of_day
                    from (select number, created_at, used_at, to_stranger from texts
                          where store_id = asked.store and number_range = asked.number_range and status = 'sent' and created_at > asked.today
                          order by created_at desc limit 1000) as recent
                ) as range,
                lateral (
                    select count(distinct number) filter (where number <> asked.number)
                             - count(distinct number) filter (where number <> asked.number and used_at is not null) as unused,
                           count(distinct number) filter (where used_at is not null) as used,
                           min(created_at) filter (where used_at is null and number <> asked.number) as since
                    from (select number, created_at, used_at from texts
                          where store_id = asked.store and asked_from = asked.network and to_stranger and status = 'sent' and created_at > asked.today
                          order by created_at desc limit 1000) as recent
                ) as address
           order by asked.place"#,
        &column(texts, |(asked, _)| asked.store.uuid()),
        &column(texts, |(asked, _)| asked.recipient.number.as_str().to_owned()),
        &column(texts, |(asked, _)| asked.recipient.number.range().to_owned()),
        &column(texts, |(asked, _)| asked.network.map(|network| network.to_string())) as &[Option<String>],
        &column(texts, |(asked, _)| asked.is_to_stranger()),
        &column(texts, |(asked, _)| asked.company.uuid()),
        &since(|at| at - TimeDelta::days(1)),
        &since(|at| at - RANGE_WINDOW),
        &since(|at| at - RIPE_AFTER),
        &ten_minutes,
        &hour,
        &day,
        &since_pause(UNDER_WAY_FOR),
        // A receipt comes within three days of its text, or never.
        &column(texts, |(asked, _)| asked.at - unreachable_for - TimeDelta::days(3)),
    )
    .fetch_all(conn)
    .await?;
    let seen = rows.into_iter().map(|row| {
        let periods = [
            Codes { texted: row.texted_of_ten_minutes, used: row.used_of_ten_minutes },
            Codes { texted: row.texted_of_hour, used: row.used_of_hour },
            Codes { texted: row.texted_of_day, used: row.used_of_day },
        ];
        Seen {
            to_number: row.to_number,
            reported_unreachable: row.reported_unreachable,
            everywhere: row.everywhere,
            everywhere_since: row.everywhere_since,
            others_in_range: row.others_in_range,
            range_since: row.range_since,
            range: Conversion { periods, under_way: row.under_way, used_today: row.used },
            unused_of_address: row.unused_of_address,
            address_since: row.address_since,
            used_of_address: row.used_of_address,
            ..Seen::default()
        }
    });
    Ok(seen.collect())
}

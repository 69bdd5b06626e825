//! The texts of a store by the minute, so that nobody has to count the texts of a day.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::StoreId;
use crate::storefront::sms_guard::pumping::{Codes, Conversion, PERIODS, RIPE_AFTER, UNDER_WAY_FOR};

const DAY: TimeDelta = TimeDelta::days(1);
const MINUTE: TimeDelta = TimeDelta::minutes(1);

/// A store, and a country to which it sends texts.
pub(super) type Place = (StoreId, String);

/// The texts of the last 24 hours to one country. A day goes on by minutes.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) today: i64,
    /// The minute of the first of these texts.
    pub(super) since: Option<DateTime<Utc>>,
    pub(super) strangers_today: i64,
    pub(super) conversion: Conversion,
}

impl Tally {
    /// Counts one more text as sent, and one more stranger if it is to one who was not texted within the day before.
    pub(super) fn add(&mut self, to_another_stranger: bool, now: DateTime<Utc>) {
        self.today += 1;
        self.since.get_or_insert(minute_of(now));
        self.strangers_today += i64::from(to_another_stranger);
        self.conversion.under_way += i64::from(to_another_stranger);
    }

    /// Whether the store has customers in the country: strangers who use their codes.
    pub(super) fn has_customers(&self, percent: i64) -> bool {
        let used = self.conversion.used_today;
        used > 0 && used * 100 >= self.strangers_today * percent
    }
}

/// Texts that were counted as sent, by place and minute: how many, and to how many more strangers.
#[derive(Debug, Default)]
pub(super) struct Sent(BTreeMap<(Uuid, String, DateTime<Utc>), (i32, i32)>);

impl Sent {
    pub(super) fn add(&mut self, (store, country): &Place, to_another_stranger: bool, now: DateTime<Utc>) {
        let counted = self.0.entry((store.uuid(), country.clone(), minute_of(now))).or_default();
        counted.0 += 1;
        counted.1 += i32::from(to_another_stranger);
    }

    pub(super) async fn write(self, conn: &mut Connection) -> Result<(), sqlx::Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        let (mut stores, mut countries, mut minutes, mut sent, mut strangers) = (vec![], vec![], vec![], vec![], vec![]);
        for ((store, country, minute), (all, of_strangers)) in self.0 {
            stores.push(store);
            countries.push(country);
            minutes.push(minute);
            sent.push(all);
            strangers.push(of_strangers);
        }
        sqlx::query!(
            "insert into text_minutes as counted (store_id, country, minute, sent, strangers, used)
             select store_id, country, minute, sent, strangers, 0
             from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::integer[], $5::integer[])
                  as new (store_id, country, minute, sent, strangers)
             on conflict on constraint text_minutes_pkey do update
             set sent = counted.sent + excluded.sent, strangers = counted.strangers + excluded.strangers",
            &stores,
            &countries,
            &minutes,
            &sent,
            &strangers,
        )
        .execute(conn)
        .await?;
        Ok(())
    }
}

/// Takes over what became of texts since they were counted as sent. Who uses a code, gives a text back or hears that it did not arrive marks its
/// row only, so that nobody waits for a row of the whole store.
pub(super) async fn take_over(conn: &mut Connection, stores: &[Uuid]) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "with news as (
             update texts set tallied = true where store_id = any($1) and not tallied
             returning store_id, country, date_trunc('minute', created_at, 'UTC') as minute, status, to_stranger, to_new_number, used_at, left_out
         ), corrections as (
             select store_id, country, minute, count(*) filter (where status = 'given_back') as back,
                    count(*) filter (where status = 'given_back' and to_stranger and to_new_number) as strangers_back,
                    count(*) filter (where status = 'sent' and left_out) as left_out,
                    count(*) filter (where status = 'sent' and to_stranger and used_at is not null and not left_out) as used
             from news group by store_id, country, minute
         )
         update text_minutes as counted
         set sent = counted.sent - corrections.back, strangers = counted.strangers - corrections.strangers_back - corrections.left_out,
             used = counted.used + corrections.used
         from corrections
         where counted.store_id = corrections.store_id and counted.country = corrections.country and counted.minute = corrections.minute",
        stores,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The tally of each country of these stores. Codes are judged that were texted since the last pause of the country or of the store.
pub(super) async fn read(conn: &mut Connection, stores: &[Uuid], now: DateTime<Utc>) -> Result<HashMap<Place, Tally>, sqlx::Error> {
    let [ten_minutes, hour, day] = PERIODS.map(|period| now - period.length());
    let rows = sqlx::query!(
        r#"select store_id as "store: StoreId", country, coalesce(sum(sent), 0) as "today!", min(minute) filter (where sent > 0) as since,
                  coalesce(sum(strangers), 0) as "strangers!", coalesce(sum(used), 0) as "used!",
                  coalesce(sum(strangers - used) filter (where minute > greatest($5, judged_since)), 0) as "under_way!",
                  coalesce(sum(strangers) filter (where minute > greatest($2, judged_since) and minute <= $6), 0) as "texted_of_ten_minutes!",
                  coalesce(sum(used) filter (where minute > greatest($2, judged_since) and minute <= $6), 0) as "used_of_ten_minutes!",
                  coalesce(sum(strangers) filter (where minute > greatest($3, judged_since) and minute <= $6), 0) as "texted_of_hour!",
                  coalesce(sum(used) filter (where minute > greatest($3, judged_since) and minute <= $6), 0) as "used_of_hour!",
                  coalesce(sum(strangers) filter (where minute > judged_since and minute <= $6), 0) as "texted_of_day!",
                  coalesce(sum(used) filter (where minute > judged_since and minute <= $6), 0) as "used_of_day!"
           from (select text_minutes.*, greatest(coalesce(country.ended_at, country.paused_until), coalesce(store.ended_at, store.paused_until),
                                                 '-infinity') - interval '1 minute' as judged_since
                 from text_minutes
                      left join text_pauses as country
                      on country.store_id = text_minutes.store_id and country.scope = 'country' and country.name = text_minutes.country
                      left join text_pauses as store on store.store_id = text_minutes.store_id and store.scope = 'store'
                 where text_minutes.store_id = any($1) and text_minutes.minute > $4) as counted
           group by store_id, country"#,
        stores,
        ten_minutes,
        hour,
        day,
        now - UNDER_WAY_FOR - MINUTE,
        now - RIPE_AFTER - MINUTE,
    )
    .fetch_all(conn)
    .await?;
    let tallies = rows.into_iter().map(|row| {
        let periods = [
            Codes { texted: row.texted_of_ten_minutes, used: row.used_of_ten_minutes },
            Codes { texted: row.texted_of_hour, used: row.used_of_hour },
            Codes { texted: row.texted_of_day, used: row.used_of_day },
        ];
        let conversion = Conversion { periods, under_way: row.under_way, used_today: row.used };
        let tally = Tally { today: row.today, since: row.since, strangers_today: row.strangers, conversion };
        ((row.store, row.country), tally)
    });
    Ok(tallies.collect())
}

/// Forgets the minutes that no limit counts any more.
pub async fn forget_minutes(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from text_minutes where minute < $1", now - DAY - MINUTE).execute(conn).await?;
    Ok(())
}

fn minute_of(instant: DateTime<Utc>) -> DateTime<Utc> {
    instant.duration_trunc(MINUTE).expect("instants of texts are within the range of a clock")
}

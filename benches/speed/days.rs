//! A longer log: the statements that fan out and claim beside 35 and 95 daily partitions ÷ beside five. There are 35 when events are kept
//! for 30 days, and 95 when some of each day are kept for 90.

use std::time::Duration;

use crate::figures::{Aim, Figures, millis};
use crate::support::calls::Caller;
use crate::support::database::Database;
use crate::support::hub::{self, Statements};
use crate::support::publisher::Publisher;
use crate::support::service::Service;

const EVENT: &str = "order.created";
const WEBHOOKS: usize = 10;
const DAYS: [i64; 3] = [5, 35, 95];
/// The events of a batch: those of a busy moment, and of a quiet one.
const BATCHES: [usize; 2] = [10, 1];

pub fn measure(figures: &mut Figures) {
    let rounds = figures.many(100, 5);
    let service = Service::start(&[]);
    // Nothing is sent there.
    let urls: Vec<_> = (0..WEBHOOKS).map(|number| format!("https://localhost:10009/{number}")).collect();
    hub::subscribe(&service, &urls, EVENT);
    let service = service.restart(&["--no-worker"]);
    let bench = Bench { publisher: Publisher::of(&service), statements: Statements::of(&service), service };
    for batch in BATCHES {
        let [few, more, most] = DAYS.map(|days| {
            bench.have_days(days);
            bench.times(batch, rounds)
        });
        for (days, times) in [(DAYS[1], more), (DAYS[2], most)] {
            for (work, time, beside_few) in [("fan-out", times.fan_out, few.fan_out), ("claims", times.claim, few.claim)] {
                let parts = format!(
                    "{:.2} ms for {} deliveries beside {days} daily partitions ÷ {:.2} ms beside {}, median of {rounds}",
                    millis(time),
                    batch * WEBHOOKS,
                    millis(beside_few),
                    DAYS[0]
                );
                let name = format!("days, {work} of {} beside {days}", batch * WEBHOOKS);
                figures.show(&name, time.as_secs_f64() / beside_few.as_secs_f64(), Aim::AtMost(1.2), &parts);
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Times {
    fan_out: Duration,
    claim: Duration,
}

struct Bench {
    publisher: Publisher,
    statements: Statements,
    service: Service,
}

impl Bench {
    /// Leaves this number of daily partitions: those that were made ahead, and empty ones of the days before.
    fn have_days(&self, days: i64) {
        let adjust = format!(
            "do $$
             declare
                 parent record;
                 day date;
                 partition text;
             begin
                 for parent in select * from (values ('events'), ('deliveries'), ('attempts')) as parents (name) loop
                     for age in -3 .. 200 loop
                         day := (now() at time zone 'UTC')::date - age;
                         partition := parent.name || to_char(day, '_YYYYMMDD');
                         if age + 4 > {days} then
                             execute format('drop table if exists %I', partition);
                         elsif to_regclass(partition) is null then
                             execute format('create table %I partition of %I for values from (%L) to (%L)', partition, parent.name,
                                            uuid_v7_floor(day::timestamp at time zone 'UTC'),
                                            uuid_v7_floor((day + 1)::timestamp at time zone 'UTC'));
                         end if;
                     end loop;
                 end loop;
             end $$"
        );
        Database::of(&self.service).execute(&adjust);
    }

    /// The medians for batches of this many events.
    fn times(&self, events: usize, rounds: usize) -> Times {
        let (mut database, mut caller) = (Database::of(&self.service), Caller::connect(self.service.address));
        let (mut fan_outs, mut claims) = (Vec::new(), Vec::new());
        let batch = self.publisher.many(EVENT, events);
        for _ in 0..=rounds {
            caller.ask(201, &batch);
            fan_outs.push(self.statements.fan_out());
            let (claimed, time) = self.statements.claim(events * WEBHOOKS);
            assert_eq!(claimed, events * WEBHOOKS);
            claims.push(time);
            database.execute("delete from in_flight; update endpoints set in_flight = 0");
        }
        // In the first round the statements are planned.
        Times { fan_out: median(&mut fan_outs[1..]), claim: median(&mut claims[1..]) }
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

-- Of a customer with many sessions, the one ends that was not used for the longest time: their use is noted to the second.
alter table customer_tokens add column noted_closely boolean not null default false;
comment on column customer_tokens.noted_closely is
    'The customer came close to the number of sessions that are kept: each use is noted, and not only one every five minutes.';

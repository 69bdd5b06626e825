-- A replay can be of some events alone, and of an outage that has an end.

alter table replays add column events text[] not null default '{}';
comment on column replays.events is 'Names of events and groups (order.*), whose deliveries are repeated. Empty: all events.';
comment on column replays.until is 'Only deliveries made up to this instant are repeated: an end that was asked for, or the instant of the request.';

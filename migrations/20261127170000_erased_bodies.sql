-- The bodies of callbacks have the data of payers, and are kept for a time only.

alter table callbacks add column body_erased_at timestamptz;
comment on column callbacks.body_erased_at is 'When the body was erased, gateways.body_retention after the callback came.';

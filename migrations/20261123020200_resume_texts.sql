-- What the guard has seen before somebody lifted its pause is no reason for the next one.
alter table stores add column texts_resumed_at timestamptz;
comment on column stores.texts_resumed_at is 'When a pause was lifted last; SMS pumping is looked for in what was texted since.';

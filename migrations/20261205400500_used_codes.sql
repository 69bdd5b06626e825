-- A request that is sent twice is told that its code was used, and not that it is wrong: what was used last is remembered.

alter table authenticators add column last_recovery_code bytea;
comment on column authenticators.last_recovery_code is 'SHA-256 of the customer and the recovery code that was used last; null if none was since the factor was set up.';

alter table contact_changes add column taken_back_at timestamptz;
comment on column contact_changes.taken_back_at is 'When the change was taken back, which ended it; null while it can be.';
comment on table contact_changes is 'Changes of proven contacts that can still be taken back; deleted once they are too old, or ten minutes after they were taken back.';

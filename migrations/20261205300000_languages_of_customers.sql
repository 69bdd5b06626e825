-- The language that a customer uses, for notices: not that of whoever causes them. The edition before does not fill these columns: its devices count
-- as known for long.

alter table customers add column languages text;
comment on column customers.languages is
    'The languages that the customer last asked for on a device of their own, the most wanted first: de-at,de,en. Notices are in the first that there is wording in.';

alter table seen_devices add column first_seen_at timestamptz not null default '-infinity';
comment on column seen_devices.first_seen_at is 'A device that was known for a week is the customer''s for sure. -infinity: from before this was noted.';

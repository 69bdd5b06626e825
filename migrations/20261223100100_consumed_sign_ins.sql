-- A sign-in that was finished is remembered until its handle expires: the same request again is not told that it came too late.
alter table pending_sign_ins add column consumed_at timestamptz;
comment on column pending_sign_ins.consumed_at is 'When the second factor was right. Null: the sign-in waits.';
comment on table pending_sign_ins is
    'Sign-ins whose first factor was right, and which wait for the second one. One that was finished stays, without what was typed and where, until it is too old.';

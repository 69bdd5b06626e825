-- Sliding windows shared by all instances (kernel::rate_limit).

create table rate_limits (
    bucket text not null,
    -- instants of the counted hits still inside the window, oldest first
    hits timestamptz[] not null,
    -- whether the last hit was over the limit, and so not counted
    refused boolean not null default false,
    expires_at timestamptz not null,
    constraint rate_limits_pkey primary key (bucket)
);
create index rate_limits_expires_at on rate_limits (expires_at);
comment on table rate_limits is 'One row per limited bucket: who is limited and what for. Rows past expires_at mean nothing and are swept.';

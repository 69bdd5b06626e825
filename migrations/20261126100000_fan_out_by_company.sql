-- Fan-out takes turns among the companies and goes through the webhooks of an event in the order of their ids, as far as a batch reaches.
alter table outbox add column reached uuid not null default '00000000-0000-0000-0000-000000000000';
comment on column outbox.reached is 'The last webhook that has the event: a batch ended there, and the next one goes on behind it.';

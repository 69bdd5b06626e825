-- When a store asks its customers for a challenge.
alter table stores add column challenge text not null default 'risk';
alter table stores add constraint stores_challenge_known check (challenge in ('off', 'risk', 'always')) not valid;
comment on column stores.challenge is 'When customers are asked to solve the challenge of the deployment, if it has one: off, risk (suspicious requests) or always.';

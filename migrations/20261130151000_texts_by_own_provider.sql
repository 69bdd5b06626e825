-- Texts that only the company's own provider sends: nobody else knows whether they arrive, so they do not count against what the stores of the
-- deployment together may send to a number.
alter table texts add column by_own boolean not null default false;
comment on column texts.by_own is 'Only the provider of the company could send it.';

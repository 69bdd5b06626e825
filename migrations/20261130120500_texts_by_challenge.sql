-- Texts that the guard would have refused without a solved challenge: they are counted, because solving can be bought.
alter table texts add column by_challenge boolean not null default false;
comment on column texts.by_challenge is 'A solved challenge alone let it through.';

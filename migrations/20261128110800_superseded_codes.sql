-- A customer who asks for codes to several numbers in turn gets one a minute for each, and uses the one that was asked for last.
alter table verification_codes add column superseded boolean not null default false;
comment on column verification_codes.superseded is 'The customer who requested it has asked for a code to another number or address since. It still says when that number was texted.';

-- A customer who is erased leaves the log of texts and the refused sign-ins, too.
alter table texts alter column number drop not null;
comment on column texts.number is 'E.164; null once the account it belonged to is erased. The range stays, for the conversion of ranges.';

-- What was texted to a number, and who tried to sign in with an identity: how the entries of a leaver are found.
create index texts_of_number on texts (store_id, number);
create index sign_ins_of_identity on sign_ins (store_id, identity);

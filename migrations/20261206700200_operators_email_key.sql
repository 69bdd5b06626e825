-- The constraint keeps its name, which every edition of the program knows.
drop index operators_email_key;
alter index operators_email_key_of_company rename to operators_email_key;
comment on column operators.email is 'Lower case, the way it is compared. The same person may be an operator of several companies, each with a password of their own.';

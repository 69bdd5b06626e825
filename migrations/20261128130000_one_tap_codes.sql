-- What texts end with, so that browsers and apps fill in the code by themselves.
alter table stores add column web_otp_domain text;
alter table stores add column android_app_hash text;
comment on column stores.web_otp_domain is 'The domain of the website that may fill in codes: the last line of texts names it; null for none.';
comment on column stores.android_app_hash is 'The hash of the Android app that may read codes: texts contain it; null for none.';

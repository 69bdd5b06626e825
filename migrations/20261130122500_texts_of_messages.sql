-- no-transaction
-- Which text a receipt is about.
create index concurrently texts_of_message on texts (provider_message, provider) where provider_message is not null;

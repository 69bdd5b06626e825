-- no-transaction
-- What a number was texted, by one store or by all of them.
create index concurrently texts_sent_to_number on texts (number, created_at) where status = 'sent';

-- The budget of the day goes on.
insert into text_minutes (store_id, country, minute, sent, strangers, used)
select store_id, country, date_trunc('minute', created_at), count(*), 0, 0
from texts where status = 'sent' and created_at > now() - interval '1 day' and country is not null
group by 1, 2, 3;

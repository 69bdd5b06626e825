-- Whoever has the id of a request, from a log line or a problem, finds what it changed.
create index changes_of_request on changes (company_id, request_id, created_at, id) where request_id is not null;

-- A sign-in that ended is shown as long as the audit is kept, and then forgotten: this is how those are found.
create index customer_tokens_ended on customer_tokens (least(expires_at, revoked_at));

-- The audit trail also tells who was shown a secret.

alter table changes drop constraint changes_action_known;
alter table changes add constraint changes_action_known check (action in ('created', 'updated', 'deleted', 'shown'));

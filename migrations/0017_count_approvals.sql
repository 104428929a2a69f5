-- A cutover may ask for the approval of more than one person; who gave one is kept until it begins.

alter table shardwright.migration add column approvals jsonb not null default '[]'
    check (jsonb_typeof(approvals) = 'array');
comment on column shardwright.migration.approvals is
    'who approved the cutover, when and why; approved says that they are enough';

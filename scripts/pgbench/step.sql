-- The state of a step in `shardwright show ID -o json`.
-- Variables: file, where the document is; kind, the kind of the step.
\set document `cat :file`
select s ->> 'state' from jsonb_array_elements(:'document'::jsonb -> 'steps') s where s ->> 'kind' = :'kind';

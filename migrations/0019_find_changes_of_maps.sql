-- After a flip a controller reads only the mappings that entered or left the map, and not the whole map again.

create index mapping_enters on shardwright.mapping (map, since);
create index mapping_leaves on shardwright.mapping (map, until) where until is not null;

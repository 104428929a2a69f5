-- A map of a million keys is not read again as a whole because a move has flipped.

create index mapping_enters on shardwright.mapping (map, since);
create index mapping_leaves on shardwright.mapping (map, until) where until is not null;

//! What `init` proposes for schemas whose tables call the key differently is what moves them.

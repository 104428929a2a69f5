//! Ports by which programs of ours reach each other and the servers, where something stands in between.

use std::collections::BTreeMap;

/// What is not named is reached directly.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListenAddresses {
    /// Shards, for the agents.
    pub(crate) shards: BTreeMap<&'static str, u16>,
    /// The control store, for each of the controllers.
    pub(crate) stores: Vec<u16>,
    /// Proxies of HTTP to the controllers, for each of the agents.
    pub(crate) agents: Vec<u16>,
}

//! The ports of proxies between the programs and the servers.

use std::collections::BTreeMap;

/// Programs and servers that are not listed are reached directly.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListenAddresses {
    /// The ports for agents to the shards.
    pub(crate) shards: BTreeMap<&'static str, u16>,
    /// The port of each controller to the control store.
    pub(crate) stores: Vec<u16>,
    /// The port of each agent to an HTTP proxy for the controllers.
    pub(crate) agents: Vec<u16>,
}

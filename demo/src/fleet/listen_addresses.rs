//! The ports of proxies between the programs and the servers.

use std::collections::BTreeMap;

/// The ports of the proxies. Connections that have no port here are direct.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListenAddresses {
    /// The ports for agents to the shards.
    pub(crate) shards: BTreeMap<&'static str, u16>,
    /// The port of each controller to the control store.
    pub(crate) stores: Vec<u16>,
    /// The port of each agent to an HTTP proxy for the controllers.
    pub(crate) agents: Vec<u16>,
}

//! The proxies of one run. Every connection of the controllers and agents uses one of them.
//!
//! The application and the test program connect directly.

use super::proxy::{HttpSwitch, Proxy};
use crate::error::DemoError;
use crate::fleet::{AGENTS, ListenAddresses, SOURCE, ServerGroup, TARGET};
use crate::options::Process;

/// All proxies, by the programs and servers that they connect.
#[derive(Debug)]
pub(super) struct Proxies {
    /// From the agents to the source.
    source: Proxy,
    /// From the agents to the target.
    target: Proxy,
    /// From each controller to the control store.
    stores: Vec<Proxy>,
    /// For each agent, to each of the controllers.
    agents: Vec<Vec<Proxy>>,
    /// For each agent, the port to which it connects. A switch forwards each request through the proxy of the
    /// controller to which the request is addressed.
    switches: Vec<HttpSwitch>,
}

/// The component that loses its connections. If it is an agent or a controller, also which of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct NetworkParty {
    pub(super) component: Process,
    /// The agent that performs the migration.
    pub(super) agent: &'static str,
    /// The index of the leading controller.
    pub(super) leader: usize,
}

impl Proxies {
    /// Starts the proxies to the servers in `servers`, and to `controllers`, the ports on which the controllers will
    /// listen.
    pub(super) async fn start(
        servers: &ServerGroup,
        controllers: &[u16],
    ) -> Result<Self, DemoError> {
        let failed = || DemoError::io("start a proxy");
        let start = async |port| Proxy::start(port).await.map_err(failed());
        let mut proxies = Self {
            source: start(servers.port(SOURCE)).await?,
            target: start(servers.port(TARGET)).await?,
            stores: Vec::new(),
            agents: Vec::new(),
            switches: Vec::new(),
        };
        for _ in controllers {
            proxies.stores.push(start(servers.port("store")).await?);
        }
        for _ in AGENTS {
            let mut to_controllers = Vec::new();
            for port in controllers {
                to_controllers.push(start(*port).await?);
            }
            let proxy_ports = controllers
                .iter()
                .copied()
                .zip(to_controllers.iter().map(Proxy::port));
            let switch = HttpSwitch::start(proxy_ports.collect()).await;
            proxies.switches.push(switch.map_err(failed())?);
            proxies.agents.push(to_controllers);
        }
        Ok(proxies)
    }

    /// Returns the ports of the proxies and switches, to which the programs connect.
    pub(super) fn listen_addresses(&self) -> ListenAddresses {
        ListenAddresses {
            shards: [(SOURCE, self.source.port()), (TARGET, self.target.port())].into(),
            stores: self.stores.iter().map(Proxy::port).collect(),
            agents: self.switches.iter().map(HttpSwitch::port).collect(),
        }
    }

    /// Exchanges the shards: each connection string leads to the other shard, until the next call.
    pub(super) fn exchange_shards(&self) {
        let (source, target) = (self.source.destination(), self.target.destination());
        self.source.set_destination(target);
        self.target.set_destination(source);
    }

    /// Returns the proxies that fail when a component loses its connections:
    /// - agent: its proxies to the controllers,
    /// - leading controller: the proxies from both agents to it, and its proxy to the control store,
    /// - server: all proxies to this server.
    pub(super) fn affected(&self, party: NetworkParty) -> Vec<&Proxy> {
        match party.component {
            Process::Agent => {
                let index = AGENTS.iter().position(|name| *name == party.agent);
                self.agents[index.unwrap_or_default()].iter().collect()
            }
            Process::Controller => {
                let agents = self.agents.iter().map(|proxies| &proxies[party.leader]);
                agents.chain([&self.stores[party.leader]]).collect()
            }
            Process::Source => vec![&self.source],
            Process::Target => vec![&self.target],
            Process::Store => self.stores.iter().collect(),
        }
    }
}

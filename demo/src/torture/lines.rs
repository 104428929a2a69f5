//! The proxies of one run. Every connection of the controllers and agents uses one of them.
//!
//! The application and the test program connect directly.

use super::proxy::{HttpSwitch, Proxy};
use crate::error::DemoError;
use crate::fleet::{AGENTS, ListenAddresses, SOURCE, ServerGroup, TARGET};
use crate::options::Process;

/// All proxies, by the programs and servers that they connect.
#[derive(Debug)]
pub(super) struct NetworkLines {
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

impl NetworkLines {
    /// Starts the proxies to the servers in `ground`, and to `controllers`, the ports on which the controllers will
    /// listen.
    pub(super) async fn start(
        ground: &ServerGroup,
        controllers: &[u16],
    ) -> Result<Self, DemoError> {
        let failed = || DemoError::io("start a proxy");
        let start = async |port| Proxy::start(port).await.map_err(failed());
        let mut lines = Self {
            source: start(ground.port(SOURCE)).await?,
            target: start(ground.port(TARGET)).await?,
            stores: Vec::new(),
            agents: Vec::new(),
            switches: Vec::new(),
        };
        for _ in controllers {
            lines.stores.push(start(ground.port("store")).await?);
        }
        for _ in AGENTS {
            let mut own = Vec::new();
            for port in controllers {
                own.push(start(*port).await?);
            }
            let ways = controllers.iter().copied().zip(own.iter().map(Proxy::port));
            let switch = HttpSwitch::start(ways.collect()).await;
            lines.switches.push(switch.map_err(failed())?);
            lines.agents.push(own);
        }
        Ok(lines)
    }

    /// Returns the ports of the proxies and switches, to which the programs connect.
    pub(super) fn doors(&self) -> ListenAddresses {
        ListenAddresses {
            shards: [(SOURCE, self.source.port()), (TARGET, self.target.port())].into(),
            stores: self.stores.iter().map(Proxy::port).collect(),
            agents: self.switches.iter().map(HttpSwitch::port).collect(),
        }
    }

    /// Exchanges the shards: each connection string leads to the other shard, until the next call.
    pub(super) fn exchange_shards(&self) {
        let (source, target) = (self.source.leads_to(), self.target.leads_to());
        self.source.lead_to(target);
        self.target.lead_to(source);
    }

    /// Returns the proxies that fail when a component loses its connections:
    /// - agent: its proxies to the controllers,
    /// - leading controller: the proxies from both agents to it, and its proxy to the control store,
    /// - server: all proxies to this server.
    pub(super) fn of(&self, party: NetworkParty) -> Vec<&Proxy> {
        match party.component {
            Process::Agent => {
                let index = AGENTS.iter().position(|name| *name == party.agent);
                self.agents[index.unwrap_or_default()].iter().collect()
            }
            Process::Controller => {
                let agents = self.agents.iter().map(|own| &own[party.leader]);
                agents.chain([&self.stores[party.leader]]).collect()
            }
            Process::Source => vec![&self.source],
            Process::Target => vec![&self.target],
            Process::Store => self.stores.iter().collect(),
        }
    }
}

//! The proxies of one run: every connection of our own programs goes through one of them.
//!
//! The application and the harness connect directly.

use super::proxy::{HttpSwitch, Proxy};
use crate::error::DemoError;
use crate::fleet::{AGENTS, ListenAddresses, SOURCE, ServerGroup, TARGET};
use crate::options::Process;

/// Which stands between whom.
#[derive(Debug)]
pub(super) struct NetworkLines {
    /// Agents to the source.
    source: Proxy,
    /// Agents to the target.
    target: Proxy,
    /// Each controller to its store.
    stores: Vec<Proxy>,
    /// By agent, to each of the controllers.
    agents: Vec<Vec<Proxy>>,
    switches: Vec<HttpSwitch>,
}

/// Who is cut off.
#[derive(Debug, Clone, Copy)]
pub(super) struct NetworkParty {
    pub(super) component: Process,
    /// The agent that performs the migration.
    pub(super) agent: &'static str,
    /// The controller that leads, by its place.
    pub(super) leader: usize,
}

impl NetworkLines {
    /// `controllers` are the ports that the controllers are going to listen on.
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

    /// Where our programs are told to connect to.
    pub(super) fn doors(&self) -> ListenAddresses {
        ListenAddresses {
            shards: [(SOURCE, self.source.port()), (TARGET, self.target.port())].into(),
            stores: self.stores.iter().map(Proxy::port).collect(),
            agents: self.switches.iter().map(HttpSwitch::port).collect(),
        }
    }

    /// Each shard's connection string leads to the other shard, until it is called once more.
    pub(super) fn exchange_shards(&self) {
        let (source, target) = (self.source.leads_to(), self.target.leads_to());
        self.source.lead_to(target);
        self.target.lead_to(source);
    }

    /// The lines that fail when a component loses its connections: an agent those to the controllers, the leading
    /// controller those to both agents and to its store, a server all of ours.
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

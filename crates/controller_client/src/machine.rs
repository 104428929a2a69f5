//! The token of a controller on this machine, which `shardwright serve` creates at its first start.
//!
//! Only the user who started the controller may read the file, so programs of the same account find it without
//! configuration. It is sent only over loopback, and only to a program of the same account or of root: while the
//! controller is down, another account could listen on its port.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use reqwest::Url;
use reqwest::header::HeaderValue;

/// Returns the file with the token of this machine's controllers: `shardwright/token` in the account's state folder.
#[must_use]
pub fn token_file() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = variable("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".local/state")));
    let state = state.unwrap_or_else(|| PathBuf::from("/var/lib"));
    state.join("shardwright/token")
}

/// Returns the header `Authorization` with the token of this machine, if the controller at `url` may receive it.
pub(crate) fn token_for(url: &Url) -> Option<HeaderValue> {
    let host = url.host_str()?.trim_matches(['[', ']']);
    let address: Option<std::net::IpAddr> = host.parse().ok();
    let is_local = host == "localhost" || address.is_some_and(|address| address.is_loopback());
    if !is_local || !is_port_trusted(url.port_or_known_default()?) {
        return None;
    }
    crate::read_token(&token_file()).ok()
}

/// Returns whether programs listen on `port`, and each of them belongs to this account or to root.
fn is_port_trusted(port: u16) -> bool {
    let Ok(own_account) = std::fs::metadata("/proc/self").map(|process| process.uid()) else {
        return false;
    };
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"].map(Path::new);
    let texts = tables.map(|path| std::fs::read_to_string(path).unwrap_or_default());
    let mut owners = texts
        .iter()
        .flat_map(|text| listening_accounts(text, port))
        .peekable();
    owners.peek().is_some() && owners.all(|owner| owner == own_account || owner == 0)
}

/// Returns the accounts whose programs listen on `port`, from a table of the kernel such as `/proc/net/tcp`.
fn listening_accounts(table: &str, port: u16) -> impl Iterator<Item = u32> {
    /// The code of the kernel for a socket that listens.
    const LISTENS: &str = "0A";
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, local, _, state, _, _, _, owner, ..] = fields.as_slice() else {
            return None;
        };
        let (_, local_port) = local.rsplit_once(':')?;
        let local_port = u16::from_str_radix(local_port, 16).ok()?;
        let owner = owner.parse().ok()?;
        (*state == LISTENS && local_port == port).then_some(owner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_program_of_the_same_account_gets_the_token() {
        let table = "  sl  local_address rem_address st tx rx tr tm retrnsmt uid timeout inode\n\
             0: 0100007F:1D08 00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 1\n\
             1: 0100007F:1D08 0100007F:A000 01 00000000:00000000 00:00000000 00000000 4711 0 2\n\
             2: 0100007F:1D09 00000000:0000 0A 00000000:00000000 00:00000000 00000000 65534 0 3\n";
        assert!(listening_accounts(table, 7432).eq([1000]));
        assert!(listening_accounts(table, 7433).eq([65534]));
        assert!(listening_accounts(table, 7434).next().is_none());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(is_port_trusted(port));
        drop(listener);
        assert!(!is_port_trusted(port));
    }

    #[test]
    fn the_token_of_this_machine_is_sent_to_loopback_only() {
        for url in [
            "http://10.0.0.5:7432",
            "http://control.example",
            "http://[fe80::1]:1",
        ] {
            assert_eq!(token_for(&Url::parse(url).unwrap()), None, "{url}");
        }
    }
}

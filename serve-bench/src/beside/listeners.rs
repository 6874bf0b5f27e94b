//! Which processes serve: who listens on the server's port on this machine, and all below them, as /proc tells.
//!
//! Of another user's processes the kernel does not tell which sockets they hold.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

/// Processes that are watched at most.
const MOST: usize = 64;

/// A listening socket's state in /proc/net/tcp (include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// The server's processes, and how they were found.
///
/// # Errors
/// In words: why they are not known.
pub(super) fn of_server(
    named: &[u32],
    address: Option<SocketAddr>,
) -> Result<(Vec<u32>, String), String> {
    let (roots, how) = if named.is_empty() {
        let address = address.ok_or("the server's address is not known; give --server-pid")?;
        if !address.ip().is_loopback() {
            return Err(format!(
                "{address} may be on another machine: give --server-pid"
            ));
        }
        let port = address.port();
        let found = of_port(Path::new("/proc"), port);
        if found.is_empty() {
            return Err(format!(
                "who listens on port {port} cannot be seen (another user's process, or one in a container); give --server-pid"
            ));
        }
        (found, format!("who listens on port {port}, and all below"))
    } else {
        (named.to_vec(), "those named, and all below".to_owned())
    };
    let mut all: Vec<u32> = roots
        .into_iter()
        .flat_map(runner::processes::tree)
        .collect();
    let mut seen = BTreeSet::new();
    all.retain(|pid| seen.insert(*pid));
    all.truncate(MOST);
    Ok((all, how))
}

/// The processes that hold a listening socket on a port, ascending.
fn of_port(proc: &Path, port: u16) -> Vec<u32> {
    let sockets: BTreeSet<String> = ["net/tcp", "net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(proc.join(table)).ok())
        .flat_map(|table| listening(&table, port))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(proc) else {
        return Vec::new();
    };
    let mut found: Vec<u32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let Ok(files) = fs::read_dir(proc.join(format!("{pid}/fd"))) else {
                return false;
            };
            files
                .flatten()
                .filter_map(|file| fs::read_link(file.path()).ok())
                .any(|to| to.to_str().is_some_and(|to| sockets.contains(to)))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Inodes of the sockets that listen on a port (Documentation/networking/proc_net_tcp.rst).
fn listening(table: &str, port: u16) -> Vec<u64> {
    let of = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, own_port) = fields.get(1)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(own_port, 16).ok()? == port && *fields.get(3)? == LISTEN;
        fields.get(9)?.parse().ok().filter(|_| is_it)
    };
    table.lines().skip(1).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0\n\
        1: 0100007F:1F40 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 20 4 30 10 -1\n\
        2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 22 1 0 100 0 0 10 0\n";

    #[test]
    fn only_listening_sockets_of_the_port_count() {
        // 0x1F40 is 8000.
        assert_eq!(listening(TABLE, 8000), [4711]);
        assert_eq!(listening(TABLE, 50_000), Vec::<u64>::new());
        assert_eq!(listening("", 8000), Vec::<u64>::new());
        assert_eq!(
            listening("head\n0: garbage\n1: a:zz b 0A\n", 8000),
            Vec::<u64>::new()
        );
    }

    #[test]
    fn a_listener_of_this_process_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (found, how) = of_server(&[], Some(address)).unwrap();
        assert!(found.contains(&std::process::id()), "{found:?}");
        assert!(how.contains(&address.port().to_string()), "{how}");
    }
}

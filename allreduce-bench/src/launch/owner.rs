//! Whose sockets are at the other end of a loopback connection: a port can be taken by any user of a host.
//!
//! Other hosts are not looked at; a network of several hosts must be one that its users trust.

use std::net::{SocketAddr, SocketAddrV4};

/// The kernel's table of IPv4 sockets: proc_net_tcp in the kernel's documentation.
const TABLE: &str = "/proc/net/tcp";

/// A listening socket's state in the table.
const LISTENS: &str = "0A";

/// Whether what listens at an address is this user's, where that is on this host.
pub(super) fn listens_for_this_user(at: SocketAddr) -> bool {
    of_this_user(at, |row, at| {
        row.state == LISTENS && row.local.ends_with(&format!(":{:04X}", at.port()))
    })
}

/// Whether the other end of a connection is this user's, where that is on this host.
pub(super) fn is_this_users(peer: SocketAddr) -> bool {
    // `0100007F:1F90` of 127.0.0.1:8080: the address in the order of this machine's bytes.
    of_this_user(peer, |row, peer| {
        let ip = u32::from_ne_bytes(peer.ip().octets());
        row.local == format!("{ip:08X}:{:04X}", peer.port())
    })
}

fn of_this_user(at: SocketAddr, is_it: impl Fn(&Row<'_>, SocketAddrV4) -> bool) -> bool {
    let SocketAddr::V4(at) = at else { return true };
    if !at.ip().is_loopback() {
        return true;
    }
    let table = std::fs::read_to_string(TABLE).unwrap_or_default();
    let user = rustix::process::geteuid().as_raw().to_string();
    let rows = table.lines().skip(1).filter_map(Row::of);
    let mut owners = rows.filter(|row| is_it(row, at)).map(|row| row.user);
    owners.next() == Some(&*user) && owners.all(|owner| owner == user)
}

/// What a row of the table says.
struct Row<'a> {
    local: &'a str,
    state: &'a str,
    user: &'a str,
}

impl<'a> Row<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let columns: Vec<&str> = line.split_whitespace().collect();
        Some(Self {
            local: columns.get(1)?,
            state: columns.get(3)?,
            user: columns.get(7)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn both_ends_of_an_own_connection_are_this_users_and_a_port_of_nobody_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        assert!(listens_for_this_user(at));
        let client = TcpStream::connect(at).unwrap();
        let (_, peer) = listener.accept().unwrap();
        assert!(is_this_users(peer));
        drop((client, listener));
        assert!(!listens_for_this_user(at));
    }
}

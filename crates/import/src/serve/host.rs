//! The machine that served, by what names it, and whether two are one. It asks no machine and resolves no name.

use serde::{Deserialize, Serialize};

use record::Provenance;
use record::control;

/// A machine that served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name or address.
    pub name: String,
    /// The boot it ran in, where the client, or a monitor of the server's processes, was on the same machine.
    pub boot: Option<String>,
    /// Whether it is only what a URL names: a machine, or a container, a pod or a service on one.
    #[serde(default)]
    pub in_url: bool,
}

impl Host {
    /// The machine that a record was made on; `None` where that was not read.
    #[must_use]
    pub fn of(provenance: &Provenance) -> Option<Self> {
        let mut own = Self::named(provenance.host.as_deref()?)?;
        own.boot.clone_from(&provenance.boot_id);
        Some(own)
    }

    /// A host by its name, or by a URL with that name; `None` where that only says that two ends were on one machine.
    #[must_use]
    pub fn named(said: &str) -> Option<Self> {
        let bare = of_url(said);
        let address = bare.parse::<std::net::IpAddr>();
        let is_here = bare.is_empty()
            || bare.eq_ignore_ascii_case("localhost")
            || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified());
        (!is_here).then(|| Self {
            name: control::shortened(bare),
            boot: None,
            in_url: bare != said.trim(),
        })
    }

    /// Whether two hosts are two machines; `None` where the names do not tell: one of them is an address, a container's id or only
    /// what a URL names, and one machine has several of those.
    #[must_use]
    pub fn is_another(&self, other: &Self) -> Option<bool> {
        let boots = self.boot.as_ref().zip(other.boot.as_ref());
        if self.label() == other.label() || boots.is_some_and(|(a, b)| a == b) {
            return Some(false);
        }
        (self.is_own_name() && other.is_own_name()).then_some(true)
    }

    /// An address as it is, of a name what stands before its domain.
    fn label(&self) -> String {
        let lower = self.name.to_ascii_lowercase();
        match (self.is_address(), lower.split_once('.')) {
            (false, Some((label, _))) => label.to_owned(),
            _ => lower,
        }
    }

    fn is_address(&self) -> bool {
        self.name.parse::<std::net::IpAddr>().is_ok()
    }

    /// Whether the name is one that the machine has itself.
    fn is_own_name(&self) -> bool {
        // Docker names a container by the first twelve digits of its id.
        let is_hex = self.name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_container = is_hex && self.name.len() == 12;
        !self.in_url && !self.is_address() && !is_container
    }
}

/// The host in a URL, or in `name:port`; a bare name or address as it is.
fn of_url(said: &str) -> &str {
    let said = said.trim();
    let rest = said.split_once("://").map_or(said, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if let Some(bracketed) = host.strip_prefix('[') {
        return bracketed.split(']').next().unwrap_or_default();
    }
    match host.split_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, boot: Option<&str>) -> Host {
        Host {
            name: name.to_owned(),
            boot: boot.map(str::to_owned),
            in_url: false,
        }
    }

    #[test]
    fn two_hosts_are_told_from_one_of_two_names() {
        let of = |said| Host::named(said).unwrap();
        for (a, b, is) in [
            (
                named("node1", None),
                named("NODE1.example.org", None),
                Some(false),
            ),
            (named("node1", None), named("node2", None), Some(true)),
            // One machine may have both.
            (named("10.0.0.1", None), named("10.0.0.2", None), None),
            (
                named("10.0.0.1", None),
                named("10.0.0.1", None),
                Some(false),
            ),
            // Services of one machine, and the same name on either side.
            (
                of("http://vllm-tp1:8000"),
                of("http://vllm-tp2:8000/v1"),
                None,
            ),
            (of("vllm-tp1:8000"), named("node2", None), None),
            (
                of("http://node1.example.org:8000"),
                named("node1", None),
                Some(false),
            ),
            (named("10.0.0.1", None), named("node2", None), None),
            (named("3f2a9c0d11ee", None), named("node2", None), None),
            // Two containers of one boot are one machine.
            (
                named("3f2a9c0d11ee", Some("b")),
                named("node2", Some("b")),
                Some(false),
            ),
        ] {
            assert_eq!(a.is_another(&b), is, "{a:?} {b:?}");
            assert_eq!(b.is_another(&a), is, "{b:?} {a:?}");
        }
        for here in [
            "127.0.0.1",
            "[::1]",
            "0.0.0.0",
            "localhost",
            "",
            "http://localhost:8000",
            "http://[::1]:8000/v1",
        ] {
            assert_eq!(Host::named(here), None, "{here}");
        }
        for (said, name, in_url) in [
            ("http://10.0.0.1:8000", "10.0.0.1", true),
            (
                "https://user@node1.example.org/v1",
                "node1.example.org",
                true,
            ),
            ("[fd00::1]:8000", "fd00::1", true),
            ("fd00::1", "fd00::1", false),
            ("node1", "node1", false),
        ] {
            let host = of(said);
            assert_eq!((host.name.as_str(), host.in_url), (name, in_url), "{said}");
        }
    }
}

//! Checks a box for sense. What a key of some name may hold is the same wherever it stands, so that one walk over all keys checks
//! their values; what several keys must hold together is checked beside it. Syntax is the parser's matter.

use std::collections::HashSet;

use toml::Value;

use crate::device::uuid_bytes;
use crate::{BoxError, BoxFile, Fault, Link, SCHEMA, Vendor, cpulist};

type Check = Result<(), BoxError>;

/// Builds errors that name the file, the key and the value.
struct Keys<'a> {
    origin: &'a str,
}

impl Keys<'_> {
    fn require(&self, good: bool, key: &str, value: impl ToString, problem: &str) -> Check {
        if good {
            return Ok(());
        }
        Err(BoxError::Invalid {
            origin: self.origin.to_owned(),
            key: key.to_owned(),
            value: value.to_string(),
            problem: problem.to_owned(),
        })
    }
}

impl BoxFile {
    /// Checks everything that the format's types do not already ensure; `origin` is what errors show.
    ///
    /// # Errors
    /// [`BoxError::Invalid`] with the first offending key and its value.
    pub fn validate(&self, origin: &str) -> Result<(), BoxError> {
        let keys = Keys { origin };
        let problem = format!("this program reads schema {SCHEMA}");
        keys.require(self.schema == SCHEMA, "schema", self.schema, &problem)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let has_name = !self.name.is_empty() && self.name.bytes().all(is_plain);
        let problem = "a name has letters, digits, `-`, `_` and `.`";
        keys.require(has_name, "name", &self.name, problem)?;
        let has_devices = self.vendor == Vendor::HOST || !self.device.is_empty();
        let problem = "a box needs at least one [[device]] unless its vendor is \"host\"";
        keys.require(has_devices, "device", "[]", problem)?;
        let written = Value::try_from(self).map_err(|error| BoxError::Invalid {
            origin: origin.to_owned(),
            key: "box".to_owned(),
            value: error.to_string(),
            problem: "it cannot be written".to_owned(),
        })?;
        self.walk(&keys, "", &written)?;
        let staged = self.driver_staging_fraction.value;
        let key = "driver_staging_fraction";
        keys.require(staged <= 1.0, key, staged, "a part is at most 1")?;
        self.check_nodes(&keys)?;
        self.check_unique(&keys)?;
        self.check_far(&keys)?;
        self.check_peers(&keys)?;
        self.check_faults(&keys)?;
        self.check_points(&keys)
    }

    fn walk(&self, keys: &Keys<'_>, key: &str, value: &Value) -> Check {
        let name = key.rsplit('.').next().unwrap_or(key);
        if let Some(problem) = self.problem(name, value) {
            let shown = match (link_of(value), value) {
                (Some(link), _) => link.to_string(),
                (None, Value::Table(table)) => table.get("value").unwrap_or(value).to_string(),
                (None, Value::String(text)) => text.clone(),
                (None, value) => value.to_string(),
            };
            return keys.require(false, key, shown, &problem);
        }
        match value {
            Value::Table(table) => table.iter().try_for_each(|(name, member)| {
                let dot = if key.is_empty() { "" } else { "." };
                self.walk(keys, &format!("{key}{dot}{name}"), member)
            }),
            Value::Array(elements) => {
                let mut elements = elements.iter().enumerate();
                elements.try_for_each(|(at, one)| self.walk(keys, &format!("{key}[{at}]"), one))
            }
            _ => Ok(()),
        }
    }

    /// What is wrong with the value of a key of this name.
    fn problem(&self, name: &str, value: &Value) -> Option<String> {
        let last = self.device.len().saturating_sub(1);
        let is_device = |value: &Value| value.as_integer().is_some_and(|at| at <= last as i64);
        let is_node = |value: &Value| {
            let mut nodes = self.node.iter();
            nodes.any(|node| value.as_integer() == Some(i64::from(node.id)))
        };
        let ranks = self.seen_devices() as i64;
        let has = |table: &toml::Table, key: &str| table.contains_key(key);
        let (good, problem) = match (name, value) {
            (_, Value::Table(table))
                if (has(table, "value") || has(table, "points"))
                    && has(table, "published") == has(table, "assumed") =>
            {
                (
                    false,
                    "it needs exactly one of `published = \"source\"` and `assumed = \"why\"`",
                )
            }
            (_, Value::Table(table)) if table.get("value").is_some_and(Value::is_float) => {
                let number = table["value"].as_float().unwrap_or_default();
                match name.ends_with("latency_us") {
                    true => (
                        number >= 0.0 && number.is_finite(),
                        "a latency is a finite number, 0 or above",
                    ),
                    false => (
                        number > 0.0 && number.is_finite(),
                        "a figure is a finite number above 0",
                    ),
                }
            }
            (_, Value::Table(_)) => {
                let link = link_of(value)?;
                let widths = [1, 2, 4, 8, 12, 16, 32];
                let good = link.gigatransfers().is_some() && widths.contains(&link.width);
                (
                    good,
                    "generations are 1 to 6, widths 1, 2, 4, 8, 12, 16 or 32",
                )
            }
            ("pci_id", Value::String(id)) => {
                let parts = id.split_once(':');
                let good = parts.is_some_and(|(vendor, device)| hex(vendor, 4) && hex(device, 4));
                (
                    good,
                    "a PCI id is `vendor:device`, four hexadecimal digits each",
                )
            }
            ("class", Value::String(class)) => (
                hex(class, 6),
                "a class has six hexadecimal digits, such as 030200",
            ),
            ("address", Value::String(text)) => (
                is_address(text),
                "an address is lower case with domain and function, such as 0000:21:00.0",
            ),
            ("parent", Value::String(parent)) => {
                let known = is_root(parent) || self.port_at(parent).is_some();
                (known, "a parent is a root such as pci0000:20 or a [[port]]")
            }
            ("cpus", Value::String(list)) => (
                cpulist::parse(list).is_some(),
                "CPUs are a list such as 0-3,8",
            ),
            ("uuid", Value::String(uuid)) if self.vendor == Vendor::NVIDIA => {
                let rest = uuid
                    .strip_prefix("GPU-")
                    .or_else(|| uuid.strip_prefix("MIG-"));
                (
                    rest.and_then(uuid_bytes).is_some(),
                    "an NVIDIA uuid is GPU- or MIG- and 8-4-4-4-12 hexadecimal digits",
                )
            }
            // They become folders and lines of the tree.
            ("interface" | "rdma", Value::String(name)) => {
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
                (
                    !name.is_empty() && name.bytes().all(is_plain),
                    "a name has letters, digits, `-` and `_`",
                )
            }
            ("rate", Value::String(rate)) => {
                (!rate.contains(char::is_control), "a rate is one line")
            }
            ("node", Value::Integer(_)) => (is_node(value), "no [[node]] has this id"),
            ("nodes", Value::Array(nodes)) => {
                let good = nodes.iter().all(is_node) && nodes.first() != nodes.last();
                (
                    good,
                    "two different nodes that there are: of the device or the thread, then of the memory",
                )
            }
            ("device", Value::Integer(_)) if !is_device(value) => {
                return Some(format!("the box has devices 0 to {last}"));
            }
            ("pair", Value::Array(pair)) if !pair.iter().all(is_device) => {
                return Some(format!("the box has devices 0 to {last}"));
            }
            ("pair", Value::Array(pair)) => (
                pair.first() != pair.last(),
                "a pair has two different devices",
            ),
            ("rank", Value::Integer(rank)) => {
                (*rank < ranks, "the box has no device for this rank")
            }
            ("ranks", Value::Integer(count)) => (
                (2..=ranks).contains(count),
                "a collective has 2 ranks or more, and a device for each",
            ),
            ("segments" | "cross_segments" | "host_segments", Value::Array(route)) => {
                let is_known = |id: &Value| {
                    self.segment
                        .iter()
                        .any(|segment| id.as_str() == Some(&segment.id))
                };
                let ids: HashSet<_> = route.iter().map(Value::as_str).collect();
                (
                    route.iter().all(is_known) && ids.len() == route.len(),
                    "a route names [[segment]] tables that there are, each once",
                )
            }
            (
                "memory_mib" | "bar_mib" | "multiprocessors" | "copy_engines" | "bytes" | "nth",
                Value::Integer(count),
            ) => ((1..=1 << 30).contains(count), "a count is 1 to 2^30"),
            ("percent", Value::Integer(percent)) => (
                (1..100).contains(percent),
                "a slow way has 1 to 99 percent of its rate",
            ),
            ("code", Value::Integer(code)) => (*code != 0, "0 is success"),
            ("cv", Value::Float(cv)) => (
                (0.0..=0.3).contains(cv),
                "the coefficient of variation is 0 to 0.3, so that 3 of it stay below 1",
            ),
            ("slow_fraction", Value::Float(part)) => {
                ((0.0..=1.0).contains(part), "a probability is 0 to 1")
            }
            ("slow_extra" | "power_w", Value::Float(number)) => (
                number.is_finite() && *number >= 0.0,
                "a finite number, 0 or above",
            ),
            _ => return None,
        };
        (!good).then(|| problem.to_owned())
    }

    fn check_nodes(&self, keys: &Keys<'_>) -> Check {
        let mut cpus = HashSet::new();
        for (at, node) in self.node.iter().enumerate() {
            for cpu in cpulist::parse(&node.cpus).unwrap_or_default() {
                let key = format!("node[{at}].cpus");
                keys.require(cpus.insert(cpu), &key, cpu, "a CPU is on one node only")?;
            }
            let (all, key) = (self.node.len(), format!("node[{at}].distances"));
            let problem = "there is one distance for every node";
            keys.require(
                node.distances.len() == all,
                &key,
                format!("{:?}", node.distances),
                problem,
            )?;
        }
        keys.require(
            !cpus.is_empty(),
            "node",
            "[]",
            "a box has a [[node]] with a CPU",
        )
    }

    /// Names and addresses that must be unique, and ways to a root.
    fn check_unique(&self, keys: &Keys<'_>) -> Check {
        let addresses = self.functions().map(|function| {
            let (table, at) = function.table;
            (format!("{table}[{at}].address"), function.address)
        });
        let uuids = self.device.iter().enumerate();
        let uuids = uuids.map(|(at, device)| (format!("device[{at}].uuid"), &device.uuid));
        let segments = self.segment.iter().enumerate();
        let segments = segments.map(|(at, segment)| (format!("segment[{at}].id"), &segment.id));
        let mut seen = HashSet::new();
        for (key, value) in addresses.chain(uuids).chain(segments) {
            keys.require(seen.insert(value), &key, value, "it is not unique")?;
        }
        let mut ids = HashSet::new();
        for (at, node) in self.node.iter().enumerate() {
            keys.require(
                ids.insert(node.id),
                &format!("node[{at}].id"),
                node.id,
                "it is not unique",
            )?;
        }
        for (at, port) in self.port.iter().enumerate() {
            let problem = "the ports above form a ring, not a way to a root";
            let is_rooted = self.ancestors(&port.address).is_some();
            keys.require(
                is_rooted,
                &format!("port[{at}].parent"),
                &port.parent,
                problem,
            )?;
        }
        Ok(())
    }

    fn check_far(&self, keys: &Keys<'_>) -> Check {
        for (at, far) in self.far.iter().enumerate() {
            let good = far.distance.is_some() != far.nodes.is_some();
            keys.require(
                good,
                &format!("far[{at}].distance"),
                "both or none",
                "give either distance or nodes",
            )?;
        }
        let pairs = self
            .node
            .iter()
            .flat_map(|from| self.node.iter().map(move |of| (from.id, of.id)));
        for (from, of) in pairs.filter(|(from, of)| from != of && !self.far.is_empty()) {
            let problem =
                "where there is a [[far]] table, every two nodes need one, by distance or by nodes";
            keys.require(
                self.far(from, of).is_some(),
                "far",
                format!("nodes [{from}, {of}]"),
                problem,
            )?;
        }
        Ok(())
    }

    fn check_peers(&self, keys: &Keys<'_>) -> Check {
        let mut pairs = HashSet::new();
        for (at, peer) in self.peer.iter().enumerate() {
            let [a, b] = peer.pair;
            let is_new = pairs.insert((a.min(b), a.max(b)));
            let problem = "a pair, in either order, has one [[peer]] table";
            keys.require(
                is_new,
                &format!("peer[{at}].pair"),
                format!("{:?}", peer.pair),
                problem,
            )?;
        }
        for a in 0..self.device.len() {
            for b in a + 1..self.device.len() {
                let path = self.peer_path(a, b);
                let is_complete =
                    !path.access || (path.gbps.is_some() && path.latency_us.is_some());
                let problem = "a pair with access needs a rate (same_node or cross_node, or gbps of its own) and latency_us";
                keys.require(
                    is_complete,
                    "peer_default",
                    format!("pair [{a}, {b}]"),
                    problem,
                )?;
            }
        }
        Ok(())
    }

    /// Faults name what the box has; numbers of devices and nodes are checked as everywhere.
    fn check_faults(&self, keys: &Keys<'_>) -> Check {
        for (at, fault) in self.fault.iter().enumerate() {
            let is_there = match fault {
                Fault::NvlinkDown { link, .. } => {
                    self.nvlink.as_ref().is_some_and(|all| *link < all.links)
                }
                Fault::NvlinkErrors { .. } => self.nvlink.is_some(),
                Fault::LinkErrors { address, .. } => {
                    self.functions().any(|function| function.address == address)
                }
                Fault::WrongData {
                    pair,
                    direction,
                    device,
                } => pair.is_some() || direction.is_some() && device.is_some(),
                _ => true,
            };
            let problem = "the box has no such link or function, or the fault does not say which";
            keys.require(
                is_there,
                &format!("fault[{at}]"),
                format!("{fault:?}"),
                problem,
            )?;
        }
        Ok(())
    }

    /// The curves of collectives.
    fn check_points(&self, keys: &Keys<'_>) -> Check {
        let mut tables = HashSet::new();
        for (at, table) in self.collective.iter().enumerate() {
            let own = (
                table.library,
                table.kind,
                table.ranks,
                table.protocol,
                table.transport,
            );
            let problem = "a library, kind, number of ranks, protocol and transport has one [[collective]] table";
            keys.require(
                tables.insert(own),
                &format!("collective[{at}]"),
                format!("{own:?}"),
                problem,
            )?;
            let ascends = table.points.windows(2).all(|two| two[0].0 < two[1].0);
            let is_time = |(bytes, us): &(u64, f64)| *bytes > 0 && us.is_finite() && *us >= 0.0;
            let good = !table.points.is_empty() && ascends && table.points.iter().all(is_time);
            let problem = "a curve has points, its bytes ascend from 1 on, and times are microseconds, 0 or more";
            keys.require(
                good,
                &format!("collective[{at}].points"),
                format!("{:?}", table.points),
                problem,
            )?;
        }
        Ok(())
    }

    /// Devices as a driver counts them: MIG instances instead of the device that has them.
    fn seen_devices(&self) -> usize {
        let devices = self.device.iter();
        devices.map(|device| device.mig.len().max(1)).sum()
    }

    /// The addresses from the root's child down to `address`, or `None` where the parents form a ring.
    pub(crate) fn ancestors(&self, address: &str) -> Option<(String, Vec<String>)> {
        let mut chain = vec![address.to_owned()];
        loop {
            let last = chain.last()?;
            let mut all = self.functions();
            let parent = all.find(|function| function.address == last)?.parent;
            if is_root(parent) {
                chain.reverse();
                return Some((parent.clone(), chain));
            }
            if chain.contains(parent) {
                return None;
            }
            chain.push(parent.clone());
        }
    }
}

/// The link of a table that has a generation and a width.
fn link_of(value: &Value) -> Option<Link> {
    let part = |name| value.get(name)?.as_integer();
    let small = |number: i64| u8::try_from(number).unwrap_or(0);
    Some(Link {
        generation: small(part("generation")?),
        width: small(part("width")?),
    })
}

fn is_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let [domain, bus, device, function] = parts[..] else {
        return false;
    };
    (hex(domain, 4) || hex(domain, 5))
        && hex(bus, 2)
        && hex(device, 2)
        && hex(function, 1)
        && text.rfind('.') == Some(text.len() - 2)
}

fn is_root(text: &str) -> bool {
    text.strip_prefix("pci")
        .and_then(|rest| rest.split_once(':'))
        .is_some_and(|(domain, bus)| (hex(domain, 4) || hex(domain, 5)) && hex(bus, 2))
}

fn hex(text: &str, digits: usize) -> bool {
    text.len() == digits
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

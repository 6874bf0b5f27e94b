//! `tplens numa prove` on the machine that runs the tests.
//!
//! Machines with several nodes are tested where there are some.

use numa::{HostPages, NumaError, Placement};
use serde_json::Value;

use super::common::{Scratch, skip};

/// The program's JSON and its exit code.
fn proven(more: &[&str]) -> (Value, i32) {
    let scratch = Scratch::new();
    let mut arguments = vec!["numa", "prove", "--json"];
    arguments.extend(more);
    let ran = scratch.run(&arguments);
    let json = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr));
    (json, ran.code)
}

/// Why this test may not put memory everywhere, by what the kernel reports: its cpuset leaves a node out, or a call is forbidden.
fn in_the_way() -> Option<String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let status = read("/proc/self/status");
    let mut lines = status.lines();
    let allowed = lines.find_map(|line| line.strip_prefix("Mems_allowed_list:"));
    let with_memory = read("/sys/devices/system/node/has_memory");
    if allowed.is_some_and(|allowed| allowed.trim() != with_memory.trim()) {
        return Some("the cpuset does not allow every NUMA node".to_owned());
    }
    let first = with_memory.split(['-', ',', '\n']).next();
    let node = first.and_then(|first| first.parse().ok()).unwrap_or(0);
    let on_node = Placement {
        node: Some(node),
        ..Placement::default()
    };
    let pages = HostPages::allocate(1, &on_node);
    let refused = pages.and_then(|pages| pages.placement_of_all()).err();
    let forbidden = refused.filter(NumaError::is_forbidden);
    forbidden.map(|error| error.to_string())
}

fn has_nodes() -> bool {
    std::path::Path::new("/sys/devices/system/node/node0").exists()
}

#[test]
fn every_node_is_proven() {
    if !has_nodes() {
        return skip("no NUMA nodes in sysfs");
    }
    if let Some(reason) = in_the_way() {
        return skip(&reason);
    }
    let (json, code) = proven(&[]);
    assert_eq!(json["schema"], 4);
    assert_eq!(code, 0, "{json}");
    for node in json["nodes"].as_array().unwrap() {
        assert_eq!(node["on"][node["node"].to_string()], 64);
        assert_eq!(node["by"], "move_pages");
    }
}

#[test]
fn a_node_by_its_number_may_be_one_that_does_not_exist() {
    let (json, code) = proven(&["--node", "1022"]);
    assert_eq!(code, 3);
    let [node] = &json["nodes"].as_array().unwrap()[..] else {
        panic!("{json}");
    };
    assert_eq!((&node["node"], &node["by"]), (&1022.into(), &Value::Null));
    assert_eq!(node["is_proven"], false);
}

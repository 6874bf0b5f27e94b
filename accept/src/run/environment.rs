//! What the programs that a run starts have in their environment beside this one's.

use std::ffi::OsString;

/// Names the noise of a process on a simulated machine: without it every process of a run would play the same again, and samples that are taken
/// anew would be copies.
pub(crate) const STREAM: &str = "TPLENS_SIM_STREAM";

/// By which network interface ranks of one machine find each other: NCCL's and RCCL's variable, and MetaX's.
const INTERFACE: [&str; 2] = ["NCCL_SOCKET_IFNAME", "MCCL_SOCKET_IFNAME"];

/// Variables that are set besides: the ranks of a collective find each other on the loopback interface, so that no port is open to
/// others, unless the user chose another one.
pub(crate) fn added(is_set: impl Fn(&str) -> bool) -> Vec<(OsString, OsString)> {
    let unset = INTERFACE.into_iter().filter(|name| !is_set(name));
    unset.map(|name| (name.into(), "lo".into())).collect()
}

/// What the environment does to the figures: the names of the variables that change what is measured. Values may hold paths.
pub(crate) fn note(variables: impl IntoIterator<Item = (String, String)>) -> Option<String> {
    let set: Vec<String> = record::allowed_environment(variables).into_keys().collect();
    let set = (!set.is_empty()).then(|| set.join(", "))?;
    Some(format!("these variables of the environment are set: {set}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_meet_on_the_loopback_interface_unless_the_user_says_otherwise() {
        let lo = |name: &str| (OsString::from(name), OsString::from("lo"));
        assert_eq!(
            added(|_| false),
            [lo("NCCL_SOCKET_IFNAME"), lo("MCCL_SOCKET_IFNAME")]
        );
        assert_eq!(
            added(|name| name == "NCCL_SOCKET_IFNAME"),
            [lo("MCCL_SOCKET_IFNAME")]
        );
    }

    #[test]
    fn what_changes_figures_is_told_and_a_secret_is_not() {
        let variables = [
            ("PATH", "/bin"),
            ("NCCL_P2P_DISABLE", "1"),
            ("NCCL_API_KEY", "canary"),
        ];
        let told = note(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(
            told.as_deref(),
            Some("these variables of the environment are set: NCCL_P2P_DISABLE")
        );
    }
}

//! `/proc/cpuinfo`, line by line.

/// The value of a `/proc/cpuinfo` line, the first of its name.
pub(crate) fn cpuinfo_value<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then_some(value.trim())
    })
}

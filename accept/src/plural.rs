//! A count with its noun.

/// `1 check`, `2 checks`.
pub(crate) fn plural(count: usize, thing: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{end}")
}

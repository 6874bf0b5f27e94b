//! A count with its noun: `1 box`, `2 boxes`. It knows regular English nouns only.

use std::fmt::Display;

/// `1 check`, `2 checks`, `0 boxes`, `3 copies`.
pub(crate) fn plural<N: Display + PartialEq + From<u8>>(count: N, thing: &str) -> String {
    if count == N::from(1) {
        return format!("1 {thing}");
    }
    let before_y = thing.strip_suffix('y');
    match before_y.filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        Some(stem) => format!("{count} {stem}ies"),
        None if thing.ends_with(['x', 's']) => format!("{count} {thing}es"),
        None => format!("{count} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_things() {
        assert_eq!(plural(1_usize, "box"), "1 box");
        assert_eq!(plural(2_u64, "box"), "2 boxes");
        assert_eq!(plural(0_u32, "step"), "0 steps");
        assert_eq!(plural(3_usize, "copy"), "3 copies");
        assert_eq!(plural(2_usize, "day"), "2 days");
    }
}

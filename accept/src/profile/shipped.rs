//! The profiles that came with the program.

macro_rules! shipped {
    ($($name:literal),+ $(,)?) => {
        /// Name and text of each, in the order in which they are listed.
        pub(super) const SHIPPED: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../profiles/", $name, ".toml")))),+
        ];
    };
}

shipped!(
    "base",
    "l40x4",
    "rtxpro6000-mig",
    "rtxpro6000-bare",
    "r9700-x16",
    "r9700-x8",
    "mxc500x4",
    "h200x8",
    "host",
);

/// The text of a shipped profile.
pub(super) fn text(name: &str) -> Option<&'static str> {
    let (_, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name)?;
    Some(text)
}

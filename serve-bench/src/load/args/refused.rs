//! What flags refuse: numbers, and flags that do not go together.

/// A number from one to another.
pub(crate) fn within(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let number = text.parse().ok().filter(|one| (least..=most).contains(one));
    number.ok_or_else(|| format!("`{text}` is not a number from {least} to {most}"))
}

/// The first of these reasons that holds.
pub(in crate::load) fn refused(reasons: &[(bool, &str)]) -> Result<(), String> {
    let mut holding = reasons.iter().filter(|(holds, _)| *holds);
    holding
        .next()
        .map_or(Ok(()), |(_, why)| Err((*why).to_owned()))
}

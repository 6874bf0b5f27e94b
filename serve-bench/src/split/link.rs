//! A link between engines as flags name it.

use disagg::LinkLaw;

/// A link such as `171GB/s,1.8ms`, or `inf`.
pub(crate) fn kv_link(text: &str) -> Result<LinkLaw, String> {
    let wrong = || "must look like 171GB/s,1.8ms or 171GB/s,1.8ms,2us".to_owned();
    let mut words = text.split(',').map(str::trim);
    let rate = words.next().ok_or_else(wrong)?;
    let rate: f64 = match rate.strip_suffix("GB/s") {
        Some(number) => number.trim().parse().map_err(|_| wrong())?,
        None if rate == "inf" => f64::INFINITY,
        None => return Err(wrong()),
    };
    let mut time = || words.next().map(program::command_line::time).transpose();
    let (start, post) = (time()?.unwrap_or_default(), time()?.unwrap_or_default());
    if rate.is_nan() || rate <= 0.0 || words.next().is_some() {
        return Err(wrong());
    }
    Ok(LinkLaw {
        start_s: start.as_secs_f64(),
        bytes_per_s: rate * 1e9,
        post_s: post.as_secs_f64(),
    })
}

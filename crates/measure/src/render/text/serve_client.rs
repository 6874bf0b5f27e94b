//! What the load generator says of itself: whether its times are the server's, and what it took.

use super::cell::significant;
use super::record::line;
use crate::record::{Distribution, ServeClient, Stamps};

/// A line above all numbers for each reason why they are the client's own.
pub(super) fn cautions(client: Option<&ServeClient>) -> String {
    client
        .iter()
        .flat_map(|client| &client.invalid)
        .map(|reason| format!("CAUTION: INVALID, the load generator was the limit: {reason}\n"))
        .collect()
}

/// What it took, in two lines.
pub(super) fn figures(client: Option<&ServeClient>) -> String {
    let mut text = String::new();
    let Some(client) = client else {
        return text;
    };
    let percent = |part: f64| format!("{:.0}%", part * 100.0);
    let mut words = Vec::new();
    words.extend(
        client
            .busy
            .map(|busy| format!("{} of a CPU", percent(busy))),
    );
    words.extend(
        client
            .starved
            .map(|starved| format!("{} waiting for one", percent(starved))),
    );
    words.extend(
        client
            .largest_backlog
            .map(|backlog| format!("at most {backlog} requests due and not sent")),
    );
    if client.reconnects > 0 {
        words.push(format!("{} connections made anew", client.reconnects));
    }
    if !words.is_empty() {
        line(
            &mut text,
            &format!("\nload generator: {}", words.join(", ")),
        );
    }
    let stamps = match (client.stamps, client.kernel_stamped) {
        (Stamps::AtReceipt, Some(part)) => format!(
            "instants of replies are the kernel's for {} of the reads",
            percent(part)
        ),
        (Stamps::AtReceipt, None) => "instants of replies are the kernel's".to_owned(),
        (Stamps::AtRead, _) => {
            "instants of replies are those of the program's reads of the socket".to_owned()
        }
    };
    let mut words = vec![stamps];
    let lag = |what: &str, of: &Option<Distribution>| {
        let of = of.as_ref()?;
        let (name, value) = of.p99.map_or(("largest", of.max), |p99| ("p99", p99));
        Some(format!(
            "{what} lag mean {} ms, {name} {} ms (n={})",
            significant(of.mean),
            significant(value),
            of.n
        ))
    };
    words.extend(lag("send", &client.send_lag_ms));
    words.extend(lag("read", &client.read_lag_ms));
    line(&mut text, &words.join(", "));
    text
}

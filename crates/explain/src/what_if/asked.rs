//! What is asked: what to put in place of the collectives, as the command line says it.

use import::CurvePoint;
use tp_plan::Surroundings;

use super::error::WhatIfError;
use super::rate::LinkRate;

/// Something to put in place of the collectives.
#[derive(Debug, Clone, PartialEq)]
pub struct Substitution {
    /// As it was asked for, such as `link=gen4x8`.
    pub asked: String,
    /// What it is.
    pub by: By,
}

/// What stands in place of the collectives.
#[derive(Debug, Clone, PartialEq)]
pub enum By {
    /// A curve that was measured.
    Curve {
        /// Its times.
        points: Vec<CurvePoint>,
    },
    /// The collectives of a box that is described.
    Box {
        /// Its times at the plan's sizes or around them.
        points: Vec<CurvePoint>,
        /// What decides the engine's paths there.
        around: Box<Surroundings>,
    },
    /// Another link; what it takes the place of is read from the box where it is not said.
    Link {
        /// The link that the runs had.
        old: Option<LinkRate>,
        /// The link instead.
        new: LinkRate,
    },
    /// Peer access between the GPUs, by what was published for them.
    PeerAccess,
    /// Each all-reduce takes so many microseconds in the engine.
    AllReduceMicros(f64),
    /// Each collective takes so many times as long.
    CommunicationTimes(f64),
}

/// What may be asked without a file, for messages.
const FORMS: &str =
    "curve=FILE, box=NAME, link=NEW, link=OLD:NEW, p2p=on, allreduce=18.5us, comm=x0";

impl std::str::FromStr for By {
    type Err = WhatIfError;

    /// `link=gen4x8`, `link=gen4x16:gen4x8`, `p2p=on`, `allreduce=18.5us` or `comm=x0`; what names files is the caller's.
    fn from_str(text: &str) -> Result<Self, WhatIfError> {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        match (key, value) {
            ("link", value) => Ok(match value.split_once(':') {
                Some((old, new)) => Self::Link {
                    old: Some(old.parse()?),
                    new: new.parse()?,
                },
                None => Self::Link {
                    old: None,
                    new: value.parse()?,
                },
            }),
            ("p2p", "on") => Ok(Self::PeerAccess),
            ("allreduce", value) if value.ends_with("us") => {
                number(text, value.trim_end_matches("us")).map(Self::AllReduceMicros)
            }
            ("comm", value) if value.starts_with('x') => {
                number(text, value.trim_start_matches('x')).map(Self::CommunicationTimes)
            }
            _ => Err(WhatIfError(format!(
                "{text} is nothing that can be put in; give {FORMS}"
            ))),
        }
    }
}

/// A number of at least zero.
fn number(text: &str, number: &str) -> Result<f64, WhatIfError> {
    let parsed: Option<f64> = number.trim().parse().ok();
    parsed
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| WhatIfError(format!("{text}: {number} is no number of 0 or more")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_read_and_what_has_no_sense_is_refused() {
        let by = |text: &str| text.parse::<By>();
        assert_eq!(by("p2p=on"), Ok(By::PeerAccess));
        assert_eq!(by("allreduce=1.5us"), Ok(By::AllReduceMicros(1.5)));
        assert_eq!(by("comm=x0"), Ok(By::CommunicationTimes(0.0)));
        let Ok(By::Link {
            old: Some(old),
            new,
        }) = by("link=gen4x16:gen4x8")
        else {
            panic!("no link");
        };
        assert!((old.gb_per_s() / new.gb_per_s() - 2.0).abs() < 1e-9);
        for bad in [
            "",
            "p2p",
            "p2p=off",
            "link=",
            "link=gen4x16:",
            "allreduce=fast",
            "allreduce=-1us",
            "allreduce=NaNus",
            "allreduce=18.5",
            "comm=xinf",
            "comm=0",
            "nvlink4",
        ] {
            assert!(by(bad).is_err(), "{bad}");
        }
    }
}

//! What is asked: what to put in place of the collectives, as the command line says it.

use import::CurvePoint;

use super::rate::{LinkRate, WhatIfError};

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
    /// Another link; what it takes the place of is read from the box where it is not said.
    Link {
        /// The link that the runs had.
        old: Option<LinkRate>,
        /// The link instead.
        new: LinkRate,
    },
    /// Peer access between the GPUs, by what was published for them.
    PeerAccess,
}

/// What may be asked, for messages.
const FORMS: &str = "curve=FILE, link=NEW, link=OLD:NEW, p2p=on";

impl std::str::FromStr for By {
    type Err = WhatIfError;

    /// `link=gen4x8`, `link=gen4x16:gen4x8` or `p2p=on`; what names files is the caller's.
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
            _ => Err(WhatIfError(format!(
                "{text} is nothing that can be put in; give {FORMS}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_read_and_what_has_no_sense_is_refused() {
        let by = |text: &str| text.parse::<By>();
        assert_eq!(by("p2p=on"), Ok(By::PeerAccess));
        let Ok(By::Link {
            old: Some(old),
            new,
        }) = by("link=gen4x16:gen4x8")
        else {
            panic!("no link");
        };
        assert!((old.gb_per_s() / new.gb_per_s() - 2.0).abs() < 1e-9);
        for bad in ["", "p2p", "p2p=off", "link=", "link=gen4x16:", "nvlink4"] {
            assert!(by(bad).is_err(), "{bad}");
        }
    }
}

//! The header that all hand-made records share.

use crate::record::{Header, Provenance, SCHEMA};

pub(super) fn header(program: &str) -> Header {
    Header {
        schema: SCHEMA,
        program: program.to_owned(),
        version: "0.1.0".to_owned(),
        simulated: None,
        provenance: Provenance {
            started: "2026-01-02T03:04:05Z".to_owned(),
            host: Some("box".to_owned()),
            ..Provenance::default()
        },
    }
}

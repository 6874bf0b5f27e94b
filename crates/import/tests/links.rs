//! Texts of nvbandwidth as they are pasted, and of old versions.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;

use import::links::{LinkFile, TroubleKind, read};

fn fixture(name: &str) -> LinkFile {
    read(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/links")
            .join(name),
    )
    .unwrap()
}

#[test]
fn a_waived_test_is_no_failure() {
    let file = fixture("nvbandwidth-0.2-waived.txt");
    let troubles: Vec<_> = file
        .troubles
        .iter()
        .map(|one| (one.kind, one.test.as_deref()))
        .collect();
    assert_eq!(
        troubles,
        [(TroubleKind::NotApplicable, Some("d2d_write_ce"))]
    );
    assert_eq!((file.values.len(), file.devices.len()), (0, 2));
    assert_eq!(file.driver.as_deref(), Some("525.125.06"));
}

#[test]
fn a_quoted_matrix_in_a_fence_is_read() {
    let file = fixture("nvbandwidth-quoted.txt");
    let values: Vec<(&str, f64)> = file
        .values
        .iter()
        .map(|one| (one.ends.test.as_str(), one.value))
        .collect();
    assert_eq!(values, [("h2d_pinned_sm", 35.19), ("h2d_pinned_sm", 35.25)]);
}

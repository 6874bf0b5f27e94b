//! Which files may be written.

use std::path::PathBuf;

use super::sample;
use crate::cli::Forms;
use crate::outputs::{check, junit, prometheus, text};

#[test]
fn no_form_takes_the_place_of_another_or_of_the_report() {
    let folder = std::env::temp_dir().join(format!("tplens-forms-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| Some(folder.join(name));
    let kept = folder.join("report.json");
    let told = |html: Option<PathBuf>, junit: Option<PathBuf>| {
        let forms = Forms {
            html,
            junit,
            ..Forms::default()
        };
        check(&forms, &[("the report that is read", &kept)])
    };
    assert_eq!(told(file("a"), file("b")), Ok(()));
    let error = told(file("a"), file("a")).unwrap_err();
    assert!(
        error.starts_with("--html and --junit both want "),
        "{error}"
    );
    let error = told(file("report.json"), None).unwrap_err();
    assert!(
        error.starts_with("the report that is read and --html both want "),
        "{error}"
    );
    let error = told(file("none/a"), None).unwrap_err();
    assert!(error.contains("there is no folder"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_profile_of_the_users_own_is_called_so_where_it_takes_the_name_of_a_shipped_one() {
    let mut own = sample::good();
    let name = own.profile.name.clone();
    let says_own = |report: &crate::report::Report| {
        [
            text(report).contains(&format!("held against the user's own profile {name} ")),
            prometheus(report).contains(&format!("profile=\"own:{name}\"")),
            junit(report).contains(&format!("own:{name}")),
        ]
    };
    assert_eq!(says_own(&own), [false; 3]);
    own.profile.shipped = false;
    assert_eq!(says_own(&own), [true; 3]);
}

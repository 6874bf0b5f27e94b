//! Which files may be written.

use std::path::PathBuf;

use crate::cli::Forms;
use crate::outputs::check;

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

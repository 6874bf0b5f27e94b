//! `tplens accept profile` as a user calls it: what is printed, and exit codes.

use assert_cmd::Command;

/// Runs `tplens accept profile` with these arguments: exit code, standard output, standard error.
fn profile(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::from_std(built::named("accept"));
    let output = command
        .arg("profile")
        .args(arguments)
        .output()
        .expect("accept starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn shipped_profiles_are_listed_and_checked() {
    let (code, listed, _) = profile(&["list"]);
    assert_eq!(code, Some(0));
    for name in ["base", "l40x4", "r9700-x16", "h200x8", "host"] {
        let (code, told, said) = profile(&["check", name]);
        assert_eq!((code, said.as_str()), (Some(0), ""), "{name}");
        assert!(told.contains(name) && listed.contains(name), "{told}");
    }
}

#[test]
fn a_profile_that_is_not_there_or_has_a_fault_ends_with_exit_code_2() {
    let (code, told, said) = profile(&["check", "l40"]);
    assert_eq!((code, told.as_str()), (Some(2), ""));
    assert!(
        said.starts_with("error: there is no profile or file `l40`"),
        "{said}"
    );
    let path = std::env::temp_dir().join(format!("accept-fault-{}.toml", std::process::id()));
    std::fs::write(
        &path,
        "schema = \"accept-profile/1\"\nname = \"own\"\ntitle = \"own\"\nfail = 3\n",
    )
    .unwrap();
    let (code, _, said) = profile(&["check", &path.display().to_string()]);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(code, Some(2));
    assert!(said.contains("`fail`"), "{said}");
}

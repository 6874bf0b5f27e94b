//! Profiles as files: what is joined, and what is refused with file and line.

use std::fs;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::*;

/// A folder of a test's own, removed when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("accept-profile-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left over is in the folder for temporary files.
        drop(fs::remove_dir_all(&self.0));
    }
}

const HEAD: &str =
    "schema = \"accept-profile/1\"\nname = \"own\"\ntitle = \"a box\"\nextends = \"l40x4\"\n";

/// Why a file with this text below the head is refused.
fn refused(name: &str, text: &str) -> String {
    let folder = Folder::new(name);
    let path = folder.write("own.toml", &format!("{HEAD}{text}"));
    load(&path).unwrap_err().to_string()
}

#[test]
fn every_shipped_profile_reads_and_all_but_base_match_a_box() {
    for (name, _) in SHIPPED {
        let loaded = load(name).unwrap();
        assert_eq!(
            (loaded.profile.name.as_str(), loaded.shipped),
            (*name, true)
        );
        assert_eq!(loaded.profile.matches.is_some(), *name != "base", "{name}");
        for row in &loaded.profile.limit {
            let is_told = row.source.contains("our choice") || row.source.contains('(');
            assert!(is_told, "{name}: {}: {}", row.check, row.source);
        }
    }
}

#[test]
fn a_file_stands_on_what_it_extends_and_its_limits_replace_those() {
    let folder = Folder::new("joined");
    let text = format!(
        "{HEAD}[link]\ngeneration = 5\nsource = \"our board\"\n\n[[limit]]\ncheck = \"p2p\"\nof = \"SYS\"\ngood = \"at_least\"\nfail = 0.6\nunit = \"of_ceiling\"\nsource = \"our choice\"\n"
    );
    let path = folder.write("own.toml", &text);
    let loaded = load(&path).unwrap();
    let link = &loaded.profile.link;
    // The width is l40x4's, the number of changes base's.
    assert_eq!(
        (link.generation, link.width, link.transitions_at_most),
        (Some(5), Some(16), 0)
    );
    let p2p = |of: Option<&str>| {
        let rows = loaded
            .profile
            .limit
            .iter()
            .filter(|row| row.check == "p2p" && row.of.as_deref() == of);
        rows.map(|row| row.fail).collect::<Vec<_>>()
    };
    assert_eq!(
        (p2p(Some("SYS")), p2p(None)),
        (vec![Some(0.6)], vec![Some(0.75)])
    );
    // The hash is over all three files in their order.
    let mut hash = Sha256::new();
    for part in [
        text.as_str(),
        shipped::text("l40x4").unwrap(),
        shipped::text("base").unwrap(),
    ] {
        hash.update(part.as_bytes());
    }
    assert_eq!(loaded.sha256, hex(&hash.finalize()));
    assert!(!loaded.shipped && loaded.files.len() == 3);
}

#[test]
fn a_profile_that_is_printed_whole_reads_back_to_the_same() {
    let folder = Folder::new("whole");
    for (name, _) in SHIPPED {
        let path = folder.write("whole.toml", &super::whole(name).unwrap());
        let own = load(name).unwrap().profile;
        assert_eq!(
            load(&path).unwrap().profile,
            Profile {
                extends: None,
                ..own
            },
            "{name}"
        );
    }
}

/// A limit row without its source.
const ROW: &str = "[[limit]]\nsource = \"x\"\n";

#[test]
fn faults_are_named_with_their_line() {
    // The head has four lines.
    for (text, line) in [
        ("[link]\ngeneraton = 5\nsource = \"x\"\n", 6),
        ("[lnk]\nwidth = 8\n", 5),
        ("[link\n", 5),
    ] {
        let error = refused("fault", text);
        assert!(
            error.contains(&format!("own.toml, line {line}: ")),
            "{error}"
        );
    }
    for row in [
        "check = \"h2d_pined\"\ngood = \"at_least\"\nfail = 0.5\nunit = \"of_ceiling\"",
        "check = \"p2p\"\ngood = \"at_least\"\nfail = 0.9\nwarn = 0.8\nunit = \"of_ceiling\"",
        "check = \"p2p\"\ngood = \"at_least\"\nfail = 88.0\nunit = \"of_ceiling\"",
        "check = \"p2p\"\ngood = \"at_least\"\nfail = 0.5\nunit = \"us\"",
        "check = \"p2p\"\ngood = \"at_least\"\nunit = \"GB/s\"",
        "check = \"allreduce\"\ngood = \"at_most\"\nfail = 5.0\nunit = \"us\"",
        "check = \"inventory\"\ngood = \"at_most\"\nfail = 5.0\nunit = \"us\"",
        // Good on the other side.
        "check = \"temperature\"\ngood = \"at_most\"\nwarn = 5.0\nunit = \"degC\"",
        "check = \"h2d_pinned\"\ngood = \"at_most\"\nfail = 0.8\nunit = \"of_ceiling\"",
        "check = \"allreduce\"\nof = \"small\"\ngood = \"at_least\"\nfail = 60.0\nunit = \"us\"",
    ] {
        let error = refused("row", &format!("{ROW}{row}\n"));
        assert!(error.contains("own.toml: "), "{row}: {error}");
    }
}

#[test]
fn values_that_contradict_each_other_are_refused() {
    let two = "check = \"p2p\"\ngood = \"at_least\"\nfail = 1.0\nunit = \"GB/s\"\n";
    for text in [
        "[link]\nwidth = 8\n",
        "[peer]\nexpect = \"forbidden\"\n",
        "[link]\ngeneration = 9\nwidth = 16\nsource = \"x\"\n",
        "[numa]\nnodes = [0, 1]\nsource = \"x\"\n",
        "[sampling]\nrepeats = 5\n",
        "[required]\nquik = []\n",
        "[required]\nquick = [\"p2pp\"]\n",
        "[match]\nbackend = \"rocm\"\n",
        &format!("{ROW}{two}{ROW}{two}"),
    ] {
        assert!(refused("value", text).contains("own.toml"), "{text}");
    }
}

#[test]
fn extends_names_one_profile_that_is_shipped_or_lies_beside() {
    let head = |extends: &str| HEAD.replace("l40x4", extends);
    let folder = Folder::new("extends");
    let error = |name: &str, extends: &str| {
        let path = folder.write(name, &head(extends));
        load(&path).unwrap_err().to_string()
    };
    for name in ["../base.toml", "/etc/passwd", "absent.toml"] {
        assert!(error("a.toml", name).contains("no file beside this one"));
    }
    assert!(error("a.toml", "a.toml").contains("a profile cannot extend itself"));
    folder.write("b.toml", &head("a.toml"));
    assert!(error("a.toml", "b.toml").contains("cannot extend itself"));
    // Own, c, d, l40x4 and base are five.
    folder.write("d.toml", &head("l40x4"));
    folder.write("c.toml", &head("d.toml"));
    assert!(error("a.toml", "c.toml").contains("more than 4 files"));
    // Own, d, l40x4 and base are four.
    let path = folder.write("a.toml", &head("d.toml"));
    assert_eq!(load(&path).unwrap().files.len(), 4);
}

#[test]
fn what_is_no_file_of_bounded_size_is_refused() {
    let folder = Folder::new("bounded");
    let large = folder.write("large.toml", &"#\n".repeat(2_100_000));
    assert!(
        load(&large)
            .unwrap_err()
            .to_string()
            .contains("larger than 4 MiB")
    );
    let error = load(&folder.0.display().to_string())
        .unwrap_err()
        .to_string();
    assert!(error.contains("no regular file"), "{error}");
    let error = load("l40x").unwrap_err().to_string();
    assert!(error.contains("did you mean `l40x4`"), "{error}");
    let old = folder.write("old.toml", &HEAD.replace("profile/1", "profile/0"));
    assert!(
        load(&old)
            .unwrap_err()
            .to_string()
            .contains("schema is `accept-profile/0`")
    );
}

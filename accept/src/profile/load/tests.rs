//! Profiles as files: what is joined, and what is refused with file and line.

use std::fs;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use super::super::checked;
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
        let path = folder.write("whole.toml", &checked(name, true).unwrap());
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

#[test]
fn faults_are_named_with_their_line() {
    // The head has four lines.
    for (name, text, line, says) in [
        (
            "key",
            "[link]\ngeneraton = 5\n",
            6,
            "there is no key `generaton`; did you mean `generation`?",
        ),
        (
            "table",
            "[lnk]\nwidth = 8\n",
            5,
            "there is no key `lnk`; did you mean `link`?",
        ),
        (
            "kind",
            "[[limit]]\ncheck = \"h2d_pined\"\ngood = \"at_least\"\nfail = 0.5\nunit = \"of_ceiling\"\nsource = \"x\"\n",
            5,
            "did you mean `h2d_pinned`?",
        ),
        ("toml", "[link\n", 5, ""),
        (
            "side",
            "[[limit]]\ncheck = \"p2p\"\ngood = \"at_least\"\nfail = 0.9\nwarn = 0.8\nunit = \"of_ceiling\"\nsource = \"x\"\n",
            5,
            "warns only where it fails already",
        ),
        (
            "fraction",
            "[[limit]]\ncheck = \"p2p\"\ngood = \"at_least\"\nfail = 88.0\nunit = \"of_ceiling\"\nsource = \"x\"\n",
            5,
            "above 0, and at most 1.2",
        ),
        (
            "source",
            "[[limit]]\ncheck = \"p2p\"\ngood = \"at_least\"\nfail = 0.5\nunit = \"of_ceiling\"\nsource = \" \"\n",
            5,
            "does not say where it comes from",
        ),
        (
            "unit",
            "[[limit]]\ncheck = \"p2p\"\ngood = \"at_least\"\nfail = 0.5\nunit = \"us\"\nsource = \"x\"\n",
            5,
            "it can be in `of_ceiling` or `GB/s`",
        ),
        (
            "none",
            "[[limit]]\ncheck = \"p2p\"\ngood = \"at_least\"\nunit = \"GB/s\"\nsource = \"x\"\n",
            5,
            "neither fail nor warn",
        ),
        (
            "of",
            "[[limit]]\ncheck = \"allreduce\"\ngood = \"at_most\"\nfail = 5.0\nunit = \"us\"\nsource = \"x\"\n",
            5,
            "say which with `of`: small, large",
        ),
        (
            "takes",
            "[[limit]]\ncheck = \"inventory\"\ngood = \"at_most\"\nfail = 5.0\nunit = \"us\"\nsource = \"x\"\n",
            5,
            "takes no limit",
        ),
        (
            "expression",
            "[[limit]]\ncheck = \"p2p\"\ngood = \"at_least\"\nfail = \"0.5 * 2\"\nunit = \"GB/s\"\nsource = \"x\"\n",
            8,
            "expected f64",
        ),
    ] {
        let error = refused(name, text);
        assert!(
            error.contains(&format!("own.toml, line {line}: ")) && error.contains(says),
            "{name}: {error}"
        );
    }
}

#[test]
fn values_that_contradict_each_other_are_refused() {
    for (name, text, says) in [
        (
            "stated",
            "[link]\nwidth = 8\n",
            "[link] says what is expected and not where that comes from",
        ),
        (
            "peer",
            "[peer]\nexpect = \"forbidden\"\n",
            "[peer] says what is expected",
        ),
        (
            "lanes",
            "[link]\ngeneration = 9\nwidth = 16\nsource = \"x\"\n",
            "no PCI Express link of generation 9",
        ),
        (
            "nodes",
            "[numa]\nnodes = [0, 1]\nsource = \"x\"\n",
            "2 nodes for 4 devices",
        ),
        ("samples", "[sampling]\nrepeats = 5\n", "6 repeats or more"),
        ("level", "[required]\nquik = []\n", "no level `quik`"),
        (
            "required",
            "[required]\nquick = [\"p2pp\"]\n",
            "did you mean `p2p`?",
        ),
        (
            "backend",
            "[match]\nbackend = \"rocm\"\n",
            "backends are cuda, hip, maca, host",
        ),
        (
            "two",
            "[[limit]]\ncheck = \"p2p\"\ngood = \"at_least\"\nfail = 1.0\nunit = \"GB/s\"\nsource = \"x\"\n[[limit]]\ncheck = \"p2p\"\ngood = \"at_least\"\nfail = 2.0\nunit = \"GB/s\"\nsource = \"x\"\n",
            "two limits on p2p",
        ),
    ] {
        let error = refused(name, text);
        assert!(error.contains(says), "{name}: {error}");
    }
}

#[test]
fn a_limit_whose_good_side_is_the_other_is_refused_with_its_line() {
    for (name, limit, says) in [
        (
            "heat",
            "check = \"temperature\"\ngood = \"at_most\"\nwarn = 5.0\nunit = \"degC\"",
            "the limit on temperature has good = \"at_most\", and more of it is better; write good = \"at_least\"",
        ),
        (
            "repairs",
            "check = \"memory_repairs\"\nof = \"retired_pages\"\ngood = \"at_least\"\nwarn = 0.0\nunit = \"repairs\"",
            "the limit on memory_repairs of retired_pages has good = \"at_least\", and less",
        ),
        (
            "copies",
            "check = \"h2d_pinned\"\ngood = \"at_most\"\nfail = 0.8\nunit = \"of_ceiling\"",
            "write good = \"at_least\"",
        ),
        (
            "time",
            "check = \"allreduce\"\nof = \"small\"\ngood = \"at_least\"\nfail = 60.0\nunit = \"us\"",
            "write good = \"at_most\"",
        ),
        (
            "rate",
            "check = \"allreduce\"\nof = \"large\"\ngood = \"at_most\"\nfail = 6.0\nunit = \"GB/s\"",
            "write good = \"at_least\"",
        ),
    ] {
        let text = format!("[[limit]]\n{limit}\nsource = \"x\"\n");
        let error = refused(name, &text);
        assert!(error.contains("own.toml, line "), "{name}: {error}");
        assert!(error.contains(says), "{name}: {error}");
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
    assert!(
        error("a.toml", "../base.toml")
            .contains("line 4: `extends` names `../base.toml`; it takes")
    );
    assert!(error("a.toml", "/etc/passwd").contains("plain name"));
    assert!(error("a.toml", "absent.toml").contains("neither a file beside this one"));
    assert!(error("a.toml", "a.toml").contains("a profile cannot extend itself"));
    folder.write("b.toml", &head("a.toml"));
    assert!(error("a.toml", "b.toml").contains("leads back to"));
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
            .contains("line 1: schema is `accept-profile/0`")
    );
}

#[test]
fn what_a_profile_asks_for_is_said_in_words() {
    let text = checked("rtxpro6000-mig", false).unwrap();
    for says in [
        "matches 2 devices of cuda",
        "MIG instances, in a virtual machine",
        "link at the slot under load: Gen5 x16",
        "peer access: forbidden",
        "h2d_pinned: fails below 0.6 of what its link carries, warns below 0.75",
        "allreduce of small: fails above 300 us, warns above 150 us",
    ] {
        assert!(text.contains(says), "{says}\n{text}");
    }
    assert!(
        checked("mxc500x4", false)
            .unwrap()
            .contains("not stated, so the check is inconclusive")
    );
}

#[test]
fn a_limit_of_one_s_own_that_rejects_no_box_is_named() {
    let folder = Folder::new("open");
    let limit = "[[limit]]\ncheck = \"temperature\"\ngood = \"at_least\"\nfail = 3.0\nwarn = 8.0\nunit = \"degC\"\nsource = \"ours\"\n";
    let said = "temperature has a fail limit and is not required at quick, standard, soak";
    let own = folder.write("own.toml", &format!("{HEAD}{limit}"));
    assert!(checked(&own, false).unwrap().contains(said));
    // Required at one level it rejects there; what came with the program and what is a fault are not told of.
    let quick = folder.write(
        "quick.toml",
        &format!("{HEAD}[required]\nquick = [\"temperature\"]\n{limit}"),
    );
    let text = checked(&quick, false).unwrap();
    assert!(
        text.contains("temperature has a fail limit and is not required at standard, soak: "),
        "{text}"
    );
    let fault = limit
        .replace("temperature", "memory_repairs\"\nof = \"retired_pages")
        .replace("at_least", "at_most")
        .replace("3.0", "80.0")
        .replace("degC", "repairs");
    let fault = folder.write("fault.toml", &format!("{HEAD}{fault}"));
    for name in [fault.as_str(), "l40x4"] {
        assert!(
            !checked(name, false).unwrap().contains("is not required at"),
            "{name}"
        );
    }
}

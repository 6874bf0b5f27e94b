//! Facts about the vendors' libraries of collectives before any device is opened: where they are found, and what they say.
#![expect(clippy::unwrap_used, reason = "facts are tests")]

use std::fs;
use std::path::Path;

use device::Built;
use device::collectives::{IdShape, Inspection, inspect};

use crate::process::{self, backend_of, skip, small_boxes, with_libraries};
use crate::ranks::{library_of, with_collectives};

/// Names the file of a real NCCL, or the Python environment that has one.
const REAL: &str = "TPLENS_REAL_NCCL";
/// `ncclUniqueId` and its kin (nccl.h, `NCCL_UNIQUE_ID_BYTES`).
const ID: IdShape = IdShape {
    bytes: 128,
    is_blank: false,
};

fn refusal(built: Built, file: &str) -> String {
    let refused = inspect(built, Some(Path::new(file)));
    refused.map(drop).unwrap_err().to_string()
}

#[test]
fn a_library_that_is_missing_or_another_is_refused_in_words() {
    let missing = refusal(Built::Cuda, "/no/such/libnccl.so.2");
    assert!(
        missing.starts_with("libnccl.so.2 not found (/no/such/libnccl.so.2:"),
        "{missing}"
    );
    assert!(
        missing.ends_with("or activate the Python environment of the engine"),
        "{missing}"
    );
    // The C library is there on every Linux of this program, and knows no collectives.
    for built in [Built::Cuda, Built::Hip] {
        let other = refusal(built, "libc.so.6");
        assert!(other.contains(" has no symbol ncclGetVersion;"), "{other}");
    }
    let other = refusal(Built::Maca, "libc.so.6");
    assert!(
        other.starts_with(
            "libmccl.so not found (libc.so.6: it has no symbol mcclGetVersion, so it is no MCCL);"
        ),
        "{other}"
    );
}

#[test]
fn another_vendors_library_by_the_name_of_metaxs_is_refused_unless_its_runtime_lies_beside_it() {
    let folder = std::env::temp_dir().join(format!("device-other-mccl-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // The simulated library under other names: as if it came from Moore Threads, whose functions begin with mccl too.
    let mut bytes = fs::read(process::soft_libraries().join("libmccl.so")).unwrap();
    let own = b"mcclCommMcDevice";
    while let Some(at) = bytes.windows(own.len()).position(|window| window == own) {
        bytes[at..at + own.len()].copy_from_slice(b"mcclCommMuDevice");
    }
    let library = folder.join("libmccl.so");
    fs::write(&library, bytes).unwrap();
    let refused = refusal(Built::Maca, &folder.display().to_string());
    fs::write(folder.join("libmcruntime.so"), "").unwrap();
    let taken = inspect(Built::Maca, Some(&folder));
    fs::remove_dir_all(&folder).unwrap();
    let words = format!(
        "libmccl.so not found ({}: it has no symbol mcclCommMcDevice and no libmcruntime.so lies beside it, so it is another \
         vendor's and not MCCL); ",
        library.display()
    );
    assert!(refused.starts_with(&words), "{refused}");
    assert_eq!(taken.unwrap().facts.name, "mccl");
}

/// What the simulated library of a box says of itself.
fn says(inspection: &Inspection, name: &str, described: &boxfile::BoxFile) {
    let facts = &inspection.facts;
    assert_eq!(facts.name, name);
    assert_eq!(facts.soft_box.as_deref(), Some(described.name.as_str()));
    assert!(facts.version.is_some() && facts.file.is_some(), "{facts:?}");
    assert_eq!(
        (inspection.id.clone(), &inspection.communicator),
        (Ok(ID), &Ok(()))
    );
}

#[test]
fn the_library_of_every_vendor_says_its_version_and_makes_an_id() {
    let test = "libraries::the_library_of_every_vendor_says_its_version_and_makes_an_id";
    for described in small_boxes("") {
        let described = with_collectives(&described, 2);
        with_libraries(test, &described, || {
            let built = backend_of(&described).unwrap();
            let name = library_of(built);
            says(&inspect(built, None).unwrap(), name, &described);
            // The same from the folder that it lies in.
            let folder = process::soft_libraries();
            says(&inspect(built, Some(&folder)).unwrap(), name, &described);
        });
    }
}

#[test]
fn a_real_nccl_without_a_driver_says_its_version_makes_an_id_and_fails_in_words() {
    let test =
        "libraries::a_real_nccl_without_a_driver_says_its_version_makes_an_id_and_fails_in_words";
    let Some(path) = std::env::var_os(REAL) else {
        return skip(
            test,
            &format!("{REAL} names no libnccl.so.2 and no Python environment that has one"),
        );
    };
    let inspection = inspect(Built::Cuda, Some(Path::new(&path))).unwrap();
    let facts = &inspection.facts;
    assert_eq!((facts.name.as_str(), &facts.soft_box), ("nccl", &None));
    let version: Vec<u32> = facts
        .version
        .iter()
        .flat_map(|version| version.split('.'))
        .map(|part| part.parse().unwrap())
        .collect();
    assert!(version.len() == 3 && version[0] >= 2, "{facts:?}");
    let file = facts.file.as_deref().and_then(Path::file_name).unwrap();
    assert!(file.to_string_lossy().starts_with("libnccl.so"), "{file:?}");
    assert_eq!(inspection.id, Ok(ID));
    // Where there is a GPU the communicator is made.
    if let Err(words) = inspection.communicator {
        assert!(words.starts_with("ncclCommInitRank returned "), "{words}");
    }
}

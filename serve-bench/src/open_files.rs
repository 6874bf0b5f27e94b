//! The limit of open files: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files to what the system allows.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, accepting waits for a free one, and a connection that cannot be made says so.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}

//! A serving check: the load goes to a server that runs already, here the embedded engine of a simulated machine.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::run::common::{Ran, Scratch, TWO, can_run, checks};

/// Everything but one copy and the server.
const OTHERS: &str = "d2h_pinned,h2d_pageable,d2h_pageable,bidirectional,allreduce,p2p_staged,p2p,concurrent,symmetry,spread,peer_access,numa_penalty";

/// A server on a free port, ended with this.
struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Server {
    /// The engine on the box of which the test's has two devices.
    fn start() -> Self {
        let mut child = built::named("serve-bench")
            .args([
                "engine",
                "--model",
                "llama-3.1-8b",
                "--tp",
                "2",
                "--port",
                "0",
                "--box",
            ])
            .arg("l40x4")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = told.map_while(Result::ok).find_map(|line| {
            let at = line.find("http://")?;
            Some(line[at..].trim().to_owned())
        });
        Self {
            child,
            url: url.unwrap(),
        }
    }
}

fn run(scratch: &Scratch, profile: &str, url: &str, out: &str) -> Ran {
    let asked = ["--exclude", OTHERS, "--serve-url", url];
    scratch.on((profile, TWO.1), out, &asked)
}

#[test]
fn a_server_is_asked_and_its_times_are_held_against_the_profile() {
    if !can_run() {
        return;
    }
    let scratch = Scratch::new();
    scratch.two(vec![]);
    let limits = |fail: f64| {
        let text = std::fs::read_to_string(scratch.join(TWO.0)).unwrap();
        let row = format!(
            "[[limit]]\ncheck = \"serving\"\nof = \"tpot\"\ngood = \"at_most\"\nfail = {fail:?}\nunit = \"ms\"\nsource = \"a test\"\n"
        );
        let name = format!("served-{fail}.toml");
        std::fs::write(scratch.join(&name), format!("{text}\n{row}")).unwrap();
        name
    };
    // A step reads half of 16 GB of weights at 864 GB/s or less: 9 ms at least, and on no machine that runs this 10 s.
    let (wide, narrow) = (limits(10_000.0), limits(5.0));
    let server = Server::start();
    let ran = run(&scratch, &wide, &server.url, "good");
    let report = scratch.json("good/report.json");
    let found = checks(&report);
    assert_eq!(
        found["serving requests"].0, "pass",
        "{}\n{found:?}",
        ran.stderr
    );
    assert_eq!(found["serving tpot"].0, "pass", "{found:?}");
    let ran = run(&scratch, &narrow, &server.url, "slow");
    ran.expect(1);
    let found = checks(&scratch.json("slow/report.json"));
    assert_eq!(
        found["serving tpot"],
        ("fail".to_owned(), "beyond-limit".to_owned())
    );
    // A server that nobody started says nothing of the box.
    let url = server.url.clone();
    drop(server);
    run(&scratch, &wide, &url, "gone");
    let found = checks(&scratch.json("gone/report.json"));
    let came = ("inconclusive".to_owned(), "not-measured".to_owned());
    assert_eq!(found["serving box"], came);
}

//! A wire between client and server that remembers what the server said, so that the test can read what the client does not keep.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A listening relay; it ends with the test's process.
pub(crate) struct Relay {
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Relay {
    /// Passes every connection on to this address.
    pub(crate) fn to(address: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let (address, kept) = (address.to_owned(), Arc::clone(&heard));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, kept) = (client.unwrap(), Arc::clone(&kept));
                let server = TcpStream::connect(&address).unwrap();
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                let (to_client, to_server) =
                    (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || pass(client, to_server, |_| {}));
                std::thread::spawn(move || {
                    let index = {
                        let mut kept = kept.lock().unwrap();
                        kept.push(Vec::new());
                        kept.len() - 1
                    };
                    // Kept before the client has it, so that what it saw to the end is here then.
                    pass(server, to_client, |bytes| {
                        kept.lock().unwrap()[index].extend_from_slice(bytes);
                    });
                });
            }
        });
        Self { url, heard }
    }

    /// What the server said, a text for each connection.
    pub(crate) fn heard(&self) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        heard.iter().map(text).collect()
    }
}

/// Passes bytes on until one side closes.
fn pass(mut from: TcpStream, mut to: TcpStream, mut hear: impl FnMut(&[u8])) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        hear(&bytes[..count]);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // Either side may be gone already.
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}

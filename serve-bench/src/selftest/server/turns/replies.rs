//! What is answered to a request, and the tokens of a reply when they are due.

use std::cmp::Reverse;
use std::io::{self, ErrorKind};

use super::Turns;
use crate::selftest::server::asked::Asked;
use crate::selftest::server::connection::{Connection, Reply};
use crate::selftest::server::http::Request;
use crate::selftest::server::truth::{SCHEMA, Truth, TruthOf};
use crate::selftest::server::words::{self, MODEL};

impl Turns {
    /// Answers a request, or begins to.
    pub(super) fn respond(
        &mut self,
        number: u32,
        request: Request,
        body: &[u8],
    ) -> io::Result<bool> {
        let chat = match (request.is_post, request.path.as_str()) {
            (true, "/v1/completions") => false,
            (true, "/v1/chat/completions") => true,
            (_, path) => {
                let reply = self.told(path);
                return self.connection(number)?.send(&reply);
            }
        };
        match Asked::read(body, chat) {
            Ok(asked) => self.begin(number, asked, request.id),
            Err(error) => {
                let reply = words::refusal(400, &error.to_string());
                self.connection(number)?.send(&reply)
            }
        }
    }

    /// The answers that are whole at once.
    fn told(&self, path: &str) -> Vec<u8> {
        let body = match path {
            "/v1/models" => format!(
                r#"{{"object":"list","data":[{{"id":"{MODEL}","object":"model","created":0,"owned_by":"{MODEL}","max_model_len":16777216}}]}}"#
            ),
            "/health" => String::new(),
            "/version" => format!(r#"{{"version":"{}"}}"#, env!("CARGO_PKG_VERSION")),
            // Numbers and strings always have a JSON form.
            "/truth" => serde_json::to_string(&self.truth()).unwrap_or_default(),
            _ => return words::refusal(404, "there is no such path"),
        };
        words::whole("200 OK", body.as_bytes())
    }

    /// Begins a reply.
    fn begin(&mut self, number: u32, asked: Asked, id: Option<String>) -> io::Result<bool> {
        let life = self.places[number as usize].life;
        let tokens = self.manner.tokens(asked.tokens);
        let connection = self.places[number as usize]
            .connection
            .as_mut()
            .ok_or(ErrorKind::NotConnected)?;
        let (receipt_ns, by_kernel) = connection.receipt;
        connection.reply = Some(Reply {
            asked,
            tokens,
            next: 0,
            truth: self.truth.len(),
            receipt_ns,
        });
        self.truth.push(TruthOf {
            id,
            receipt_ns,
            by_kernel,
            streamed: asked.stream,
            ..TruthOf::default()
        });
        let last = if asked.stream { 0 } else { tokens - 1 };
        let due = if self.manner.paced {
            receipt_ns + self.manner.after_receipt(last)
        } else {
            self.clock.now()
        };
        self.due.push(Reverse((due, number, life)));
        if !asked.stream {
            return Ok(true);
        }
        self.out.clear();
        self.chunks.begin(&mut self.out, &self.manner, &asked);
        connection.send(&self.out)
    }

    /// Writes a reply's next tokens.
    pub(super) fn write(&mut self, number: u32, life: u32) -> io::Result<()> {
        let connection = self.places[number as usize]
            .connection
            .as_mut()
            .ok_or(ErrorKind::NotConnected)?;
        let Some(reply) = connection.reply.as_mut() else {
            return Ok(());
        };
        let Reply { asked, tokens, .. } = *reply;
        let to = if asked.stream {
            let to = reply.next.saturating_add(self.manner.tokens_per_write());
            to.min(tokens)
        } else {
            tokens
        };
        self.out.clear();
        if asked.stream {
            let range = (reply.next, to, tokens);
            self.chunks
                .tokens(&mut self.out, &self.manner, &asked, range);
        } else {
            self.out = words::unstreamed(&self.manner, &asked, tokens);
        }
        reply.next = to;
        let (truth, receipt_ns) = (&mut self.truth[reply.truth], reply.receipt_ns);
        let is_done = to == tokens;
        let now = self.clock.now();
        let is_taken = connection.send(&self.out)?;
        if self.manner.paced {
            let after = (now.saturating_sub(receipt_ns) + 500) / 1000;
            truth
                .writes_us
                .push(u32::try_from(after).unwrap_or(u32::MAX));
        }
        truth.tokens = to;
        truth.blocked += u32::from(!is_taken);
        truth.done = is_done;
        if is_done {
            connection.reply = None;
            // The client may have sent its next one before this one's end.
            self.answer(number);
            return Ok(());
        }
        if self.manner.paced {
            let due = receipt_ns + self.manner.after_receipt(to);
            self.due.push(Reverse((due, number, life)));
        } else if is_taken {
            self.due.push(Reverse((now, number, life)));
        }
        if !is_taken {
            self.settle(number);
        }
        Ok(())
    }

    fn connection(&mut self, number: u32) -> io::Result<&mut Connection> {
        let place = &mut self.places[number as usize];
        place
            .connection
            .as_mut()
            .ok_or(ErrorKind::NotConnected.into())
    }

    fn truth(&self) -> Truth {
        let manner = &self.manner;
        let us = |ns: u64| ns as f64 / 1e3;
        let every = manner.itl_ns * u64::from(manner.tokens_per_write());
        Truth {
            schema: SCHEMA,
            start_ns: self.clock.start_ns,
            ttft_us: manner.paced.then(|| us(manner.ttft_ns)),
            write_every_us: manner.paced.then(|| us(every)),
            requests: self.truth.clone(),
        }
    }
}

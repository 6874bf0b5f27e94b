//! What is answered to a request, and the tokens of a reply when they are due.

use std::cmp::Reverse;
use std::io::{self, ErrorKind};

use super::Turns;
use crate::asked::Asked;
use crate::connection::{Connection, Reply};
use crate::http::Request;
use crate::truth::{SCHEMA, Truth, TruthOf};
use crate::words::{self, MODEL};

impl Turns {
    /// Answers a request, or begins to.
    pub(super) fn respond(
        &mut self,
        number: u32,
        request: Request,
        body: &[u8],
    ) -> io::Result<bool> {
        if !request.is_post || request.path != "/v1/completions" {
            let reply = self.told(&request.path);
            return self.connection(number)?.send(&reply);
        }
        match Asked::read(body) {
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
        let connection = self.places[number as usize]
            .connection
            .as_mut()
            .ok_or(ErrorKind::NotConnected)?;
        let (receipt_ns, by_kernel) = connection.receipt;
        connection.reply = Some(Reply {
            asked,
            next: 0,
            truth: self.truth.len(),
            receipt_ns,
        });
        self.truth.push(TruthOf {
            id,
            receipt_ns,
            by_kernel,
            ..TruthOf::default()
        });
        let due = if self.manner.paced {
            receipt_ns + self.manner.after_receipt(0)
        } else {
            self.clock.now()
        };
        self.due.push(Reverse((due, number, life)));
        connection.send(words::STREAM_HEAD)
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
        let asked = reply.asked;
        let to = reply.next.saturating_add(self.manner.tokens_per_write);
        let to = to.min(asked.tokens);
        self.out.clear();
        self.chunks.tokens(&mut self.out, &asked, reply.next, to);
        reply.next = to;
        let (truth, receipt_ns) = (&mut self.truth[reply.truth], reply.receipt_ns);
        let is_done = to == asked.tokens;
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
        let every = manner.itl_ns * u64::from(manner.tokens_per_write);
        Truth {
            schema: SCHEMA,
            start_ns: self.clock.start_ns,
            ttft_us: manner.paced.then(|| us(manner.ttft_ns)),
            write_every_us: manner.paced.then(|| us(every)),
            requests: self.truth.clone(),
        }
    }
}

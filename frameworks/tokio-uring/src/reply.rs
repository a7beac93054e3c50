//! Writing answers.

use std::time::{Duration, Instant, SystemTime};

use crate::{
    encoding::Encoding,
    output::Output,
    routes::{Answer, Site},
};

/// What the writing of answers needs beside them: one for each thread.
pub struct Writer {
    pub site: &'static Site,
    date: String,
    dated: Instant,
    /// A listing, before its length is known.
    scratch: Vec<u8>,
}

/// How an answer differs from that to a plain GET.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Manner {
    pub keep: bool,
    /// HEAD asked: no body follows.
    pub bodiless: bool,
}

impl Writer {
    pub fn new(site: &'static Site) -> Self {
        let mut writer = Self {
            site,
            date: String::new(),
            dated: Instant::now(),
            scratch: Vec::new(),
        };
        writer.write_date();
        writer
    }

    /// To be called now and then: the date is that of the last call.
    pub fn tick(&mut self) {
        if self.dated.elapsed() >= Duration::from_millis(500) {
            self.dated = Instant::now();
            self.write_date();
        }
    }

    fn write_date(&mut self) {
        let now = httpdate::fmt_http_date(SystemTime::now());
        self.date = format!("\r\nDate: {now}\r\n");
    }

    pub fn write(&mut self, answer: Answer, manner: Manner, out: &mut Output) {
        let ok = b"HTTP/1.1 200 OK\r\n";
        let text = b"Content-Type: text/plain\r\n";
        match answer {
            Answer::Ok => {
                put(out, ok);
                put(out, text);
                self.rest(b"ok", manner, out);
            }
            Answer::Number(number) => {
                put(out, ok);
                put(out, text);
                let mut digits = itoa::Buffer::new();
                self.rest(digits.format(number).as_bytes(), manner, out);
            }
            Answer::Listing(listing) => {
                let mut body = std::mem::take(&mut self.scratch);
                body.clear();
                self.site.dataset.write(listing, &mut body);
                put(out, ok);
                put(out, b"Content-Type: application/json\r\n");
                self.rest(&body, manner, out);
                self.scratch = body;
            }
            Answer::File(found) => {
                put(out, ok);
                put(out, b"Content-Type: ");
                put(out, found.content_type.as_bytes());
                put(out, b"\r\nVary: Accept-Encoding\r\n");
                match found.encoding {
                    Encoding::Identity => {}
                    Encoding::Gzip => put(out, b"Content-Encoding: gzip\r\n"),
                    Encoding::Brotli => put(out, b"Content-Encoding: br\r\n"),
                }
                self.fields(found.body.len(), manner, out);
                if !manner.bodiless {
                    out.lend(found.body);
                }
            }
            Answer::Refusal(status, field) => {
                put(out, b"HTTP/1.1 ");
                put(out, itoa::Buffer::new().format(status.code).as_bytes());
                put(out, b" ");
                put(out, status.reason.as_bytes());
                put(out, b"\r\n");
                put(out, field.as_bytes());
                put(out, text);
                self.rest(status.reason.as_bytes(), manner, out);
            }
        }
    }

    /// The fields that every answer has, and the body.
    fn rest(&self, body: &[u8], manner: Manner, out: &mut Output) {
        self.fields(body.len(), manner, out);
        if !manner.bodiless {
            put(out, body);
        }
    }

    fn fields(&self, length: usize, manner: Manner, out: &mut Output) {
        put(out, b"Content-Length: ");
        put(out, itoa::Buffer::new().format(length).as_bytes());
        put(out, self.date.as_bytes());
        put(
            out,
            if manner.keep { b"\r\n" } else { b"Connection: close\r\n\r\n" },
        );
    }
}

fn put(out: &mut Output, bytes: &[u8]) {
    out.bytes.extend_from_slice(bytes);
}

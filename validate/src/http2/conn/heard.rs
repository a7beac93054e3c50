//! What each frame of the server means, and what RFC 9113 forbids of it.

use std::time::Instant;

use super::super::fields;
use super::super::frame::{Frame, flag, kind, setting};
use super::{BLOCK_LIMIT, Conn};
use crate::http::Fault;

impl Conn {
    /// Works off one frame.
    pub(super) fn take(
        &mut self,
        frame: Frame,
        by: Instant,
    ) -> Result<(), String> {
        if !self.greeted {
            let first = frame.kind == kind::SETTINGS && !frame.has(flag::ACK);
            if !first {
                return Err("the first frame is not SETTINGS (RFC 9113 \
                            section 3.4)"
                    .into());
            }
            self.greeted = true;
        }
        if let Some((id, ..)) = self.open_block
            && (frame.kind != kind::CONTINUATION || frame.stream != id)
        {
            return Err("another frame within a header block".into());
        }
        let length = frame.payload.len();
        let on_stream = frame.stream != 0;
        match frame.kind {
            kind::SETTINGS if on_stream || !length.is_multiple_of(6) => {
                Err("a malformed SETTINGS frame".into())
            }
            kind::SETTINGS if frame.has(flag::ACK) => {
                self.acknowledged = true;
                Ok(())
            }
            kind::SETTINGS => self.settings(&frame, by),
            kind::PING if on_stream || length != 8 => {
                Err("a malformed PING frame".into())
            }
            kind::PING if frame.has(flag::ACK) => {
                self.pong = frame.payload.try_into().ok();
                Ok(())
            }
            kind::PING => {
                let pong = Frame::new(kind::PING, flag::ACK, 0, frame.payload);
                self.send(&[pong], by);
                Ok(())
            }
            kind::GOAWAY if on_stream || length < 8 => {
                Err("a malformed GOAWAY frame".into())
            }
            kind::GOAWAY => {
                self.leave(&frame);
                Ok(())
            }
            kind::WINDOW_UPDATE => self.more(&frame),
            kind::HEADERS => {
                let block = frame.content()?.to_vec();
                let end = frame.has(flag::END_STREAM);
                self.block(frame.stream, end, block, &frame)
            }
            kind::CONTINUATION => {
                let Some((id, end, mut block)) = self.open_block.take() else {
                    return Err("CONTINUATION without HEADERS".into());
                };
                block.extend_from_slice(&frame.payload);
                self.block(id, end, block, &frame)
            }
            kind::DATA => self.data(&frame, by),
            kind::RST_STREAM if !on_stream || length != 4 => {
                Err("a malformed RST_STREAM frame".into())
            }
            kind::RST_STREAM => {
                self.known(frame.stream)?;
                if let Some(half) = self.streams.get_mut(&frame.stream) {
                    let code = frame.number().into();
                    half.fault.get_or_insert(Fault::Reset(code));
                    self.idle = 0;
                }
                Ok(())
            }
            kind::PUSH_PROMISE => {
                Err("a push, which SETTINGS_ENABLE_PUSH 0 forbids".into())
            }
            kind::PRIORITY if length != 5 => {
                Err("a malformed PRIORITY frame".into())
            }
            // Unknown ones are ignored, as section 4.1 says.
            _ => Ok(()),
        }
    }

    fn settings(&mut self, frame: &Frame, by: Instant) -> Result<(), String> {
        for pair in frame.payload.chunks_exact(6) {
            let id = u16::from_be_bytes([pair[0], pair[1]]);
            let value =
                u32::from_be_bytes([pair[2], pair[3], pair[4], pair[5]]);
            match (id, value) {
                (setting::ENABLE_PUSH, 1..) => {
                    return Err("a server's SETTINGS_ENABLE_PUSH is not 0 \
                                (RFC 9113 section 6.5.2)"
                        .into());
                }
                (setting::INITIAL_WINDOW_SIZE, 0x8000_0000..) => {
                    return Err(
                        "SETTINGS_INITIAL_WINDOW_SIZE over 2^31-1".into()
                    );
                }
                (setting::INITIAL_WINDOW_SIZE, window) => {
                    let window = i64::from(window);
                    let change = window - self.peer.window;
                    self.peer.window = window;
                    for half in self.streams.values_mut() {
                        half.outflow += change;
                    }
                }
                (setting::MAX_CONCURRENT_STREAMS, most) => {
                    self.peer.streams = most as usize;
                }
                (setting::MAX_FRAME_SIZE, 16_384..=16_777_215) => {
                    // We never send larger ones than the smallest limit.
                }
                (setting::MAX_FRAME_SIZE, size) => {
                    return Err(format!("SETTINGS_MAX_FRAME_SIZE of {size}"));
                }
                _ => {}
            }
        }
        let ack = Frame::new(kind::SETTINGS, flag::ACK, 0, []);
        self.send(&[ack], by);
        Ok(())
    }

    fn leave(&mut self, frame: &Frame) {
        let last = frame.number() & 0x7fff_ffff;
        let mut code = [0; 4];
        code.copy_from_slice(&frame.payload[4..8]);
        let code = u32::from_be_bytes(code);
        self.goaway = Some((last, code));
        for (id, half) in &mut self.streams {
            if *id > last && !half.is_over() {
                half.fault = Some(Fault::Goaway(code.into()));
            }
        }
    }

    fn more(&mut self, frame: &Frame) -> Result<(), String> {
        if frame.payload.len() != 4 {
            return Err("a malformed WINDOW_UPDATE frame".into());
        }
        let bytes = i64::from(frame.number() & 0x7fff_ffff);
        if bytes == 0 {
            return Err("a WINDOW_UPDATE of 0".into());
        }
        let window = match frame.stream {
            0 => Some(&mut self.outflow),
            id => {
                self.known(id)?;
                self.streams.get_mut(&id).map(|half| &mut half.outflow)
            }
        };
        if let Some(window) = window {
            *window += bytes;
            if *window > 0x7fff_ffff {
                return Err("a window of more than 2^31-1".into());
            }
        }
        Ok(())
    }

    /// Whether a stream is one that we opened.
    fn known(&self, id: u32) -> Result<(), String> {
        if id % 2 == 1 && id < self.next {
            return Ok(());
        }
        Err(format!("a frame on stream {id}, which nobody opened"))
    }

    fn block(
        &mut self,
        id: u32,
        end: bool,
        block: Vec<u8>,
        frame: &Frame,
    ) -> Result<(), String> {
        self.known(id)?;
        if block.len() > BLOCK_LIMIT {
            return Err(format!("a header block over {BLOCK_LIMIT} bytes"));
        }
        if !frame.has(flag::END_HEADERS) {
            self.open_block = Some((id, end, block));
            return Ok(());
        }
        // Decoded even if nobody wants it: the table goes on from it.
        let all = fields::decode(&mut self.decoder, &block)?;
        match self.streams.get_mut(&id) {
            Some(half) => {
                self.idle = 0;
                half.fields(all, end)
            }
            None if self.cancelled.contains(&id) => Ok(()),
            None => Err(format!("an answer on stream {id}, which has one")),
        }
    }

    fn data(&mut self, frame: &Frame, by: Instant) -> Result<(), String> {
        let id = frame.stream;
        self.known(id)?;
        // Padding counts.
        let cost = frame.payload.len() as i64;
        self.inflow -= cost;
        if self.inflow < 0 {
            return Err(over_window("connection"));
        }
        let content = frame.content()?;
        let end = frame.has(flag::END_STREAM);
        if let Some(half) = self.streams.get_mut(&id) {
            half.inflow -= cost;
            if half.inflow < 0 {
                return Err(over_window("stream"));
            }
            if !content.is_empty() || end {
                self.idle = 0;
            }
            half.data(content, end)?;
        } else if !self.cancelled.contains(&id) {
            return Err(format!("data on stream {id} after its end"));
        }
        if self.ours.credits && cost > 0 {
            let bytes = cost as u32;
            self.inflow += cost;
            let mut credits = vec![Frame::credit(0, bytes)];
            if let Some(half) = self.streams.get_mut(&id)
                && !half.is_over()
            {
                half.inflow += cost;
                credits.push(Frame::credit(id, bytes));
            }
            self.send(&credits, by);
        }
        Ok(())
    }
}

fn over_window(which: &str) -> String {
    format!(
        "more bytes than the window of the {which} allows (RFC 9113 section \
         5.2)"
    )
}

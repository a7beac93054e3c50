//! HTTP/2 requests in every shape their frames may have.

use std::time::Duration;

use super::HTTP2;
use super::http2::{draw, finish, greeting};
use crate::http2::fields;
use crate::http2::frame::{Frame, flag, kind};
use crate::http2::{Conn, Settings, blocks};
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::Session;

/// Between the pieces of a request that is sent in pieces.
const DRIP: Duration = Duration::from_millis(1);

const BASE: Probe =
    Probe { profiles: HTTP2, legal: "the right answer", ..BLANK };

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "h2.continuation",
        rule: "A header block may go on in CONTINUATION frames, cut anywhere.",
        source: "RFC 9113 section 6.10",
        hint: "collect the block to END_HEADERS before it is decoded",
        run: continuation,
        ..BASE
    },
    Probe {
        id: "h2.padding",
        rule: "Padding and priority in HEADERS, and padding in DATA, are no \
               part of the request.",
        source: "RFC 9113 sections 6.1 and 6.2",
        hint: "take padding and priority off before the payload is used",
        run: padding,
        ..BASE
    },
    Probe {
        id: "h2.unknown",
        rule: "Frames of unknown types, unknown settings, and PRIORITY frames \
               are ignored.",
        source: "RFC 9113 sections 4.1, 5.3 and 6.5.2",
        hint: "skip frames whose type is not known",
        run: unknown,
        ..BASE
    },
    Probe {
        id: "h2.table",
        rule: "Fields that were sent once may be referred to later, and a \
               client that remembers none of the server's is heeded.",
        source: "RFC 7541 sections 2.3 and 4.2",
        hint: "keep one decoder for the whole connection, and obey \
               SETTINGS_HEADER_TABLE_SIZE when encoding",
        run: table,
        ..BASE
    },
    Probe {
        id: "h2.cut",
        rule: "Requests are answered rightly when they arrive in pieces, cut \
               within the preface, a frame's head and its payload.",
        source: "RFC 9113 section 4.1",
        hint: "keep what was read and go on when the next bytes come",
        run: cut,
        ..BASE
    },
];

/// Sends a request whose frames are made by hand.
fn by_hand(
    s: &mut Session<'_>,
    conn: &mut Conn,
    make: impl FnOnce(u32, &[(String, String)], u8) -> Vec<Frame>,
) -> Outcome {
    let all = draw(s, 1)?;
    let (_, request) = &all[0];
    let id = conn.stream_for(request.head);
    let body = request.body();
    let end = if body.is_empty() { flag::END_STREAM } else { 0 };
    let mut frames = make(id, &conn.fields(request), end);
    if !body.is_empty() {
        frames.push(Frame::new(kind::DATA, flag::END_STREAM, id, body));
    }
    conn.send(&frames, s.deadline());
    finish(s, conn, id, &all[0])
}

fn continuation(s: &mut Session<'_>) -> Outcome {
    let mut conn = s.open2()?;
    by_hand(s, &mut conn, |id, all, end| {
        let block = fields::block(all);
        blocks(id, end, &block, block.len() / 2 + 1)
    })?;
    // Three and more would be as good, but servers count them: many small
    // ones are how they are flooded.
    let odd = s.rng.between(0, 9) as usize;
    by_hand(s, &mut conn, |id, all, end| {
        let block = fields::block(all);
        blocks(id, end, &block, block.len() / 3 + odd)
    })
}

fn padding(s: &mut Session<'_>) -> Outcome {
    let mut conn = s.open2()?;
    let pad = s.rng.between(1, 200) as u8;
    for both in [false, true] {
        let all = draw(s, 1)?;
        let (_, request) = &all[0];
        let id = conn.stream_for(request.head);
        let body = request.body();
        let end = if body.is_empty() { flag::END_STREAM } else { 0 };
        let block = fields::block(&conn.fields(request));
        let mut payload = vec![pad];
        let mut flags = flag::PADDED | flag::END_HEADERS | end;
        if both {
            // Depends on nothing, weight 16.
            payload.extend_from_slice(&[0, 0, 0, 0, 15]);
            flags |= flag::PRIORITY;
        }
        payload.extend_from_slice(&block);
        payload.resize(payload.len() + usize::from(pad), 0);
        let mut frames = vec![Frame::new(kind::HEADERS, flags, id, payload)];
        if !body.is_empty() {
            let mut payload = vec![pad];
            payload.extend_from_slice(body);
            payload.resize(payload.len() + usize::from(pad), 0);
            let flags = flag::PADDED | flag::END_STREAM;
            frames.push(Frame::new(kind::DATA, flags, id, payload));
        }
        conn.send(&frames, s.deadline());
        finish(s, &mut conn, id, &all[0])?;
    }
    Ok(())
}

fn unknown(s: &mut Session<'_>) -> Outcome {
    let mut conn = s.open2()?;
    let kind_of = s.rng.between(0x20, 0xef) as u8;
    let noise = s.rng.bits().to_be_bytes();
    let setting = s.rng.between(0x100, 0xff00) as u16;
    let odd = [
        Frame::settings(&[(setting, 7)]),
        Frame::new(kind_of, 0xff, 0, noise),
        Frame::new(kind::PRIORITY, 0, 1, [0, 0, 0, 0, 15]),
    ];
    conn.send(&odd, s.deadline());
    by_hand(s, &mut conn, |id, all, end| {
        blocks(id, end, &fields::block(all), 1 << 14)
    })?;
    by_hand(s, &mut conn, |id, all, end| {
        let mut frames = blocks(id, end, &fields::block(all), 1 << 14);
        // On the stream itself, before and after its request.
        frames.insert(0, Frame::new(kind_of, 0, id + 2, noise));
        frames
    })
}

fn table(s: &mut Session<'_>) -> Outcome {
    // What the server remembers: everything but the path, which is new.
    let mut conn = s.open2()?;
    by_hand(s, &mut conn, |id, all, end| {
        let mut block = Vec::new();
        for (name, value) in all {
            fields::put_indexed(name, value, &mut block);
        }
        blocks(id, end, &block, 1 << 14)
    })?;
    by_hand(s, &mut conn, |id, all, end| {
        // The newest entry is 62, and the last field was sent last. A value
        // that differs is written out again.
        let mut block = Vec::new();
        for (place, (name, value)) in all.iter().enumerate() {
            let index = 62 + (all.len() - 1 - place);
            match &name[..] {
                ":method" | ":scheme" | ":authority" => {
                    fields::number(index, 0x80, 7, &mut block);
                }
                _ => {
                    // The name by reference alone, the value anew.
                    fields::number(index, 0x00, 4, &mut block);
                    fields::number(value.len(), 0x00, 7, &mut block);
                    block.extend_from_slice(value.as_bytes());
                }
            }
        }
        blocks(id, end, &block, 1 << 14)
    })?;
    // What the judge remembers: nothing.
    let none = Settings { table: Some(0), ..Settings::default() };
    let mut conn = s.open2_with(none)?;
    for _ in 0..3 {
        let all = draw(s, 1)?;
        let id = conn
            .start(&all[0].1, s.deadline())
            .map_err(|fault| s.faulty(&all[0].1, &fault))?;
        finish(s, &mut conn, id, &all[0])?;
    }
    Ok(())
}

fn cut(s: &mut Session<'_>) -> Outcome {
    let all = draw(s, 2)?;
    let mut conn = s.open2()?;
    for one in &all {
        let request = &one.1;
        let id = conn.stream_for(request.head);
        let body = request.body();
        let end = if body.is_empty() { flag::END_STREAM } else { 0 };
        let block = fields::block(&conn.fields(request));
        let mut frames = blocks(id, end, &block, 1 << 14);
        if !body.is_empty() {
            frames.push(Frame::new(kind::DATA, flag::END_STREAM, id, body));
        }
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::bytes).collect();
        let piece = s.rng.between(1, 5) as usize;
        for piece in bytes.chunks(piece) {
            conn.send_bytes(piece, s.deadline());
            std::thread::sleep(DRIP);
        }
        finish(s, &mut conn, id, one)?;
    }
    whole(s)
}

/// The greeting itself, byte by byte, and SETTINGS after it.
fn whole(s: &mut Session<'_>) -> Outcome {
    let all = draw(s, 1)?;
    let mut conn = s.silent2()?;
    for byte in greeting().chunks(1) {
        conn.send_bytes(byte, s.deadline());
        std::thread::sleep(DRIP);
    }
    let id = conn
        .start(&all[0].1, s.deadline())
        .map_err(|fault| s.faulty(&all[0].1, &fault))?;
    finish(s, &mut conn, id, &all[0])
}

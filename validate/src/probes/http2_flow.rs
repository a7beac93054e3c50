//! HTTP/2's flow control: a server sends what it was allowed, then waits.

use std::time::Duration;

use super::HTTP2;
use super::http2::draw;
use crate::http::Fault;
use crate::http2::{Conn, Settings};
use crate::probe::{BLANK, Outcome, Probe};
use crate::session::Session;

/// A server that ignores a window shows it within this.
const WATCHED: Duration = Duration::from_millis(60);
/// A server that sends what it may has sent it within this.
const SENT: Duration = Duration::from_millis(300);
/// Windows that are filled up by hand.
const STEPS: u32 = 3;

const BASE: Probe = Probe {
    profiles: HTTP2,
    source: "RFC 9113 section 5.2",
    legal: "no byte beyond the window, and the whole right answer once there \
            is room",
    ..BLANK
};

pub(super) const PROBES: &[Probe] = &[
    Probe {
        id: "h2.stream-window",
        rule: "A body is sent as far as the stream's window goes, and on when \
               WINDOW_UPDATE gives more.",
        hint: "count what was sent on each stream, and go on sending when \
               WINDOW_UPDATE comes",
        run: stream_window,
        ..BASE
    },
    Probe {
        id: "h2.connection-window",
        profiles: &["static-h2", "gateway-64", "production-stack"],
        rule: "Bodies are sent as far as the connection's window goes, and \
               on when WINDOW_UPDATE gives more.",
        hint: "count what was sent on the connection, beside each stream",
        run: connection_window,
        ..BASE
    },
];

fn stream_window(s: &mut Session<'_>) -> Outcome {
    let all = draw(s, 1)?;
    let (ask, request) = &all[0];
    let settings =
        Settings { window: 0, credits: false, ..Settings::default() };
    let mut conn = s.open2_with(settings)?;
    s.asked.get_or_insert_with(|| request.shown());
    let id = conn
        .start(request, s.deadline())
        .map_err(|fault| s.faulty(request, &fault))?;
    let mut allowed = 0;
    for _ in 0..STEPS {
        used_up(s, &mut conn, id, allowed)
            .map_err(|fault| s.faulty(request, &fault))?;
        if conn.is_over(id) {
            break;
        }
        let more = s.rng.between(1, 2) as u32;
        conn.credit(id, more, s.deadline());
        allowed += more as usize;
    }
    if !conn.is_over(id) {
        conn.credit(id, 1 << 20, s.deadline());
    }
    let response = conn
        .receive(id, s.deadline())
        .map_err(|fault| s.faulty(request, &fault))?;
    s.judge(ask, request, &response)
}

/// Waits until a stream has sent all it may, and a little more.
fn used_up(
    s: &Session<'_>,
    conn: &mut Conn,
    id: u32,
    allowed: usize,
) -> Result<(), Fault> {
    let by = if allowed == 0 { s.short() } else { s.within(SENT) };
    while !conn.is_over(id) && conn.got(id) < allowed.max(1) {
        // Without any room nothing but the head can come.
        let until = match (allowed, conn.has_begun(id)) {
            (0, true) => s.within(WATCHED),
            _ => by,
        };
        match conn.pump(until) {
            Ok(()) => {}
            // It may wait for more room than a byte or two.
            Err(Fault::Late { .. }) => break,
            Err(fault) => return Err(fault),
        }
    }
    let until = s.within(WATCHED);
    while !conn.is_over(id) {
        match conn.pump(until) {
            Ok(()) => {}
            Err(Fault::Late { .. }) => break,
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

fn connection_window(s: &mut Session<'_>) -> Outcome {
    // A file of the table that does not fit into the first window.
    let large: Vec<usize> = profiles::data::STATIC_FILES
        .iter()
        .enumerate()
        .filter(|(index, _)| {
            s.oracle.file(*index).is_some_and(|f| f.len() > 40_000)
        })
        .map(|(index, _)| index)
        .collect();
    let settings = Settings { more: 0, credits: false, ..Settings::default() };
    let mut conn = s.open2_with(settings)?;
    let mut sent = Vec::new();
    for _ in 0..3 {
        let Some(file) = s.rng.pick(&large).copied() else { return Ok(()) };
        let ask = profiles::ask::Ask::Static { file, accept_encoding: None };
        let request = s.request(&ask);
        s.asked.get_or_insert_with(|| request.shown());
        let id = conn.start(&request, s.deadline());
        let id = id.map_err(|fault| s.faulty(&request, &fault))?;
        sent.push((id, ask, request));
    }
    let request = &sent[0].2;
    let by = s.within(SENT * 5);
    // Padding uses the window up, too.
    while conn.left() > 0 {
        match conn.pump(by) {
            Ok(()) => {}
            // It need not use the window to the last byte.
            Err(Fault::Late { .. }) => break,
            Err(fault) => return Err(s.faulty(request, &fault)),
        }
    }
    let until = s.within(WATCHED);
    loop {
        match conn.pump(until) {
            Ok(()) => {}
            Err(Fault::Late { .. }) => break,
            Err(fault) => return Err(s.faulty(request, &fault)),
        }
    }
    conn.credit(sent[0].0, 4 << 20, s.deadline());
    for (id, ask, request) in &sent {
        let response = conn
            .receive(*id, s.deadline())
            .map_err(|fault| s.faulty(request, &fault))?;
        s.judge(ask, request, &response)?;
    }
    Ok(())
}

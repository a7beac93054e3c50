//! Streams as servers send them, whole, cut and broken.

mod requests;

use super::*;
use crate::wire::{Answer, Head, Sink};

/// What a stream came to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Heard {
    status: u16,
    content_type: Option<Vec<u8>>,
    content_encoding: Option<Vec<u8>>,
    body: Vec<u8>,
}

impl Sink for Heard {
    fn head(&mut self, head: &Head<'_>) -> Result<(), Why> {
        self.status = head.status;
        self.content_type = head.content_type.map(<[u8]>::to_vec);
        self.content_encoding = head.content_encoding.map(<[u8]>::to_vec);
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Why> {
        self.body.extend_from_slice(bytes);
        Ok(())
    }
}

/// Reads the pieces, then the end.
fn read(pieces: &[&[u8]], memo: &mut Memo) -> Result<(Answer, Heard), Breach> {
    let (mut reader, mut heard) = (Reader::default(), Heard::default());
    assert!(reader.is_idle());
    for piece in pieces {
        reader.feed(piece, memo, &mut heard)?;
    }
    reader.end().map(|answer| (answer, heard))
}

/// The same outcome whole, cut in two at every offset, and byte by byte, with
/// an empty memory and with a full one.
#[track_caller]
fn every_way(stream: &[u8]) -> Result<(Answer, Heard), Breach> {
    let mut memo = Memo::default();
    let whole = read(&[stream], &mut memo);
    for cut in 0..=stream.len() {
        let (a, b) = stream.split_at(cut);
        assert_eq!(read(&[a, b], &mut memo), whole, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(read(&bytes, &mut memo), whole, "byte by byte");
    assert_eq!(read(&bytes, &mut Memo::default()), whole);
    whole
}

fn frame(kind: u64, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::put_varint(kind, &mut out);
    frame::put_varint(body.len() as u64, &mut out);
    out.extend_from_slice(body);
    out
}

/// A section of literal fields.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = vec![0, 0];
    for (name, value) in fields {
        qpack::put_integer(name.len(), 3, 0x20, &mut out);
        out.extend(name.bytes());
        qpack::put_text(value.as_bytes(), &mut out);
    }
    out
}

fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    frame(1, &block(fields))
}

const OK: (&str, &str) = (":status", "200");

#[track_caller]
fn is_right(stream: &[u8], body: &[u8]) -> Heard {
    let (answer, heard) = every_way(stream).unwrap();
    assert_eq!((answer.status, heard.status), (200, 200));
    assert_eq!(answer.body_bytes, body.len() as u64);
    assert_eq!(heard.body, body);
    heard
}

#[test]
fn an_answer_is_the_same_in_whatever_pieces_it_comes() {
    let fields = [OK, ("content-type", "text/plain"), ("content-length", "5")];
    let plain = [head(&fields), frame(0, b"hello")].concat();
    let heard = is_right(&plain, b"hello");
    assert_eq!(heard.content_type.as_deref(), Some(&b"text/plain"[..]));
    // In several frames, an empty one among them, without a length.
    let frames = [frame(0, b"he"), frame(0, b""), frame(0, b"llo")].concat();
    is_right(&[head(&[OK]), frames.clone()].concat(), b"hello");
    // After an informational head, before trailers, among unknown frames.
    let early = head(&[(":status", "103"), ("link", "</a>")]);
    let trailers = head(&[("x-digest", "1")]);
    let grease = frame(0x21, b"whatever");
    let all = [
        grease.clone(),
        early,
        grease.clone(),
        head(&[OK]),
        frames,
        grease.clone(),
        trailers,
        grease,
    ];
    is_right(&all.concat(), b"hello");
    // No body at all.
    is_right(&head(&[OK, ("content-length", "0")]), b"");
    // A frame's type and length in longer forms than needed.
    let long = [&[0x40, 1, 0x80, 0, 0, 3][..], &[0, 0, 0xd9]].concat();
    is_right(&long, b"");
    // A large body.
    let large = vec![7; 70_000];
    let stream = [head(&[OK]), frame(0, &large)].concat();
    let (answer, heard) = read(&[&stream], &mut Memo::default()).unwrap();
    assert_eq!((answer.body_bytes, heard.body), (70_000, large));
}

#[test]
fn fields_are_read_in_every_form() {
    // Static :status 200 and content-type; content-encoding by a static name
    // with a Huffman coded value; content-length with a plain one; a literal
    // name in Huffman's code ("custom-key": "custom-value").
    let block = [
        &[0, 0, 0xd9, 0xee][..],
        &[0x5f, 0x1b, 0x83, 0x9b, 0xd9, 0xab][..],
        &[0x54, 1, b'2'],
        &[0x2f, 1, 0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f],
        &[0x89, 0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf],
    ]
    .concat();
    let stream = [frame(1, &block), frame(0, b"{}")].concat();
    let heard = is_right(&stream, b"{}");
    let json = &b"application/json"[..];
    assert_eq!(heard.content_type.as_deref(), Some(json));
    assert_eq!(heard.content_encoding.as_deref(), Some(&b"gzip"[..]));
}

#[test]
fn bodies_that_heads_forbid_or_do_not_have_are_known() {
    let stream = head(&[(":status", "304"), ("content-length", "9")]);
    assert_eq!(every_way(&stream).unwrap().0.status, 304);
    let stream = head(&[(":status", "404")]);
    assert_eq!(every_way(&stream).unwrap().0.status, 404);
}

#[track_caller]
fn is_broken(code: Code, stream: &[u8]) {
    let breach = every_way(stream).unwrap_err();
    let fatal = code != Code::MESSAGE && breach.why != Why::HeadTooLong;
    assert_eq!((breach.code, breach.fatal), (code, fatal), "{breach:?}");
}

#[test]
fn malformed_messages_end_their_stream_alone() {
    let message = |fields: &[(&str, &str)]| {
        is_broken(Code::MESSAGE, &head(fields));
    };
    message(&[]);
    message(&[("server", "x")]);
    message(&[OK, OK]);
    message(&[("server", "x"), OK]);
    message(&[(":status", "2000")]);
    message(&[(":status", "2x0")]);
    message(&[(":status", "")]);
    message(&[(":status", "101")]);
    message(&[OK, (":path", "/")]);
    message(&[OK, ("Server", "x")]);
    message(&[OK, ("se rver", "x")]);
    message(&[OK, ("", "x")]);
    message(&[OK, ("server", "a\r\nb")]);
    message(&[OK, ("server", "a\0b")]);
    message(&[OK, ("connection", "close")]);
    message(&[OK, ("transfer-encoding", "chunked")]);
    message(&[OK, ("content-length", "x")]);
    message(&[OK, ("content-length", "")]);
    message(&[OK, ("content-length", "1"), ("content-length", "2")]);
    message(&[OK, ("content-type", "a"), ("content-type", "a")]);
    // Lengths that lie.
    message(&[OK, ("content-length", "1")]);
    let long = [head(&[OK, ("content-length", "1")]), frame(0, b"ab")];
    is_broken(Code::MESSAGE, &long.concat());
    let none = [head(&[OK, ("content-length", "0")]), frame(0, b"a")];
    is_broken(Code::MESSAGE, &none.concat());
    // Ends without a head.
    is_broken(Code::MESSAGE, &[]);
    is_broken(Code::MESSAGE, &head(&[(":status", "100")]));
    is_broken(Code::MESSAGE, &frame(0x21, b"x"));
    // Trailers with a pseudo-field.
    is_broken(Code::MESSAGE, &[head(&[OK]), head(&[OK])].concat());
    // A head beyond all measure is refused by its length alone.
    let mut long = vec![1];
    frame::put_varint(1 << 20, &mut long);
    is_broken(Code::EXCESSIVE_LOAD, &long);
}

#[test]
fn frames_out_of_place_end_the_connection() {
    let unexpected = |stream: &[Vec<u8>]| {
        is_broken(Code::FRAME_UNEXPECTED, &stream.concat());
    };
    unexpected(&[frame(0, b"x")]);
    for kind in [2, 3, 4, 6, 7, 8, 9, 0xd] {
        unexpected(&[frame(kind, b"")]);
        unexpected(&[head(&[OK]), frame(kind, b"")]);
    }
    let trailers = head(&[("x", "y")]);
    unexpected(&[head(&[OK]), trailers.clone(), frame(0, b"x")]);
    unexpected(&[head(&[OK]), trailers.clone(), trailers]);
    is_broken(Code::ID, &frame(5, b"\0"));
    // Ends in mid-frame.
    let whole = [head(&[OK]), frame(0, b"hello")].concat();
    let torn = |to: usize| is_broken(Code::FRAME, &whole[..to]);
    (1..head(&[OK]).len()).for_each(torn);
    (head(&[OK]).len() + 1..whole.len()).for_each(torn);
}

#[test]
fn field_sections_that_cannot_be_read_end_the_connection() {
    for block in [
        &[][..],
        &[0],
        // A required insert; an entry of the dynamic table; the same after
        // the base, as a name and whole.
        &[1, 0, 0xd9],
        &[0, 0, 0x80],
        &[0, 0, 0x40, 1, b'x'],
        &[0, 0, 0x10],
        &[0, 0, 0x00, 1, b'x'],
        // An index beyond the table, a text beyond the block, an integer
        // without an end, a Huffman code that is none.
        &[0, 0, 0xff, 36],
        &[0, 0, 0x54, 9, b'x'],
        &[0, 0, 0x54],
        &[0, 0, 0xff],
        &[0, 0, 0xff, 255, 255, 255, 255, 255, 255],
        &[0, 0, 0x54, 0x81, 0x00],
    ] {
        is_broken(Code::DECOMPRESSION, &frame(1, block));
    }
}

#[test]
fn a_head_is_known_again_and_never_mistaken() {
    let mut memo = Memo::default();
    for round in 0..3 {
        for length in 0..300 {
            let text = length.to_string();
            let fields = [OK, ("content-length", text.as_str())];
            let body = vec![b'x'; length];
            let stream = [head(&fields), frame(0, &body)].concat();
            let (answer, _) = read(&[&stream], &mut memo).unwrap();
            assert_eq!(answer.body_bytes, length as u64, "round {round}");
        }
        // A broken one is broken each time.
        let broken = head(&[OK, ("content-length", "x")]);
        assert!(read(&[&broken], &mut memo).is_err());
    }
}

/// What the unidirectional streams of a server bring, cut anyhow.
fn unis(streams: &[Vec<u8>]) -> Result<Vec<News>, Breach> {
    let run = |step: usize| {
        let (mut seen, mut news) = (Seen::default(), Vec::new());
        for stream in streams {
            let mut uni = Uni::default();
            for piece in stream.chunks(step) {
                uni.feed(piece, &mut seen, |n| news.push(n))?;
            }
        }
        Ok(news)
    };
    let whole = run(usize::MAX);
    for step in 1..20 {
        assert_eq!(run(step), whole, "in steps of {step}");
    }
    whole
}

fn control(frames: &[Vec<u8>]) -> Vec<u8> {
    [vec![0], frames.concat()].concat()
}

#[test]
fn a_servers_own_streams_are_read() {
    let settings = [&[0x06, 0x44, 0x00, 0x21, 0x05][..]].concat();
    let streams = [
        control(&[
            frame(4, &settings),
            frame(0x21, b"grease"),
            frame(7, &[8]),
            frame(7, &[8]),
            frame(7, &[4]),
        ]),
        // QPACK: the capacity it has; a stream that was cancelled, twice.
        vec![2, 0x20],
        vec![3, 0x44, 0x7f, 0x81, 0x01],
        // A type that nobody knows.
        vec![0x40, 0x21, 1, 2, 3],
    ];
    let found = Settings { max_field_section: 0x400 };
    let expected = vec![
        News::Settings(found),
        News::GoAway(8),
        News::GoAway(8),
        News::GoAway(4),
        News::Unknown,
    ];
    assert_eq!(unis(&streams), Ok(expected));
    let none = Settings { max_field_section: u64::MAX };
    assert_eq!(unis(&[hello()]).unwrap().len(), 1);
    let empty = unis(&[control(&[frame(4, b"")])]);
    assert_eq!(empty, Ok(vec![News::Settings(none)]));
}

#[track_caller]
fn uni_broken(code: Code, streams: &[Vec<u8>]) {
    let breach = unis(streams).unwrap_err();
    assert_eq!((breach.code, breach.fatal), (code, true), "{breach:?}");
}

#[test]
fn a_servers_own_streams_must_be_as_the_standard_says() {
    let settings = frame(4, b"");
    let after = |next: Vec<u8>| [control(&[settings.clone(), next])];
    for kind in [0, 1, 3, 5, 7, 0xd, 0x21] {
        let stream = control(&[frame(kind, b"\0")]);
        uni_broken(Code::MISSING_SETTINGS, &[stream]);
    }
    for kind in [0, 1, 2, 4, 5, 6, 8, 9, 0xd] {
        uni_broken(Code::FRAME_UNEXPECTED, &after(frame(kind, b"\0")));
    }
    uni_broken(Code::ID, &after(frame(3, b"\0")));
    uni_broken(Code::ID, &after(frame(7, &[1])));
    let up = [frame(7, &[4]), frame(7, &[8])].concat();
    uni_broken(Code::ID, &after(up));
    uni_broken(Code::FRAME, &after(frame(7, &[])));
    uni_broken(Code::FRAME, &after(frame(7, &[4, 4])));
    uni_broken(Code::FRAME, &[control(&[frame(4, &[6])])]);
    uni_broken(Code::FRAME, &[control(&[frame(4, &[6, 0x40])])]);
    uni_broken(Code::SETTINGS, &[control(&[frame(4, &[2, 0])])]);
    uni_broken(Code::SETTINGS, &[control(&[frame(4, &[6, 1, 6, 1])])]);
    let mut long = vec![0, 4];
    frame::put_varint(1 << 20, &mut long);
    uni_broken(Code::EXCESSIVE_LOAD, &[long]);
    for kind in [0, 2, 3] {
        uni_broken(Code::STREAM_CREATION, &[vec![kind], vec![kind]]);
    }
    uni_broken(Code::ID, &[vec![1]]);
    // An insert; a capacity; acknowledgements.
    uni_broken(Code::ENCODER_STREAM, &[vec![2, 0xc1, 1, b'x']]);
    uni_broken(Code::ENCODER_STREAM, &[vec![2, 0x3f, 0xe1, 0x1f]]);
    uni_broken(Code::DECODER_STREAM, &[vec![3, 0x01]]);
    uni_broken(Code::DECODER_STREAM, &[vec![3, 0x84]]);
    let endless = [vec![3, 0x7f], vec![0xff; 20]].concat();
    uni_broken(Code::DECODER_STREAM, &[endless]);
}

#[test]
fn only_streams_of_no_use_may_end() {
    for (first, may) in [(0, false), (2, false), (3, false), (0x21, true)] {
        let mut uni = Uni::default();
        assert_eq!(uni.end(), Ok(()));
        uni.feed(&[first], &mut Seen::default(), |_| {}).unwrap();
        assert_eq!(uni.end().is_ok(), may, "type {first}");
    }
}

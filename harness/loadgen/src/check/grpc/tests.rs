use super::*;
use proptest::prelude::*;

const GRPC: Option<&[u8]> = Some(b"application/grpc");

/// One frame around `message`.
fn framed(message: &[u8]) -> Vec<u8> {
    let len = (message.len() as u32).to_be_bytes();
    [&[0][..], &len, message].concat()
}

/// `value` as any encoder writes it, worked out a second way.
fn reply(value: i32) -> Vec<u8> {
    let mut message = Vec::new();
    if value != 0 {
        let mut left = i64::from(value) as u64;
        message.push(8);
        while left > 0x7f {
            message.push((left & 0x7f) as u8 + 0x80);
            left >>= 7;
        }
        message.push(left as u8);
    }
    framed(&message)
}

fn replies(sums: Sums) -> Vec<u8> {
    (0..sums.count).flat_map(|i| reply(sums.value(i))).collect()
}

fn stream(a: i32, b: i32, count: u32) -> Ask {
    Ask::GrpcStream { a, b, count }
}

/// The verdict on a whole stream in pieces of `size`, by a used watch.
fn ends_by(
    watch: &mut GrpcWatch,
    ask: &Ask,
    bytes: &[u8],
    size: usize,
) -> Result<u64, Wrong> {
    watch.head(ask, 200, GRPC, false);
    for piece in bytes.chunks(size.max(1)) {
        watch.data(piece);
    }
    watch.trailers(Some(b"0"), None);
    watch.finish()
}

/// The same verdict at every size of pieces, and cut in two anywhere.
#[track_caller]
fn ends(ask: &Ask, bytes: &[u8]) -> Result<u64, Wrong> {
    let mut watch = GrpcWatch::default();
    let whole = ends_by(&mut watch, ask, bytes, usize::MAX);
    for size in (1..60).chain([1021]) {
        let found = ends_by(&mut watch, ask, bytes, size);
        assert_eq!(found, whole, "in pieces of {size}");
    }
    for at in 0..bytes.len().min(300) {
        watch.head(ask, 200, GRPC, false);
        watch.data(&bytes[..at]);
        watch.data(&bytes[at..]);
        watch.trailers(Some(b"0"), None);
        assert_eq!(watch.finish(), whole, "cut at {at}");
    }
    whole
}

#[track_caller]
fn wrong(ask: &Ask, bytes: &[u8], word: &str, part: &str) {
    let wrong = ends(ask, bytes).unwrap_err();
    assert_eq!(wrong.word(), word, "{wrong}");
    assert!(wrong.to_string().contains(part), "`{part}` is not in {wrong}");
}

#[test]
fn the_expected_frame_is_the_one_encoders_write() {
    let edges = [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152];
    for value in edges.into_iter().chain([1 << 28, i32::MAX, -1, i32::MIN]) {
        let (due, len) = frame(value);
        assert_eq!(due.to_le_bytes()[..len], reply(value), "{value}");
    }
}

#[test]
fn right_streams_are_right_however_they_are_cut() {
    for (a, b, count) in [
        (1, 2, 5000),
        (-3, 0, 7),
        (i32::MAX, -1, 4),
        (2_097_140, 0, 30),
        (1, 2, 0),
    ] {
        let ask = stream(a, b, count);
        let bytes = replies(Sums::of(&ask).unwrap());
        assert_eq!(ends(&ask, &bytes), Ok(count.into()));
    }
    assert_eq!(ends(&Ask::GrpcSum { a: 1, b: 2 }, &reply(3)), Ok(1));
}

#[test]
fn another_layout_of_the_same_number_is_right() {
    let ask = stream(126, 0, 3);
    let padded = framed(&[8, 0xfe, 0x80, 0]);
    let twice = framed(&[8, 1, 8, 127]);
    let extra = framed(&[&[8, 0x80, 1, 18, 90][..], &[b'x'; 90]].concat());
    for order in [[&padded, &twice, &extra], [&padded, &reply(127), &extra]] {
        assert_eq!(ends(&ask, &order.map(|m| m.clone()).concat()), Ok(3));
    }
    let mixed = [reply(126), twice, reply(128)].concat();
    assert_eq!(ends(&ask, &mixed), Ok(3));
    let zero = Ask::GrpcSum { a: 5, b: -5 };
    assert_eq!(ends(&zero, &framed(&[])), Ok(1));
    assert_eq!(ends(&zero, &framed(&[8, 0])), Ok(1));
}

#[test]
fn a_wrong_message_is_named_with_its_number() {
    let ask = stream(1, 2, 3);
    let with = |middle: Vec<u8>| [reply(3), middle, reply(5)].concat();
    let refused = |middle: Vec<u8>, part: &str| {
        wrong(&ask, &with(middle), "grpc-message", part);
    };
    refused(reply(5), "number 2 of 3: expected 4, found 5");
    refused(framed(&[]), "expected 4, found 0");
    refused(framed(&[8]), "no SumReply: a number is cut off");
    refused(framed(&[b'x'; 2000]), "2000 bytes");
    refused(vec![1, 0, 0, 0, 2, 8, 4], "compressed");
    refused(vec![1, 0, 0, 0, 0], "compressed");
    refused(vec![9, 0, 0, 0, 2, 8, 4], "9, which is no flag");
    refused(vec![0, 255, 255, 255, 255, 8], "4294967295 bytes");
    let cut = replies(Sums { first: 3, count: 3 });
    for n in 1..7 {
        let part = "number 3 of 3: is cut off";
        wrong(&ask, &cut[..14 + n], "grpc-message", part);
    }
}

#[test]
fn messages_are_counted() {
    let ask = stream(1, 2, 3);
    for count in [0, 1, 2, 4, 5, 90] {
        let bytes = replies(Sums { first: 3, count });
        let words = format!("expected 3, found {count}");
        wrong(&ask, &bytes, "grpc-messages", &words);
    }
    // Beyond the last, what is in them does not matter.
    let more = [replies(Sums { first: 3, count: 3 }), framed(b"junk!")];
    wrong(&ask, &more.concat(), "grpc-messages", "expected 3, found 4");
}

/// BC-34: none of these counts as good, and each has its own word.
#[test]
fn a_failed_call_is_told_by_its_trailers() {
    let ask = Ask::GrpcSum { a: 1, b: 2 };
    let mut watch = GrpcWatch::default();
    watch.head(&ask, 200, GRPC, false);
    watch.data(&reply(3));
    watch.trailers(Some(b"13"), Some(b"it%20broke%3"));
    let wrong = watch.finish().unwrap_err();
    assert_eq!(wrong, Wrong::GrpcStatus("13 (it broke%3)".into()));

    watch.head(&ask, 200, GRPC, true);
    watch.trailers(Some(b"12"), None);
    let wrong = watch.finish().unwrap_err();
    assert_eq!(wrong, Wrong::GrpcTrailersOnly("12".into()));
    watch.head(&ask, 200, GRPC, true);
    watch.trailers(Some(b"0"), None);
    let wrong = watch.finish().unwrap_err();
    assert_eq!(wrong, Wrong::GrpcTrailersOnly("0".into()));

    watch.head(&ask, 200, GRPC, false);
    watch.data(&reply(3));
    assert_eq!(watch.finish(), Err(Wrong::GrpcNoTrailers));
    watch.head(&ask, 200, GRPC, false);
    watch.data(&reply(3));
    watch.trailers(None, Some(b"why"));
    assert_eq!(watch.finish(), Err(Wrong::GrpcStatus("none".into())));

    watch.head(&ask, 200, GRPC, false);
    watch.data(&reply(4));
    watch.trailers(Some(b"0"), Some(b""));
    assert_eq!(watch.finish().unwrap_err().word(), "grpc-message");

    // And after all that, the right answer.
    assert_eq!(ends_by(&mut watch, &ask, &reply(3), 3), Ok(1));
}

#[test]
fn the_http_head_is_looked_at_first() {
    let ask = Ask::GrpcSum { a: 1, b: 2 };
    let mut watch = GrpcWatch::default();
    let mut says = |status, content_type: Option<&[u8]>| {
        watch.head(&ask, status, content_type, false);
        watch.data(&reply(3));
        watch.trailers(Some(b"0"), None);
        watch.finish().map_err(|wrong| wrong.word())
    };
    assert_eq!(says(503, GRPC), Err("status"));
    assert_eq!(says(200, None), Err("content-type"));
    assert_eq!(says(200, Some(b"application/json")), Err("content-type"));
    assert_eq!(says(200, Some(b"application/grpc+json")), Err("content-type"));
    assert_eq!(says(200, Some(b"application/grpc+proto")), Ok(1));
    assert_eq!(says(200, Some(b"Application/gRPC; charset=x")), Ok(1));
}

#[test]
fn an_empty_stream_may_be_trailers_alone() {
    let mut watch = GrpcWatch::default();
    watch.head(&stream(1, 2, 0), 200, GRPC, true);
    watch.trailers(Some(b"0"), None);
    assert_eq!(watch.finish(), Ok(0));
}

#[test]
fn a_strangers_words_are_short_and_clean() {
    let long = [&b"%1B%00"[..], &[b'x'; 5000]].concat();
    let Status::Failed(words) = unlike_ok(Some(&long), Some(&long)) else {
        panic!("a status of x");
    };
    assert!(words.chars().count() < 200, "{words}");
    assert!(!words.contains('\u{1b}'), "{words}");
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_give_one_verdict(
        right in 0u64..4,
        bytes in prop::collection::vec(prop_oneof![
            3 => 0u8..12, 1 => any::<u8>(),
        ], 0..60),
        size in 1usize..40,
    ) {
        let ask = stream(1, 2, 4);
        let start = replies(Sums { first: 3, count: right });
        let bytes = [start, bytes].concat();
        let mut watch = GrpcWatch::default();
        let whole = ends_by(&mut watch, &ask, &bytes, usize::MAX);
        prop_assert_eq!(ends_by(&mut watch, &ask, &bytes, size), whole);
    }
}

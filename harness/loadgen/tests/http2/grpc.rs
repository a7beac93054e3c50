//! gRPC calls that fail in each of the ways they can (BC-34).

use profiles::ask::Ask;

use crate::talk::*;

fn unary() -> String {
    let class = "ask = \"grpc-sum\"\noperands = \"7\"";
    profile("grpc", 2, class)
}

fn stream() -> String {
    let class = "ask = \"grpc-stream\"\noperands = \"7\"\nmessages = \"300\"";
    profile("grpc", 1, class)
}

const HEAD: [(&str, &str); 2] =
    [(":status", "200"), ("content-type", "application/grpc")];

/// A `SumReply`, framed.
fn reply(result: i32) -> Vec<u8> {
    let mut out = Vec::new();
    Ask::GrpcSum { a: result, b: 0 }.write_message(&mut out);
    out
}

fn head(stream: u32) -> Vec<u8> {
    headers(stream, 0, &HEAD)
}

fn trailers(stream: u32, status: &str) -> Vec<u8> {
    headers(stream, END, &[("grpc-status", status)])
}

fn right(stream: u32) -> Vec<u8> {
    [head(stream), frame(DATA, 0, stream, &reply(14)), trailers(stream, "0")]
        .concat()
}

#[test]
fn a_call_is_asked_as_the_contract_says() {
    let mut talk = Talk::new(&unary());
    let said = talk.ask();
    assert_eq!(said.len(), 4);
    assert_eq!((said[0].kind, said[0].flags), (HEADERS, WHOLE));
    assert_eq!((said[1].kind, said[1].flags), (DATA, END));
    assert_eq!(said[1].payload, [0, 0, 0, 0, 4, 8, 7, 16, 7]);
    assert_eq!(talk.hear(&right(1)), None);
    let books = talk.close();
    assert_eq!((books.right, books.messages), (1, 1));
    assert_eq!(books.right_body_bytes, 7);
}

/// `word` counts it, whatever pieces it comes in, and the next call is right.
#[track_caller]
fn wrong(word: &str, bytes: &[u8]) {
    for step in [1, 7, bytes.len()] {
        let mut talk = Talk::new(&unary());
        talk.ask();
        assert_eq!(talk.hear_by(bytes, step), None, "{word}");
        assert_eq!(talk.hear(&right(3)), None);
        let books = talk.close();
        assert_eq!((books.sent, books.right), (2, 1), "{word}");
        assert_eq!(books.wrong_by.get(word), Some(&1), "{books:?}");
        assert_eq!(books.faults.len(), 0, "{books:?}");
    }
}

#[test]
fn each_way_to_fail_has_its_own_counter() {
    let data = |result| frame(DATA, 0, 1, &reply(result));
    wrong("grpc-status", &[head(1), data(14), trailers(1, "13")].concat());
    wrong("grpc-status", &[head(1), trailers(1, "2")].concat());
    let only = |status| {
        let mut fields = HEAD.to_vec();
        fields.push(("grpc-status", status));
        headers(1, END, &fields)
    };
    wrong("grpc-trailers-only", &only("12"));
    wrong("grpc-trailers-only", &only("0"));
    let end = frame(DATA, END, 1, &reply(14));
    wrong("grpc-no-trailers", &[head(1), end].concat());
    wrong("grpc-message", &[head(1), data(15), trailers(1, "0")].concat());
    wrong("grpc-messages", &[head(1), trailers(1, "0")].concat());
    let twice = [head(1), data(14), data(14), trailers(1, "0")].concat();
    wrong("grpc-messages", &twice);
    let html = [(":status", "200"), ("content-type", "text/html")];
    wrong("content-type", &headers(1, END, &html));
    wrong("status", &headers(1, END, &[(":status", "502")]));
    let mute = headers(1, END, &[("x", "y")]);
    wrong("grpc-status", &[head(1), data(14), mute].concat());
}

#[test]
fn a_stream_of_messages_counts_once_and_whole() {
    let all: Vec<u8> = (0..300).flat_map(|i| reply(14 + i)).collect();
    for step in [1, 100, 9999] {
        let mut talk = Talk::new(&stream());
        talk.ask();
        assert_eq!(talk.hear(&head(1)), None);
        for part in all.chunks(777) {
            assert_eq!(talk.hear_by(&frame(DATA, 0, 1, part), step), None);
        }
        assert_eq!(talk.desk.books.right, 0);
        assert_eq!(talk.hear(&trailers(1, "0")), None);
        let books = talk.close();
        assert_eq!((books.right, books.messages), (1, 300));
    }
}

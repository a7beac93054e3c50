//! The gun fires `crud` and the stack's items at a server that keeps rows.

mod peer;
mod table;

use std::sync::Mutex;

use peer::{Peer, Request, bare, measured};
use table::{CRUD, STACK, Table};

fn server(bend: fn(String) -> String) -> Peer {
    let table = Mutex::new(Table::default());
    Peer::replying(move |request: &Request| {
        let mut table = table.lock().unwrap();
        bend(table.reply(&request.head, &request.body))
    })
}

#[test]
fn reads_beside_writes_are_right_and_every_class_is_fired() {
    for definition in [CRUD, STACK] {
        let peer = server(|reply| reply);
        let sample = measured(&bare(definition, peer.addr, 8));
        assert_eq!(sample.wrong, 0, "{:?}", sample.examples);
        assert_eq!(sample.faulted() + sample.timed_out, 0);
        for (name, class) in &sample.classes {
            assert!(class.right > 0, "{name}: {sample:?}");
        }
    }
}

#[test]
fn a_server_that_forgets_what_was_written_is_found_out() {
    // Each reply with the quantity of another write.
    let peer = server(|reply| reply.replace("\"quantity\":", "\"quantity\":1"));
    let sample = measured(&bare(CRUD, peer.addr, 8));
    assert_eq!(sample.right, 0, "{sample:?}");
    assert!(sample.wrong > 0);
}

#[test]
fn a_status_that_another_class_may_have_is_wrong() {
    let peer = server(|reply| reply.replace("HTTP/1.1 200", "HTTP/1.1 201"));
    let sample = measured(&bare(CRUD, peer.addr, 8));
    assert_eq!(sample.classes["create"].right, sample.right);
    assert!(sample.right > 0 && sample.wrong > 0, "{sample:?}");
    assert_eq!(sample.wrong_by["status"], sample.wrong);
}

//! A request and its answer allocate nothing once a connection over TLS is
//! warm.

mod peer;
mod tls_peer;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use loadgen::session::{Over, Session as _};
use tls_peer::{Tally, Wire, answers, config, plan, suites};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system allocator as it came. The count
// is a plain cell of the calling thread; touching it allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of `gun`.
fn counted(gun: impl FnOnce()) -> u64 {
    let before = COUNT.with(Cell::get);
    gun();
    COUNT.with(Cell::get) - before
}

#[test]
fn a_warm_connection_allocates_nothing() {
    for suite in suites() {
        for (definition, each) in [(peer::BASELINE, 1), (peer::PIPELINED, 16)] {
            let plan = plan(definition);
            let mut wire = Wire::up(&plan, &Arc::new(config(&[suite])));
            let mut allocations = 0;
            for round in 0..200 {
                let mut gun = 0;
                let Wire { session, desk, kit, now, .. } = &mut wire;
                *now += 1;
                gun += counted(|| session.fill(*now, desk, kit));
                let text = session.out().text().unwrap().to_vec();
                gun += counted(|| session.wrote(text.len(), *now, desk));
                wire.heard.clear();
                wire.hear(&text);
                let asked = String::from_utf8(wire.heard.clone()).unwrap();
                let mut words = wire.say(&answers(&asked));
                let Wire { session, desk, kit, now, .. } = &mut wire;
                for piece in words.chunks_mut(61) {
                    gun += counted(|| {
                        let over = session.received(piece, *now, desk, kit);
                        assert_eq!(over, None);
                    });
                }
                allocations += if round < 100 { 0 } else { gun };
            }
            assert_eq!(allocations, 0, "{suite:?}");
            assert_eq!(wire.end(Over::Stopped), Tally::right(200 * each));
        }
    }
}

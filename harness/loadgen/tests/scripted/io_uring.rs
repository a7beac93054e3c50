//! Under io_uring.

use profiles::spec::{Engine, Spec};

use super::peer;

#[path = "faulty.rs"]
mod faulty;
#[path = "right.rs"]
mod right;

fn engine() -> Engine {
    match loadgen::engine::refusal() {
        None => Engine::IoUring,
        Some(why) => {
            println!("skipped, epoll again: {why}");
            Engine::Epoll
        }
    }
}

fn spec(text: &str, target: std::net::SocketAddr, connections: u32) -> Spec {
    Spec { engine: engine(), ..peer::spec(text, target, connections) }
}

fn bare(text: &str, target: std::net::SocketAddr, connections: u32) -> Spec {
    Spec { engine: engine(), ..peer::bare(text, target, connections) }
}

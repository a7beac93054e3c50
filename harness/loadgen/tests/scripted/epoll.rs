//! Under epoll.

use profiles::spec::{Engine, Spec};

use super::peer;

#[path = "faulty.rs"]
mod faulty;
#[path = "right.rs"]
mod right;

fn engine() -> Engine {
    Engine::Epoll
}

fn spec(text: &str, target: std::net::SocketAddr, connections: u32) -> Spec {
    Spec { engine: engine(), ..peer::spec(text, target, connections) }
}

fn bare(text: &str, target: std::net::SocketAddr, connections: u32) -> Spec {
    Spec { engine: engine(), ..peer::bare(text, target, connections) }
}

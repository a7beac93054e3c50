//! One WebSocket connection without a socket: whatever the pieces its bytes
//! come in, the books are the same.

mod driven;
mod echoes;
mod late;
#[path = "../peer/mod.rs"]
mod peer;
mod rules;

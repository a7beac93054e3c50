//! The gun at servers that follow a script, under each queue of the kernel:
//! the books must not tell them apart.
#![allow(clippy::duplicate_mod)]

#[path = "../peer/mod.rs"]
mod peer;

mod choice;
mod epoll;
mod io_uring;

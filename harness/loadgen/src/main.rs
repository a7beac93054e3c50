//! The gun as a process.

fn main() {}

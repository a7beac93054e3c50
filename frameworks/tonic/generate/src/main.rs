//! Writes `../src/benchmark.rs` from `../proto/benchmark.proto`, with a
//! compiler in Rust instead of `protoc`. Run it in this folder.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = protox::compile(["benchmark.proto"], ["../proto"])?;
    tonic_prost_build::configure()
        .build_client(false)
        .out_dir("../src")
        .compile_fds(files)?;
    Ok(())
}

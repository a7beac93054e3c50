//! Prints the list of digests for `profiles/data.sha256`.

fn main() {
    print!("{}", profiles::data::digest_list(&profiles::data::generate()));
}

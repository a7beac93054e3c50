//! The generated data against the contract's figures.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use profiles::data::{
    CATEGORIES, Dataset, Item, NAMES, STATIC_FILES, TAGS, Written, digests,
    generate, sha256, write,
};
use rsa::PrivateKey;
use rsa::pkcs1v15::VerifyingKey;
use rsa::pkcs8::DecodePrivateKey as _;
use rsa::sha2::Sha256;
use rsa::signature::Verifier as _;
use rsa::traits::PublicKeyParts as _;
use x509_cert::Certificate;
use x509_cert::der::{DecodePem as _, Encode as _};
use x509_cert::ext::pkix::{BasicConstraints, SubjectAltName};
use x509_cert::spki::SubjectPublicKeyInfo;
use x509_cert::time::Time;

fn items() -> Vec<Item> {
    Dataset::generate().0
}

#[test]
fn the_dataset_has_fifty_items_in_the_contracts_cycles() {
    let items = items();
    assert_eq!(items.len(), 50);
    for (index, item) in items.iter().enumerate() {
        assert_eq!(item.id as usize, index + 1);
        assert_eq!(item.name, NAMES[index % 10]);
        assert_eq!(item.category, CATEGORIES[index % 10]);
    }
}

#[test]
fn the_datasets_first_and_last_item_are_the_published_ones() {
    let items = items();
    let json = |item| serde_json::to_string(item).unwrap();
    assert_eq!(
        json(&items[0]),
        r#"{"id":1,"name":"Alpha Widget","category":"electronics","price":328,"quantity":15,"active":true,"tags":["sale","heavy-duty","popular"],"rating":{"score":48,"count":53}}"#
    );
    assert_eq!(
        json(&items[49]),
        r#"{"id":50,"name":"Hyper Node","category":"auto","price":76,"quantity":56,"active":true,"tags":["eco"],"rating":{"score":24,"count":461}}"#
    );
}

#[track_caller]
fn spans(what: impl Fn(&Item) -> u32, low: u32, high: u32) {
    let items = items();
    assert_eq!(items.iter().map(&what).min(), Some(low));
    assert_eq!(items.iter().map(&what).max(), Some(high));
}

#[test]
fn the_datasets_numbers_reach_the_ends_of_their_ranges() {
    spans(|item| item.price, 2, 496);
    spans(|item| item.quantity, 4, 97);
    spans(|item| item.rating.score, 1, 50);
    spans(|item| item.rating.count, 5, 489);
}

#[test]
fn the_datasets_flags_and_tags_are_distributed_as_published() {
    let items = items();
    assert_eq!(items.iter().filter(|item| item.active).count(), 30);
    let mut lengths = [0; 5];
    let mut used = BTreeSet::new();
    for item in &items {
        lengths[item.tags.len()] += 1;
        let distinct: BTreeSet<&str> =
            item.tags.iter().map(String::as_str).collect();
        assert_eq!(distinct.len(), item.tags.len(), "item {}", item.id);
        used.extend(distinct.into_iter().map(str::to_owned));
    }
    assert_eq!(lengths, [0, 14, 13, 17, 6]);
    assert_eq!(used.into_iter().collect::<Vec<_>>(), TAGS);
}

#[test]
fn the_datasets_products_add_up_as_published() {
    let products: Vec<u32> =
        items().iter().map(|item| item.price * item.quantity).collect();
    assert_eq!(products.iter().sum::<u32>(), 551_091);
    assert_eq!(products.iter().max(), Some(&35_342));
}

#[test]
fn the_dataset_file_has_the_published_size_and_layout() {
    let bytes = Dataset::generate().to_bytes();
    assert_eq!(bytes.len(), 12_482);
    assert!(bytes.starts_with(b"[\n  {\n    \"id\": 1,\n    \"name\": "));
    assert!(bytes.ends_with(b"    }\n  }\n]"));
}

/// Size of the compact answer to `/json/{count}?m={m}`.
fn body_bytes(count: usize, m: u32) -> usize {
    let items: Vec<serde_json::Value> = items()[..count]
        .iter()
        .map(|item| {
            let mut json = serde_json::to_value(item).unwrap();
            json["total"] = (item.price * item.quantity * m).into();
            json
        })
        .collect();
    serde_json::json!({ "items": items, "count": count }).to_string().len()
}

#[test]
fn json_bodies_made_of_the_dataset_have_the_published_sizes() {
    for (count, m, bytes) in [
        (1, 3, 203),
        (5, 7, 888),
        (10, 2, 1_695),
        (15, 5, 2_556),
        (25, 4, 4_190),
        (40, 8, 6_707),
        (50, 6, 8_397),
        (50, 1, 8_357),
    ] {
        assert_eq!(body_bytes(count, m), bytes, "({count}, {m})");
    }
}

/// Published sizes of the compressed siblings.
const SIBLING_BYTES: [(&str, usize, usize); 15] = [
    ("reset.css", 2_838, 2_420),
    ("layout.css", 6_380, 5_615),
    ("theme.css", 5_138, 4_520),
    ("components.css", 39_348, 33_268),
    ("utilities.css", 13_040, 11_595),
    ("analytics.js", 4_390, 3_899),
    ("helpers.js", 7_442, 6_612),
    ("app.js", 54_813, 47_275),
    ("vendor.js", 79_899, 67_294),
    ("router.js", 10_856, 9_665),
    ("header.html", 11_769, 9_390),
    ("footer.html", 8_256, 6_974),
    ("logo.svg", 3_654, 3_028),
    ("icon-sprite.svg", 13_657, 11_739),
    ("manifest.json", 927, 735),
];

/// How far, in percent, a sibling may be from its published size.
const TOLERANCE_PERCENT: usize = 10;

/// All generated files by path. Made once: brotli takes its time.
fn files() -> &'static BTreeMap<String, Vec<u8>> {
    static FILES: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
        generate().into_iter().map(|file| (file.path, file.bytes)).collect()
    });
    &FILES
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut raw = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut raw).unwrap();
    raw
}

fn unbrotli(mut bytes: &[u8]) -> Vec<u8> {
    let mut raw = Vec::new();
    brotli::BrotliDecompress(&mut bytes, &mut raw).unwrap();
    raw
}

#[test]
fn the_generated_files_are_the_committed_ones() {
    let listed: BTreeMap<String, String> = digests()
        .unwrap()
        .iter()
        .map(|line| (line.path.to_owned(), line.sha256.to_owned()))
        .collect();
    let made: BTreeMap<String, String> = files()
        .iter()
        .map(|(path, bytes)| (path.clone(), sha256(bytes)))
        .collect();
    assert_eq!(made, listed);
}

#[test]
fn the_data_folder_holds_dataset_static_files_siblings_and_certificate() {
    let mut expected: BTreeSet<String> =
        ["dataset.json", "certs/server.crt", "certs/server.key"]
            .map(str::to_owned)
            .into();
    for file in &STATIC_FILES {
        expected.insert(format!("static/{}", file.name));
        if file.compressed {
            expected.insert(format!("static/{}.gz", file.name));
            expected.insert(format!("static/{}.br", file.name));
        }
    }
    assert_eq!(expected.len(), 53);
    assert_eq!(files().keys().cloned().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn static_files_have_their_exact_sizes() {
    for file in &STATIC_FILES {
        let bytes = &files()[&format!("static/{}", file.name)];
        assert_eq!(bytes.len(), file.bytes, "{}", file.name);
        assert_eq!(*bytes, file.contents(), "{}", file.name);
    }
}

#[test]
fn siblings_decode_to_the_raw_file() {
    for file in STATIC_FILES.iter().filter(|file| file.compressed) {
        let path = format!("static/{}", file.name);
        let raw = &files()[&path];
        assert_eq!(gunzip(&files()[&format!("{path}.gz")]), *raw, "{path}");
        assert_eq!(unbrotli(&files()[&format!("{path}.br")]), *raw, "{path}");
    }
}

#[test]
fn gzip_siblings_carry_no_time_and_no_name() {
    for (path, bytes) in files().iter().filter(|(p, _)| p.ends_with(".gz")) {
        let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
        assert_eq!(bytes[..10], header, "{path}");
    }
}

#[test]
fn text_files_compress_about_as_well_as_published() {
    for (name, gz, br) in SIBLING_BYTES {
        for (ending, published) in [("gz", gz), ("br", br)] {
            let found = files()[&format!("static/{name}.{ending}")].len();
            let percent = found * 100 / published;
            assert!(
                percent.abs_diff(100) <= TOLERANCE_PERCENT,
                "{name}.{ending}: {found} bytes, published {published}"
            );
        }
    }
}

#[test]
fn the_logo_and_the_manifest_are_complete_documents() {
    let logo = String::from_utf8(files()["static/logo.svg"].clone()).unwrap();
    assert!(logo.starts_with("<svg ") && logo.ends_with("</desc>\n</svg>\n"));
    // Every tag opened is closed: by itself, or by its partner.
    let count = |what: &str| logo.matches(what).count();
    assert_eq!(count("<") - count("</"), count("/>") + count("</"));
    let manifest: serde_json::Value =
        serde_json::from_slice(&files()["static/manifest.json"]).unwrap();
    assert_eq!(manifest["icons"].as_array().unwrap().len(), 10);
    assert_eq!(manifest["shortcuts"].as_array().unwrap().len(), 6);
    assert_eq!(manifest["screenshots"].as_array().unwrap().len(), 4);
}

#[test]
fn the_certificate_is_the_contracts_and_belongs_to_the_key() {
    let cert = Certificate::from_pem(&files()["certs/server.crt"]).unwrap();
    let tbs = cert.tbs_certificate();
    assert_eq!(tbs.subject().to_string(), "CN=localhost");
    assert_eq!(tbs.issuer(), tbs.subject());
    let date = |time: Time| time.to_date_time().to_string();
    let validity = tbs.validity();
    assert_eq!(date(validity.not_before), "2026-03-07T00:00:00Z");
    assert_eq!(date(validity.not_after), "2036-03-04T00:00:00Z");
    let (_, basic) = tbs.get_extension::<BasicConstraints>().unwrap().unwrap();
    assert!(basic.ca);
    assert!(tbs.get_extension::<SubjectAltName>().unwrap().is_none());

    let key = std::str::from_utf8(&files()["certs/server.key"]).unwrap();
    let key = PrivateKey::from_pkcs8_pem(key).unwrap();
    assert_eq!(key.size(), 256);
    let verifier = VerifyingKey::<Sha256>::new(key.to_public_key());
    assert_eq!(
        *tbs.subject_public_key_info(),
        SubjectPublicKeyInfo::from_key(&verifier).unwrap()
    );
    let signature = cert.signature().raw_bytes().try_into().unwrap();
    verifier.verify(&tbs.to_der().unwrap(), &signature).unwrap();
}

#[test]
fn writing_twice_writes_once() {
    let dir = tempfile::tempdir().unwrap();
    let first = write(dir.path()).unwrap();
    assert_eq!(first, Written { files: 53, written: 53 });
    for (path, bytes) in files() {
        assert_eq!(fs::read(dir.path().join(path)).unwrap(), *bytes, "{path}");
    }
    let second = write(dir.path()).unwrap();
    assert_eq!(second, Written { files: 53, written: 0 });
}

/// A folder that already holds every file.
fn filled() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, bytes) in files() {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    dir
}

#[test]
fn damaged_and_missing_files_are_repaired_and_strangers_left_alone() {
    let dir = filled();
    let path = |name: &str| dir.path().join(name);
    let mut bytes = fs::read(path("static/app.js")).unwrap();
    bytes[1000] ^= 1;
    fs::write(path("static/app.js"), &bytes).unwrap();
    fs::remove_file(path("dataset.json")).unwrap();
    fs::write(path("static/note.txt"), "mine").unwrap();

    let repaired = write(dir.path()).unwrap();
    assert_eq!(repaired, Written { files: 53, written: 2 });
    let app = fs::read(path("static/app.js")).unwrap();
    assert_eq!(app, files()["static/app.js"]);
    assert_eq!(fs::read(path("static/note.txt")).unwrap(), b"mine");
    // Nothing is left of the writing itself.
    assert_eq!(fs::read_dir(path("static")).unwrap().count(), 51);
}

#[test]
fn a_folder_that_cannot_be_written_is_named_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("dataset.json/inside")).unwrap();
    let error = write(dir.path()).unwrap_err().to_string();
    assert!(error.contains("dataset.json: expected to write it"), "{error}");
    assert!(error.contains("name another data folder"), "{error}");
}

use super::*;

#[derive(Debug, Default)]
pub(in super::super) struct Fields(pub Vec<(String, String)>);

impl Sink for Fields {
    fn field(&mut self, name: &[u8], kind: Kind, value: &[u8], good: bool) {
        assert_eq!(kind, Kind::of(name));
        assert_eq!(good, is_value(value));
        let text = |bytes: &[u8]| String::from_utf8(bytes.into()).unwrap();
        self.0.push((text(name), text(value)));
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let hex: String = hex.split_whitespace().collect();
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..][..2], 16).unwrap())
        .collect()
}

/// Reads `hex`; the fields one per line, then the table's size.
#[track_caller]
fn vector(table: &mut Table, hex: &str, fields: &str, size: usize) {
    let (mut found, mut scratch) = <(Fields, Scratch)>::default();
    read(&bytes(hex), table, 4096, &mut scratch, &mut found).unwrap();
    let found: Vec<String> =
        found.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(found.join("\n"), fields);
    assert_eq!(table.size(), size);
}

/// Appendix C.2 to C.6 of RFC 7541.
#[test]
fn the_examples_of_the_standard_are_read() {
    let custom =
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572";
    vector(&mut Table::new(4096), custom, "custom-key=custom-header", 55);
    let path = "040c 2f73 616d 706c 652f 7061 7468";
    vector(&mut Table::new(4096), path, ":path=/sample/path", 0);
    let never = "1008 7061 7373 776f 7264 0673 6563 7265 74";
    vector(&mut Table::new(4096), never, "password=secret", 0);
    vector(&mut Table::new(4096), "82", ":method=GET", 0);

    let first =
        ":method=GET\n:scheme=http\n:path=/\n:authority=www.example.com";
    let second = &format!("{first}\ncache-control=no-cache");
    let third = ":method=GET\n:scheme=https\n:path=/index.html\n\
                 :authority=www.example.com\ncustom-key=custom-value";
    for [a, b, c] in [
        [
            "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            "8286 84be 5808 6e6f 2d63 6163 6865",
            "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d \
             7661 6c75 65",
        ],
        [
            "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
            "8286 84be 5886 a8eb 1064 9cbf",
            "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
        ],
    ] {
        let table = &mut Table::new(4096);
        vector(table, a, first, 57);
        vector(table, b, second, 110);
        vector(table, c, third, 164);
    }
}

/// Appendix C.5 and C.6: a small table, from which entries are dropped.
#[test]
fn the_answers_of_the_standard_are_read() {
    let plain = |status: &str, date: &str| {
        format!(
            ":status={status}\ncache-control=private\n\
             date=Mon, 21 Oct 2013 20:13:{date} GMT\n\
             location=https://www.example.com"
        )
    };
    let last = format!(
        "{}\ncontent-encoding=gzip\nset-cookie=foo=\
         ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
        plain("200", "22"),
    );
    for [a, b, c] in [
        [
            "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 \
             7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 \
             3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            "4803 3330 37c1 c0bf",
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 \
             3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 \
             514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 \
             2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
        ],
        [
            "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 \
             0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae \
             43d3",
            "4883 640e ffc1 c0bf",
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff \
             c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af \
             2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 \
             07",
        ],
    ] {
        let table = &mut Table::new(256);
        vector(table, a, &plain("302", "21"), 222);
        vector(table, b, &plain("307", "21"), 222);
        vector(table, c, &last, 215);
    }
}

#[test]
fn what_is_no_header_block_is_broken() {
    for bad in [
        "80",                  // entry 0
        "be",                  // one more than there are
        "ff80 8080 8080 8001", // an endless number
        "ff00",                // entry 127
        "04",                  // no value
        "0405 61",             // less of it than it says
        "0481 00",             // no Huffman coding
        "00",                  // no name
        "82 20",               // resized behind a field
        "3f e2 1f",            // to more than we allow
        "7e 01 61",            // a name from outside the tables
    ] {
        let (mut found, mut scratch) = <(Fields, Scratch)>::default();
        let table = &mut Table::new(4096);
        let read = read(&bytes(bad), table, 4096, &mut scratch, &mut found);
        assert!(read.is_err(), "{bad}");
    }
}

#[test]
fn a_table_may_be_resized_twice_before_the_first_field() {
    let table = &mut Table::new(4096);
    vector(table, "40 01 61 01 62", "a=b", 34);
    vector(table, "20 3f e1 1f 82", ":method=GET", 0);
    vector(table, "40 01 61 01 62 be", "a=b\na=b", 34);
}

#[test]
fn a_list_longer_than_any_head_is_refused() {
    let (mut found, mut scratch) = <(Fields, Scratch)>::default();
    let table = &mut Table::new(4096);
    let mut block = bytes("40 01 61 7f 80 1e");
    block.resize(block.len() + 3967, b'x');
    read(&block, table, 4096, &mut scratch, &mut found).unwrap();
    // Few bytes that stand for many.
    let many = vec![0xbe; 17];
    let read = read(&many, table, 4096, &mut scratch, &mut found);
    assert_eq!(read, Err(Why::HeadTooLong));
}

//! What the twin answers to calls, and the cheats that lie in the answers.

use profiles::oracle::sum_reply;

use super::GrpcCheat as Cheat;
use super::answer::Answer;

/// A request as protobuf readers see it: fields 1 to 3.
fn read(message: &[u8], cheat: Cheat) -> Option<[i32; 3]> {
    let mut values = [0; 3];
    let mut rest = message;
    let mut last = 0;
    while let Some((&tag, after)) = rest.split_first() {
        rest = after;
        if cheat == Cheat::FieldsInOrder && tag < last {
            return None;
        }
        last = tag;
        match (tag >> 3, tag & 7) {
            (number @ 1..=3, 0) => {
                let (mut value, mut shift) = (0_u64, 0);
                loop {
                    let (&byte, after) = rest.split_first()?;
                    rest = after;
                    value |= u64::from(byte & 0x7f) << shift;
                    shift += 7;
                    if byte < 0x80 {
                        break;
                    }
                    if shift > 63 {
                        return None;
                    }
                }
                values[usize::from(number) - 1] = value as i32;
            }
            (_, 2) if cheat != Cheat::UnknownFieldRefused => {
                let (&length, after) = rest.split_first()?;
                rest = after.get(usize::from(length)..)?;
            }
            _ => return None,
        }
    }
    Some(values)
}

fn reply(result: i32) -> Vec<u8> {
    let mut message = vec![8];
    let mut rest = i64::from(result) as u64;
    while rest >= 128 {
        message.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    message.push(rest as u8);
    assert_eq!(sum_reply(&message), Ok(result));
    message
}

fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
    let mut out = vec![flag];
    out.extend_from_slice(&(message.len() as u32).to_be_bytes());
    out.extend_from_slice(message);
    out
}

fn own(name: &str, value: &str) -> (String, String) {
    (name.into(), value.into())
}

fn failed(status: &str) -> Answer {
    Answer {
        fields: vec![
            own(":status", "200"),
            own("content-type", "application/grpc"),
            own("grpc-status", status),
            own("grpc-message", "no"),
        ],
        body: Vec::new(),
        trailers: Vec::new(),
    }
}

pub fn answer(
    path: &str,
    kind: &str,
    coding: Option<&str>,
    body: &[u8],
    cheat: Cheat,
) -> Answer {
    let right = kind.starts_with("application/grpc");
    let taken = match cheat {
        Cheat::AnyContentType => true,
        Cheat::TextTaken => kind == "text/plain",
        _ => false,
    };
    if !right && !taken {
        return failed("3");
    }
    let Some(name) = path.strip_prefix("/benchmark.") else {
        return failed("12");
    };
    let (service, method) = name.split_once('/').unwrap_or((name, ""));
    let known = match cheat {
        Cheat::UnknownMethodTaken => service == "BenchmarkService",
        Cheat::UnknownServiceTaken => matches!(method, "GetSum" | "StreamSum"),
        _ => {
            service == "BenchmarkService"
                && matches!(method, "GetSum" | "StreamSum")
        }
    };
    if !known {
        return failed("12");
    }
    let Some((head, message)) = body.split_at_checked(5) else {
        return failed("13");
    };
    let taken = match cheat {
        Cheat::CompressedTaken => true,
        Cheat::CodingTaken => coding.is_some(),
        _ => false,
    };
    if head[0] != 0 && !taken {
        return failed("12");
    }
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    if length as usize != message.len() && cheat != Cheat::ShortTaken {
        return failed("13");
    }
    let values = match (read(message, cheat), cheat) {
        (Some(values), _) => values,
        (None, Cheat::BrokenTaken) => [0; 3],
        (None, _) => return failed("13"),
    };
    good(method == "StreamSum", values, cheat)
}

fn good(streams: bool, [a, b, count]: [i32; 3], cheat: Cheat) -> Answer {
    let first = match cheat {
        Cheat::Constant => 3,
        Cheat::Unsigned => {
            a.unsigned_abs().wrapping_add(b.unsigned_abs()) as i32
        }
        Cheat::Saturates => a.saturating_add(b),
        Cheat::FirstFieldOnly if a == 0 => 0,
        _ => a.wrapping_add(b),
    };
    let count = match (streams, cheat) {
        (false, Cheat::TwoMessages) => 2,
        (false, _) => 1,
        (true, Cheat::OneMessageOfStream) => 1.min(count),
        (true, Cheat::AtLeastOne) => count.max(1),
        (true, Cheat::FiveThousand) if count > 4000 => 5000,
        (true, Cheat::NegativeFails) if count < 0 => return failed("3"),
        (true, _) => count,
    };
    // Longer ones are cancelled long before their end.
    let count = count.clamp(0, 200_000);
    let mut body = Vec::new();
    for i in 0..count {
        let i = if cheat == Cheat::SameMessage || !streams { 0 } else { i };
        let message = reply(first.wrapping_add(i));
        let flag = u8::from(cheat == Cheat::MarkedCompressed);
        body.extend(framed(flag, &message));
    }
    if cheat == Cheat::Joined && streams && count > 1 {
        let all: Vec<u8> =
            (0..count).flat_map(|i| reply(first.wrapping_add(i))).collect();
        body = framed(0, &all);
    }
    let kind = match cheat {
        Cheat::Unusual => "application/grpc+proto",
        Cheat::PlainText => "text/plain",
        _ => "application/grpc",
    };
    let mut fields = vec![own(":status", "200"), own("content-type", kind)];
    let mut trailers = vec![own("grpc-status", "0")];
    match cheat {
        Cheat::StatusInHead => fields.append(&mut trailers),
        Cheat::NoTrailers => trailers.clear(),
        Cheat::NoStatus => trailers = vec![own("x-nothing", "0")],
        Cheat::StatusLost => trailers = vec![own("grpc-status", "14")],
        Cheat::Unusual if body.is_empty() => {
            fields.push(own("grpc-status", "0"));
            trailers.clear();
        }
        Cheat::Unusual => {
            fields.push(own("grpc-accept-encoding", "gzip"));
            trailers.insert(0, own("grpc-message", ""));
            trailers.push(own("x-more", "metadata"));
        }
        _ => {}
    }
    Answer { fields, body, trailers }
}

//! What `kubectl cluster-info dump` prints where it writes no folder: lists of objects as JSON, then the logs of containers.

use std::borrow::Cow;

/// How a log begins and ends there.
const START: &[u8] = b"==== START logs for container ";
const END: &[u8] = b"==== END logs for container ";

/// The text without logs of containers, whose lines are left empty.
pub(crate) fn without_logs(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.split(|byte| *byte == b'\n').any(|line| line.starts_with(START)) {
        return Cow::Borrowed(text);
    }
    let mut objects = Vec::with_capacity(text.len());
    let mut is_log = false;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        is_log |= line.starts_with(START);
        if is_log {
            objects.push(b'\n');
        } else {
            objects.extend_from_slice(line);
        }
        is_log &= !line.starts_with(END);
    }
    Cow::Owned(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_logs_are_left_out() {
        let log = "==== START logs for container c of pod d/a ====\n{\n==== END logs for container c of pod d/a ====\n";
        for (text, expected) in [
            ("{}\n".to_owned(), "{}\n"),
            (format!("{{}}\n{log}{{}}\n"), "{}\n\n\n\n{}\n"),
            (format!("{log}{log}"), "\n\n\n\n\n\n"),
            ("a ==== START logs for container\n".to_owned(), "a ==== START logs for container\n"),
        ] {
            assert_eq!(String::from_utf8_lossy(&without_logs(text.as_bytes())), expected, "{text}");
        }
    }
}

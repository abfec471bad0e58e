//! Pictures of the page, to be looked at.

use std::path::PathBuf;

use anyhow::Context as _;
use fs_err as fs;
use workspace_tools::workspace::target;

use super::browser::{Browser, Scheme};

/// A folder for pictures of the page.
pub(super) struct Pictures {
    /// Where they are; empty: none are taken.
    pub(super) folder: PathBuf,
}

impl Pictures {
    pub(super) fn new() -> anyhow::Result<Self> {
        let folder = target().join("page");
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Takes none.
    pub(super) fn none() -> Self {
        Self { folder: PathBuf::new() }
    }

    /// What is to be seen, in both schemes.
    pub(super) fn take(&self, browser: &Browser, name: &str) -> anyhow::Result<()> {
        if self.folder.as_os_str().is_empty() {
            return Ok(());
        }
        for scheme in [Scheme::Light, Scheme::Dark] {
            browser.prefer(scheme)?;
            let png = decoded(&browser.picture()?).context("the picture is not base64")?;
            fs::write(self.folder.join(format!("{name}-{}.png", scheme.name())), png)?;
        }
        browser.prefer(Scheme::Light)
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 of bytes.
pub(super) fn encoded(bytes: &[u8]) -> String {
    let group = |three: &[u8]| {
        let bits =
            (0..3).fold(0_usize, |bits, at| bits << 8 | usize::from(three.get(at).copied().unwrap_or(0)));
        let letter = move |at: usize| {
            let is_there = at <= three.len();
            if is_there { char::from(LETTERS[bits >> (18 - 6 * at) & 63]) } else { '=' }
        };
        [0, 1, 2, 3].map(letter)
    };
    bytes.chunks(3).flat_map(group).collect()
}

/// Bytes of base64.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(value), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count).to_le_bytes()[0]);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decoded, encoded};

    #[test]
    fn base64_is_written_and_read() {
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(decoded(text).as_deref(), Some(bytes.as_bytes()), "{text}");
            assert_eq!(encoded(bytes.as_bytes()), text);
        }
        assert_eq!(decoded("a*"), None);
    }
}

//! A machine as text: what cAdvisor, `lscpu`, `numactl`, hwloc or libvirt print of it.

use std::path::Path;

use admission_report::{Notice, Severity};
use anyhow::{Context as _, bail};
use machine_text::{Form, Lack, MachineText, MachineTextError, OtherForm};
use topology_model::{Machine, MachineInfo};

use crate::files::{self, bytes};

/// What is to be known of a text beside the machine that was read from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReadText {
    forms: Vec<Form>,
    assumed: Vec<String>,
    lacks: Vec<Lack>,
    unread: Vec<OtherForm>,
}

/// A machine as the kubelet gets it, as it is where that is known, and what its text lacks.
pub(crate) type Read = (MachineInfo, Option<Machine>, Option<ReadText>);

/// Reads the machine from a file, or from several with commas between their names: the outputs of one machine. The other
/// value is how it is shown.
pub(crate) fn read(name: &str) -> anyhow::Result<(String, Read)> {
    let names: Vec<&str> =
        if Path::new(name).exists() { Vec::from([name]) } else { name.split(',').collect() };
    let mut texts = Vec::new();
    for name in &names {
        texts.push((*name, bytes(Path::new(name), machine_text::MAX_TEXT as u64)?));
    }
    let texts: Vec<(&str, &[u8])> = texts.iter().map(|(name, text)| (*name, text.as_slice())).collect();
    let shown: Vec<String> = names.iter().map(|name| files::short(Path::new(name))).collect();
    Ok((shown.join(","), of_texts(&texts)?))
}

/// Reads the machine that texts with these names tell together.
pub(crate) fn of_texts(named: &[(&str, &[u8])]) -> anyhow::Result<Read> {
    let mut texts = Vec::new();
    for (name, content) in named {
        texts.push(
            text(content.to_vec())
                .with_context(|| format!("{name} is neither text nor an archive that is read"))?,
        );
    }
    let names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
    let (name, text) = (names.join(","), texts.join("\n"));
    let failed = || format!("failed to read {name}");
    let read = machine_text::read(&text);
    // A kubelet logs the whole machine beside a line about its CPUs.
    let is_log = match &read {
        Ok(read) => read.forms == [Form::KubeletLog],
        Err(error) => matches!(
            error,
            MachineTextError::Unknown
                | MachineTextError::Other { .. }
                | MachineTextError::Value { form: Form::KubeletLog, .. }
        ),
    };
    if let Some(logged) = topology_discovery::machine_info_from_log(&text).filter(|_| is_log) {
        match logged {
            Ok(info) => return Ok((info, None, None)),
            // The other line tells a part.
            Err(error) if read.is_err() => bail!(anyhow::Error::from(error).context(failed())),
            Err(_) => {}
        }
    }
    match read {
        Ok(read) => Ok(parts(read)),
        // Nothing that it names is in it: it is what cAdvisor prints, or damaged as that.
        Err(MachineTextError::Unknown) if text.trim_start().starts_with('{') => {
            let info = topology_discovery::machine_info_from_json(text.as_bytes()).with_context(failed)?;
            Ok((info, None, None))
        }
        Err(error) => bail!(anyhow::Error::from(error).context(failed())),
    }
}

/// Reads the machine of a node from the object that describes it.
///
/// # Errors
/// The text has none of that node, or it is wrong.
pub(crate) fn of_node(text: &str, name: &str) -> Result<Read, MachineTextError> {
    machine_text::read_node(text, name).map(parts)
}

fn parts(read: MachineText) -> Read {
    let MachineText { machine, forms, assumed, lacks, unread } = read;
    (MachineInfo::from(&machine), Some(machine), Some(ReadText { forms, assumed, lacks, unread }))
}

/// Bytes as text, if they are some: in UTF-8, or in UTF-16 as PowerShell writes it.
fn text(bytes: Vec<u8>) -> Option<String> {
    let word = match bytes.as_slice() {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')),
    };
    let (words, _) = bytes.get(2..)?.as_chunks();
    String::from_utf16(&words.iter().map(|bytes| word(*bytes)).collect::<Vec<_>>()).ok()
}

impl ReadText {
    /// Whether no output tells something.
    pub(crate) fn lacks(&self, what: Lack) -> bool {
        self.lacks.contains(&what)
    }

    /// What was assumed, and what is not known, with the command that prints it; for commands that have no flags for it.
    pub(crate) fn gaps(&self, name: &str) -> Vec<String> {
        let Self { forms, assumed, lacks, unread } = self;
        let assumed = (!assumed.is_empty())
            .then(|| format!("not all of the machine is in {name}: {}", assumed.join("; ")));
        let lacks: Vec<String> = lacks
            .iter()
            .map(|lack| {
                if is_printed(*lack, forms) {
                    lack.to_string()
                } else {
                    format!("{lack} (`{}`)", lack.printed_by())
                }
            })
            .collect();
        let lacks = (!lacks.is_empty()).then(|| format!("not in {name}: {}", lacks.join(", ")));
        let unread = unread.iter().map(|form| self::unread(name, *form));
        assumed.into_iter().chain(lacks).chain(unread).collect()
    }

    /// What was assumed, and what is not known and was not given by a flag.
    pub(crate) fn notices(&self, name: &str, given: &[String]) -> Vec<Notice> {
        let Self { forms, assumed, lacks, unread } = self;
        let mut notices = Vec::new();
        if !assumed.is_empty() {
            let text = format!("not all of the machine is in {name}: {}", assumed.join("; "));
            notices.push(Notice::warning(text));
        }
        let is_given = |flag: &str| given.iter().any(|given| given.starts_with(flag));
        let lacks = lacks.iter().filter(|lack| !flag(**lack).is_some_and(is_given));
        let lacks: Vec<String> = lacks.map(|lack| shown(*lack, forms)).collect();
        if !lacks.is_empty() {
            let text = format!("not in {name}: {}", lacks.join(", "));
            notices.push(Notice { severity: Severity::Info, text });
        }
        let unread = unread.iter();
        notices
            .extend(unread.map(|form| Notice { severity: Severity::Info, text: self::unread(name, *form) }));
        notices
    }
}

/// That another output in the text is not read.
fn unread(name: &str, form: OtherForm) -> String {
    format!("not read in {name}: {form}; `--devices FILE` takes it")
}

/// Whether the output is there that would tell it.
fn is_printed(lack: Lack, forms: &[Form]) -> bool {
    match lack {
        Lack::Cores | Lack::Caches => forms.contains(&Form::LscpuTable),
        Lack::Memory | Lack::Distances => forms.contains(&Form::Numactl),
        _ => false,
    }
}

/// A lack with the command that prints it, where that is not in the text, and the flag that gives it.
fn shown(lack: Lack, forms: &[Form]) -> String {
    let command = (!is_printed(lack, forms)).then(|| format!("`{}`", lack.printed_by()));
    match (command, flag(lack)) {
        (Some(command), Some(flag)) => format!("{lack} ({command}, or {flag})"),
        (Some(one), None) => format!("{lack} ({one})"),
        (None, Some(one)) => format!("{lack} ({one})"),
        (None, None) => lack.to_string(),
    }
}

const fn flag(lack: Lack) -> Option<&'static str> {
    match lack {
        Lack::Memory => Some("--memory"),
        Lack::HugePages => Some("--hugepages"),
        Lack::Devices | Lack::DeviceNumbers | Lack::DeviceNodes => Some("--devices"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn texts_of_powershell_are_read() {
        let utf16 =
            |order: fn(u16) -> [u8; 2]| "\u{feff}CPU\n".encode_utf16().flat_map(order).collect::<Vec<u8>>();
        for bytes in [b"CPU\n".to_vec(), utf16(u16::to_le_bytes), utf16(u16::to_be_bytes)] {
            assert_eq!(text(bytes).as_deref(), Some("CPU\n"));
        }
        assert_eq!(text(b"\x1f\x8b\0".to_vec()), None);
        assert_eq!(text(vec![0xff, 0xfe, 0, 0xd8]), None);
    }
}

//! ELF files for tests: sections with the names and addresses that Go's linker gives them, and nothing else.

/// A section: its name, address and bytes.
pub(crate) type Part = (&'static str, u64, Vec<u8>);

/// A file with these sections.
pub(crate) fn elf(parts: &[Part]) -> Vec<u8> {
    let mut names = b"\0".to_vec();
    let mut bytes = vec![0; 64];
    let mut headers = vec![0; 64];
    let mut add = |names: &mut Vec<u8>, bytes: &mut Vec<u8>, name: &str, address: u64, content: &[u8]| {
        let mut header = vec![0; 64];
        header[..4].copy_from_slice(&u32::try_from(names.len()).unwrap().to_le_bytes());
        header[4] = if name == ".shstrtab" { 3 } else { 1 };
        header[16..24].copy_from_slice(&address.to_le_bytes());
        header[24..32].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(content.len() as u64).to_le_bytes());
        headers.extend(header);
        bytes.extend(content);
    };
    for (name, address, content) in parts {
        add(&mut names, &mut bytes, name, *address, content);
        names.extend(name.as_bytes());
        names.push(0);
    }
    let mut all = names.clone();
    all.extend(b".shstrtab\0");
    add(&mut names, &mut bytes, ".shstrtab", 0, &all);
    let (table, count) = (bytes.len() as u64, u16::try_from(parts.len() + 2).unwrap());
    bytes.extend(headers);
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[40..48].copy_from_slice(&table.to_le_bytes());
    bytes[58..60].copy_from_slice(&64_u16.to_le_bytes());
    bytes[60..62].copy_from_slice(&count.to_le_bytes());
    bytes[62..64].copy_from_slice(&(count - 1).to_le_bytes());
    bytes
}

/// Go's build information with this text about modules.
pub(crate) fn build_info(modules: &str) -> Part {
    let mut bytes = b"\xff Go buildinf:\x08\x02".to_vec();
    bytes.resize(32, 0);
    bytes.extend(b"\x08go1.26.8");
    let mut length = modules.len() + 32;
    while length >= 0x80 {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend([b'<'; 16]);
    bytes.extend(modules.as_bytes());
    bytes.extend([b'>'; 16]);
    (".go.buildinfo", 0x9000, bytes)
}

/// Texts of variables that the linker has set, `.rodata` and `.data`, behind so many bytes of each.
pub(crate) fn linked(texts: &[&str], behind: usize) -> [Part; 2] {
    const ADDRESS: u64 = 0x40_0000;
    let mut constants = vec![b'v'; behind];
    let mut variables = vec![0; behind / 8 * 8];
    for text in texts {
        variables.extend((ADDRESS + constants.len() as u64).to_le_bytes());
        variables.extend((text.len() as u64).to_le_bytes());
        constants.extend(text.as_bytes());
        constants.push(0);
    }
    [(".rodata", ADDRESS, constants), (".data", 0x80_0000, variables)]
}

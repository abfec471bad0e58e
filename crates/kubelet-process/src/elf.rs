//! Sections of a 64-bit little-endian ELF file by their names. All offsets are checked against the length of the file.

use std::io::{self, Read, Seek, SeekFrom};

/// `ELFCLASS64`, `ELFDATA2LSB` and the version behind the magic bytes.
const START: &[u8] = b"\x7fELF\x02\x01\x01";
const HEADER: usize = 64;
/// The size of a section header.
const SECTION: usize = 64;
/// Go writes about 25.
const MOST_SECTIONS: u16 = 4096;
/// The names of so many sections.
const MOST_OF_NAMES: u64 = 1 << 20;
/// `SHT_NOBITS`: it has no bytes in the file.
const NO_BITS: u32 = 8;

/// An ELF file.
pub(crate) struct Elf<'a, F> {
    file: &'a mut F,
    sections: Vec<Section>,
    names: Vec<u8>,
}

/// Where a section is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Section {
    name: u32,
    kind: u32,
    /// Where it is in memory, for a position-independent program relative to its start.
    pub(crate) address: u64,
    offset: u64,
    /// In bytes.
    pub(crate) size: u64,
}

impl<'a, F: Read + Seek> Elf<'a, F> {
    /// Reads the table of sections; `None`: it is not such a file, or is cut.
    pub(crate) fn read(file: &'a mut F, length: u64) -> Option<Self> {
        let header = bytes_at(file, 0, HEADER).ok()?;
        if !header.starts_with(START) || u16_at(&header, 58)? != u16::try_from(SECTION).ok()? {
            return None;
        }
        let (table, count, names) = (u64_at(&header, 40)?, u16_at(&header, 60)?, u16_at(&header, 62)?);
        let size = usize::from(count) * SECTION;
        if count > MOST_SECTIONS || !is_within(table, size as u64, length) {
            return None;
        }
        let table = bytes_at(file, table, size).ok()?;
        let sections: Option<Vec<Section>> = table.chunks_exact(SECTION).map(Section::read).collect();
        let mut elf = Self { file, sections: sections?, names: Vec::new() };
        elf.sections
            .retain(|section| is_within(section.offset, section.size, length) || section.kind == NO_BITS);
        if elf.sections.len() != usize::from(count) {
            return None;
        }
        let names = *elf.sections.get(usize::from(names))?;
        elf.names = elf.bytes(names, MOST_OF_NAMES)?;
        Some(elf)
    }

    /// The section of this name.
    pub(crate) fn section(&self, name: &str) -> Option<Section> {
        let is_named = |section: &&Section| {
            let rest = usize::try_from(section.name).ok().and_then(|at| self.names.get(at..));
            let rest = rest.and_then(|rest| rest.strip_prefix(name.as_bytes()));
            rest.is_some_and(|rest| rest.first() == Some(&0))
        };
        self.sections.iter().filter(|section| section.kind != NO_BITS).find(is_named).copied()
    }

    /// All bytes of a section; `None`: it has more than `most`.
    pub(crate) fn bytes(&mut self, section: Section, most: u64) -> Option<Vec<u8>> {
        if section.kind == NO_BITS || section.size > most {
            return None;
        }
        bytes_at(self.file, section.offset, usize::try_from(section.size).ok()?).ok()
    }

    /// Visits a section piece by piece, with at most some MiB in memory. `visit` gets the bytes from a position in the
    /// section on, and how many places of them are to be looked at: behind each of them are `reach` bytes more, except
    /// at the end. All positions are multiples of 8 if `reach` is one.
    pub(crate) fn scan(
        &mut self,
        section: Section,
        reach: usize,
        mut visit: impl FnMut(&[u8], u64, usize),
    ) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(section.offset))?;
        let mut rest = (&mut *self.file).take(section.size);
        let mut piece = Vec::with_capacity(PIECE + reach);
        let mut position = 0;
        loop {
            let wanted = PIECE + reach - piece.len();
            let is_last = rest.by_ref().take(wanted as u64).read_to_end(&mut piece)? < wanted;
            let places = if is_last { piece.len() } else { PIECE };
            visit(&piece, position, places);
            if is_last {
                return Ok(());
            }
            piece.drain(..places);
            position += places as u64;
        }
    }
}

/// How much of a section is looked at at once.
const PIECE: usize = 1 << 20;

impl Section {
    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            name: u32_at(bytes, 0)?,
            kind: u32_at(bytes, 4)?,
            address: u64_at(bytes, 16)?,
            offset: u64_at(bytes, 24)?,
            size: u64_at(bytes, 32)?,
        })
    }
}

fn is_within(offset: u64, size: u64, length: u64) -> bool {
    offset.checked_add(size).is_some_and(|end| end <= length)
}

fn bytes_at<F: Read + Seek>(file: &mut F, offset: u64, size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

/// Eight bytes at a place.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

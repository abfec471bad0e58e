//! The kinds of boxes, and their colours on a light and on a dark page.

/// The kind of a box, in the colours of lstopo.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    Page,
    Package,
    Group,
    Memory,
    Cache,
    Core,
    Cpu,
    Isolated,
    Reserved,
    Held,
    Asked,
    Lack,
    Same,
    Near,
    Middle,
    Far,
    Root,
    Bridge,
    Device,
    Nothing,
    Several,
}

impl Look {
    pub(super) const ALL: [Self; 21] = [
        Self::Page,
        Self::Package,
        Self::Group,
        Self::Memory,
        Self::Cache,
        Self::Core,
        Self::Cpu,
        Self::Isolated,
        Self::Reserved,
        Self::Held,
        Self::Asked,
        Self::Lack,
        Self::Same,
        Self::Near,
        Self::Middle,
        Self::Far,
        Self::Root,
        Self::Bridge,
        Self::Device,
        Self::Nothing,
        Self::Several,
    ];

    /// The name of its class in the picture.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Package => "package",
            Self::Group => "group",
            Self::Memory => "memory",
            Self::Cache => "cache",
            Self::Core => "core",
            Self::Cpu => "cpu",
            Self::Isolated => "isolated",
            Self::Reserved => "reserved",
            Self::Held => "held",
            Self::Asked => "asked",
            Self::Lack => "lack",
            Self::Same => "same",
            Self::Near => "near",
            Self::Middle => "middle",
            Self::Far => "far",
            Self::Root => "root",
            Self::Bridge => "bridge",
            Self::Device => "device",
            Self::Nothing => "nothing",
            Self::Several => "several",
        }
    }

    pub(super) const fn style(self) -> &'static str {
        match self {
            Self::Page => "fill:#ffffff;stroke:none",
            Self::Package => "fill:#e7f3cf;stroke:#7d9150",
            Self::Group => "fill:#f4f6f0;stroke:#9aa38c",
            Self::Memory => "fill:#f3d9d7;stroke:#b07a76",
            Self::Cache => "fill:#ffffff;stroke:#808080",
            Self::Core => "fill:#c8c8c8;stroke:#808080",
            Self::Cpu => "fill:#ffffff;stroke:#a0a0a0",
            Self::Isolated => "fill:#f4f0ff;stroke:#6a4fb0;stroke-dasharray:3 2",
            Self::Reserved => "fill:#8c8c8c;stroke:#404040",
            Self::Held => "fill:#dedede;stroke:#707070;stroke-dasharray:2 2",
            Self::Asked => "fill:#1d2125;stroke:#1d2125",
            Self::Lack => "fill:#f2b8b5;stroke:#a8201a",
            Self::Same => "fill:none;stroke:#a0a0a0",
            Self::Near => "fill:#e3edf7;stroke:#a0a0a0",
            Self::Middle => "fill:#b3cde6;stroke:#a0a0a0",
            Self::Far => "fill:#7fa9d1;stroke:#a0a0a0",
            Self::Root => "fill:#eef3f8;stroke:#7f93a8",
            Self::Bridge => "fill:none;stroke:#7f93a8;stroke-dasharray:4 2",
            Self::Device => "fill:#ffffff;stroke:#5f7a96",
            Self::Nothing => "fill:none;stroke:#a0a0a0;stroke-dasharray:3 3",
            Self::Several => "fill:#ffffff;stroke:#d00000;stroke-width:3",
        }
    }

    /// The style on a dark page.
    pub(super) const fn dark_style(self) -> &'static str {
        match self {
            Self::Page => "fill:#16181c;stroke:none",
            Self::Package => "fill:#252c1c;stroke:#8fa45c",
            Self::Group => "fill:#20241d;stroke:#7b8570",
            Self::Memory => "fill:#43292a;stroke:#b07a76",
            Self::Cache | Self::Cpu | Self::Device => "fill:#23262b;stroke:#868c94",
            Self::Core => "fill:#4a4d52;stroke:#868c94",
            Self::Isolated => "fill:#2b2540;stroke:#a48ae0",
            Self::Reserved => "fill:#5a5f66;stroke:#b8bec6",
            Self::Held => "fill:#3b3e44;stroke:#9aa0a8",
            Self::Asked => "fill:#e4e6e9;stroke:#e4e6e9",
            Self::Lack => "fill:#6b2320;stroke:#ff8f87",
            Self::Near => "fill:#22303e;stroke:#868c94",
            Self::Middle => "fill:#2f4d6b;stroke:#868c94",
            Self::Far => "fill:#386491;stroke:#868c94",
            Self::Root => "fill:#1c242d;stroke:#7f93a8",
            Self::Bridge => "fill:none;stroke:#7f93a8",
            Self::Same | Self::Nothing => "fill:none;stroke:#868c94",
            Self::Several => "fill:#16181c;stroke:#ff5050",
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::Look;
    use crate::svg::contrast::contrast;

    /// Kinds in which no letters are: bars, and what others fill.
    const WITHOUT_LETTERS: [Look; 3] = [Look::Core, Look::Asked, Look::Lack];

    #[test]
    fn letters_in_boxes_can_be_read() {
        for look in Look::ALL.into_iter().filter(|look| !WITHOUT_LETTERS.contains(look)) {
            for (style, letters) in [(look.style(), "#000000"), (look.dark_style(), "#e4e6e9")] {
                let fill = style.split(';').find_map(|part| part.strip_prefix("fill:#"));
                let Some(fill) = fill else { continue };
                let found = contrast(&format!("#{fill}"), letters);
                assert!(found >= 4.5, "{look:?} {style}: {found:.2}");
            }
        }
    }
}

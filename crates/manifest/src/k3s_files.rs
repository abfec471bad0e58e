//! Files that k3s and RKE2 read together: `config.yaml`, and the drop-ins of the folder `config.yaml.d`.

use node_config::{KubeletConfiguration, Rules};

use crate::config_forms::{ConfigKind, filled_in, kind_of, lay_options};
use crate::kubelet::KubeletConfigRead;
use crate::node::Field;
use crate::warning::Warning;
use crate::yaml::{Documents, configuration};
use crate::{ManifestError, Source};

/// Reads the options in files, which k3s reads in this order: of an option the last file counts, and a key with `+` behind it adds
/// to what is there. `None`: no file has an option of k3s or RKE2.
///
/// # Errors
/// The first file that is no mapping, or has a flag that is no text or is not filled in, with its place.
pub fn read_k3s_files(
    sources: &[Source<'_>],
    rules: Rules,
) -> Result<Option<KubeletConfigRead>, ManifestError> {
    let mut kinds = Vec::new();
    let mut read = KubeletConfigRead {
        config: KubeletConfiguration { rules, ..KubeletConfiguration::default() },
        ..KubeletConfigRead::default()
    };
    for source in sources {
        let Documents { nodes, unnoticed } = configuration(source)?;
        read.warnings.extend(unnoticed.into_iter().map(Warning));
        for node in &nodes {
            let options = Field::document(source, node);
            options.entries()?;
            let kind = kind_of(&options);
            let is_rke2 = kind == ConfigKind::K3s && source.name.contains("/rke2/");
            kinds.push(if is_rke2 { ConfigKind::Rke2 } else { kind });
            lay_options(&options, &mut read.flags)?;
        }
    }
    let texts: String = sources.iter().map(|source| source.text).collect();
    filled_in(&read.flags, &texts)?;
    read.sets_nothing = read.flags.is_empty();
    let kind = [ConfigKind::Rke2, ConfigKind::K3s].into_iter().find(|kind| kinds.contains(kind));
    Ok(kind.map(|kind| KubeletConfigRead { kind, ..read }))
}

//! A configuration that was read, over what its distribution sets, and what is not known of it.

use admission_report::Notice;
use std::path::PathBuf;

use distribution_config::{Base, Distribution, Reservation};
use node_config::{KubeletConfiguration, KubeletFlags};
use topology_manifest::{ConfigKind, KubeletArgument, KubeletArguments, ObjectChoice, Profile, Warning};

use crate::base_choice::{Reading, of_another_release};
use crate::kubelet_flags::{self, FlagRefusal, OverConfiguration};

/// What is called so in a [`ConfigKind::Part`]: a file that is the fields alone, and one of `kubeadm --patches`.
pub(crate) const WITHOUT_KIND: &str = "its installer";
pub(crate) const KUBEADM_PATCH: &str = "kubeadm";
/// The same of files for kubeadm without a configuration of the kubelet.
const KUBEADM_CONFIG_MAP: &str = "the cluster's ConfigMap kubelet-config";
/// What the name of a file ends in where flags lie over it.
const WITH_FLAGS: &str = " with --kubelet-flags";

/// A configuration and what it is called.
pub struct ReadConfiguration {
    /// As it is shown.
    pub name: String,
    /// Its fields that decide.
    pub config: KubeletConfiguration,
    /// Where the kubelet reads static pods.
    pub static_pods: Option<PathBuf>,
    /// Who makes the kubelet's own file of it.
    pub kind: ConfigKind,
    /// What in it has no effect.
    pub warnings: Vec<Warning>,
    /// What in it decides too, and is not read.
    pub unread: Vec<Warning>,
    /// What a `PerformanceProfile` says beside it.
    pub profile: Option<Profile>,
    /// The flags of the kubelet that decide over its files.
    pub(crate) flags: Option<Box<KubeletFlags>>,
    /// What of the flags keeps the kubelet from starting.
    pub(crate) refusal: Option<FlagRefusal>,
    /// What of a command line is not known, as text to be shown.
    pub(crate) missing: Vec<String>,
    /// The kinds of the file's other documents.
    pub(crate) others: Vec<String>,
    /// Which of several objects for different nodes is read.
    pub(crate) choice: Option<ObjectChoice>,
    /// The flags that the file itself sets, with which the kubelet starts: `--max-pods=20`.
    pub(crate) arguments: Vec<String>,
    /// Those with which it does not start.
    pub(crate) left_out: Vec<String>,
    /// What flags lie over, and these flags; `None`: none do.
    pub(crate) command_line: Option<CommandLine>,
    /// The fields that decide and that its form has; `None`: all.
    pub(crate) fields: Option<&'static [&'static str]>,
    /// The mapping of the file that has these fields, by the keys on the way to it; `None`: it is within a list, or the form has all.
    pub(crate) place: Option<Vec<String>>,
    /// Whether nothing in the file is the kubelet's.
    pub(crate) sets_nothing: bool,
    /// Whether the file is a template of which no open place is the kubelet's.
    pub(crate) is_template: bool,
    /// What is to be known of the release that the file states, as text to be shown.
    pub(crate) release: Option<String>,
    /// What of [`config`](Self::config) is its distribution's.
    pub(crate) base: Base,
}

/// Flags, and the configuration beneath them.
#[derive(Clone)]
pub(crate) struct CommandLine {
    pub(crate) beneath: KubeletConfiguration,
    pub(crate) arguments: Vec<KubeletArgument>,
}

impl ReadConfiguration {
    /// The file that is read, without what lies over it.
    pub(crate) fn file_name(&self) -> &str {
        self.name.strip_suffix(WITH_FLAGS).unwrap_or(&self.name)
    }

    /// What it is called where it is shown: with the base that it lies over.
    #[must_use]
    pub fn shown_name(&self) -> String {
        let name = &self.name;
        match (self.base.distribution(), self.base.reservation()) {
            (Some(base), _) if self.base.instance().is_some() => {
                format!(
                    "{name} over base {base}:{}",
                    self.base.instance().map(|one| one.to_string()).unwrap_or_default()
                )
            }
            (Some(base @ Distribution::Eks), reservation) if reservation != Reservation::Known => {
                format!("{name} over base {base} of an unknown instance type")
            }
            (Some(base), _) => format!("{name} over base {base}"),
            (None, Reservation::Unknown) => format!("{name} over base unknown"),
            (None, _) => name.clone(),
        }
    }

    /// What is not sure about the base beneath the file: memory that the node reserves, and another release.
    pub fn notices(&self) -> impl Iterator<Item = Notice> {
        let distribution = self.base.distribution();
        let of_other = distribution.and_then(|base| of_another_release(base, self.config.rules));
        let others = (!self.others.is_empty()).then(|| {
            let (name, others) = (&self.name, self.others.join(", "));
            format!("{name}: of its documents one is the kubelet's configuration; not looked at: {others}")
        });
        let missing = self.missing.iter().map(|missing| format!("{}: {missing}", self.name));
        let nothing = self
            .sets_nothing
            .then(|| format!("{}: nothing in it sets the kubelet's configuration or its flags", self.name));
        let template = self.is_template.then(|| {
            format!(
                "{}: a template that is not rendered yet; none of its open places decides on CPUs, memory or pods",
                self.name
            )
        });
        let objects =
            self.choice.iter().flat_map(|choice| self.objects(choice)).chain(nothing).chain(template);
        let replaced = self.base.over_replaced_file().map(|reserved| {
            let amounts: Vec<String> = reserved.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
            format!(
                "{}: it takes the place of the file that the machine config operator writes; of that nothing is left, and what the \
                 node reserves for the system is laid over it: {}",
                self.name,
                amounts.join(", ")
            )
        });
        let release = self.release.iter().cloned();
        let texts = release.chain(of_other).chain(replaced).chain(others).chain(objects).chain(missing);
        self.gap().into_iter().chain(texts.map(Notice::warning))
    }

    /// Which of several objects is read, and which are not.
    fn objects(&self, ObjectChoice { chosen, alike, differing }: &ObjectChoice) -> Vec<String> {
        let name = &self.name;
        let mut texts = Vec::new();
        if !differing.is_empty() {
            texts.push(format!(
                "{name}: {chosen} is read; other values, for other nodes, are in {}: give a file with one of them alone to read it",
                differing.join(", ")
            ));
        }
        if !alike.is_empty() {
            texts.push(format!(
                "{name}: {chosen} is read; the same, or nothing of the kubelet, is in {}",
                alike.join(", ")
            ));
        }
        texts
    }

    /// A warning that the node reserves memory that the file does not contain, and which amount is assumed.
    fn gap(&self) -> Option<Notice> {
        let name = &self.name;
        let who = self.who_reserves();
        let unnamed = match self.base.distribution() {
            Some(Distribution::Eks) => ". The instance type is not known: --base eks:TYPE names it",
            _ => ", which is not known here",
        };
        let text = match self.base.reservation() {
            Reservation::Known | Reservation::BySize => return None,
            Reservation::Unknown => match self.kind {
                ConfigKind::Part(WITHOUT_KIND) => format!(
                    "{name}: it has no kind, and no kubelet reads it as it is: its own file has kind KubeletConfiguration and apiVersion \
                     kubelet.config.k8s.io/v1beta1. Read as the part that an installer puts into such a file, over base unknown: \
                     decided as if the rest set nothing. --base NAME says what it is"
                ),
                ConfigKind::Part(KUBEADM_PATCH) => format!(
                    "{name}: a patch of kubeadm, which lays it over the kubelet's configuration of the cluster; that is not known here, and \
                     decided as if it set nothing. `kubectl -n kube-system get configmap kubelet-config -o yaml` prints it"
                ),
                ConfigKind::Part(KUBEADM_CONFIG_MAP) => format!(
                    "{name}: kubeadm takes the rest from {KUBEADM_CONFIG_MAP}, which is not known here; decided as if that set nothing. \
                     `kubectl -n kube-system get configmap kubelet-config -o yaml` prints it: give it in the place of this file"
                ),
                ConfigKind::Part(maker) => format!(
                    "{name}: what {maker} sets beneath it is not known here; decided as if it set nothing. --base NAME says what \
                     it is"
                ),
                ConfigKind::Flags => format!(
                    "{name}: {} is not known: decided as if it set nothing; --config FILE gives it",
                    self.file_beneath()
                ),
                _ => return None,
            },
            Reservation::ForPods(pods) if self.base.distribution() == Some(Distribution::Eks) => format!(
                "{name}: the instance type is not known: decided as if it had {pods} pods, for which its reservedMemory is \
                 right; --base eks:TYPE names it"
            ),
            Reservation::ForPods(pods) => format!(
                "{name}: {who}{unnamed}; its reservedMemory is right where an instance has {pods} pods, and decided as if it had"
            ),
            Reservation::ForNoPods(_) => format!(
                "{name}: {who}{unnamed}; its reservedMemory is right for no number of pods: the kubelet starts on no instance"
            ),
            Reservation::FixedUnlessSized => format!(
                "{name}: workers of clusters that were installed with OpenShift 4.21 or later size what is reserved for the system by \
                 the node, those of clusters that were updated reserve 500m of CPU and 1Gi of memory; which one this is is not \
                 known here, and decided as if it were fixed. {} says it",
                if self.base.over_replaced_file().is_some() {
                    "spec.autoSizingReserved of a KubeletConfig"
                } else {
                    "spec.autoSizingReserved or systemReserved"
                }
            ),
            Reservation::UnlessPodsAreSet => format!(
                "{name}: {who}; decided as if nothing set max-pods, for which its reservedMemory is right"
            ),
            Reservation::ByPods if self.base.distribution() == Some(Distribution::Eks) => format!(
                "{name}: the instance type is not known: decided as if no memory were reserved for the kubelet; \
                 --base eks:TYPE names it"
            ),
            Reservation::ByPods => {
                format!("{name}: {who}{unnamed}; decided as if no memory were reserved for the kubelet")
            }
        };
        Some(Notice::warning(text))
    }

    /// The files that flags name, or that they name none.
    fn file_beneath(&self) -> String {
        let flags = self.flags.as_deref();
        let path = flags.and_then(KubeletFlags::config).or_else(|| flags.and_then(KubeletFlags::config_dir));
        let path = path.filter(|path| *path != kubelet_flags::SOME_FOLDER);
        path.map_or_else(
            || "the configuration beneath the flags".to_owned(),
            |path| format!("{path}, which lies beneath the flags,"),
        )
    }

    /// How the memory of the kubelet is reserved where the file does not say it.
    const fn who_reserves(&self) -> &'static str {
        match self.base.distribution() {
            Some(Distribution::Bottlerocket) => {
                "Bottlerocket on Amazon's instances sets max-pods by the instance type, and reserves memory for the kubelet by \
                 that, 255Mi and 11Mi for each pod"
            }
            _ => {
                "nodeadm reserves memory for the kubelet by the instance type, 255Mi and 11Mi for each of its pods"
            }
        }
    }

    /// Whether a kubelet starts with its `reservedMemory` is not known, since what is reserved in all is not; as text to be
    /// shown.
    #[must_use]
    pub fn start_not_known(&self) -> Option<String> {
        match self.base.reservation() {
            Reservation::FixedUnlessSized if self.config.memory_policy() == "Static" => Some(
                "the sum depends on systemReserved, which is 500m and 1Gi in clusters that were updated to OpenShift 4.21, and else by \
                 the node's size. spec.autoSizingReserved: false, or systemReserved with memory, makes it known"
                    .to_owned(),
            ),
            Reservation::UnlessPodsAreSet => Some(format!(
                "right only where nothing sets max-pods: {}. kube-reserved with memory, or max-pods, makes it known",
                self.who_reserves()
            )),
            _ => None,
        }
    }

    /// Why a kubelet may start although what is reserved here is too little or another sum, with what makes that known; `None`: it
    /// does not.
    pub(crate) fn may_reserve_more(&self) -> Option<&'static str> {
        match self.base.reservation() {
            Reservation::Unknown => Some(match self.kind {
                ConfigKind::Flags => "--config FILE or --base NAME says what lies beneath",
                _ => "--base NAME says what lies beneath it",
            }),
            Reservation::BySize | Reservation::FixedUnlessSized => {
                Some("spec.autoSizingReserved: false, or systemReserved with memory, says what is reserved")
            }
            _ => None,
        }
    }

    /// Whether the memory that is reserved is worked out by the node, so that nothing that has to fit it can be judged or
    /// proposed.
    #[must_use]
    pub fn leaves_memory_open(&self) -> bool {
        matches!(self.base.reservation(), Reservation::BySize | Reservation::Unknown)
    }

    /// Whether it is not known what is set beneath the configuration.
    #[must_use]
    pub fn is_over_unknown(&self) -> bool {
        self.base.reservation() == Reservation::Unknown
    }

    /// What a proposal that reserves memory for the kubelet writes over, as text to be shown; `None`: nothing that is not in
    /// the file.
    #[must_use]
    pub fn written_over(&self, proposal: &KubeletConfiguration) -> Option<String> {
        let is_open = matches!(
            self.base.reservation(),
            Reservation::ByPods | Reservation::ForNoPods(_) | Reservation::UnlessPodsAreSet
        );
        let memory = proposal.kube_reserved.get("memory").filter(|_| is_open)?;
        Some(format!(
            "kubeReserved with memory: {memory} takes the place of what the node reserves by itself, which may be more: {}",
            self.who_reserves()
        ))
    }

    /// The same with flags of the kubelet over it.
    pub(crate) fn with_flags(mut self, arguments: &[KubeletArgument]) -> Self {
        if !arguments.is_empty() {
            let line = self
                .command_line
                .get_or_insert_with(|| CommandLine { beneath: self.config.clone(), arguments: Vec::new() });
            line.arguments.extend_from_slice(arguments);
            let OverConfiguration { config, flags, refusal, kept, left_out } =
                kubelet_flags::over(self.config, arguments);
            if let Some(path) = flags.as_ref().and_then(|flags| flags.pod_manifest_path()) {
                self.static_pods = Some(PathBuf::from(path)).filter(|_| !path.is_empty());
            }
            (self.config, self.flags, self.refusal) = (config, flags, refusal.or(self.refusal));
            (self.arguments, self.left_out) = (kept, left_out);
        }
        self
    }

    /// The same with flags of its form, of which some may name files that are not in it.
    pub(crate) fn with_own_flags(self, arguments: &[KubeletArgument]) -> Self {
        let mut made = self.with_flags(arguments);
        let Some(flags) = made.flags.as_deref().filter(|_| made.kind != ConfigKind::Flags) else {
            return made;
        };
        let folder = flags.config_dir().filter(|path| *path != kubelet_flags::SOME_FOLDER);
        let named = [("--config", flags.config()), ("--config-dir", folder)];
        let named = named.into_iter().filter_map(|(flag, path)| Some((flag, path?)));
        let missing = named.map(|(flag, path)| {
            format!("its flag {flag} names {path}, which is not given; decided as if the flag were not there")
        });
        made.missing.extend(missing.collect::<Vec<_>>());
        made
    }

    /// The same with the flags that are given beside it.
    pub(crate) fn with_given(mut self, reading: Reading<'_>) -> anyhow::Result<Self> {
        if reading.flags.is_empty() {
            return Ok(self);
        }
        let KubeletArguments { arguments, missing, .. } = kubelet_flags::given(reading.flags)?;
        self.name.push_str(WITH_FLAGS);
        self.missing.extend(missing);
        let (own, left_out) = (self.arguments.clone(), self.left_out.clone());
        Ok(Self { arguments: own, left_out, ..self.with_flags(&arguments) })
    }

    /// The same where a kubelet starts with its flags.
    pub(crate) fn accepted(self) -> anyhow::Result<Self> {
        match &self.refusal {
            Some(refusal) => Err(refusal.error()),
            None => Ok(self),
        }
    }

    /// That flags decide over what a proposal changes in files, as text to be shown; `None`: no flag does.
    #[must_use]
    pub fn flags_over<'f>(&self, fields: impl IntoIterator<Item = &'f str>) -> Option<String> {
        let flags = self.flags.as_ref()?;
        let of_field = |field: &'f str| Some(format!("--{} decides on {field}", flags.over_field(field)?));
        let decide: Vec<String> = fields.into_iter().filter_map(of_field).collect();
        (!decide.is_empty()).then(|| {
            format!(
                "{} over every file: change it on the kubelet's command line, or take it away there",
                decide.join(", ")
            )
        })
    }

    /// The configuration without a reservation that is assumed, which a proposal has to write if memory has to fit it.
    #[must_use]
    pub fn without_assumed(&self, proposal: &KubeletConfiguration) -> KubeletConfiguration {
        let mut config = self.config.clone();
        if self.base.reservation() != Reservation::FixedUnlessSized || proposal.memory_policy() == "Static" {
            self.base.remove_assumed(&mut config);
        }
        self.base.enforcing_as(config, proposal)
    }

    /// The configuration that a proposal starts from: also without a `reservedMemory` that fits no node.
    #[must_use]
    pub fn proposed_from(&self) -> KubeletConfiguration {
        let mut config = self.config.clone();
        if matches!(self.base.reservation(), Reservation::ForNoPods(_)) {
            self.base.remove_assumed(&mut config);
        }
        if matches!(self.base.reservation(), Reservation::ForNoPods(_)) {
            config.reserved_memory.clear();
        }
        self.base.open_to_cpus(config)
    }

    /// The configuration as a file of a kubelet: the fields that decide.
    ///
    /// # Errors
    /// A kubelet does not start with its flags.
    pub fn written_out(&self) -> anyhow::Result<String> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.error());
        }
        let mut head = format!("# {}, of kubelet v{}\n", self.shown_name(), self.config.rules.version);
        if self.flags.as_ref().is_some_and(|flags| flags.ignores_evictions()) {
            head.push_str(
                "# evictionHard: of what --experimental-allocatable-ignore-eviction decides; the kubelet evicts by its thresholds\n\
                 # all the same, and they keep nothing from pods\n",
            );
        }
        Ok(format!("{head}{}", serde_saphyr::to_string(&self.config)?))
    }

    /// A proposal for the kubelet's configuration, as it has to be written over what the distribution sets.
    #[must_use]
    pub fn written(&self, proposal: KubeletConfiguration) -> KubeletConfiguration {
        let mut written = self.base.over(proposal);
        if self.kind == ConfigKind::PerformanceProfile {
            // The node tuning operator always sets it.
            written.cpu_manager_reconcile_period = self.config.cpu_manager_reconcile_period;
        }
        if !self.leaves_memory_open() {
            return written;
        }
        let own = self.config.clone();
        KubeletConfiguration {
            memory_manager_policy: own.memory_manager_policy,
            reserved_memory: own.reserved_memory,
            system_reserved: own.system_reserved,
            kube_reserved: own.kube_reserved,
            eviction_hard: own.eviction_hard,
            ..written
        }
    }
}

//! Objects that change the kubelet beside the fields that are read: they are refused with the next step.

use crate::configurations::{read, refused};
use topology_manifest::{ConfigKind, MachinePool, NodeSizing};

/// An object of Cluster API for workers with these fields.
fn template(fields: &str) -> String {
    format!(
        "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata: {{name: a}}\nspec:\n  template:\n    \
         spec: {{joinConfiguration: {{nodeRegistration: {{name: x}}}}, {fields}}}\n"
    )
}

/// A `MachineConfig` with these fields of Ignition.
fn machine_config(fields: &str) -> String {
    format!(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {{name: 99-w, labels: \
         {{machineconfiguration.openshift.io/role: worker}}}}\nspec: {{config: {{{fields}}}}}\n"
    )
}

const DROP_IN: &str = "storage: {files: [{path: /etc/openshift/kubelet.conf.d/99-cpu.conf, contents: {source: \
                       'data:,apiVersion%3A%20kubelet.config.k8s.io%2Fv1beta1%0Akind%3A%20KubeletConfiguration%0AcpuManagerPolicy%3A%20static%0A'}}]}";

#[test]
fn an_object_of_cluster_api_with_files_or_commands_for_the_kubelet_is_refused() {
    for (fields, place) in [
        ("files: [{path: /etc/default/kubelet, content: x}]", "spec.template.spec.files[0]"),
        (
            "files: [{path: /etc/a, content: x}, {path: /a.sh, content: 'sed -i x /var/lib/kubelet/config.yaml'}]",
            "files[1]",
        ),
        (
            "files: [{path: /a.sh, encoding: base64, content: c2VkIC1pIHggL3Zhci9saWIva3ViZWxldC9jb25maWcueWFtbAo=}]",
            "files[0]",
        ),
        (
            "preKubeadmCommands: [ls, sed -i s/none/static/ /var/lib/kubelet/config.yaml]",
            "preKubeadmCommands[1]",
        ),
        (
            "postKubeadmCommands: [systemctl restart kubelet --now > /etc/default/kubelet]",
            "postKubeadmCommands[0]",
        ),
    ] {
        let error = refused(&template(fields));
        assert!(error.contains(place) && error.contains("proxy/configz"), "{fields}: {error}");
    }
    for fields in [
        "files: [{path: /etc/kubernetes/azure.json, content: '{}'}]",
        "preKubeadmCommands: [hostnamectl set-hostname x, 'systemctl daemon-reload && systemctl restart kubelet']",
        "postKubeadmCommands: ['kubectl --kubeconfig /etc/kubernetes/kubelet.conf get nodes']",
        "files: [{path: /a.sh, content: \"# the kubelet\\nls\\n\"}]",
    ] {
        assert!(read(&template(fields)).sets_nothing, "{fields}");
    }
}

#[test]
fn an_object_with_files_and_commands_around_a_kubelet_is_read() {
    for command in [
        "apt-get update && apt-get install -y kubelet=1.31.0-1.1 kubeadm && apt-mark hold kubelet kubeadm",
        "curl -LO https://dl.k8s.io/release/v1.31.0/bin/linux/amd64/kubelet && install -m 755 kubelet /usr/local/bin/kubelet",
        "mkdir -p /var/lib/kubelet/plugins_registry",
        "until systemctl is-active kubelet; do sleep 1; done",
        "if ! systemctl is-active --quiet kubelet; then systemctl restart kubelet; fi",
        "sudo -E systemctl enable --now containerd kubelet",
        "chmod 600 /etc/kubernetes/kubelet.conf",
        "journalctl -u kubelet -f > /var/log/k.log &",
        "mount --bind /mnt/kubelet /var/lib/kubelet",
        "kubeadm join phase kubelet-start",
    ] {
        assert!(read(&template(&format!("preKubeadmCommands: [{command:?}]"))).sets_nothing, "{command}");
    }
    for file in [
        "{path: /etc/audit/rules.d/k8s.rules, content: '-w /etc/default/kubelet -p wa -k kubelet'}",
        "{path: /etc/logrotate.d/kubernetes, content: '/var/log/kubelet.log { daily }'}",
        "{path: /etc/a.yaml, content: \"apiVersion: kubelet.config.k8s.io/v1beta1\\nkind: CredentialProviderConfig\"}",
        "{path: /etc/kubernetes/azure.json, contentFrom: {secret: {name: a, key: b}}}",
        "{path: /etc/chrony.conf, encoding: gzip+base64, content: H4sI}",
        "{path: /etc/hostname, content: '{{ ds.meta_data.hostname }}'}",
        "{path: /etc/systemd/system/kubelet.service.d/20-wait.conf, content: \"[Unit]\\nAfter=wait.service\\n\"}",
    ] {
        assert!(read(&template(&format!("files: [{file}]"))).sets_nothing, "{file}");
    }
    let units = "systemd: {units: [{name: kubelet.service, enabled: true}, {name: wait.service, contents: \"[Unit]\\nDescription=Wait \
                 before kubelet starts\\nBefore=kubelet.service\\n[Service]\\nExecStart=/usr/bin/true\"}]}";
    assert!(read(&machine_config(units)).sets_nothing);
    let kops = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nspec:\n  role: Node\n  kubelet: {maxPods: 60}\n  fileAssets: [{name: a, \
                path: /srv/audit.yaml, content: 'users: [\"system:kubelet\", kubelet]'}]\n";
    assert_eq!(read(kops).config.max_pods, Some(60));
    let talos = "machine: {type: worker, files: [{path: /var/etc/a.conf, op: create, content: 'path /var/log/kubelet.log'}], kubelet: \
                 {extraConfig: {maxPods: 60}}}\n";
    assert_eq!(read(talos).config.max_pods, Some(60));
}

#[test]
fn commands_that_hide_a_change_are_found() {
    for (fields, place) in [
        ("bootCommands: [sed -i s/none/static/ /var/lib/kubelet/config.yaml]", "bootCommands[0]"),
        (
            "preKubeadmCommands: ['sed -i \"s/ #cpu/ cpu/\" /var/lib/kubelet/config.yaml']",
            "preKubeadmCommands[0]",
        ),
        (
            "postKubeadmCommands: ['systemctl restart kubelet & cp /a /etc/default/kubelet']",
            "postKubeadmCommands[0]",
        ),
        ("preKubeadmCommands: ['cd /var/lib/kubelet && sed -i x config.yaml']", "preKubeadmCommands[0]"),
        ("files: [{path: /opt/a.sh, encoding: gzip+base64, content: H4sI}]", "files[0]"),
        (
            "files: [{path: /opt/a, permissions: '0755', contentFrom: {secret: {name: a, key: b}}}]",
            "files[0]",
        ),
        ("files: [{path: /etc/default/kubelet, contentFrom: {secret: {name: a, key: b}}}]", "files[0]"),
    ] {
        let error = refused(&template(fields));
        assert!(error.contains(place) && error.contains("proxy/configz"), "{fields}: {error}");
    }
    let command = refused(&template("preKubeadmCommands: [cp a /etc/default/kubelet]"));
    assert!(
        command.contains("may change the kubelet's configuration: \"cp a /etc/default/kubelet\""),
        "{command}"
    );
    for contents in [
        "{compression: gzip, source: 'data:;base64,H4sI'}",
        "{source: 'https://a/tune.sh'}",
        "{local: tune.sh}",
    ] {
        let file = format!("storage: {{files: [{{path: /usr/local/bin/tune.sh, contents: {contents}}}]}}");
        assert!(refused(&machine_config(&file)).contains("files[0]"), "{contents}");
    }
}

#[test]
fn a_place_to_be_filled_in_that_is_a_whole_command_or_path_is_to_be_rendered_first() {
    for fields in [
        "preKubeadmCommands: ['{{ .Values.command }}']",
        "preKubeadmCommands: ['${PRE_KUBEADM_COMMAND}']",
        "files: [{path: '{{ path }}', content: x}]",
        "files: [{path: '${FOLDER}/a.conf', content: x}]",
        "files: [{path: /opt/a.sh, content: \"#!/bin/sh\\n${MORE}\\n\"}]",
        "files: [{path: {{ path }}, content: {{ content }}}]",
        "preKubeadmCommands: [{{ command }}]",
    ] {
        let error = refused(&template(fields));
        assert!(error.contains("not rendered yet"), "{fields}: {error}");
    }
    for fields in [
        "preKubeadmCommands: ['hostnamectl set-hostname {{ ds.meta_data.hostname }}']",
        "preKubeadmCommands: [\"COMMAND=ls\\n$COMMAND\"]",
    ] {
        assert!(read(&template(fields)).sets_nothing, "{fields}");
    }
}

#[test]
fn a_folder_of_patches_is_refused_unless_its_files_are_in_the_object() {
    let join = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\npatches: {directory: /etc/patches}\nnodeRegistration: {name: n}\n";
    assert!(refused(join).contains("patches.directory"));
    let of_scheduler = "initConfiguration: {patches: {directory: /etc/patches}}, files: [{path: /etc/patches/kube-scheduler.yaml, content: a}]";
    assert!(read(&template(of_scheduler)).sets_nothing);
    assert!(
        refused(&template(&of_scheduler.replace("kube-scheduler", "kubeletconfiguration")))
            .contains("files[0]")
    );
    // Beside the configuration that it is laid over, that is read.
    let own = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 7\n";
    let beside = read(&format!("{own}---\n{join}"));
    assert_eq!(beside.config.max_pods, Some(7));
    let [unread] = beside.unread.as_slice() else { panic!("{:?}", beside.unread) };
    assert!(unread.as_error().to_string().contains("patches.directory"), "{}", unread.as_error());
}

#[test]
fn commands_before_a_node_joins_are_refused() {
    let group = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nnodeGroups:\n- name: a\n  preBootstrapCommands:\n  - echo KUBELET_EXTRA_ARGS=--v=2 >> /etc/sysconfig/kubelet\n";
    assert!(refused(group).contains("preBootstrapCommands[0]"));
    let two = format!("{group}- {{name: b, kubeletExtraConfig: {{maxPods: 3}}}}\n");
    assert!(refused(&two).contains("preBootstrapCommands[0]"));
    let kops = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nspec:\n  role: Node\n  kubelet: {maxPods: 60}\n";
    for more in [
        "additionalUserData: [{name: a.sh, content: sed -i x /var/lib/kubelet/kubelet.conf}]",
        "fileAssets: [{name: a, path: /etc/systemd/system/kubelet.service.d/10-cpu.conf, content: x}]",
        "hooks: [{name: a, manifest: \"[Service]\\nExecStart=/bin/sed -i x /var/lib/kubelet/kubelet.conf\"}]",
    ] {
        assert!(refused(&format!("{kops}  {more}\n")).contains("proxy/configz"), "{more}");
        let cluster =
            format!("apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec:\n  {more}\n---\n{kops}");
        assert!(more.starts_with("additional") || refused(&cluster).contains("proxy/configz"), "{more}");
    }
    let masters = "fileAssets: [{name: a, path: /etc/default/kubelet, roles: [Master]}]";
    assert_eq!(
        read(&format!("apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec:\n  {masters}\n---\n{kops}"))
            .config
            .max_pods,
        Some(60)
    );
    let rke2 = "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: RKE2ConfigTemplate\nspec: {template: {spec: {files: [{path: \
                /etc/rancher/rke2/config.yaml.d/10.yaml, content: 'kubelet-arg+: [max-pods=30]'}]}}}\n";
    assert!(refused(rke2).contains("files[0]"));
}

#[test]
fn a_machine_config_that_changes_the_kubelet_is_refused() {
    for fields in [
        "systemd: {units: [{name: a.service, contents: \"[Service]\\nExecStart=/bin/sed -i x /etc/kubernetes/kubelet.conf\"}]}",
        "systemd: {units: [{name: kubelet.service, dropins: [{name: a.conf, contents: '[Service]'}]}]}",
        "storage: {files: [{path: /usr/local/bin/set.sh, contents: {source: 'data:,sed%20-i%20x%20/etc/kubernetes/k%75belet.conf'}}]}",
        "storage: {files: [{path: /etc/node-sizing-enabled.env, contents: {source: 'data:,NODE_SIZING_ENABLED%3Dfalse'}}]}",
    ] {
        assert!(refused(&machine_config(fields)).contains("proxy/configz"), "{fields}");
    }
    let before = "systemd: {units: [{name: a.service, contents: \"[Unit]\\nBefore=kubelet.service\\n[Service]\\nExecStart=/bin/true\"}]}";
    assert!(read(&machine_config(before)).sets_nothing);
}

#[test]
fn a_drop_in_does_not_hide_what_else_is_in_the_file() {
    let alone = read(&machine_config(DROP_IN));
    assert_eq!((alone.kind, alone.config.cpu_policy()), (ConfigKind::OpenShift, "static"));
    assert_eq!(alone.sizing, NodeSizing::NotWritten);
    let masters = machine_config(DROP_IN).replace("role: worker", "role: master");
    assert_eq!((read(&masters).sizing, read(&masters).pool), (NodeSizing::Fixed, MachinePool::ControlPlane));
    let unit = "systemd: {units: [{name: kubelet.service, dropins: [{name: a.conf, contents: x}]}]}";
    assert!(refused(&machine_config(&format!("{DROP_IN}, {unit}"))).contains("units[0]"));
    assert!(
        refused(&format!("{}---\n{}", machine_config(DROP_IN), machine_config(unit))).contains("units[0]")
    );
    let pool = "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec: {kubeletConfig: {maxPods: 333}}\n";
    assert!(refused(&format!("{pool}---\n{}", machine_config(DROP_IN))).contains("split the file"));
    assert!(refused(&format!("{pool}---\n{}", machine_config(unit))).contains("units[0]"));
    let of_masters = machine_config(unit).replace("role: worker", "role: master");
    assert_eq!(read(&format!("{pool}---\n{of_masters}")).config.max_pods, Some(333));
    assert!(read(&format!("{}---\n{of_masters}", machine_config(DROP_IN))).config.cpu_policy() == "static");
    let sizing = "storage: {files: [{path: /etc/node-sizing-enabled.env, contents: {source: 'data:,NODE_SIZING_ENABLED%3Dtrue'}}]}";
    assert!(refused(&format!("{pool}---\n{}", machine_config(sizing))).contains("node-sizing-enabled.env"));
}

#[test]
fn of_two_kubelet_configs_for_the_same_machines_the_last_counts() {
    let one = |name: &str, pool: &str, fields: &str| {
        format!(
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {{name: {name}}}\nspec: \
             {{machineConfigPoolSelector: {{matchLabels: {{pools.operator.machineconfiguration.openshift.io/{pool}: \"\"}}}}, \
             kubeletConfig: {{{fields}}}}}\n"
        )
    };
    let (first, second) = (one("a", "worker", "maxPods: 50"), one("b", "worker", "cpuManagerPolicy: static"));
    let both = read(&format!("{first}---\n{second}"));
    assert_eq!((both.config.max_pods, both.config.cpu_policy()), (None, "static"));
    let [warning] = both.warnings.as_slice() else { panic!("{:?}", both.warnings) };
    let text = warning.as_error().to_string();
    assert!(
        text.contains(
            "KubeletConfig \"b\" selects the same machines later: KubeletConfig \"a\" has no effect"
        ),
        "{text}"
    );
    let other = read(&format!("{first}---\n{}", one("b", "master", "cpuManagerPolicy: static")));
    assert_eq!((other.config.max_pods, other.warnings.len()), (Some(50), 0));
}

#[test]
fn a_script_beside_a_node_config_is_refused_where_it_changes_the_kubelet() {
    let text = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n\
                echo x > /etc/kubernetes/kubelet/config.json\n--//\nContent-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\n\
                kind: NodeConfig\nspec: {kubelet: {config: {maxPods: 58}}}\n--//--\n";
    let error = refused(text);
    assert!(error.contains("config:8:") && error.contains("proxy/configz"), "{error}");
    let harmless = text.replace(
        "echo x > /etc/kubernetes/kubelet/config.json",
        "mkdir -p /mnt/disks/kubelet\nyum install -y htop",
    );
    assert_eq!(read(&harmless).config.max_pods, Some(58));
    let encoded =
        text.replace("echo x > /etc/kubernetes/kubelet/config.json", "write_files:\n- encoding: b64");
    assert!(refused(&encoded).contains("an encoded file"));
}

#[test]
fn a_file_of_the_kubelet_takes_the_place_of_that_of_openshift_and_a_drop_in_does_not() {
    let file = DROP_IN.replace("/etc/openshift/kubelet.conf.d/99-cpu.conf", "/etc/kubernetes/kubelet.conf");
    let own = read(&machine_config(&file));
    assert_eq!(
        (own.kind, own.is_whole_file, own.sizing),
        (ConfigKind::OpenShift, true, NodeSizing::NotWritten)
    );
    let drop_in = read(&machine_config(DROP_IN));
    assert_eq!((drop_in.kind, drop_in.is_whole_file), (ConfigKind::OpenShift, false));
}

#[test]
fn arguments_of_the_kernel_on_which_cpus_depend_are_named() {
    let arguments =
        "kernelArguments: [isolcpus=2-10 nohz_full=2-10, quiet, default_hugepagesz=1G, hugepages=16], config";
    for fields in ["", DROP_IN] {
        let own = read(&machine_config(fields).replace("config:", &format!("{arguments}:")));
        let [unread] = own.unread.as_slice() else { panic!("{:?}", own.unread) };
        let text = unread.as_error().to_string();
        assert!(text.contains("isolcpus=2-10 nohz_full=2-10 default_hugepagesz=1G hugepages=16,"), "{text}");
    }
    let other = machine_config("").replace("config:", "kernelArguments: [quiet, mitigations=off], config:");
    assert!(read(&other).unread.is_empty());
}

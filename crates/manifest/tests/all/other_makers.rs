//! Files whose maker is known by what they name: classes of nodes, fields of AKS, and programs around a kubelet.

use crate::configurations::refused;
use topology_manifest::{
    ConfigKind, KubeletArgument, Source, Style, is_kubelet_arguments, read_bootstrap_script,
    read_kubelet_arguments, read_kubelet_config,
};

#[test]
fn a_node_pool_of_karpenter_is_refused_with_the_class_that_it_refers_to() {
    let pool = |class: &str| {
        refused(&format!(
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec: {{template: {{spec: {{{class}}}}}}}\n"
        ))
    };
    let azure = pool("nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: default}");
    assert!(
        azure.contains("with the AKSNodeClass default (karpenter.azure.com)") && !azure.contains("EC2"),
        "{azure}"
    );
    let auto = pool("nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: gpu}");
    assert!(
        auto.contains("with the NodeClass gpu (eks.amazonaws.com)") && auto.contains("proxy/configz"),
        "{auto}"
    );
    for own in [
        "",
        "nodeClassRef: {name: a}",
        "nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}",
        "nodeClassRef: {apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: a}",
    ] {
        let error = pool(own);
        assert!(error.contains("the EC2NodeClass that it refers to (karpenter.k8s.aws)"), "{error}");
    }
}

#[test]
fn fields_as_aks_calls_them_have_no_other_names() {
    let text = "{\"cpuManagerPolicy\": \"static\", \"cpuCfsQuota\": true, \"cpuCfsQuotaPeriod\": \"200ms\", \"imageGcHighThreshold\": 90, \
                \"imageGcLowThreshold\": 70, \"topologyManagerPolicy\": \"best-effort\", \"failSwapOn\": false}\n";
    let read = read_kubelet_config(&Source { name: "linuxkubeletconfig.json", text });
    let own = read.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((own.kind, own.warnings.len()), (ConfigKind::Part("AKS"), 0), "{:?}", own.warnings);
    assert_eq!((own.config.cpu_policy(), own.config.topology_policy()), ("static", "best-effort"));
    let kubelets = text.replace("cpuCfsQuota\"", "cpuCFSQuota\"").replace("imageGc", "imageGC");
    let kubelets =
        kubelets.replace("cpuCfsQuotaPeriod", "cpuCFSQuotaPeriod").replace("Threshold", "ThresholdPercent");
    let read = read_kubelet_config(&Source { name: "config", text: &kubelets });
    assert_eq!(read.map(|read| read.kind), Ok(ConfigKind::Part("its installer")));
}

fn arguments(text: &str) -> Result<String, String> {
    assert!(is_kubelet_arguments(text), "{text}");
    match read_kubelet_arguments(&[Source { name: "flags", text }]) {
        Ok(read) => Ok(read.arguments.iter().map(KubeletArgument::text).collect::<Vec<_>>().join(" ")),
        Err(error) => Err(error.render(Style::Ascii)),
    }
}

#[test]
fn a_program_around_the_kubelet_is_named_with_the_next_step() {
    for (text, program) in [
        (
            "[Service]\nEnvironment=B=\"--v=2\"\nExecStart=/bin/bash -c \"/usr/bin/kubelet $B --max-pods=99 --node-ip=$(hostname -i)\"\n",
            "bash",
        ),
        ("[Service]\nExecStart=-/opt/bin/start-node.sh $OPTIONS\n", "start-node.sh"),
        (
            "#!/bin/bash\ndocker run --net=host -v /:/rootfs rancher/hyperkube:v1.20 kubelet --max-pods=44\n",
            "docker",
        ),
        ("#!/bin/sh\nexec bash -c 'exec /usr/bin/kubelet --v=2'\n", "bash"),
        ("sudo numactl --cpunodebind=0 /usr/bin/kubelet --v=2\n", "numactl"),
        ("/bin/sh\0-c\0kubelet --v=2\0", "sh"),
    ] {
        let error = arguments(text).expect_err(text);
        assert!(error.contains(&format!("the program is {program}, a wrapper")), "{error}");
        assert!(error.contains("tr '\\0' ' ' < /proc/PID/cmdline"), "{error}");
    }
    for text in
        ["nice -n 5 /usr/bin/kubelet --v=2\n", "[Service]\nExecStart=/usr/bin/hyperkube kubelet --v=2\n"]
    {
        assert_eq!(arguments(text).as_deref(), Ok("--v=2"), "{text}");
    }
    assert!(!is_kubelet_arguments("docker run --rm busybox --v=2\n"));
}

#[test]
fn comments_within_a_line_of_a_unit_that_goes_on_are_left_out() {
    let unit = |comments: &str| {
        arguments(&format!(
            "[Service]\nExecStart=/usr/bin/kubelet \\\n  --max-pods=15 \\\n{comments}  --fail-swap-on=false\nRestart=always\n"
        ))
    };
    for comments in
        ["# --cpu-manager-policy=static \\\n; --reserved-cpus=0 \\\n", "  # of ours\n", "\t; of ours\n", ""]
    {
        assert_eq!(unit(comments).as_deref(), Ok("--max-pods=15 --fail-swap-on=false"), "{comments}");
    }
    assert_eq!(unit("\n").as_deref(), Ok("--max-pods=15"));
    let indented =
        "[Service]\n  # ExecStart=/usr/bin/kubelet --v=9 \\\nExecStart=/usr/bin/kubelet --v=2 \\\r\n --x\r\n";
    assert_eq!(arguments(indented).as_deref(), Ok("--v=2 --x"));
}

#[test]
fn scripts_in_a_message_are_read_unless_a_part_is_encoded() {
    let message = |header: &str, body: &str| {
        let text = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\n{header}\n\n{body}\n\n--B--\n"
        );
        let read = read_bootstrap_script(&Source { name: "user-data", text: &text });
        read.map(|read| read.arguments.len()).map_err(|error| error.to_string())
    };
    let script = "Content-Type: text/x-shellscript; charset=\"us-ascii\"";
    assert_eq!(message(script, "#!/bin/bash\necho \"Running a custom user data script\""), Ok(0));
    assert_eq!(message(script, "/etc/eks/bootstrap.sh a --kubelet-extra-args --v=2"), Ok(1));
    let encoded = message(&format!("{script}\nContent-Transfer-Encoding: base64"), "IyEvYmluL2Jhc2gK");
    assert!(encoded.is_err_and(|error| error.contains("in base64")));
    let file = "#cloud-config\nwrite_files:\n- path: /etc/a\n  encoding: b64\n  content: IyEK";
    let file = message("Content-Type: text/cloud-config", file);
    assert!(file.is_err_and(|error| error.contains("an encoded file")));
}

//! Configurations that are templates, or have places to be filled in.

use crate::configurations::{flags, read, refused};
use topology_manifest::Style;

const HEADER: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const CLUSTER: &str = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n";

#[test]
fn a_placeholder_in_a_field_that_decides_is_to_be_filled_in() {
    for (fields, step) in [
        ("cpuManagerPolicy: ${policy}", "envsubst"),
        ("cpuManagerPolicy: '{{ policy }}'", "what renders the template"),
        ("maxPods: '{{ pods }}'", "what renders the template"),
        ("reservedSystemCPUs: CHANGE_ME", "placeholder"),
        ("kubeReserved: {cpu: '@CPU@'}", "placeholder"),
        ("evictionHard: {memory.available: __MEMORY__}", "placeholder"),
        ("enforceNodeAllocatable: ['<keys>']", "placeholder"),
    ] {
        let error = refused(&format!("{HEADER}{fields}\n"));
        assert!(error.contains("found text") && error.contains(step), "{fields}: {error}");
    }
    for fields in [
        "registerWithTaints: [{key: a, value: GPU_NODE, effect: NoSchedule}]",
        "clusterDomain: ${domain}",
        "evictionHard: {memory.available: '5%'}",
    ] {
        read(&format!("{HEADER}{fields}\n"));
    }
}

#[test]
fn a_template_is_read_where_none_of_its_places_is_the_kubelets() {
    let text = format!(
        "{CLUSTER}kubernetesVersion: {{{{ version }}}}\nclusterName: {{{{ name }}}}-x\n---\n{HEADER}maxPods: 7\n"
    );
    let own = read(&text);
    assert_eq!((own.config.max_pods, own.is_template), (Some(7), true));
    let printed = read(&format!("{CLUSTER}clusterName: %s\n---\n{HEADER}maxPods: 7\n"));
    assert_eq!((printed.config.max_pods, printed.is_template), (Some(7), true));
    for (from, to) in [
        ("maxPods: 7", "maxPods: 7\n%s"),
        ("maxPods: 7", "maxPods: {{ pods }}"),
        ("maxPods: 7", "cpuManagerPolicy: {{ policy }}"),
        ("maxPods: 7", "maxPods: 7\n{{ more }}"),
        ("maxPods: 7", "{% if x %}\nmaxPods: 7\n{% endif %}"),
        ("{{ version }}", "{{ range .X }}"),
        ("maxPods: 7", "maxPods: 7\n{{ field }}: static"),
        ("clusterName: {{ name }}", "{{ field }}: name"),
    ] {
        let error = refused(&text.replace(from, to));
        assert!(error.contains("not rendered yet"), "{to}: {error}");
    }
    let misspelt = read(&format!("{HEADER}clusterDomian: a.{{{{ domain }}}}\nmaxPods: 7\n"));
    let [warning] = misspelt.warnings.as_slice() else { panic!("{:?}", misspelt.warnings) };
    let shown = warning.render(Style::Ascii);
    assert!(shown.contains("clusterDomian: a.{{ domain }}"), "{shown}");
    let user_data = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: application/node.eks.aws\n\n\
                     apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      %{ if pods }\n      maxPods: \
                     ${pods}\n      %{ endif }\n--//--\n";
    assert!(refused(user_data).contains("Terraform"));
    assert!(refused(&format!("{HEADER}maxPods: %s\n")).contains("not rendered yet"));
    let settings = "[settings.kubernetes]\n\"cluster-name\" = \"${name}\"\n\n${more}\n";
    assert!(refused(settings).contains("Terraform"));
}

#[test]
fn flags_that_a_template_fills_in_are_to_be_rendered_first() {
    let object = |flag: &str| {
        format!(
            "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration: {{kubeletExtraArgs: {{{flag}}}}}\n"
        )
    };
    for text in [
        object("max-pods: \"${MAX_PODS}\""),
        object("cpu-manager-policy: \"{{ policy }}\""),
        "kubelet-arg: [\"max-pods=${MAX_PODS}\"]\n".to_owned(),
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {flags: [\"--max-pods=${X}\"]}}\n".to_owned(),
    ] {
        assert!(refused(&text).contains("not rendered yet"), "{text}");
    }
    let labels = object("node-labels: \"a=${NAME}\"");
    assert_eq!(flags(&read(&labels)), ["--node-labels=a=${NAME}"]);
}

#[test]
fn flags_that_decide_nothing_of_resources_may_be_open() {
    let text = |flag: &str| {
        format!(
            "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata:\n  name: {{{{ .Release.Name }}}}-a\nspec:\n  template:\n    \
             spec:\n      joinConfiguration:\n        nodeRegistration:\n          kubeletExtraArgs:\n            max-pods: '9'\n            \
             {flag}: a://'{{{{\"{{{{\"}}}} instance_id {{{{\"}}}}\"}}}}'\n"
        )
    };
    let own = read(&text("provider-id"));
    assert_eq!((flags(&own), own.is_template), (vec!["--max-pods=9"], true));
    assert!(refused(&text("system-reserved")).contains("not rendered yet"));
}

#[test]
fn a_template_of_cluster_api_is_named_with_the_command_that_renders_it() {
    const FLAGS: &str = "joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {max-pods: \"";
    let object = |spec: &str| {
        format!(
            "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\nmetadata: {{name: '${{CLUSTER_NAME}}-md-0'}}\nspec:\n  \
             template:\n    spec:\n      {spec}\n"
        )
    };
    for spec in [
        "${KUBELET_PARTS}".to_owned(),
        "joinConfiguration:\n        ${JOIN}".to_owned(),
        format!("{FLAGS}44\"}}}}}}\n      ${{MORE}}"),
        format!("{FLAGS}${{PODS}}\"}}}}}}"),
    ] {
        let error = refused(&object(&spec));
        assert!(
            error.contains("not rendered yet") && error.contains("`clusterctl generate yaml --from"),
            "{spec}: {error}"
        );
    }
    // A variable in a value or a script is none of the kubelet's.
    let script = format!(
        "{FLAGS}44\"}}}}}}\n      preKubeadmCommands:\n      - |\n        ${{COMMAND}}\n        true"
    );
    assert!(refused(&object(&script)).contains("not rendered yet"));
    assert_eq!(flags(&read(&object(&format!("{FLAGS}44\"}}}}}}")))), ["--max-pods=44"]);
}

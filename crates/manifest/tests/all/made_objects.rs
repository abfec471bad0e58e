//! Objects in objects, templates of them, and those that are known without a template of a pod.

use crate::objects::{check, object, read, refused};

#[test]
fn a_template_of_openshift_is_read_with_the_defaults_of_its_parameters() {
    let text = |parameters: &str| {
        object(
            "template.openshift.io/v1",
            "Template",
            &format!(
                "parameters: [{parameters}]\nobjects:\n- {{apiVersion: v1, kind: DeploymentConfig, metadata: {{name: '${{NAME}}-db'}}, spec: \
                 {{replicas: '${{{{COUNT}}}}', template: {{spec: {{containers: [{{name: db, image: i, resources: {{limits: {{memory: \
                 '${{SIZE}}Mi'}}}}}}]}}}}}}}}\n- {{apiVersion: v1, kind: Service, metadata: {{name: '${{NAME}}'}}}}"
            ),
        )
    };
    let all = "{name: NAME, value: shop}, {name: COUNT, value: '2'}, {name: SIZE, value: '512'}, {name: KEY, generate: expression}";
    for version in ["template.openshift.io/v1", "v1"] {
        let read = read(&text(all).replace("template.openshift.io/v1", version));
        let names: Vec<_> = read.pods.iter().map(|pod| pod.name.as_str()).collect();
        assert_eq!((names, read.is_whole()), (vec!["shop-db-0", "shop-db-1"], true), "{:?}", read.refused);
        let memory = read.pods[0].containers[0].requests["memory"].to_string();
        assert_eq!(memory, "512Mi");
        let remark = read.remarks[0].to_string();
        assert!(remark.contains("defaults of its parameters") && remark.contains("oc process"), "{remark}");
    }
    let open = text(&all.replace("value: '512'", "required: true"));
    let without = read(&open);
    assert!(without.remarks[0].to_string().contains("without a default are SIZE"));
    assert!(without.refused[0].has_next_step() && without.pods.is_empty(), "{:?}", without.refused);
}

#[test]
fn a_parameter_of_a_template_is_json_and_has_a_value() {
    let template = |parameters: &str, cpu: &str| {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: x}}, spec: {{nodeSelector: '${{{{SEL}}}}', containers: [{{name: a, \
             image: '${{IMAGE}}', resources: {cpu}}}]}}}}"
        );
        object(
            "template.openshift.io/v1",
            "Template",
            &format!(
                "parameters: [{{name: IMAGE}}, {{name: SEL, value: '{{\"a\": \"b\"}}'}}, {parameters}]\nobjects:\n- {pod}"
            ),
        )
    };
    let json = template(r#"{name: RES, value: '{"limits": {"cpu": 4, "memory": "1Gi"}}'}"#, "'${{RES}}'");
    let all = read(&json);
    assert_eq!(all.pods.len(), 1, "{:?}", all.refused);
    assert_eq!(all.pods[0].containers[0].limits["cpu"].to_string(), "4");
    let one = "{limits: {cpu: '${CPU}'}}";
    for parameter in ["{name: CPU}", "{name: CPU, required: true, value: ''}", "{name: CPU, required: true}"]
    {
        let error = refused(&template(parameter, one));
        let wanted =
            "resources.limits.cpu: parameter CPU has no default: `oc process --local -f FILE -p CPU=VALUE";
        assert!(error.contains(wanted), "{parameter}: {error}");
    }
    let generated = template("{name: CPU, value: '', generate: expression}", one);
    assert!(read(&generated).refused[0].to_string().contains("\"generated\" is no quantity"));
}

#[test]
fn an_object_in_a_workflow_has_pods() {
    let manifest = "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, metadata: {generateName: a-}, spec: {tasks: [{name: w, replicas: 2, T!}]}}";
    let workflow = |action: &str, manifest: &str| {
        let text = object(
            "argoproj.io/v1alpha1",
            "Workflow",
            "spec: {templates: [{name: s, resource: {action: A, manifest: M}}]}",
        );
        let manifest = object("", "", manifest).lines().last().unwrap_or_default().to_owned();
        text.replace("action: A", &format!("action: {action}"))
            .replace("manifest: M", &format!("manifest: {manifest:?}"))
    };
    check(&workflow("create", manifest), &["x-s-w-0", "x-s-w-1"], "");
    let own = "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {parallelism: 2, T!}}";
    check(&workflow("apply", own), &["x-s-0", "x-s-1"], "");
    assert!(refused(&workflow("delete", manifest)).contains("no template of a pod"));
    let deeper = workflow("create", "{apiVersion: argoproj.io/v1alpha1, kind: Workflow}");
    assert!(refused(&deeper).contains("another object of Argo"));
    let wrong = read(&workflow("create", &manifest.replace("replicas: 2", "replicas: {a: b}")));
    let error = wrong.refused[0].to_string();
    assert!(error.starts_with("all.yaml:4:"), "{error}");
}

#[test]
fn a_pod_in_a_workflow_has_its_kind_and_parameters_have_defaults() {
    let workflow = |arguments: &str, manifest: &str| {
        let spec = format!(
            "spec: {{{arguments}templates: [{{name: s, resource: {{action: create, manifest: {manifest:?}}}}}]}}"
        );
        object("argoproj.io/v1alpha1", "Workflow", &spec)
    };
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: i}]}}";
    let text = workflow("", pod);
    check(&text, &["x-s-0"], "");
    assert!(read(&text).unknown_fields.is_empty(), "{:?}", read(&text).unknown_fields);
    let job = "apiVersion: batch/v1\nkind: Job\nspec:\n  parallelism: {{workflow.parameters.n}}\n  template: {spec: {containers: \
               [{name: a, image: i, resources: {limits: {cpu: \"{{ workflow.parameters.cpu }}\"}}}]}}\n";
    let defaults = "arguments: {parameters: [{name: n, value: 2}, {name: cpu, value: '4'}]}, ";
    let text = workflow(defaults, job);
    check(&text, &["x-s-0", "x-s-1"], "");
    assert_eq!(read(&text).pods[0].containers[0].limits["cpu"].to_string(), "4");
    for arguments in ["", "arguments: {parameters: [{name: n, value: 2}]}, "] {
        let error = refused(&workflow(arguments, job));
        assert!(error.contains("kubectl get pods -l workflows.argoproj.io/workflow=NAME -o yaml"), "{error}");
    }
    let of_container = |arguments: &str| {
        let container = "{image: i, resources: {limits: {cpu: '{{workflow.parameters.cpu}}'}}}";
        let spec = format!("spec: {{{arguments}templates: [{{name: s, container: {container}}}]}}");
        object("argoproj.io/v1alpha1", "Workflow", &spec)
    };
    check(&of_container(defaults), &["x-s-0"], "");
    assert!(refused(&of_container("")).contains("workflow=NAME"));
}

#[test]
fn an_instance_type_of_kubevirt_has_cpus_and_memory() {
    let machine = |instance: &str| {
        let spec = format!(
            "spec: {{instancetype: {{{instance}}}, template: {{spec: {{domain: {{devices: {{}}}}}}}}}}"
        );
        object("kubevirt.io/v1", "VirtualMachine", &spec)
    };
    for kind in ["", ", kind: VirtualMachineClusterInstancetype", ", kind: virtualmachineclusterinstancetype"]
    {
        let read = read(&machine(&format!("name: u1.large{kind}")));
        let compute =
            read.pods[0].containers.iter().find(|container| container.name.to_string() == "compute");
        let requests = compute.map(|container| container.requests.clone()).unwrap_or_default();
        assert_eq!(requests["cpu"].to_string(), "200m", "two CPUs, ten of which share one");
        assert!(requests["memory"] > "8Gi".parse().unwrap());
    }
    let unknown =
        ["name: u1.large, kind: VirtualMachineInstancetype", "name: cx1.large", "name: u1.16xlarge"];
    for instance in unknown {
        assert!(refused(&machine(instance)).contains("virtctl expand"), "{instance}");
    }
}

#[test]
fn a_machine_that_sets_what_its_instance_type_sets_is_refused() {
    let machine = |instance: &str, domain: &str| {
        let spec = format!(
            "spec: {{instancetype: {{name: {instance}}}, template: {{spec: {{domain: {{{domain}}}}}}}}}"
        );
        object("kubevirt.io/v1", "VirtualMachine", &spec)
    };
    for (domain, field) in [
        ("cpu: {cores: 4, dedicatedCpuPlacement: true}, memory: {guest: 8Gi}", "cpu.cores"),
        ("cpu: {sockets: 1}", "cpu.sockets"),
        ("cpu: {threads: 2}", "cpu.threads"),
        ("memory: {guest: 8Gi}", "memory.guest"),
        ("resources: {requests: {cpu: 3, memory: 9Gi}}", "resources.requests.cpu"),
        ("resources: {limits: {cpu: 3}}", "resources.limits.cpu"),
        ("resources: {requests: {memory: 9Gi}}", "resources.requests.memory"),
        ("resources: {limits: {memory: 9Gi}}", "resources.limits.memory"),
    ] {
        for instance in ["u1.medium", "cx1.large"] {
            let error = refused(&machine(instance, domain));
            let wanted = format!(
                "spec.template.spec.domain.{field} conflicts with instance type {instance}: \
                 KubeVirt refuses the machine; take one of them away"
            );
            assert!(error.contains(&wanted), "{error}");
        }
    }
    for domain in
        ["cpu: {dedicatedCpuPlacement: true}", "cpu: {cores: 0}", "memory: {hugepages: {pageSize: 1Gi}}"]
    {
        let read = read(&machine("u1.medium", domain));
        assert_eq!(read.pods.len(), 1, "{domain}: {:?}", read.refused);
    }
}

#[test]
fn a_plan_of_upgrades_has_one_pod_of_each_node() {
    let spec = "spec: {nodeSelector: {}, prepare: {image: a}, upgrade: {image: b}}";
    check(&object("upgrade.cattle.io/v1", "Plan", spec), &["x-upgrade-0"], "one pod on each node");
}

#[test]
fn operators_of_programs_have_resources_of_their_pods() {
    let spec = "spec: {redis: {resources: {requests: {cpu: 1}}}, sentinel: {replicas: 1}}";
    let names = ["x-redis-0", "x-redis-1", "x-redis-2", "x-sentinel-0"];
    check(&object("databases.spotahome.com/v1", "RedisFailover", spec), &names, "by the resources in it");
    let spec = "spec: {instances: 2, resources: {limits: {cpu: 2, memory: 1Gi}}}";
    check(&object("postgresql.cnpg.io/v1", "Cluster", spec), &["x-0", "x-1"], "left out");
    let spec = "spec: {replicas: 2, shards: 3, resources: {requests: {cpu: 4}}}";
    let names = ["x-0", "x-1", "x-2", "x-3", "x-4", "x-5"];
    check(&object("monitoring.coreos.com/v1", "Prometheus", spec), &names, "by the resources in it");
}

#[test]
fn brokers_of_a_kafka_with_node_pools_are_those_of_the_pools() {
    let kafka = |annotations: &str, kafka: &str| {
        let spec = format!(
            "spec: {{kafka: {{{kafka}resources: {{limits: {{cpu: 4}}}}}}, zookeeper: {{replicas: 1}}}}"
        );
        object("kafka.strimzi.io/v1beta2", "Kafka", &spec)
            .replace("name: x", &format!("name: x, annotations: {{{annotations}}}"))
    };
    for (annotations, brokers, names) in [
        ("", "replicas: 2, ", vec!["x-kafka-0", "x-kafka-1", "x-zookeeper-0"]),
        ("", "", vec!["x-zookeeper-0"]),
        ("strimzi.io/node-pools: enabled", "replicas: 2, ", vec!["x-zookeeper-0"]),
        ("strimzi.io/node-pools: enabled, strimzi.io/kraft: enabled", "", vec![]),
        ("strimzi.io/node-pools: disabled, strimzi.io/kraft: enabled", "replicas: 1, ", vec!["x-kafka-0"]),
    ] {
        check(&kafka(annotations, brokers), &names, "KafkaNodePool");
    }
}

#[test]
fn kinds_that_are_known_to_have_no_pods_need_no_next_step() {
    for (version, kind, needs) in [
        ("monitoring.coreos.com/v1", "ServiceMonitor", false),
        ("cluster.x-k8s.io/v1beta1", "MachineDeployment", false),
        ("databases.example.com/v1", "Database", true),
    ] {
        let read = read(&object(version, kind, "spec: {}"));
        let [skipped] = read.skipped.as_slice() else { panic!("{kind}: {:?}", read.refused) };
        assert_eq!(skipped.instead().is_some(), needs, "{kind}");
    }
}

#[test]
fn a_placeholder_is_to_be_filled_in() {
    let between = ["__CPU__", "%CPU%", "@CPU@", "[[ cpu ]]", "$(CPU)", "<your-workers>"];
    let others = ["PUT_NUMBER_HERE", "$WORKERS", "<workers>", "...", "%d", "TODO", "${WORKERS}"];
    for replicas in between.into_iter().chain(others) {
        let read = read(&object("apps/v1", "Deployment", &format!("spec: {{replicas: '{replicas}', T!}}")));
        assert!(read.refused[0].has_next_step(), "{replicas}: {}", read.refused[0]);
    }
    for replicas in ["many", "TWO", "a b", "<", "$", "%5%", "@@", "____", "[[ ]]", "$()", "__a"] {
        let read = read(&object("apps/v1", "Deployment", &format!("spec: {{replicas: '{replicas}', T!}}")));
        assert!(!read.refused[0].has_next_step(), "{replicas}: {}", read.refused[0]);
    }
    let text = object("apps/v1", "Deployment", "spec: {T!}")
        .replace("name: x", "name: x, namespace: FILLED BY OTHERS");
    assert!(read(&text).refused[0].has_next_step());
}

#[test]
fn a_complaint_about_an_application_of_spark_has_its_path() {
    let spec = "spec: {driver: {cores: 1, memory: 1g, tolerations: [{key: 'a\"'}]}, executor: {cores: 1, memory: 1g}}";
    let read = read(&object("sparkoperator.k8s.io/v1beta2", "SparkApplication", spec));
    let error = read.refused[0].to_string();
    assert!(error.contains("invalid: spec.tolerations[0].key"), "{error}");
}

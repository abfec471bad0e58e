//! Machines, configurations and pods.

/// Two packages with huge pages; nodes without CPUs; eight nodes; more than ten, of which names do not sort as numbers;
/// gaps between ids.
pub(super) const MACHINES: [&str; 5] = [
    "xeon-2s-96cpu-sriov",
    "xeon-cxl-4node",
    "spr-8480-snc4-8node",
    "genoa-9654-l3numa-24node",
    "power9-ac922-gpunodes-empty-6node",
];

/// Names and texts.
pub(super) const CONFIGURATIONS: [(&str, &str); 2] = [
    (
        "none",
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: none\n\
         memoryManagerPolicy: None\ntopologyManagerPolicy: none\ntopologyManagerScope: container\n",
    ),
    (
        "static, single-numa-node",
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n\
         reservedSystemCPUs: '0'\nmemoryManagerPolicy: Static\nsystemReserved: {memory: 924Mi}\n\
         evictionHard: {memory.available: 100Mi}\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n\
         topologyManagerPolicy: single-numa-node\ntopologyManagerScope: container\n",
    ),
];

/// Names and what their one container says of resources: exclusive CPUs, memory beside shared CPUs, huge pages where
/// there are some, devices, and nothing exclusive.
pub(super) const fn pods() -> &'static [(&'static str, &'static str)] {
    &[
        ("four", "limits: {cpu: 4, memory: 2Gi}"),
        ("three", "limits: {cpu: 3, memory: 1Gi}"),
        ("fraction", "limits: {cpu: 1500m, memory: 1Gi}"),
        ("pages", "limits: {cpu: 2, memory: 1Gi, hugepages-1Gi: 2Gi}"),
        ("devices", "limits: {cpu: 2, memory: 1Gi, example.com/vf: 3}"),
        ("burstable", "requests: {cpu: 500m, memory: 512Mi}"),
    ]
}

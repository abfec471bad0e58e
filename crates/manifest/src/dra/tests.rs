//! Objects in each version, and what the decoder says of what it cannot read.

use dra_model::{AllocationMode, Attribute, RequestForm, TolerationOperator};

use super::*;

fn object(text: &str) -> Result<ResourceObject, ManifestError> {
    read_resource_object(&Source { name: "object.yaml", text })
}

const SLICE: &str = "
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a, creationTimestamp: null}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 2, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    attributes: {model: {string: A100}, index: {int: 3}}
    capacity: {memory: {value: 40Gi}}
    allowMultipleAllocations: true
";

#[test]
fn a_slice_is_read_alike_in_each_version() {
    let old = SLICE.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta1");
    let old = old.replace("    attributes", "    basic:\n      attributes");
    let old =
        old.replace("    capacity", "      capacity").replace("    allowMultiple", "      allowMultiple");
    let newer = SLICE.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta2");
    let read = |text: &str| match object(text) {
        Ok(ResourceObject::Slice(slice)) => slice,
        other => panic!("{other:?}"),
    };
    let slice = read(SLICE);
    assert_eq!(slice, read(&old));
    assert_eq!(slice, read(&newer));
    let [device] = slice.devices() else { panic!("{slice:?}") };
    assert_eq!(device.attributes.get("model"), Some(&Attribute::from("A100")));
    assert!(device.is_shareable());
    assert_eq!((slice.pool.generation, slice.nodes.node_name.as_deref()), (2, Some("node-1")));
}

#[test]
fn defaults_are_filled_in_as_each_version_does() {
    let claim = |version: &str, request: &str| {
        let text = format!(
            "{{apiVersion: resource.k8s.io/{version}, kind: ResourceClaim, metadata: {{name: c}}, \
             spec: {{devices: {{requests: [{{name: r, {request}}}]}}}}}}"
        );
        match object(&text) {
            Ok(ResourceObject::Claim(claim)) => claim.spec.requests[0].clone(),
            other => panic!("{other:?}"),
        }
    };
    let exactly = claim("v1", "exactly: {deviceClassName: gpu, tolerations: [{key: a}]}");
    let RequestForm::Exactly(devices) = exactly.form() else { panic!("{exactly:?}") };
    assert_eq!(devices.mode, AllocationMode::ExactCount(1));
    assert_eq!(devices.tolerations[0].operator, TolerationOperator::Equal);
    assert_eq!(exactly, claim("v1beta1", "deviceClassName: gpu, tolerations: [{key: a}]"));
    assert_eq!(claim("v1beta1", "count: 0").form(), RequestForm::Neither);
    let without_class = claim("v1beta1", "count: 2").exactly.expect("a count is a request");
    assert_eq!(without_class.mode, AllocationMode::Other { mode: String::new(), count: 2 });
}

/// API servers of Kubernetes 1.33 and 1.34 have the rule in `v1alpha3` alone, with two more ways to select devices. A newer API server
/// drops these fields, and so does its decoder.
#[test]
fn a_rule_for_taints_that_selects_by_class_or_expression_is_none_on_all_devices() {
    let rule = |version: &str, selector: &str| {
        object(&format!(
            "{{apiVersion: resource.k8s.io/{version}, kind: DeviceTaintRule, metadata: {{name: r}}, \
             spec: {{deviceSelector: {{{selector}}}, taint: {{key: broken, effect: NoSchedule}}}}}}"
        ))
    };
    for version in ["v1", "v1beta2", "v1alpha3"] {
        let read = rule(version, "driver: d, deviceClassName: null, selectors: null");
        let Ok(ResourceObject::TaintRule(read)) = read else { panic!("{read:?}") };
        assert_eq!(read.selector.unwrap().driver.as_deref(), Some("d"));
    }
    for (selector, by) in [
        ("deviceClassName: gpu", "device class"),
        ("selectors: [{cel: {expression: 'true'}}]", "expressions"),
    ] {
        let error = rule("v1alpha3", selector).unwrap_err().to_string();
        let expected = format!("the rule selects devices by {by}, which Kubernetes has until 1.34 alone");
        assert!(error.contains(&expected) && error.contains("driver, pool or device"), "{error}");
        assert!(rule("v1", selector).is_ok());
    }
}

#[test]
fn what_the_decoder_cannot_read_is_named_in_its_words() {
    let header = "\"apiVersion\":\"resource.k8s.io/v1\",\"kind\":\"ResourceSlice\"";
    for (text, expected) in [
        (
            format!("{{{header},\"spec\":{{\"devices\":\"x\"}}}}"),
            "json: cannot unmarshal string into Go struct field ResourceSliceSpec.spec.devices of type []v1.Device",
        ),
        (
            format!("{{{header},\"metadata\":{{\"name\":{{}}}}}}"),
            "json: cannot unmarshal object into Go struct field ObjectMeta.metadata.name of type string",
        ),
        (
            format!("{{{header},\"spec\":{{\"pool\":{{\"generation\":1.5}},\"driver\":1}}}}"),
            "json: cannot unmarshal number 1.5 into Go struct field ResourcePool.spec.pool.generation of type int64",
        ),
        (
            format!(
                "{{{header},\"spec\":{{\"driver\":1,\"devices\":[{{\"capacity\":{{\"m\":{{\"value\":\"x\"}}}}}}]}}}}"
            ),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "{\"apiVersion\":\"resource.k8s.io/v2\",\"kind\":\"ResourceSlice\"}".to_owned(),
            "no kind \"ResourceSlice\" is registered for version \"resource.k8s.io/v2\" in scheme \"pkg/runtime/scheme.go:111\"",
        ),
        (
            "{\"apiVersion\":\"\",\"kind\":\"ResourceSlice\"}".to_owned(),
            "Object 'apiVersion' is missing in '{\"apiVersion\":\"\",\"kind\":\"ResourceSlice\"}'",
        ),
    ] {
        let source = Source { name: "object.json", text: &text };
        let error = read_resource_object(&source).expect_err("it is refused");
        assert_eq!(error.decoder_text(&source), expected);
    }
}

#[test]
fn lists_are_read_and_what_is_of_another_group_is_passed_over() {
    let text = format!(
        "{SLICE}---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\n---\napiVersion: v1\nkind: List\nitems:\n\
         - {{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {{name: gpu}}, spec: {{sellectors: []}}}}\n\
         - {{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {{name: c}}, spec: 1}}\n---\n\
         apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplateList\nitems:\n- metadata: {{name: t}}\n"
    );
    let read = read_resource_objects(&Source { name: "all.yaml", text: &text }).expect("it is read");
    assert_eq!((read.slices.len(), read.classes.len(), read.templates.len()), (1, 1, 1));
    assert_eq!(read.refused.iter().map(|refusal| refusal.name.as_str()).collect::<Vec<_>>(), ["c"]);
    let unknown: Vec<_> = read.unknown_fields.iter().map(|warning| warning.as_error().to_string()).collect();
    assert_eq!(unknown, ["all.yaml:22:85: spec: there is no field \"sellectors\", did you mean selectors?"]);
}

/// Objects of recorded cases, each with its kind.
fn recorded() -> Vec<serde_json::Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/dra");
    let mut objects = Vec::new();
    for file in ["validate/validate", "allocate/allocate", "allocate/named", "extended/extended"] {
        let text = std::fs::read_to_string(format!("{folder}/{file}.jsonl")).expect("the file is there");
        for line in text.lines() {
            let case = serde_json::from_str::<serde_json::Value>(line).expect("a case")["case"].take();
            let kinds =
                [("slices", "ResourceSlice"), ("classes", "DeviceClass"), ("claims", "ResourceClaim")];
            for (key, kind) in kinds.into_iter().chain([("allocated", "ResourceClaim")]) {
                for object in case[key].as_array().into_iter().flatten() {
                    let mut object = object.clone();
                    object["apiVersion"] = "resource.k8s.io/v1".into();
                    object["kind"] = kind.into();
                    objects.push(object);
                }
            }
            objects.extend(case.get("object").filter(|object| object.is_object()).cloned());
        }
    }
    objects
}

#[test]
fn what_is_written_is_read_again() {
    let mut kinds = std::collections::BTreeMap::new();
    for recorded in recorded() {
        let Ok(read) = object(&recorded.to_string()) else { continue };
        let written = read.to_json();
        let again = object(&written.to_string());
        let again = again.unwrap_or_else(|error| panic!("{error}: {recorded:#}\n{written:#}"));
        assert_eq!(again, read, "{recorded:#}\n{written:#}");
        *kinds.entry(written["kind"].to_string()).or_insert(0) += 1;
    }
    assert!(kinds.len() >= 4 && kinds.values().sum::<i32>() > 400, "{kinds:?}");
}

#[test]
fn all_that_an_object_can_have_is_written() {
    let claim = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c, namespace: ns, uid: u, labels: {a: b}, \
        annotations: {c: d}, creationTimestamp: 2026-11-26T10:00:00Z, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, \
        uid: v, controller: true}]}\nspec: {devices: {requests: [{name: r, firstAvailable: [{name: s, deviceClassName: k, \
        count: 2, capacity: {requests: {m: 1.5Gi}}, tolerations: [{key: t, operator: Exists, tolerationSeconds: 3}]}]}], \
        constraints: [{requests: [r/s], distinctAttribute: a/b}], config: [{opaque: {driver: d, parameters: {x: [1, null]}}}]}}\n\
        status: {reservedFor: [{resource: pods, name: p, uid: v}], allocation: {devices: {results: [{request: r/s, driver: d, \
        pool: p, device: e, adminAccess: true, shareID: i, consumedCapacity: {m: 2Gi}}], config: [{source: FromClass}]}, \
        nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [w]}]}]}}}\n";
    let read = object(claim).expect("a claim");
    let ResourceObject::Claim(own) = &read else { panic!("{read:?}") };
    let allocation = own.status.allocation.as_ref().expect("it has devices");
    assert!(own.metadata.controller.is_some() && allocation.results[0].share.is_some());
    assert_eq!(object(&read.to_json().to_string()).expect("it is read"), read);
}

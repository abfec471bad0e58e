//! Patches as lists of changes (RFC 6902), and files of kustomize: what they change is not in them.

use crate::node::Field;
use crate::operators;
use crate::problem::CONFIGZ;
use crate::{ManifestError, Problem};

/// What to give in the place of files of kustomize.
pub(super) const KUSTOMIZE: &str =
    "the object that it makes: `kubectl kustomize FOLDER > OBJECTS`, and OBJECTS in its place";
const TALOSCTL: &str = "the machine configuration with the patch in it: `talosctl machineconfig patch FILE --patch @PATCH -o PATCHED`, and PATCHED in its place";

/// The refusal of a list of changes or a kustomization without a kind; `None`: it is neither.
pub(super) fn refused_patch(document: &Field<'_>) -> Option<ManifestError> {
    let fail =
        |what: &str, instead| Some(document.fail(Problem::OtherForm { what: what.to_owned(), instead }));
    if let Ok(kind) = operators::of_kustomize(document) {
        return kind.and_then(|_| fail("a file of kustomize", KUSTOMIZE));
    }
    let changes = document.items().unwrap_or_default();
    let path = changes.first().and_then(|change| change.get("path").ok().flatten());
    let path = path.as_ref().and_then(|path| path.text("a path").ok()).unwrap_or_default();
    match path.split('/').nth(1).unwrap_or_default() {
        "machine" | "cluster" => {
            fail("a JSON patch of a machine configuration of Talos, without what it changes", TALOSCTL)
        }
        "spec" | "metadata" | "data" => fail("a JSON patch of an object, without what it changes", KUSTOMIZE),
        _ => fail("a JSON patch of a kubelet's configuration, without what it changes", CONFIGZ),
    }
}

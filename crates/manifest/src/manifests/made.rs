//! Pods of objects that operators read.

use super::reader::{Copies, Reader};
use super::{Owner, Remark};
use crate::node::Field;
use crate::operators::{self, Made, When};
use crate::workload::Replicas;
use crate::{ManifestError, Refusal, Warning, api};

impl Reader {
    /// Reads the objects of a template of OpenShift, each as if it stood alone.
    pub(super) fn read_template(
        &mut self,
        object: &Field<'_>,
        kind: String,
        name: String,
    ) -> Result<(), ManifestError> {
        let processed = operators::processed(object)?;
        self.read.remarks.push(Remark { kind, name, text: processed.remark.clone() });
        let before = self.read.refused.len();
        for node in &processed.objects {
            self.read_inner(&Field::document(object.source, node))?;
        }
        for refusal in self.read.refused.iter_mut().skip(before) {
            let causes = core::mem::take(&mut refusal.causes).into_iter();
            refusal.causes = causes.map(|cause| processed.explained(cause)).collect();
        }
        Ok(())
    }

    /// Takes the pods of an object, or refuses it.
    pub(super) fn read_made(
        &mut self,
        object: &Field<'_>,
        kind: &str,
        Made { parts, remarks }: Made,
    ) -> Result<(), ManifestError> {
        let text = |path: &[&str]| {
            let field = object.descend(path)?;
            Ok::<_, ManifestError>(field.map_or(Ok(""), |field| field.text("a text"))?.to_owned())
        };
        let name = text(&["metadata", "name"])?;
        let generated = text(&["metadata", "generateName"])?;
        let namespace = text(&["metadata", "namespace"])?;
        let namespace = if namespace.is_empty() { "default" } else { namespace.as_str() };
        let prefix = if name.is_empty() { format!("{generated}0-") } else { format!("{name}-") };
        let mut causes = Vec::new();
        for part in &parts {
            let template = Field { source: object.source, node: &part.template, path: part.path.clone() };
            self.read
                .unknown_fields
                .extend(api::unknown_fields_of(&template, "PodTemplateSpec").into_iter().map(Warning));
            causes.extend(api::check_template(&template)?);
        }
        if !causes.is_empty() {
            let version = text(&["apiVersion"])?;
            let causes =
                causes.into_iter().map(|cause| operators::explained(&version, kind, cause)).collect();
            self.read.refused.push(Refusal { kind: kind.to_owned(), name, causes });
            return Ok(());
        }
        let owner = Owner { kind: kind.to_owned(), name: name.clone() };
        for part in &parts {
            let template = Field { source: object.source, node: &part.template, path: part.path.clone() };
            let prefix =
                if part.role.is_empty() { prefix.clone() } else { format!("{prefix}{}-", part.role) };
            let replicas = Replicas { count: part.count, first: 0 };
            let pods =
                self.copies(&Copies { object, template: &template, namespace, prefix: &prefix, replicas })?;
            for pod in &pods {
                self.read.owners.insert(pod.uid.clone(), owner.clone());
                if part.when == When::Apart {
                    self.read.apart.insert(pod.uid.clone());
                }
            }
            self.read.pods.extend(pods.into_iter().map(|pod| pod.with_defaults(self.rules)));
        }
        let remark = |text| Remark { kind: kind.to_owned(), name: name.clone(), text };
        self.read.remarks.extend(remarks.into_iter().map(remark));
        Ok(())
    }
}

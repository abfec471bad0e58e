//! Texts of many objects: documents, lists, and what `kubectl get -o yaml` prints.

use super::checked::{CheckedObjects, Judge, ObjectFindings, placed};
use super::version::{GROUP, Kind};
use super::{Header, ResourceObject, ResourceObjects, decode};
use crate::node::{Field, Node};
use crate::yaml::{Piece, Pieces, RepeatedKey, documents};
use crate::{MAX_BYTES, ManifestError, Refusal, Source, Warning};

/// Reads every object of `resource.k8s.io` in a text of at most 64 MiB, each of at most 1 MiB; others are passed over.
///
/// # Errors
/// The text cannot be read at all.
pub fn read_resource_objects(source: &Source<'_>) -> Result<ResourceObjects, ManifestError> {
    let mut reader = Reader { read: ResourceObjects::default(), objects: 0, judge: None };
    reader.text(source)?;
    Ok(reader.read)
}

/// Reads the same objects, and has `judge` judge each: what it finds is placed in the text.
///
/// # Errors
/// The text cannot be read at all.
pub fn check_resource_objects(
    source: &Source<'_>,
    judge: &mut dyn FnMut(&ResourceObject) -> ObjectFindings,
) -> Result<CheckedObjects, ManifestError> {
    let mut reader = Reader { read: ResourceObjects::default(), objects: 0, judge: Some(judge) };
    reader.text(source)?;
    let Reader { read: ResourceObjects { refused, unknown_fields, .. }, objects, .. } = reader;
    Ok(CheckedObjects { objects, refused, warnings: unknown_fields })
}

struct Reader<'j> {
    read: ResourceObjects,
    objects: usize,
    judge: Option<Judge<'j>>,
}

impl Reader<'_> {
    fn text(&mut self, source: &Source<'_>) -> Result<(), ManifestError> {
        if source.text.len() > MAX_BYTES {
            return self.pieces(source);
        }
        for node in &documents(source, RepeatedKey::LastCounts)? {
            self.object(&Field::document(source, node), None);
        }
        Ok(())
    }

    /// Reads a text that is too large to be one tree.
    fn pieces(&mut self, source: &Source<'_>) -> Result<(), ManifestError> {
        let (mut pieces, outlines) = Pieces::new(source)?;
        for outline in outlines {
            let Some(header) = outline.header(source.text) else {
                let piece = pieces.next(outline.whole.clone());
                self.piece(&piece, &pieces.read(&piece)?.nodes, None);
                continue;
            };
            let header = Source { name: source.name, text: &header };
            let Some(node) = pieces.read_header(&header)?.nodes.into_iter().next() else { continue };
            let Ok(list) = Header::read(&Field::document(&header, &node)) else { continue };
            let Some(members) = Members::of(&list) else { continue };
            for item in &outline.items {
                let piece = pieces.next(item.clone());
                self.piece(&piece, &pieces.read_item(&piece)?.nodes, members.header());
            }
        }
        Ok(())
    }

    /// Reads objects of a part of a text; what is noted of them is at its place in the whole.
    fn piece(&mut self, piece: &Piece<'_>, nodes: &[Node], implied: Option<&Header>) {
        let (refused, unknown) = (self.read.refused.len(), self.read.unknown_fields.len());
        for node in nodes {
            self.object(&Field::document(&piece.source, node), implied);
        }
        for cause in self.read.refused.iter_mut().skip(refused).flat_map(|refusal| &mut refusal.causes) {
            *cause = cause.clone().after(piece.start);
        }
        for Warning(unknown) in self.read.unknown_fields.iter_mut().skip(unknown) {
            *unknown = unknown.clone().after(piece.start);
        }
    }

    /// `implied`: members of a list such as `ResourceSliceList` do not say what they are.
    fn object(&mut self, object: &Field<'_>, implied: Option<&Header>) {
        // What does not say what it is, is no object of this group.
        let Some(header) = implied.cloned().or_else(|| Header::read(object).ok()) else { return };
        if let Some(members) = Members::of(&header) {
            let items = object.get("items").ok().flatten().and_then(|items| items.items().ok());
            for item in items.unwrap_or_default() {
                self.object(&item.at_path(String::new()), members.header());
            }
            return;
        }
        if !header.api_version.starts_with(GROUP) || Kind::named(&header.kind).is_none() {
            return;
        }
        self.objects += 1;
        match decode(object, &header) {
            Ok((read, unknown)) => {
                self.read.unknown_fields.extend(unknown);
                if let Some(judge) = &mut self.judge {
                    let (causes, warnings) = placed(object, judge(&read));
                    self.read.unknown_fields.extend(warnings);
                    self.refuse(object, header, causes);
                }
                self.read.push(read);
            }
            Err(error) => self.refuse(object, header, vec![error]),
        }
    }

    fn refuse(&mut self, object: &Field<'_>, header: Header, causes: Vec<ManifestError>) {
        if causes.is_empty() {
            return;
        }
        let name = object.descend(&["metadata", "name"]).ok().flatten();
        let name = name.and_then(|name| name.text("a name").ok()).unwrap_or_default().to_owned();
        self.read.refused.push(Refusal { kind: header.kind, name, causes });
    }
}

/// What a list holds.
enum Members {
    /// Each says what it is.
    Any,
    /// All are this.
    All(Header),
}

impl Members {
    fn of(list: &Header) -> Option<Self> {
        let Header { api_version, kind } = list;
        if api_version == "v1" && kind == "List" {
            return Some(Self::Any);
        }
        let kind = kind.strip_suffix("List")?.to_owned();
        Kind::find(api_version, &kind)?;
        Some(Self::All(Header { api_version: api_version.clone(), kind }))
    }

    const fn header(&self) -> Option<&Header> {
        match self {
            Self::Any => None,
            Self::All(header) => Some(header),
        }
    }
}

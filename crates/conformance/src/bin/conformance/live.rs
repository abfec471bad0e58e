//! Fresh cases, asked of the kubelet's own code on the spot, in pieces. Only cases that are played here are asked: the
//! others are counted as skipped.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use conformance::{Corpus, Report};

use crate::asking::Asking;
use crate::programs::{DOMAINS, Programs, domains};
use crate::progress::{Progress, Run};

/// How many cases are asked at once by default: some minutes of work.
const PIECE: u32 = 20_000;

/// The same for `device`: an answer holds the state after each step, and is hundreds of kilobytes large as a value.
const PIECE_OF_DEVICES: u32 = 2_000;

/// The same for whole nodes, of which some 20 are asked in a second.
const PIECE_OF_NODES: u32 = 1_000;

/// Where fresh cases come from.
#[derive(Debug, clap::Args)]
pub(super) struct Live {
    /// Also ask the kubelet's own code: the folder of its Go programs, with their data beside it.
    #[arg(long = "live", id = "live", value_name = "SRC")]
    programs: Option<PathBuf>,
    /// Seed of the fresh cases. Piece N of a run, from 0, is made with this seed plus N.
    #[arg(long, requires = "live", default_value_t = 1)]
    seed: u32,
    /// How many cases are made for each domain.
    #[arg(long, requires = "live", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    count: u32,
    /// How many cases are made, asked and kept in memory at once; by default 20,000, 2,000 for device and 1,000
    /// for admission.
    #[arg(long, requires = "live", value_name = "CASES", value_parser = clap::value_parser!(u32).range(1..))]
    piece: Option<u32>,
    /// Only this domain.
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(DOMAINS.iter().map(|(domain, _)| *domain)))]
    domain: Option<String>,
    /// Only this kind of the domain.
    #[arg(long, requires = "domain")]
    kind: Option<String>,
    /// Ask the cases of this file, one a line, instead of making some.
    #[arg(long, requires = "domain", value_name = "FILE", conflicts_with_all = ["resume", "figures"])]
    cases: Option<PathBuf>,
    /// Keep in this file how far the run is, after each piece; begun again with the same arguments, it goes on from
    /// there. The file holds the cases that differ too: `jq -c '.kinds[].differences[]' FILE` gives them to --cases.
    #[arg(long, requires_all = ["live", "domain"], value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Write the figures to this folder, after each piece.
    #[arg(long = "report", id = "figures", requires = "live", value_name = "DIR")]
    figures: Option<PathBuf>,
}

impl Live {
    /// The domain that is asked for; `None`: all.
    pub(super) fn domain(&self) -> Option<&str> {
        self.domain.as_deref()
    }

    /// Asks, plays and counts; nothing if no programs are given.
    pub(super) fn play(&self, report: &mut Report) -> anyhow::Result<()> {
        let Some(source) = &self.programs else { return Ok(()) };
        let wanted = domains(source, self.domain())?;
        // What another run has done is looked at first: the programs take minutes to build.
        let runs = wanted.iter().map(|(domain, _)| Progress::open(self.run(domain), self.resume.as_deref()));
        let runs = runs.collect::<anyhow::Result<Vec<_>>>()?;
        let data = source.parent().filter(|parent| !parent.as_os_str().is_empty());
        let data = data.map_or_else(|| source.join(".."), Path::to_path_buf);
        let corpus = Corpus::at(data)?;
        let programs = Programs::build(source, &corpus, &wanted, None)?;
        for ((domain, program), mut progress) in wanted.into_iter().zip(runs) {
            let asking = Asking { programs: &programs, program, domain, corpus: &corpus };
            if let Some(file) = &self.cases {
                let text =
                    fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
                asking.count_text(&text, self.kind.as_deref(), report)?;
                continue;
            }
            self.ask(&asking, &mut progress)?;
            report.add(progress.into_kinds());
        }
        Ok(())
    }

    /// Asks the pieces that have not been asked.
    fn ask(&self, asking: &Asking<'_>, progress: &mut Progress) -> anyhow::Result<()> {
        let domain = asking.domain;
        let kind = if domain == "quantity" { Some("quantity") } else { self.kind.as_deref() };
        while let Some(piece) = progress.next() {
            eprintln!(
                "{domain}: asking {} cases, after {} of {}; {} differ so far",
                piece.count,
                progress.asked(),
                self.count,
                progress.failed()
            );
            let text = asking.programs.generate(asking.program, piece.seed, piece.count, kind)?;
            let mut found = progress.report();
            asking.count_text(&text, self.kind.as_deref(), &mut found)?;
            progress.add(found.kinds);
            if let Some(path) = &self.resume {
                progress.save(path)?;
            }
            if let Some(folder) = &self.figures {
                progress.write_figures(folder)?;
            }
        }
        Ok(())
    }

    fn run(&self, domain: &str) -> Run {
        let piece = match domain {
            "admission" => PIECE_OF_NODES,
            "device" => PIECE_OF_DEVICES,
            _ => PIECE,
        };
        Run {
            domain: domain.to_owned(),
            kind: self.kind.clone(),
            seed: self.seed,
            count: self.count,
            piece: self.piece.unwrap_or(piece),
        }
    }
}

//! What a container is made with: a pure translation to the engine's words.

use std::path::{self, Path, PathBuf};

use bollard::models::{
    ContainerCreateBody, HostConfig, HostConfigLogConfig, Mount, MountType,
    ResourcesUlimits, RestartPolicy, RestartPolicyNameEnum,
};

use super::super::{DataPaths, Launch};
use super::limits::Limits;

/// On every container of ours; its value is the run it belongs to.
pub(super) const RUN_LABEL: &str = "arena.run";
/// The process that will remove it, so that a dead one's are known.
pub(super) const OWNER_LABEL: &str = "arena.owner";
/// Where the certificate is in a container.
const CERTS: &str = "/certs";
/// Which entry it runs.
const ENTRY_LABEL: &str = "arena.entry";

/// One container to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spec {
    /// The run it belongs to.
    pub run: String,
    /// The entry's name.
    pub entry: String,
    /// The image's name or id.
    pub image: String,
    /// CPUs it may use, as `0-3,8`; `None` for all.
    pub cpus: Option<String>,
    /// Most memory it may use; no swap is added. `None` for no cap.
    pub memory_bytes: Option<u64>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Read-only mounts: path here, path inside.
    pub mounts: Vec<(PathBuf, &'static str)>,
    /// Where a file system in memory is laid, open to all inside.
    pub in_memory: Option<&'static str>,
    /// What its program is told; empty for what the image says.
    pub args: Vec<String>,
}

impl Spec {
    /// The contract's container for a launch: its image by digest, so that
    /// exactly what was judged is what runs.
    pub(super) fn of(launch: &Launch<'_>) -> Self {
        let data = launch.data;
        let mut mounts = data_mounts(data);
        if !launch.certificate {
            mounts.retain(|(_, inside)| *inside != CERTS);
        }
        Self {
            run: launch.run.to_owned(),
            entry: launch.entry.name.to_string(),
            image: launch.artifact.digest.clone(),
            cpus: launch.cpus.as_ref().map(ToString::to_string),
            memory_bytes: launch.memory.map(|cap| cap.0),
            env: launch.env.clone(),
            mounts,
            in_memory: None,
            args: Vec::new(),
        }
    }

    /// The request for the engine. Without known `limits` the engine's own
    /// defaults stand, since guessing wrong keeps the container from starting.
    pub(super) fn body(
        &self,
        owner: &str,
        limits: Option<Limits>,
    ) -> ContainerCreateBody {
        let memory = self
            .memory_bytes
            .map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
        let host_config = HostConfig {
            network_mode: Some("host".into()),
            cpuset_cpus: self.cpus.clone(),
            memory,
            // Memory plus swap: the same value means no swap.
            memory_swap: memory,
            mounts: Some(self.mounts.iter().map(mount).collect()),
            tmpfs: self.in_memory.map(|path| {
                [(path.to_owned(), "rw,mode=1777".to_owned())].into()
            }),
            ulimits: limits.map(|limits| {
                vec![
                    ulimit("nofile", limits.nofile),
                    ulimit("memlock", limits.memlock),
                ]
            }),
            // Profiles of newer engines refuse io_uring, older ones do not:
            // without one, entries meet the same kernel everywhere.
            security_opt: Some(vec!["seccomp=unconfined".into()]),
            restart_policy: Some(RestartPolicy {
                name: Some(RestartPolicyNameEnum::NO),
                maximum_retry_count: None,
            }),
            // A chatty entry must not fill the disk.
            log_config: Some(HostConfigLogConfig {
                typ: Some("json-file".into()),
                config: Some(
                    [("max-size", "2m"), ("max-file", "1")]
                        .map(|(k, v)| (k.to_owned(), v.to_owned()))
                        .into(),
                ),
            }),
            ..HostConfig::default()
        };
        ContainerCreateBody {
            image: Some(self.image.clone()),
            cmd: (!self.args.is_empty()).then(|| self.args.clone()),
            env: Some(
                self.env.iter().map(|(k, v)| format!("{k}={v}")).collect(),
            ),
            labels: Some(
                [
                    (RUN_LABEL, self.run.as_str()),
                    (ENTRY_LABEL, &self.entry),
                    (OWNER_LABEL, owner),
                ]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ),
            host_config: Some(host_config),
            ..ContainerCreateBody::default()
        }
    }
}

/// Where the contract has the data in a container.
pub(super) fn data_mounts(data: &DataPaths) -> Vec<(PathBuf, &'static str)> {
    vec![
        (absolute(&data.dataset), "/data/dataset.json"),
        (absolute(&data.statics), "/data/static"),
        (absolute(&data.certs), CERTS),
    ]
}

/// The engine knows nothing of our working directory.
fn absolute(path: &Path) -> PathBuf {
    path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A mount and not a bind: the engine makes the source of a bind when it is
/// missing, and then serves an empty directory for a file.
fn mount((here, inside): &(PathBuf, &'static str)) -> Mount {
    Mount {
        typ: Some(MountType::BIND),
        source: Some(here.display().to_string()),
        target: Some((*inside).to_owned()),
        read_only: Some(true),
        ..Mount::default()
    }
}

fn ulimit(name: &str, value: i64) -> ResourcesUlimits {
    ResourcesUlimits {
        name: Some(name.to_owned()),
        soft: Some(value),
        hard: Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        Spec {
            run: "r1".into(),
            entry: "axum".into(),
            image: "httparena-axum".into(),
            cpus: Some("0-1".into()),
            memory_bytes: Some(1 << 34),
            env: vec![("A".into(), "b=c".into())],
            mounts: vec![("/tmp/d".into(), "/data/dataset.json")],
            in_memory: Some("/pgdata"),
            args: vec!["-c".into(), "a=b".into()],
        }
    }

    #[test]
    fn a_capped_and_pinned_entry_gets_exactly_that() {
        let limits = Limits { nofile: 20_000, memlock: -1 };
        let body = spec().body("7:9", Some(limits));
        assert_eq!(body.env.unwrap(), ["A=b=c"]);
        assert_eq!(body.cmd.unwrap(), ["-c", "a=b"]);
        let labels = body.labels.unwrap();
        assert_eq!(labels[RUN_LABEL], "r1");
        assert_eq!(labels[OWNER_LABEL], "7:9");
        let host = body.host_config.unwrap();
        assert_eq!(host.cpuset_cpus.as_deref(), Some("0-1"));
        assert_eq!(
            (host.memory, host.memory_swap),
            (Some(1 << 34), Some(1 << 34))
        );
        assert_eq!(host.network_mode.as_deref(), Some("host"));
        let mount = &host.mounts.unwrap()[0];
        assert_eq!(mount.target.as_deref(), Some("/data/dataset.json"));
        assert_eq!(mount.read_only, Some(true));
        assert_eq!(host.tmpfs.unwrap()["/pgdata"], "rw,mode=1777");
        let ulimits = host.ulimits.unwrap();
        assert_eq!(ulimits[0].hard, Some(20_000));
        assert_eq!(ulimits[1].soft, Some(-1));
        assert!(!host.privileged.unwrap_or(false));
    }

    #[test]
    fn what_is_not_asked_is_not_set() {
        let free = Spec {
            cpus: None,
            memory_bytes: None,
            in_memory: None,
            args: vec![],
            ..spec()
        };
        let body = free.body("7:9", None);
        assert_eq!(body.cmd, None);
        let host = body.host_config.unwrap();
        assert_eq!(host.tmpfs, None);
        assert_eq!(host.cpuset_cpus, None);
        assert_eq!((host.memory, host.memory_swap), (None, None));
        assert_eq!(host.ulimits, None);
    }
}

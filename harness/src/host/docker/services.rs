//! Services as containers: the images that `scripts/docker-sidecars.sh` makes,
//! and what an entry's stack has of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path};

use profiles::entry::Entry;
use profiles::stack;

use super::super::{DATABASE_OWNER, DATABASE_SETTINGS, Service, ServiceLaunch};
use super::config::{Spec, data_mounts};
use super::container::Container;
use super::error::DockerError;
use super::{DockerHost, image_name};

/// Where the image of PostgreSQL has its data.
const PGDATA: &str = "/pgdata";

/// What was built for stacks: image ids by name, so that within one command
/// what was judged is what is measured.
#[derive(Debug, Default)]
pub(super) struct Services {
    built: RefCell<HashMap<String, String>>,
}

impl Services {
    /// Starts one.
    pub(super) fn start(
        &self,
        host: &DockerHost,
        launch: &ServiceLaunch<'_>,
    ) -> Result<Container, DockerError> {
        let mut spec = spec(launch);
        spec.image = match launch.service {
            Service::Own { entry, dir, service, .. } => {
                self.own_image(host, entry, dir, service)?
            }
            _ => match host.engine.image_id(&spec.image)? {
                Some(id) => id,
                None => {
                    return Err(DockerError::NoSidecar { image: spec.image });
                }
            },
        };
        let cpus = launch.cpus.as_ref();
        Container::held(&host.engine, &spec, cpus, launch.log)
    }

    fn own_image(
        &self,
        host: &DockerHost,
        entry: &Entry,
        dir: &Path,
        service: &stack::Service,
    ) -> Result<String, DockerError> {
        if service.context.is_empty() {
            let image = service.image.clone();
            let found = host.engine.image_id(&image)?;
            return found.ok_or(DockerError::NoPull { image });
        }
        // Services of two stacks may have one name and different images.
        let name = image_of(entry.name.as_str(), &service.context);
        let image = image_name(&name);
        if let Some(id) = self.built.borrow().get(&image) {
            return Ok(id.clone());
        }
        if !within(&service.context) {
            return Err(DockerError::Outside {
                service: service.name.clone(),
                context: service.context.clone(),
            });
        }
        let context = dir.join(&service.context);
        let built = host.build_image(&name, &context, &mut |_| {})?;
        self.built.borrow_mut().insert(image, built.digest.clone());
        Ok(built.digest)
    }
}

/// What is built from a folder of an entry is called by both.
fn image_of(entry: &str, context: &str) -> String {
    let parts = Path::new(context).components().filter_map(|c| match c {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    let fits = |c: &char| c.is_ascii_alphanumeric();
    let parts = parts.map(|part| part.split(|c| !fits(&c)));
    let words = parts.flatten().filter(|word| !word.is_empty());
    let all: Vec<&str> = [entry].into_iter().chain(words).collect();
    all.join("-").to_ascii_lowercase()
}

/// Whether a path leads to nowhere but below.
fn within(path: &str) -> bool {
    let ordinary = |c: Component<'_>| {
        matches!(c, Component::CurDir | Component::Normal(_))
    };
    Path::new(path).components().all(ordinary)
}

/// The container of a service, with the name of its image where that is ours.
fn spec(launch: &ServiceLaunch<'_>) -> Spec {
    let name = launch.service.name();
    let mut spec = Spec {
        run: launch.run.to_owned(),
        entry: name.to_owned(),
        image: format!("arena-{name}"),
        cpus: launch.cpus.as_ref().map(ToString::to_string),
        memory_bytes: None,
        env: launch.env.clone(),
        mounts: vec![],
        in_memory: None,
        args: vec![],
    };
    let mut set = |key: &str, value: &str| {
        spec.env.push((key.to_owned(), value.to_owned()));
    };
    match launch.service {
        Service::Postgres { password } => {
            set("ARENA_OWNER", DATABASE_OWNER);
            set("ARENA_PASSWORD", password);
            spec.in_memory = Some(PGDATA);
            spec.args = DATABASE_SETTINGS
                .iter()
                .flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()])
                .collect();
        }
        Service::Redis => {}
        Service::Auth { secret } => set("JWT_SECRET", secret),
        Service::Own { entry, data, service, .. } => {
            spec.entry = entry.name.to_string();
            spec.mounts = data_mounts(data);
            spec.args.clone_from(&service.command);
        }
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(service: Service<'_>) -> ServiceLaunch<'_> {
        ServiceLaunch {
            run: "r1",
            service,
            cpus: Some("1".parse().unwrap()),
            env: vec![("A".into(), "b".into())],
            log: Path::new("/tmp/log"),
        }
    }

    #[test]
    fn an_image_is_called_by_the_entry_and_the_folder_it_is_built_from() {
        assert_eq!(image_of("axum", "."), "axum");
        assert_eq!(image_of("axum", "./edge-nginx"), "axum-edge-nginx");
        assert_eq!(image_of("axum", "Edge/caddy_2/"), "axum-edge-caddy-2");
    }

    #[test]
    fn a_sidecar_is_its_image_with_what_it_must_know() {
        let made = spec(&launch(Service::Postgres { password: "x" }));
        assert_eq!(made.image, "arena-postgres");
        assert_eq!(made.cpus.as_deref(), Some("1"));
        assert_eq!(made.in_memory, Some("/pgdata"));
        assert_eq!(made.args.len(), 2 * DATABASE_SETTINGS.len());
        assert_eq!(made.args[..2], ["-c", "fsync=off"]);
        let password = ("ARENA_PASSWORD".to_owned(), "x".to_owned());
        assert!(made.env.contains(&password));

        let made = spec(&launch(Service::Redis));
        assert_eq!((&made.image[..], made.in_memory), ("arena-redis", None));

        let made = spec(&launch(Service::Auth { secret: "s" }));
        assert_eq!(made.image, "arena-authsvc");
        let secret = ("JWT_SECRET".to_owned(), "s".to_owned());
        assert_eq!(made.env, [("A".into(), "b".into()), secret]);
        assert!(made.mounts.is_empty() && made.args.is_empty());
    }

    #[test]
    fn only_folders_of_the_entry_are_built() {
        for inside in [".", "./edge", "edge/nginx", "a..b"] {
            assert!(within(inside), "{inside}");
        }
        for outside in ["..", "../axum", "edge/../..", "/etc"] {
            assert!(!within(outside), "{outside}");
        }
    }
}

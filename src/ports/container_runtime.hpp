// The container runtime's hooks: what it adds to a container before the container starts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/container_start/container_setup.hpp"

namespace tessera {

// The runtime of this node, by the name and version that it reports.
struct RuntimeIdentity {
    std::string name;
    std::string version;

    friend bool operator==(const RuntimeIdentity&, const RuntimeIdentity&) = default;
};

struct RuntimeContainer {
    std::string id;
    std::string name;
    bool running = false;
    std::vector<std::string> env;  // NAME=value, from the image and the pod spec
    PodUid pod_uid;
    PodName pod;
    std::map<std::string, std::string, std::less<>> pod_annotations;
    ContainerSetup setup;  // the mounts are those of the pod and of the runtime
    std::int64_t pid = 0;  // of the container's first process; 0 if there is none yet
    // As OCI's linux.cgroupsPath: a path below the root of the cgroups, or SLICE:PREFIX:NAME with
    // the systemd cgroup driver. Empty if the runtime does not say.
    std::string cgroup_path = {};
    // Of its first process, in the container's user namespace. Empty if the runtime does not say.
    std::optional<std::uint32_t> user_id = {};
};

// A file of the node that is mounted into a container.
struct FileMount {
    std::string source;
    std::string destination;
    bool read_only = true;

    // As OCI, NRI and CDI spell mount options.
    [[nodiscard]] std::vector<std::string> options() const {
        return {"bind", read_only ? "ro" : "rw", "nosuid", "nodev"};
    }

    friend bool operator==(const FileMount&, const FileMount&) = default;
};

// What is added to a container before it starts.
struct ContainerEdits {
    std::vector<std::pair<std::string, std::string>> env;  // overrides the image and the pod spec
    std::vector<std::string> cdi_devices;                  // vendor/class=name
    std::vector<FileMount> mounts;

    friend bool operator==(const ContainerEdits&, const ContainerEdits&) = default;
};

class ContainerHandler {
  public:
    virtual ~ContainerHandler() = default;

    // An error prevents the creation of the container; its text becomes the pod's event. Called by
    // the link's thread; must return within a second.
    virtual Result<ContainerEdits> on_create_container(const RuntimeContainer& container) = 0;
    // The container is created, and none of its programs has run yet. Checks that it has what
    // on_create_container() returned. An error prevents its start; its text becomes the pod's
    // event. Threads and time as on_create_container().
    virtual Result<> verify(const RuntimeContainer& container) = 0;
    // Called before any other call on a link.
    virtual void on_runtime(const RuntimeIdentity& runtime) = 0;
    // The containers that existed when the link was established.
    virtual void synchronize(const std::vector<RuntimeContainer>& containers) = 0;
    // The link was established or lost; `detail` names the runtime or the reason.
    virtual void on_link(bool connected, const std::string& detail) = 0;
};

class RuntimeLink {
  public:
    virtual ~RuntimeLink() = default;

    // Connects, registers and serves. Connects again when the runtime restarts. Blocks until
    // `stop`.
    virtual void run(ContainerHandler& handler, std::stop_token stop) = 0;
};

}  // namespace tessera

// The container runtime's question before it creates a container: what is to be added?
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "domain/handover/container_setup.hpp"

namespace tessera {

// The runtime that serves this node, as it calls itself.
struct RuntimeIdentity {
    std::string name;
    std::string version;

    friend bool operator==(const RuntimeIdentity&, const RuntimeIdentity&) = default;
};

struct RuntimeContainer {
    std::string id;
    std::string name;
    bool running = false;
    std::vector<std::string> env;  // NAME=value, as image and pod spec give it
    PodUid pod_uid;
    PodName pod;
    std::map<std::string, std::string, std::less<>> pod_annotations;
    ContainerSetup setup;  // the mounts are the pod's, and the runtime's own
    std::int64_t pid = 0;  // of its first process; 0 where there is none yet
};

// A file of the node, in the container.
struct FileMount {
    std::string source;
    std::string destination;
    bool read_only = true;

    // As OCI, NRI and CDI spell them.
    [[nodiscard]] std::vector<std::string> options() const {
        return {"bind", read_only ? "ro" : "rw", "nosuid", "nodev"};
    }

    friend bool operator==(const FileMount&, const FileMount&) = default;
};

// What is set on a container on its way to start.
struct ContainerEdits {
    std::vector<std::pair<std::string, std::string>> env;  // wins over image and pod spec
    std::vector<std::string> cdi_devices;                  // vendor/class=name
    std::vector<FileMount> mounts;

    friend bool operator==(const ContainerEdits&, const ContainerEdits&) = default;
};

class ContainerHandler {
  public:
    virtual ~ContainerHandler() = default;

    // An error keeps the container from being created; its text becomes the pod's event. Called by
    // the link's thread; must answer within a second.
    virtual Result<ContainerEdits> complete(const RuntimeContainer& container) = 0;
    // The container is made and none of its programs has run: whether it is as complete() said. An
    // error keeps it from starting; its text becomes the pod's event. As complete() otherwise.
    virtual Result<> verify(const RuntimeContainer& container) = 0;
    // Before any other call on a link.
    virtual void on_runtime(const RuntimeIdentity& runtime) = 0;
    // The containers that were there when the link came up.
    virtual void synchronize(const std::vector<RuntimeContainer>& containers) = 0;
    // The link came up or went down; `detail` says with whom or why.
    virtual void on_link(bool connected, const std::string& detail) = 0;
};

class RuntimeLink {
  public:
    virtual ~RuntimeLink() = default;

    // Connects, registers, serves; connects again when the runtime goes away. Blocks until `stop`.
    virtual void run(ContainerHandler& handler, std::stop_token stop) = 0;
};

}  // namespace tessera

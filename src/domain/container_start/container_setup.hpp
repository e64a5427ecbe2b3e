// The parts of a container's specification that decide whether it can get a GPU share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// The field of a container with the path of a file that kubelet mounts. The tenant chooses the
// path, as it does for a volume. No volume has this name, because it has capital letters.
inline constexpr std::string_view kTerminationMessage = "terminationMessagePath";

struct ContainerMount {
    std::string destination;  // in the container, as the pod spells it; may end with a slash
    std::string source;       // path on the node; empty if it is not known yet
    bool read_only = false;
    // The name of the pod's volume, or kTerminationMessage; empty if only `source` is known.
    std::string volume = {};

    friend bool operator==(const ContainerMount&, const ContainerMount&) = default;
};

struct ContainerSetup {
    std::string name;
    std::string runtime_handler;  // of the pod's RuntimeClass; empty: the default handler
    bool is_privileged = false;   // it has access to every device of the node
    std::vector<ContainerMount> mounts;
    std::vector<std::string> devices = {};  // paths of its device nodes in the container

    friend bool operator==(const ContainerSetup&, const ContainerSetup&) = default;
};

}  // namespace tessera

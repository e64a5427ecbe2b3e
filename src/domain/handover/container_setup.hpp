// What of a container's own specification decides on whether a GPU share can be handed over to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// The field of a container that names the path of a file which kubelet mounts: a tenant's choice,
// as the path of a volume is. No volume has this name: it has capital letters.
inline constexpr std::string_view kTerminationMessage = "terminationMessagePath";

struct ContainerMount {
    std::string destination;  // in the container, as the pod spells it: may end with a slash
    std::string source;       // path on the node; empty where it is not known yet
    bool read_only = false;
    // The name of the pod's volume, or kTerminationMessage; empty where only `source` is known.
    std::string volume = {};

    friend bool operator==(const ContainerMount&, const ContainerMount&) = default;
};

struct ContainerSetup {
    std::string name;
    std::string runtime_handler;  // of the pod's RuntimeClass; empty: the default one
    bool is_privileged = false;   // every device of the node is open to it
    std::vector<ContainerMount> mounts;
    std::vector<std::string> devices = {};  // paths in the container of its device nodes

    friend bool operator==(const ContainerSetup&, const ContainerSetup&) = default;
};

}  // namespace tessera

// What of a container's own specification decides on whether a GPU share can be handed over to it.
#pragma once

#include <string>
#include <vector>

namespace tessera {

struct ContainerMount {
    std::string destination;  // in the container, as the pod spells it: may end with a slash
    std::string source;       // path on the node; empty where it is not known yet
    bool read_only = false;
    std::string volume = {};  // the name of the pod's volume; empty where only `source` is known

    friend bool operator==(const ContainerMount&, const ContainerMount&) = default;
};

struct ContainerSetup {
    std::string name;
    std::string runtime_handler;  // of the pod's RuntimeClass; empty: the default one
    bool is_privileged = false;   // every device of the node is open to it
    std::vector<ContainerMount> mounts;

    friend bool operator==(const ContainerSetup&, const ContainerSetup&) = default;
};

}  // namespace tessera

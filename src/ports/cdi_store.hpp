// The Container Device Interface files of this node.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "ports/container_runtime.hpp"

namespace tessera {

// A device of the vendor's specification.
struct CdiDevice {
    std::string name;                       // qualified: vendor/class=name
    std::vector<std::string> device_nodes;  // paths that it brings into a container
    std::vector<std::string> mounts;        // likewise

    friend bool operator==(const CdiDevice&, const CdiDevice&) = default;
};

class CdiStore {
  public:
    virtual ~CdiStore() = default;

    // The device by which the vendor's specification knows the GPU: its UUID, or a number whose
    // device brings /dev/nvidia<minor> and no other GPU. The number itself proves nothing: the
    // driver counts again when a GPU is gone. not_found, with the kind and the folders that were
    // searched, where no specification has it.
    virtual Result<CdiDevice> vendor_device(const GpuUuid& uuid, int minor) = 0;
    // Makes the device tessera.dev/share=`name` with these edits, those of the vendor's devices
    // included. Replaces an older one whole or not at all.
    virtual Result<> write_share(const std::string& name, const ContainerEdits& edits) = 0;
    // Removes the shares that have none of these names.
    virtual void keep_only_shares(const std::set<std::string>& names) = 0;
};

}  // namespace tessera

// The Container Device Interface files of this node.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "ports/container_runtime.hpp"

namespace tessera {

class CdiStore {
  public:
    virtual ~CdiStore() = default;

    // The qualified name under which the vendor's spec knows the card: its UUID, or a number whose
    // device brings /dev/nvidia<minor> and no other card. The number itself proves nothing: the
    // driver counts anew when a card is gone. Nothing when no spec has it (then the vendor's
    // runtime reads the environment variable instead).
    virtual std::optional<std::string> vendor_device(const GpuUuid& uuid, int minor) = 0;
    // Makes the device tessera.dev/share=`name` with these edits, those of the vendor's devices
    // included. Replaces an older one whole or not at all.
    virtual Result<> write_share(const std::string& name, const ContainerEdits& edits) = 0;
    // Removes the shares that have none of these names.
    virtual void keep_only_shares(const std::set<std::string>& names) = 0;
};

}  // namespace tessera

// The GPUs of a node that its administrator excludes from sharing.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

// Why such a GPU is not shareable. `tessera doctor` does not warn of GPUs with this reason.
inline constexpr std::string_view kExcludedReason =
    "excluded from sharing by excluded_gpus of the agent's configuration";

class ExcludedGpus {
  public:
    // Reads indices and UUIDs. invalid_argument, naming the entry, if one is neither, or appears
    // twice.
    static Result<ExcludedGpus> parse(std::span<const std::string> entries);

    [[nodiscard]] bool contains(int index, const GpuUuid& uuid) const {
        return indices_.contains(index) || uuids_.contains(uuid);
    }
    // invalid_argument if an index is none of the driver's, which are these: the list is wrong, or
    // the driver lists fewer GPUs than before and the indices mean other GPUs now. A UUID may be of
    // another node.
    [[nodiscard]] Result<> check(const std::set<int>& indices) const;

  private:
    std::set<int> indices_;
    std::set<GpuUuid> uuids_;
};

}  // namespace tessera

// The GPUs of a node that its administrator excludes from sharing.
#pragma once

#include <map>
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
    // Excludes the GPUs that have the indices now, by their UUIDs: after a reload of the driver an
    // index may mean another GPU. gpus: those of the driver, by index. invalid_argument if an index
    // is none of them: the list is wrong, or the driver lists fewer GPUs than before. A UUID may be
    // of another node.
    Result<> resolve(const std::map<int, GpuUuid>& gpus);

  private:
    std::set<int> indices_;  // until resolve()
    std::set<GpuUuid> uuids_;
};

}  // namespace tessera

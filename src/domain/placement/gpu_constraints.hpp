// Which of a node's GPUs a pod accepts by its rules (request/gpu_rules.hpp), whatever is free on
// them.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/request/gpu_rules.hpp"

namespace tessera {

// Whether a GPU is accepted, and if not, why.
enum class Admitted { yes, other_gpu, affinity };

// One thread reuses it for many nodes, so that names are compared once per model.
class GpuConstraints {
  public:
    // The rules must outlive this object.
    explicit GpuConstraints(const GpuRules& rules) : rules_(rules), any_(rules.admits_any()) {}

    // Evaluates these GPUs; the results are valid until the next call.
    void look_at(const NodeGpus& node_gpus);
    [[nodiscard]] bool admits(std::size_t gpu) const {
        return any_ || verdicts_[gpu] == Admitted::yes;
    }
    [[nodiscard]] Admitted verdict(std::size_t gpu) const {
        return any_ ? Admitted::yes : verdicts_[gpu];
    }

  private:
    bool admits_names(const Gpu& gpu);

    const GpuRules& rules_;
    const bool any_;
    std::vector<Admitted> verdicts_;
    std::vector<std::pair<std::string, bool>> models_;  // names that were compared, with the result
};

}  // namespace tessera

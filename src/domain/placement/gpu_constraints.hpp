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
enum class Admitted {
    yes,
    other_gpu,    // of another model or UUID
    not_offered,  // the requested isolation is not offered for it
    isolation,    // pods with another isolation use it
    affinity,
};

// One thread reuses it for many nodes, so that names are compared once per model.
class GpuConstraints {
  public:
    // The rules must outlive this object.
    explicit GpuConstraints(const GpuRules& rules) : rules_(rules), any_(rules.admits_any()) {}

    // Evaluates these GPUs; the results are valid until the next call.
    void look_at(const NodeGpus& node_gpus);
    [[nodiscard]] bool admits(std::size_t gpu) const {
        return all_ || verdicts_[gpu] == Admitted::yes;
    }
    // Whether pods that use MPS are the only reason to leave GPUs out.
    [[nodiscard]] bool leaves_out_mps() const { return any_ && !all_; }
    [[nodiscard]] Admitted verdict(std::size_t gpu) const {
        return all_ ? Admitted::yes : verdicts_[gpu];
    }

  private:
    [[nodiscard]] Admitted judge(const NodeGpus& node_gpus, std::size_t gpu, bool joins_here);
    bool admits_names(const Gpu& gpu);

    const GpuRules& rules_;
    const bool any_;   // the rules accept every GPU without pods that use MPS
    bool all_ = true;  // of the GPUs that were looked at
    std::vector<Admitted> verdicts_;
    std::vector<std::pair<std::string, bool>> models_;  // names that were compared, with the result
};

}  // namespace tessera

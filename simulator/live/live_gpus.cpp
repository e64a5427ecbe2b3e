#include "simulator/live/live_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

// The index of `value` in `values`, to which it is added if it is missing.
template <class Value>
std::size_t number_of(std::vector<Value>& values, const Value& value) {
    const auto found = std::ranges::find(values, value);
    if (found != values.end()) return static_cast<std::size_t>(found - values.begin());
    values.push_back(value);
    return values.size() - 1;
}

bool is_mixed(const DumpNode& node) {
    const DumpGpu& first = node.gpus.front();
    return std::ranges::any_of(node.gpus, [&](const DumpGpu& gpu) {
        return gpu.model != first.model || gpu.memory != first.memory;
    });
}

}  // namespace

Result<LiveGpus> LiveGpus::of(const ClusterDump& dump) {
    LiveGpus out;
    for (std::size_t i = 0; i < dump.nodes.size(); ++i) {
        const DumpNode& node = dump.nodes[i];
        out.kind_of_.push_back(0);
        out.size_of_.emplace_back();
        if (node.gpus.empty()) continue;
        for (const DumpGpu& gpu : node.gpus) {
            const GpuSize size{node.unit, gpu.memory};
            out.size_of_[i].push_back(number_of(out.sizes_, size));
        }
        const auto largest = std::ranges::max_element(node.gpus, {}, &DumpGpu::memory);
        const auto at = static_cast<std::size_t>(largest - node.gpus.begin());
        const NodeKind kind{node.gpus.front().model, out.size_of_[i][at], is_mixed(node)};
        const std::size_t number = number_of(out.kinds_, kind);
        if (number >= kMaxModels) {
            return fail(Code::unsupported,
                        fmt::format("nodes: more than {} kinds of GPUs (model, memory, unit); "
                                    "leave some nodes out",
                                    kMaxModels));
        }
        out.kind_of_[i] = static_cast<int>(number);
        if (kind.mixed) out.mixed_nodes_.push_back(i);
    }
    out.counts_.assign(out.kinds_.size(), std::vector<int>(out.sizes_.size()));
    for (std::size_t i = 0; i < dump.nodes.size(); ++i) {
        for (const std::size_t size : out.size_of_[i])
            ++out.counts_[static_cast<std::size_t>(out.kind_of_[i])][size];
    }
    return out;
}

GpuSet LiveGpus::gpus_of_size(std::size_t node, std::size_t size) const {
    const auto& sizes = size_of_[node];
    GpuSet gpus = 0;
    for (std::size_t gpu = 0; gpu < std::min<std::size_t>(sizes.size(), kMaxGpus); ++gpu) {
        if (sizes[gpu] == size) gpus = static_cast<GpuSet>(gpus | gpu_bit(static_cast<int>(gpu)));
    }
    return gpus;
}

}  // namespace tessera

// Parts of the views of serving and training jobs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/cluster/node.hpp"
#include "domain/workload/gpu_flags.hpp"
#include "domain/workload/object_event.hpp"
#include "domain/workload/workload_pod.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// Ages count up to `now_s`, in seconds since 1970. `nodes`: for the sizes of GPUs; may be empty,
// and then only whole GPUs are counted.
struct WorkloadView {
    std::span<const NodeInventory> nodes;
    std::int64_t now_s = 0;
    // Events about one job, to show; null: they are not shown.
    const std::vector<workload::ObjectEvent>* events = nullptr;
};

// One unit: 12s, 3m, 5h, 2d, 1y.
std::string age_text(std::int64_t seconds);

// The GPUs that a running pod has, as Arena counts them: a share is its part of the GPU's memory.
double gpus_in_use(const workload::WorkloadPod& pod, const WorkloadView& view);
// In tenths, without ".0".
std::string tenths(double value);

// "3Gi" and "25%" of a share; N/A if nothing is requested.
std::string memory_text(const workload::Gpus& gpus);
std::string cores_text(const workload::Gpus& gpus);
// "gpu0(3Gi),gpu1": the GPUs that the pod was given.
std::string allocated_text(const workload::WorkloadPod& pod);
// N/A for an empty text.
std::string or_none(const std::string& text);

// Writes the member `gpus`: UUID, index, memory and compute of each GPU of the pod.
void write_gpus(JsonWriter& w, const workload::WorkloadPod& pod);

}  // namespace tessera

// The files of Alibaba's GPU trace of 2023 ("openb") as the FGD experiment uses them
// (hkust-adsl/kubernetes-scheduler-simulator, Apache-2.0; testing/fixtures/openb has two traces).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace tessera {

// A row of openb_node_list_*.csv: sn, cpu_milli, memory_mib, gpu, model.
struct OpenbNode {
    std::string name;
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    int gpus = 0;
    std::string model;  // empty for a node without GPUs

    friend bool operator==(const OpenbNode&, const OpenbNode&) = default;
};

// A row of openb_pod_list_*.csv: name, cpu_milli, memory_mib, num_gpu, gpu_milli and, in some
// lists, gpu_spec and the times of creation, start and deletion in seconds. We add a column that no
// published list has, gang: pods with the same gang are placed all or none. The experiment ignores
// all other columns.
struct OpenbPod {
    std::string name;
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    std::int16_t gpus = 0;
    std::int16_t milli = 0;  // of each GPU; 1000 is a whole one
    std::string models;      // "A|B": one of these; empty: any
    // Run time from the start, or from the creation for a pod that never started; nothing: unknown.
    std::optional<std::int64_t> lasts_s{};
    std::optional<std::int64_t> came_s{};  // creation, since the trace began; nothing: unknown
    std::string gang;                      // name of its gang; empty: no gang

    friend bool operator==(const OpenbPod&, const OpenbPod&) = default;
};

// An order of arrival. A line "N ..." lists the rows of the node list in tie order, the first
// preferred. A line "P ..." lists the rows of the pod list in order of arrival; a row appears as
// often as it arrives. Rows count from 0. Lines that begin with # are comments; if the first line
// is a comment with arrivals=N, the line of pods must have N rows.
struct ArrivalOrder {
    std::vector<std::uint32_t> nodes;
    std::vector<std::uint32_t> pods;

    friend bool operator==(const ArrivalOrder&, const ArrivalOrder&) = default;
};

// Errors are invalid_argument and name line and column. Names of nodes are unique.
Result<std::vector<OpenbNode>> read_openb_nodes(std::string_view text);
Result<std::vector<OpenbPod>> read_openb_pods(std::string_view text);
// `nodes` and `pods` are the lengths of the two lists. Each row must exist, and a node appears at
// most once. Errors name the line and the word.
Result<ArrivalOrder> read_arrivals(std::string_view text, std::size_t nodes, std::size_t pods);

}  // namespace tessera

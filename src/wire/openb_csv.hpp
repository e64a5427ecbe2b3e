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
    int cards = 0;
    std::string model;  // empty on a node without cards

    friend bool operator==(const OpenbNode&, const OpenbNode&) = default;
};

// A row of openb_pod_list_*.csv: name, cpu_milli, memory_mib, num_gpu, gpu_milli and, in some,
// gpu_spec and the times at which it came, was started and ended, in seconds; and, which no
// published list has, gang: pods with the same name there are placed all or none. What else there
// is the experiment does not look at.
struct OpenbPod {
    std::string name;
    std::int32_t cpu_milli = 0;
    std::int32_t memory_mib = 0;
    std::int16_t cards = 0;
    std::int16_t milli = 0;  // of each card; 1000 is a whole one
    std::string models;      // "A|B": one of these; empty: any
    // From its start, or where it never started from when it came; nothing: not told.
    std::optional<std::int64_t> lasts_s{};
    std::optional<std::int64_t> came_s{};  // since the trace began; nothing: not told
    std::string gang;                      // its name; empty: of none

    friend bool operator==(const OpenbPod&, const OpenbPod&) = default;
};

// An order of arrival. A line "N ..." has the rows of the node list in tie order, the first
// preferred; a line "P ..." the rows of the pod list in the order that they arrive in, a row as
// often as it arrives. Rows count from 0; lines that begin with # are remarks; where that
// in the first line says arrivals=N, the pods' line must have N rows.
struct ArrivalOrder {
    std::vector<std::uint32_t> nodes;
    std::vector<std::uint32_t> pods;

    friend bool operator==(const ArrivalOrder&, const ArrivalOrder&) = default;
};

// Errors are invalid_argument and name line and column. A node's name is there once.
Result<std::vector<OpenbNode>> read_openb_nodes(std::string_view text);
Result<std::vector<OpenbPod>> read_openb_pods(std::string_view text);
// `nodes` and `pods` are the lengths of the two lists: each row must be there, and a node at most
// once. Errors name the line and the word.
Result<ArrivalOrder> read_arrivals(std::string_view text, std::size_t nodes, std::size_t pods);

}  // namespace tessera

// The ProcessTable port in memory. Not thread-safe.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ports/process_table.hpp"

namespace tessera {

class FakeProcessTable final : public ProcessTable {
  public:
    std::optional<PodUid> pod_of(std::int64_t pid) override {
        const auto pod = pods.find(pid);
        return pod == pods.end() ? std::nullopt : std::optional(pod->second);
    }
    std::optional<std::int64_t> pid_in_container(std::int64_t pid) override {
        const auto inner = inner_pids.find(pid);
        return inner == inner_pids.end() ? std::nullopt : std::optional(inner->second);
    }
    std::optional<std::int64_t> started_at(std::int64_t pid) override {
        const auto start = starts.find(pid);
        return start == starts.end() ? std::nullopt : std::optional(start->second);
    }
    Result<> end(std::int64_t pid, const PodUid& pod) override {
        if (pod_of(pid) != pod) return fail(Code::not_found, "another's");
        ended.push_back(pid);
        return {};
    }

    std::map<std::int64_t, PodUid> pods;
    std::map<std::int64_t, std::int64_t> inner_pids;
    std::map<std::int64_t, std::int64_t> starts;
    std::vector<std::int64_t> ended;
};

}  // namespace tessera

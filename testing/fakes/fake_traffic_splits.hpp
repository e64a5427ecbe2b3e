// What splits the traffic of serving jobs: what is written is kept.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "ports/kube/traffic_splits.hpp"

namespace tessera {

class FakeTrafficSplits final : public TrafficSplits {
  public:
    Result<std::vector<workload::GatewayName>> all = std::vector<workload::GatewayName>{};
    std::optional<Error> route_error;
    std::optional<workload::TrafficRoute> made_route;
    std::optional<workload::SharedServiceState> made_service;
    std::optional<workload::SharedService> written;
    std::string other_weights;  // what another command writes after this one
    std::vector<std::string> parts;

    Result<std::vector<workload::GatewayName>> gateways(const std::string&) override { return all; }
    Result<std::optional<workload::TrafficRoute>> route(
        const std::string&, std::span<const workload::ServingStatus>) override {
        if (route_error) return fail(*route_error);
        return made_route;
    }
    Result<> write(const workload::TrafficRoute& wanted,
                   const std::optional<workload::TrafficRoute>&) override {
        made_route = wanted;
        return {};
    }
    Result<std::optional<workload::SharedServiceState>> service(
        const std::string&, std::span<const workload::ServingStatus>) override {
        return made_service;
    }
    Result<> write(const workload::SharedService& wanted,
                   const std::optional<workload::SharedServiceState>&) override {
        written = wanted;
        made_service.emplace();
        made_service->weights = other_weights.empty() ? wanted.weights : other_weights;
        return {};
    }
    Result<> remove(const workload::TrafficRoute&) override {
        made_route.reset();
        return {};
    }
    Result<> remove(const workload::SharedServiceState&) override {
        made_service.reset();
        return {};
    }
    Result<> set_part(const workload::ServingStatus& job, bool in_split,
                      std::optional<int> replicas) override {
        parts.push_back(fmt::format("{} {}{}", job.id.version, in_split ? "in" : "out",
                                    replicas ? fmt::format(" {}", *replicas) : ""));
        return {};
    }
};

}  // namespace tessera

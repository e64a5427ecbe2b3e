// The AgentReports port: asks the agents' pods over HTTP, at their own addresses. The list of the
// pods needs the permission to list pods in Tessera's namespace.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapters/http/http.hpp"
#include "ports/autoscaling/agent_reports.hpp"
#include "ports/clock.hpp"

namespace tessera {

class AgentMetrics final : public AgentReports {
  public:
    // `api`: the API server. `ns`: where Tessera runs. Both references outlive this.
    AgentMetrics(HttpClient& api, Clock& clock, std::string ns)
        : http_(api), clock_(clock), ns_(std::move(ns)) {}

    Result<std::vector<AgentReport>> read(const std::stop_token& stop) override;

  private:
    struct Agent {
        NodeName node;
        std::string address;
        int port = 0;  // 0: none
    };

    Result<std::vector<Agent>> agents();
    Result<AgentReport> request(const Agent& agent, HttpClient& client,
                                const std::stop_token& stop) const;

    HttpClient& http_;
    Clock& clock_;
    const std::string ns_;
    std::map<std::string, std::unique_ptr<HttpClient>> clients_;  // by address and port
};

}  // namespace tessera

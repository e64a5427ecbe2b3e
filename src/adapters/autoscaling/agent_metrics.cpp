#include "adapters/autoscaling/agent_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "adapters/autoscaling/each_at_once.hpp"
#include "adapters/kube/agent_reader.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "wire/tessera/share_uses_json.hpp"

namespace tessera {
namespace {

// A thousand agents that do not answer leave the others their reports: UseSampler::kOldest.
constexpr std::chrono::milliseconds kDeadline{2'000};
constexpr std::size_t kAtOnce = 64;
constexpr std::string_view kPort = "metrics";

int port_of(JsonValue pod) {
    for (const JsonValue container : pod["spec"]["containers"].elements()) {
        for (const JsonValue port : container["ports"].elements()) {
            if (port["name"].text() != kPort) continue;
            const std::int64_t number = port["containerPort"].integer().value_or(0);
            if (number > 0 && number <= std::numeric_limits<std::uint16_t>::max())
                return static_cast<int>(number);
        }
    }
    return 0;
}

}  // namespace

Result<std::vector<AgentMetrics::Agent>> AgentMetrics::agents() {
    std::vector<Agent> out;
    TRY_VOID(each_item(http_, agent_pods_path(ns_), "list pods", [&](JsonValue pod) {
        if (pod["status"]["phase"].text() != "Running") return;
        out.push_back({.node = NodeName(pod["spec"]["nodeName"].text_or("")),
                       .address = pod["status"]["podIP"].text_or(""),
                       .port = port_of(pod)});
    }));
    std::erase_if(out, [](const Agent& agent) { return agent.address.empty(); });
    const bool is_any_open =
        std::ranges::any_of(out, [](const Agent& agent) { return agent.port != 0; });
    if (!out.empty() && !is_any_open) {
        return fail(Code::unsupported,
                    "the agents have no port named metrics; set agent.listen=true in the Helm "
                    "chart");
    }
    std::erase_if(out, [](const Agent& agent) { return agent.port == 0; });
    return out;
}

Result<AgentReport> AgentMetrics::request(const Agent& agent, HttpClient& client,
                                          const std::stop_token& stop) const {
    TRY(const HttpResponse answer,
        client.send({.method = "GET", .path = "/shares"}, kDeadline, stop));
    if (answer.status != 200)
        return fail(Code::unavailable, fmt::format("answers {}", answer.status));
    TRY(NodeShareUses uses, read_share_uses(answer.body));
    // In the host network another node's agent may have the port.
    if (uses.node != agent.node) return fail(Code::conflict, "another agent has its port");
    for (ShareUse& use : uses.shares)
        use.processes.clear();
    return AgentReport{.node = agent.node,
                       .at = clock_.steady(),
                       .unix_s = clock_.unix_ns() / 1'000'000'000,
                       .shares = std::move(uses.shares)};
}

Result<std::vector<AgentReport>> AgentMetrics::read(const std::stop_token& stop) {
    TRY(const std::vector<Agent> all, agents());
    std::map<std::string, std::unique_ptr<HttpClient>> clients;
    std::vector<HttpClient*> client_of;
    client_of.reserve(all.size());
    for (const Agent& agent : all) {
        const std::string key = fmt::format("{} {}", agent.address, agent.port);
        std::unique_ptr<HttpClient>& client = clients[key];
        if (const auto known = clients_.find(key); !client && known != clients_.end())
            client = std::move(known->second);
        if (!client) {
            HttpEndpoint endpoint{.host = agent.address, .port = agent.port, .tls = false};
            endpoint.is_direct = true;
            client = std::make_unique<HttpClient>(std::move(endpoint));
        }
        client_of.push_back(client.get());
    }
    clients_ = std::move(clients);
    std::vector<std::optional<AgentReport>> answers(all.size());
    each_at_once(all.size(), kAtOnce, [&](std::size_t i) {
        if (auto report = request(all[i], *client_of[i], stop)) answers[i] = *std::move(report);
    });
    std::vector<AgentReport> out;
    out.reserve(answers.size());
    for (std::optional<AgentReport>& answer : answers) {
        if (answer) out.push_back(*std::move(answer));
    }
    return out;
}

}  // namespace tessera

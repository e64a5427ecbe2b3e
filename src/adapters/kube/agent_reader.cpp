#include "adapters/kube/agent_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "wire/kube/doctor_json.hpp"
#include "wire/mps/mps_report_json.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{10'000};
constexpr std::size_t kAtOnce = 8;
constexpr std::string_view kPort = "metrics";
constexpr std::string_view kAgents =
    "?labelSelector=app.kubernetes.io%2Fname%3Dtessera,"
    "app.kubernetes.io%2Fcomponent%3Dagent";

struct AgentPod {
    std::string name;
    NodeName node;
    std::optional<std::int64_t> port;
};

std::optional<std::int64_t> port_of(JsonValue pod) {
    for (const JsonValue container : pod["spec"]["containers"].elements()) {
        for (const JsonValue port : container["ports"].elements()) {
            if (port["name"].text() == kPort) return port["containerPort"].integer();
        }
    }
    return std::nullopt;
}

std::string pods_path(const std::string& ns) {
    return fmt::format("/api/v1/namespaces/{}/pods", ns);
}

// Adds what to do if a permission is missing.
Error advise(Error error, const std::string& ns) {
    if (error.code == Code::permission_denied) {
        error.text += fmt::format(
            "; the user needs the Role tessera-viewer in {} (agent.listen of the Helm chart)", ns);
    }
    return error;
}

Result<std::vector<AgentPod>> list_agents(HttpClient& http, const std::string& ns) {
    const auto body = kube_call(http, {.method = "GET", .path = agent_pods_path(ns)}, kDeadline);
    if (!body) return fail(advise(body.error(), ns));
    TRY(const auto document, JsonDocument::parse(*body));
    std::vector<AgentPod> agents;
    for (const JsonValue pod : document.root()["items"].elements()) {
        if (pod["status"]["phase"].text() != "Running") continue;
        agents.push_back({.name = pod["metadata"]["name"].text_or(""),
                          .node = NodeName(pod["spec"]["nodeName"].text_or("")),
                          .port = port_of(pod)});
    }
    std::ranges::sort(agents, {}, &AgentPod::node);
    return agents;
}

// The answer of an agent, read by `read`.
template <class Read>
auto request(HttpClient& http, const std::string& ns, const AgentPod& agent, std::string_view path,
             const Read& read) -> decltype(read(std::string_view())) {
    if (!agent.port) {
        return fail(Code::unsupported,
                    "its agent has no port named metrics; set agent.listen=true in the Helm chart");
    }
    const auto body = kube_call(
        http,
        {.method = "GET",
         .path = fmt::format("{}/{}:{}/proxy{}", pods_path(ns), agent.name, *agent.port, path)},
        kDeadline);
    if (!body) return fail(advise(body.error(), ns));
    auto answer = read(*body);
    // Agents in the same host network have the same port, and only one of them can use it.
    if (answer && answer->node != agent.node) {
        return fail(Code::conflict,
                    fmt::format("the agent of {} answers on its agent's port", answer->node.str()));
    }
    return answer;
}

// What `query` returns for each agent of the namespace, or for that on `node`, sorted by node. It
// is called for several at once.
template <class Answer>
Result<std::vector<Answer>> query_each(HttpClient& http, const std::string& ns,
                                       const NodeName& node,
                                       const std::function<Answer(const AgentPod& agent)>& query) {
    TRY(auto agents, list_agents(http, ns));
    if (!node.empty()) std::erase_if(agents, [&](const AgentPod& a) { return a.node != node; });
    std::vector<Answer> answers(agents.size());
    std::atomic<std::size_t> next = 0;
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < std::min(kAtOnce, agents.size()); i++) {
            threads.emplace_back([&] {
                for (std::size_t mine = next++; mine < agents.size(); mine = next++)
                    answers[mine] = query(agents[mine]);
            });
        }
    }
    return answers;
}

}  // namespace

std::string agent_pods_path(const std::string& ns) {
    return pods_path(ns) + std::string(kAgents);
}

Result<std::set<NodeName>> nodes_with_ready_agent(HttpClient& http) {
    std::set<NodeName> out;
    TRY_VOID(
        each_item(http, fmt::format("/api/v1/pods{}", kAgents), "list pods", [&](JsonValue pod) {
            if (is_ready_agent(pod)) out.emplace(pod["spec"]["nodeName"].text_or(""));
        }));
    return out;
}

Result<std::vector<AgentAnswer>> query_agents(HttpClient& http, const std::string& ns,
                                              const NodeName& node) {
    return query_each<AgentAnswer>(http, ns, node, [&](const AgentPod& agent) {
        AgentAnswer answer;
        answer.node = agent.node;
        auto uses = request(http, ns, agent, "/shares", read_share_uses);
        if (uses) answer.shares = std::move(uses->shares);
        if (!uses) answer.shares = fail(uses.error());
        return answer;
    });
}

Result<std::vector<AgentMpsAnswer>> query_agents_mps(HttpClient& http, const std::string& ns,
                                                     const NodeName& node) {
    return query_each<AgentMpsAnswer>(http, ns, node, [&](const AgentPod& agent) {
        return AgentMpsAnswer{agent.node, request(http, ns, agent, "/mps", read_mps_report)};
    });
}

Result<MpsLogs> query_mps_logs(HttpClient& http, const std::string& ns, const NodeName& node,
                               const GpuUuid& gpu) {
    TRY(const auto agents, list_agents(http, ns));
    const auto at = std::ranges::find(agents, node, &AgentPod::node);
    if (at == agents.end()) {
        return fail(Code::not_found, fmt::format("no tessera-agent of namespace {} runs on node {}",
                                                 ns, node.str()));
    }
    return request(http, ns, *at, "/mps/logs/" + gpu.str(), read_mps_logs);
}

}  // namespace tessera

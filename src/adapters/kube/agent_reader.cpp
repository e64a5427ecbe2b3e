#include "adapters/kube/agent_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "wire/json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{10'000};
constexpr std::size_t kAtOnce = 8;
constexpr std::string_view kPort = "metrics";

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

std::string pods_path(const std::string& space) {
    return fmt::format("/api/v1/namespaces/{}/pods", space);
}

// What to do where a right is missing.
Error advise(Error error, const std::string& space) {
    if (error.code == Code::permission_denied) {
        error.text += fmt::format(
            "; who looks needs the Role tessera-viewer in {} (deploy/listening/viewer.yaml)",
            space);
    }
    return error;
}

Result<std::vector<AgentPod>> list_agents(HttpClient& http, const std::string& space) {
    const auto body =
        kube_call(http,
                  {.method = "GET",
                   .path = pods_path(space) + "?labelSelector=app%3Dtessera,component%3Dagent"},
                  kDeadline);
    if (!body) return fail(advise(body.error(), space));
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

Result<std::vector<ShareUse>> ask(HttpClient& http, const std::string& space,
                                  const AgentPod& agent) {
    if (!agent.port) {
        return fail(Code::unsupported,
                    "its agent has no port named metrics; add deploy/listening to Tessera's "
                    "kustomization");
    }
    const auto body = kube_call(
        http,
        {.method = "GET",
         .path = fmt::format("{}/{}:{}/proxy/shares", pods_path(space), agent.name, *agent.port)},
        kDeadline);
    if (!body) return fail(advise(body.error(), space));
    TRY(auto uses, read_share_uses(*body));
    // Agents in the network of one host, with one port: only one of them can have it.
    if (uses.node != agent.node) {
        return fail(Code::conflict,
                    fmt::format("on its agent's port the agent of {} answers", uses.node.str()));
    }
    return std::move(uses.shares);
}

}  // namespace

Result<std::vector<AgentAnswer>> ask_agents(const HttpEndpoint& api, const std::string& space,
                                            const NodeName& node) {
    HttpClient http(api);
    TRY(auto agents, list_agents(http, space));
    if (!node.empty()) std::erase_if(agents, [&](const AgentPod& a) { return a.node != node; });
    std::vector<AgentAnswer> answers;
    answers.reserve(agents.size());
    for (const AgentPod& agent : agents)
        answers.push_back({agent.node, {}});
    std::atomic<std::size_t> next = 0;
    {
        std::vector<std::jthread> askers;
        for (std::size_t i = 0; i < std::min(kAtOnce, agents.size()); i++) {
            askers.emplace_back([&] {
                for (std::size_t mine = next++; mine < agents.size(); mine = next++)
                    answers[mine].shares = ask(http, space, agents[mine]);
            });
        }
    }
    return answers;
}

}  // namespace tessera

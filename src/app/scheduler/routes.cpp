#include "app/scheduler/routes.hpp"

#include <array>

#include "app/scheduler/route_table.hpp"
#include "base/log.hpp"
#include "wire/extender_json.hpp"
#include "wire/inspect_json.hpp"
#include "wire/json.hpp"

namespace tessera {
namespace {

constexpr std::string_view kPrefix = "/gpushare-scheduler/";
constexpr std::string_view kText = "text/plain; charset=utf-8";
// What gpushare answers, and tools compare with; our own version is on /metrics and in the logs.
constexpr std::string_view kGpushareVersion = "0.1.0";
constexpr std::string_view kStarting =
    "tessera-controller is starting: it has not seen the cluster yet";

RouteAnswer plain(int status, std::string body) {
    return {.status = status, .body = std::move(body), .content_type = std::string(kText)};
}

RouteAnswer json(std::string body) {
    return {.body = std::move(body)};
}
RouteAnswer refusal(std::string body) {
    return {.body = std::move(body), .failed = true};
}

constexpr std::string_view kBind = "/gpushare-scheduler/bind";

constexpr std::string_view kInspect = "/gpushare-scheduler/inspect";

}  // namespace

SchedulerRoutes::SchedulerRoutes(Scheduler& scheduler, Keeper& keeper, SchedulerMetrics& metrics,
                                 const std::atomic<bool>& synced, const Election* election)
    : scheduler_(scheduler),
      keeper_(keeper),
      metrics_(metrics),
      synced_(synced),
      election_(election) {}

bool SchedulerRoutes::leads() const {
    return election_ == nullptr || election_->may_write(KubeApi::kBindTakes);
}

RouteAnswer SchedulerRoutes::answer(const RouteRequest& request) {
    std::string_view path = request.path;
    // Only to a route of ours: "//elsewhere/" must not become a way out.
    if (without_slash(path) != path) {
        path.remove_suffix(1);
        return {.status = request.method == "GET" ? 301 : 307, .location = std::string(path)};
    }
    const RouteRow* const row = find_route(path);
    if (row == nullptr) return plain(404, "404 page not found\n");
    if (row->method == "POST") {
        if (request.method != "POST") {
            RouteAnswer refused = plain(405, "Method Not Allowed\n");
            refused.allow = "OPTIONS, POST";
            return refused;
        }
        const auto begin = std::chrono::steady_clock::now();
        const std::string_view verb = path.substr(kPrefix.size());
        RouteAnswer out = verb == "filter"       ? filter(request.body)
                          : verb == "prioritize" ? prioritize(request.body)
                          : verb == "preempt"    ? preempt(request.body)
                                                 : bind(request.body);
        metrics_.observe(verb, std::chrono::steady_clock::now() - begin, out.failed);
        return out;
    }
    if (request.method != "GET") return plain(404, "404 page not found\n");
    return get(path);
}

RouteAnswer SchedulerRoutes::get(std::string_view path) {
    if (path == "/version") return plain(200, std::string(kGpushareVersion));
    if (path == "/healthz") return plain(200, "ok\n");
    if (path == "/readyz") {
        return synced_ ? plain(200, "ok\n") : plain(503, std::string(kStarting) + "\n");
    }
    if (path == "/metrics") {
        const auto pending = keeper_.ask([](ClusterState& state) { return state.pending_pods(); });
        const auto view = keeper_.view();
        const WaitingCounts waiting = scheduler_.waiting(pending);
        return {.body = metrics_.expose(
                    {.view = *view, .waiting = waiting, .synced = synced_, .leads = leads()}),
                .content_type = "text/plain; version=0.0.4; charset=utf-8"};
    }
    if (path == kInspect) return inspect("");
    if (path.starts_with(kInspect)) return inspect(path.substr(kInspect.size() + 1));
    return plain(404, "404 page not found\n");
}

RouteAnswer SchedulerRoutes::filter(std::string& body) {
    if (!synced_) return refusal(write_filter_error(kStarting));
    const auto args = read_extender_args(body);
    if (!args) {
        log_event(Event::request_refused, {{"verb", "filter"}, {"reason", args.error().text}});
        return refusal(write_filter_error(args.error().text));
    }
    return json(write_filter_result(*args, scheduler_.filter(*args)));
}

RouteAnswer SchedulerRoutes::prioritize(std::string& body) {
    const auto args = read_extender_args(body);
    if (!args) {
        log_event(Event::request_refused, {{"verb", "prioritize"}, {"reason", args.error().text}});
        return {.status = 400,
                .body = R"({"error":)" + json_string(args.error().text) + "}",
                .failed = true};
    }
    return json(write_priorities(*args, scheduler_.prioritize(*args)));
}

RouteAnswer SchedulerRoutes::preempt(const std::string& body) {
    const auto args = read_preemption_args(body);
    if (!synced_ || !args) {
        const std::string reason = args ? std::string(kStarting) : args.error().text;
        log_event(Event::request_refused, {{"verb", "preempt"}, {"reason", reason}});
        return {.status = args ? 503 : 400,
                .body = R"({"error":)" + json_string(reason) + "}",
                .failed = true};
    }
    return json(write_preemption_result(scheduler_.preempt(*args)));
}

// kube-scheduler shows the text of a 200 answer to the user and throws that of any other away.
RouteAnswer SchedulerRoutes::bind(const std::string& body) {
    if (!synced_) return refusal(write_bind_result(kStarting));
    if (!leads()) {
        // kube-scheduler's client repeats the request there (Go's net/http, for 307).
        const std::string url = election_->leader_url();
        if (!url.empty()) return {.status = 307, .location = url + std::string(kBind)};
    }
    const auto args = read_bind_args(body);
    if (!args) {
        log_event(Event::request_refused, {{"verb", "bind"}, {"reason", args.error().text}});
        return refusal(write_bind_result(args.error().text));
    }
    const auto bound = scheduler_.bind(*args);
    return bound ? json(write_bind_result("")) : refusal(write_bind_result(bound.error().text));
}

RouteAnswer SchedulerRoutes::inspect(std::string_view name) const {
    const auto view = keeper_.view();
    std::vector<const NodeView*> nodes;
    if (name.empty()) {
        for (const auto& node : view->nodes()) {
            if (!node->cards.empty()) nodes.push_back(node.get());
        }
    } else if (const NodeView* node = view->find(name)) {
        nodes.push_back(node);
    } else {
        const std::string text = "node \"" + std::string(name) + "\" not found";
        return {.status = 404, .body = R"({"nodes":[],"error":)" + json_string(text) + "}"};
    }
    return json(write_inspect(nodes));
}

}  // namespace tessera

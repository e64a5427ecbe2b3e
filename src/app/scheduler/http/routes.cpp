#include "app/scheduler/http/routes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/log.hpp"
#include "wire/extender/extender_json.hpp"
#include "wire/extender/inspect_json.hpp"
#include "wire/kube/admission_json.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

// gpushare's version, which tools compare; our own version is on /metrics and in the logs.
constexpr std::string_view kGpushareVersion = "0.1.0";
constexpr std::string_view kStarting =
    "tessera-controller is starting: it has not seen the cluster yet";

RouteAnswer json(std::string body) {
    return {.body = std::move(body)};
}
RouteAnswer refusal(std::string body) {
    return {.body = std::move(body), .failed = true};
}

bool is_plain(char c) {
    return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '/';
}

RouteAnswer not_found() {
    return plain_answer(404, "404 page not found\n");
}

}  // namespace

SchedulerRoutes::SchedulerRoutes(Scheduler& scheduler, ClusterCache& cache,
                                 SchedulerMetrics& metrics, const std::atomic<bool>& synced,
                                 const Election* election, SelfPreemption* preemption,
                                 std::chrono::nanoseconds owner_bound, const Admission* admission,
                                 Nominator* nominator)
    : scheduler_(scheduler),
      cache_(cache),
      metrics_(metrics),
      synced_(synced),
      election_(election),
      preemption_(preemption),
      owner_bound_(owner_bound),
      admission_(admission),
      nominator_(nominator) {}

bool SchedulerRoutes::leads() const {
    return election_ == nullptr || election_->may_write(KubeApi::kBindTakes);
}

// Redirects to another leader: kube-scheduler's client repeats the request there (Go's net/http,
// for 307).
std::optional<RouteAnswer> SchedulerRoutes::at_leader(Route route) const {
    if (leads()) return std::nullopt;
    const std::string url = election_->leader_url();
    if (url.empty()) return std::nullopt;
    return RouteAnswer{.status = 307, .location = url + std::string(path_of(route))};
}

RouteAnswer SchedulerRoutes::answer(const RouteRequest& request) {
    std::string_view path = request.path;
    // Redirects only to a route of ours: "//elsewhere/" must not lead to another host. The path is
    // decoded; a node's name has no character that would need to be encoded again.
    if (without_slash(path) != path) {
        if (!std::ranges::all_of(path, is_plain)) return not_found();
        path.remove_suffix(1);
        return {.status = request.method == "GET" ? 301 : 307, .location = std::string(path)};
    }
    const RouteRow* const row = find_route(path);
    if (row == nullptr) return not_found();
    const bool is_verb = row->method == "POST";
    if (request.method != row->method) {
        if (!is_verb) return not_found();
        RouteAnswer refused = plain_answer(405, "Method Not Allowed\n");
        refused.allow = "OPTIONS, POST";
        return refused;
    }
    const auto begin = std::chrono::steady_clock::now();
    RouteAnswer out = answer_to(*row, path, request.body);
    // The leader counts a request that is sent on to it.
    if (is_verb && out.status != 307) {
        const std::string_view verb = row->path.substr(row->path.rfind('/') + 1);
        metrics_.observe(verb, std::chrono::steady_clock::now() - begin, out.failed);
    }
    return out;
}

RouteAnswer SchedulerRoutes::answer_to(const RouteRow& row, std::string_view path,
                                       std::string& body) {
    switch (row.route) {
        case Route::filter:
            return filter(body);
        case Route::prioritize:
            return prioritize(body);
        case Route::preempt:
            return preempt(body);
        case Route::bind:
            return bind(body);
        case Route::admit:
            return admit(body);
        case Route::custom_metrics:
            return not_found();
        case Route::inspect:
            return inspect(path == row.path ? "" : path.substr(row.path.size() + 1));
        case Route::metrics:
            return metrics();
        case Route::version:
            return plain_answer(200, std::string(kGpushareVersion));
        case Route::healthz:
            return healthz();
        case Route::readyz:
            return synced_ ? plain_answer(200, "ok\n")
                           : plain_answer(503, std::string(kStarting) + "\n");
    }
    return not_found();
}

// The process works while the thread that owns the state does. Without that thread no pod is placed
// and no bind is answered, and only a restart helps.
RouteAnswer SchedulerRoutes::healthz() {
    const auto unanswered = cache_.unanswered_for();
    if (!unanswered || *unanswered < owner_bound_) return plain_answer(200, "ok\n");
    return plain_answer(503,
                        fmt::format("the thread that owns the cluster's state has not answered for "
                                    "{} s\n",
                                    std::chrono::floor<std::chrono::seconds>(*unanswered).count()));
}

RouteAnswer SchedulerRoutes::metrics() {
    const auto pending = cache_.call([](ClusterState& state) { return state.pending_pods(); });
    const auto snapshot = cache_.snapshot();
    const WaitingCounts waiting = scheduler_.waiting(pending);
    const bool has_budgets = admission_ != nullptr && admission_->budgets != nullptr;
    return {.body = metrics_.expose(
                {.snapshot = *snapshot,
                 .waiting = waiting,
                 .synced = synced_,
                 .leads = leads(),
                 .reservations = preemption_ == nullptr ? 0 : preemption_->reservations(),
                 .nominated = nominator_ == nullptr ? 0 : nominator_->count(),
                 .budgets = has_budgets ? admission_->budgets->rows() : nullptr}),
            .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

// Only the leader knows which reservations are ahead of their turn, and it has to hear what is
// asked.
std::optional<RouteAnswer> SchedulerRoutes::at_nominator(Route route) const {
    if (nominator_ == nullptr || !nominator_->is_on()) return std::nullopt;
    return at_leader(route);
}

RouteAnswer SchedulerRoutes::filter(std::string& body) {
    if (!synced_) return refusal(write_filter_error(kStarting));
    if (auto sent_on = at_nominator(Route::filter)) return *std::move(sent_on);
    const auto args = read_extender_args(body, scheduler_.dialects());
    if (!args) {
        log_event(Event::request_refused, {{"verb", "filter"}, {"reason", args.error().text}});
        return refusal(write_filter_error(args.error().text));
    }
    // The leader keeps the reservations of gangs, because it binds.
    if (args->pod.gang) {
        if (auto sent_on = at_leader(Route::filter)) return *std::move(sent_on);
    }
    std::optional<RouteAnswer> sent_on;
    const auto answer = filter(*args, sent_on);
    if (!answer) return *std::move(sent_on);
    if (nominator_ != nullptr) nominator_->note(*args, *answer);
    return json(write_filter_result(*args, *answer));
}

// Nothing if the request is sent on.
std::optional<FilterAnswer> SchedulerRoutes::filter(const ExtenderArgs& args,
                                                    std::optional<RouteAnswer>& sent_on) {
    if (preemption_ == nullptr) return scheduler_.filter(args);
    return preemption_->filter(scheduler_, args, [&] {
        sent_on = at_leader(Route::filter);
        return sent_on.has_value();
    });
}

RouteAnswer SchedulerRoutes::prioritize(std::string& body) {
    const auto args = read_extender_args(body, scheduler_.dialects());
    if (!args) {
        log_event(Event::request_refused, {{"verb", "prioritize"}, {"reason", args.error().text}});
        return {.status = 400,
                .body = R"({"error":)" + json_string(args.error().text) + "}",
                .failed = true};
    }
    return json(write_priorities(*args, scheduler_.prioritize(*args)));
}

RouteAnswer SchedulerRoutes::preempt(const std::string& body) {
    if (auto sent_on = at_nominator(Route::preempt)) return *std::move(sent_on);
    const auto args = read_preemption_args(body, scheduler_.dialects());
    if (!synced_ || !args) {
        const std::string reason = args ? std::string(kStarting) : args.error().text;
        log_event(Event::request_refused, {{"verb", "preempt"}, {"reason", reason}});
        return {.status = args ? 503 : 400,
                .body = R"({"error":)" + json_string(reason) + "}",
                .failed = true};
    }
    return json(write_preemption_result(scheduler_.preempt(*args)));
}

// kube-scheduler shows the text of a 200 answer to the user and discards that of any other.
RouteAnswer SchedulerRoutes::bind(const std::string& body) {
    if (!synced_) return refusal(write_bind_result(kStarting));
    if (auto sent_on = at_leader(Route::bind)) return *std::move(sent_on);
    const auto args = read_bind_args(body);
    if (!args) {
        log_event(Event::request_refused, {{"verb", "bind"}, {"reason", args.error().text}});
        return refusal(write_bind_result(args.error().text));
    }
    const auto bound = scheduler_.bind(*args);
    return bound ? json(write_bind_result("")) : refusal(write_bind_result(bound.error().text));
}

Result<PodEdits> SchedulerRoutes::judge(const AdmissionRequest& request) const {
    TRY_VOID(validate_pod(request.checked, scheduler_.dialects()));
    if (!request.is_pod) return PodEdits{};
    const CreatedPod& pod = request.checked.pod;
    const bool may_be_governed = admission_->budgets != nullptr && !pod.is_mirror &&
                                 requests_gpus(pod, scheduler_.dialects());
    const auto governed = may_be_governed ? admission_->budgets->find(request.ns)
                                          : std::optional<GovernedNamespace>();
    if (governed) TRY_VOID(may_create_pod(request.ns, *governed));
    return admit_pod(pod, admission_->rules, scheduler_.dialects(),
                     governed ? &*governed : nullptr);
}

// It needs no state of the cluster, so it is answered before the first list, and by every replica.
RouteAnswer SchedulerRoutes::admit(const std::string& body) {
    if (admission_ == nullptr) return not_found();
    const auto document = JsonDocument::parse(body);
    const auto request = document ? read_admission_review(document->root(), scheduler_.dialects())
                                  : Result<AdmissionRequest>(fail(document.error()));
    if (!request) {
        const std::string& reason = request.error().text;
        log_event(Event::webhook_refused, {{"reason", reason}});
        return {.status = 400, .body = R"({"error":)" + json_string(reason) + "}", .failed = true};
    }
    const auto verdict = judge(*request);
    if (!verdict)
        log_event(Event::request_refused, {{"verb", "admit"}, {"reason", verdict.error().text}});
    return json(write_admission_answer(request->id, verdict));
}

RouteAnswer SchedulerRoutes::inspect(std::string_view name) const {
    const auto snapshot = cache_.snapshot();
    std::vector<const NodeInfo*> nodes;
    if (name.empty()) {
        for (const auto& node : snapshot->nodes()) {
            if (!node->gpus.empty()) nodes.push_back(node.get());
        }
    } else if (const NodeInfo* node = snapshot->find(name)) {
        nodes.push_back(node);
    } else {
        const std::string text = "node \"" + std::string(name) + "\" not found";
        return {.status = 404, .body = R"({"nodes":[],"error":)" + json_string(text) + "}"};
    }
    return json(write_inspect(nodes));
}

}  // namespace tessera

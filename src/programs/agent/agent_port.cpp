#include "programs/agent/agent_port.hpp"

#include <string>
#include <utility>

#include "adapters/os/process_facts.hpp"
#include "app/agent/observe/metrics.hpp"
#include "base/log.hpp"
#include "wire/mps/mps_report_json.hpp"
#include "wire/tessera/share_uses_json.hpp"

namespace tessera {
namespace {

constexpr std::string_view kMpsLogs = "/mps/logs/";

// Logs that a port cannot be opened, and that it is open after that.
std::function<void(const Result<>&)> teller(Event off, Event on, std::int64_t port) {
    return [off, on, port](const Result<>& listens) {
        if (!listens) log_event(off, {{"reason", listens.error().text}});
        if (listens) log_event(on, {{"port", std::to_string(port)}});
    };
}

MpsReport mps_report(const ShareEnforcement* enforcement, const NodeInventory& inventory) {
    if (enforcement == nullptr) return {inventory.name};
    MpsReport report = enforcement->mps_report();
    for (MpsGpuReport& gpu : report.gpus) {
        if (const Gpu* known = find_gpu(inventory.gpus, gpu.state.gpu))
            gpu.multiprocessors = known->multiprocessors;
    }
    return report;
}

}  // namespace

std::jthread serve_metrics(const SmallServer& server, const GpuMonitor& gpus,
                           const ShareEnforcement* enforcement, const Metering* metering,
                           Clock& clock, const std::stop_token& stop) {
    if (server.port == 0) return {};
    const auto answer = [&gpus, enforcement, metering](const HttpRequest& request) {
        if (request.method != "GET") return not_found();
        const auto mps = [&] { return mps_report(enforcement, *gpus.inventory()); };
        if (request.path == "/mps") return HttpResponse{.body = write_mps_report(mps())};
        if (request.path.starts_with(kMpsLogs)) {
            const GpuUuid gpu(request.path.substr(kMpsLogs.size()));
            return HttpResponse{.body = write_mps_logs(enforcement != nullptr
                                                           ? enforcement->mps_logs(gpu)
                                                           : MpsLogs{gpus.inventory()->name, {}})};
        }
        if (request.path != "/shares" && request.path != "/metrics") return not_found();
        const UsageReport shares = enforcement != nullptr ? enforcement->usage() : UsageReport{};
        if (request.path == "/shares")
            return HttpResponse{.body = write_share_uses({gpus.inventory()->name, shares.uses})};
        return HttpResponse{.body = agent_exposition(
                                *gpus.inventory(), gpus.readings(), shares, mps(),
                                metering != nullptr ? std::optional(metering->use()) : std::nullopt,
                                read_process_facts("tessera-agent")),
                            .content_type = "text/plain; version=0.0.4; charset=utf-8"};
    };
    return serve_when_free(server, answer, clock,
                           teller(Event::metrics_off, Event::metrics_on, server.port), stop);
}

void AgentHealth::set(Check check) {
    const MutexLock lock(mutex_);
    check_ = std::move(check);
}

Result<> AgentHealth::ready() const {
    const MutexLock lock(mutex_);
    if (!check_) return fail(Code::unavailable, "the agent is starting or ending");
    return check_();
}

std::jthread serve_health(const SmallServer& server, const AgentHealth& health, Clock& clock,
                          const std::stop_token& stop) {
    if (server.port == 0) return {};
    const auto answer = [&health](const HttpRequest& request) {
        const bool is_ready = request.path == "/readyz";
        if (request.method != "GET" || (!is_ready && request.path != "/healthz"))
            return not_found();
        const auto ready = is_ready ? health.ready() : Result<>();
        if (ready) return HttpResponse{.body = "ok\n", .content_type = "text/plain"};
        return HttpResponse{
            .status = 503, .body = ready.error().text + "\n", .content_type = "text/plain"};
    };
    return serve_when_free(server, answer, clock,
                           teller(Event::health_off, Event::health_on, server.port), stop);
}

}  // namespace tessera

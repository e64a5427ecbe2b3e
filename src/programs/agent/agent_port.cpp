#include "programs/agent/agent_port.hpp"

#include <string>

#include "adapters/os/process_facts.hpp"
#include "app/agent/observe/metrics.hpp"
#include "base/log.hpp"
#include "wire/tessera/share_uses_json.hpp"

namespace tessera {

std::jthread serve_metrics(const SmallServer& server, const GpuMonitor& gpus,
                           const ShareKeeping* held, Clock& clock, const std::stop_token& stop) {
    if (server.port == 0) return {};
    const auto answer = [&gpus, held](const HttpRequest& request) {
        if (request.method != "GET") return not_found();
        if (request.path != "/shares" && request.path != "/metrics") return not_found();
        const UsageReport shares = held != nullptr ? held->usage() : UsageReport{};
        if (request.path == "/shares")
            return HttpResponse{.body = write_share_uses({gpus.inventory()->name, shares.uses})};
        return HttpResponse{.body = agent_exposition(*gpus.inventory(), gpus.readings(), shares,
                                                     read_process_facts("tessera-agent")),
                            .content_type = "text/plain; version=0.0.4; charset=utf-8"};
    };
    const auto tell = [port = server.port](const Result<>& listens) {
        if (!listens) log_event(Event::metrics_off, {{"reason", listens.error().text}});
        if (listens) log_event(Event::metrics_on, {{"port", std::to_string(port)}});
    };
    return serve_when_free(server, answer, clock, tell, stop);
}

}  // namespace tessera

#include "programs/agent/metering.hpp"

#include <utility>

#include "app/common/periodic.hpp"
#include "base/log.hpp"

namespace tessera {

Metering::Metering(UsageFolderOptions folder, NodeMeterClock meter_clock, HttpEndpoint ledger,
                   std::string ca_file, Clock& clock, UsageMetering::Gpus gpus)
    : clock_(clock),
      meter_clock_(std::move(meter_clock)),
      spool_(std::move(folder)),
      ledger_(std::move(ledger), std::move(ca_file)),
      metering_(spool_, meter_clock_, std::move(gpus)),
      sender_(spool_, ledger_) {}

Result<std::unique_ptr<Metering>> Metering::open(const Config& config, const HttpClient& api,
                                                 Clock& clock, UsageMetering::Gpus gpus) {
    TRY(HttpEndpoint ledger, ledger_endpoint(ledger_of(config), api));
    TRY(NodeMeterClock meter_clock, NodeMeterClock::open());
    std::unique_ptr<Metering> metering(new Metering(
        {.folder = config.usage_folder, .most_bytes = config.usage_mib * kMiB},
        std::move(meter_clock), std::move(ledger), config.ledger_ca_file, clock, std::move(gpus)));
    TRY_VOID(metering->spool_.open());
    TRY_VOID(metering->metering_.recover());
    return metering;
}

std::vector<std::jthread> Metering::start(const std::stop_token& stop) {
    std::vector<std::jthread> threads;
    threads.emplace_back([this, stop] {
        repeat(clock_, UsageMetering::kPeriod, stop,
               [this](const std::stop_token&) { metering_.look(); });
        metering_.finish();
    });
    threads.emplace_back([this, stop] {
        while (!stop.stop_requested())
            clock_.sleep_for(sender_.send(stop), stop);
    });
    return threads;
}

std::unique_ptr<Metering> open_metering(const Config& config, const HttpClient& api, Clock& clock,
                                        UsageMetering::Gpus gpus) {
    if (config.ledger_url.empty()) return nullptr;
    auto opened = Metering::open(config, api, clock, std::move(gpus));
    if (opened) return *std::move(opened);
    log_event(Event::usage_write_error,
              {{"reason", opened.error().text},
               {"effect", "GPU time is not measured until the agent starts again"}});
    return nullptr;
}

}  // namespace tessera

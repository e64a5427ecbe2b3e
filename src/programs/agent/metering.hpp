// Measures the GPU time of the node's pods and sends it to the ledger.
#pragma once

#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "adapters/http/http.hpp"
#include "adapters/metering/http_ledger_client.hpp"
#include "adapters/metering/node_meter_clock.hpp"
#include "adapters/metering/usage_folder.hpp"
#include "app/agent/metering/usage_metering.hpp"
#include "app/agent/metering/usage_sender.hpp"
#include "ports/clock.hpp"
#include "programs/agent/agent_config.hpp"

namespace tessera {

class Metering {
  public:
    // `config` has a ledger. `api`: without a file with a token, the agent sends the same
    // credentials to the ledger. It and `clock` outlive the object. The error names the file or
    // folder that cannot be used.
    static Result<std::unique_ptr<Metering>> open(const Config& config, const HttpClient& api,
                                                  Clock& clock, UsageMetering::Gpus gpus);

    // Takes what a watch of the node's pods showed.
    void take(const PodChanges& changes) { metering_.take(changes); }
    // Any thread.
    [[nodiscard]] SpoolUse use() const { return spool_.use(); }
    // The threads end when `stop` is requested.
    [[nodiscard]] std::vector<std::jthread> start(const std::stop_token& stop);

  private:
    Metering(UsageFolderOptions folder, NodeMeterClock meter_clock, HttpEndpoint ledger,
             std::string ca_file, Clock& clock, UsageMetering::Gpus gpus);

    Clock& clock_;
    const NodeMeterClock meter_clock_;
    UsageFolder spool_;
    HttpLedgerClient ledger_;
    UsageMetering metering_;
    UsageSender sender_;
};

// Null if the configuration has no ledger. Also null, which is logged, if GPU time cannot be kept
// on the node: pods must start all the same.
std::unique_ptr<Metering> open_metering(const Config& config, const HttpClient& api, Clock& clock,
                                        UsageMetering::Gpus gpus);

}  // namespace tessera

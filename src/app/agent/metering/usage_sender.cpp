#include "app/agent/metering/usage_sender.hpp"

#include "base/log.hpp"

namespace tessera {

Result<> UsageSender::send_all(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        TRY(const auto batch, spool_.oldest());
        if (!batch) return {};
        auto sent = ledger_.send(batch->records, stop);
        if (sent) {
            TRY_VOID(spool_.remove(*batch));
        } else if (sent.error().code == Code::invalid_argument) {
            log_event(Event::usage_send_error, {{"reason", sent.error().text}});
            TRY_VOID(spool_.reject(*batch));
        } else {
            return sent;
        }
    }
    return {};
}

std::chrono::seconds UsageSender::send(const std::stop_token& stop) {
    const auto sent = send_all(stop);
    if (stop.stop_requested()) return kPeriod;
    if (sent && !fault_.empty()) log_event(Event::usage_sent, {});
    const std::string fault = sent ? "" : sent.error().text;
    if (!fault.empty() && fault != fault_) log_event(Event::usage_send_error, {{"reason", fault}});
    fault_ = fault;
    if (sent) return kPeriod;
    // The ledger may be away for days.
    if (const auto joined = spool_.join(); !joined) {
        log_event(Event::usage_write_error, {{"reason", joined.error().text}});
    }
    return kAgain;
}

}  // namespace tessera

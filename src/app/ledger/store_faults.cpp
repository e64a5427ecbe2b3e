#include "app/ledger/store_faults.hpp"

#include <utility>

#include "base/log.hpp"

namespace tessera {

void StoreFaults::note_text(StoreCall call, const std::string& fault) {
    if (!fault.empty()) metrics_.count_store_error(call);
    std::string before;
    {
        const MutexLock lock(mutex_);
        before = std::exchange(faults_.at(static_cast<std::size_t>(call)), fault);
    }
    if (fault == before) return;
    if (fault.empty()) return log_event(Event::ledger_recovered, {{"operation", to_string(call)}});
    log_event(Event::ledger_error, {{"operation", to_string(call)}, {"reason", fault}});
}

std::string StoreFaults::fault(StoreCall call) const {
    const MutexLock lock(mutex_);
    return faults_.at(static_cast<std::size_t>(call));
}

}  // namespace tessera

// Records a work interval in the accounts as a process would, without the guard.
#pragma once

#include "guard/region/process_time.hpp"

namespace tessera::guard {

inline void record_interval(Accounts& accounts, int slot, const WorkInterval& interval) {
    BusyIntervalLog& log = accounts.logs[slot];
    BusyIntervalLog::Entry& entry = log.entries[log.total % kLogEntries];
    entry.start_ns = interval.start_ns;
    entry.what = pack_interval(interval);
    log.total++;
    accounts.times[slot][interval.gpu].in_flight[static_cast<int>(interval.kind)].total_ns +=
        interval.ns;
}

}  // namespace tessera::guard

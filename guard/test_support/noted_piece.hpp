// A piece of work that a process says that it had, without the guard in it.
#pragma once

#include "guard/region/process_time.hpp"

namespace tessera::guard {

inline void note_piece(Accounts& accounts, int slot, const Piece& piece) {
    FlightLog& log = accounts.logs[slot];
    FlightLog::Entry& entry = log.entries[log.total % kLogEntries];
    entry.start_ns = piece.start_ns;
    entry.what = pack_piece(piece);
    log.total++;
    accounts.times[slot][piece.card].in_flight[static_cast<int>(piece.kind)].total_ns += piece.ns;
}

}  // namespace tessera::guard

// When work may go to a card: while the container's balance (region/layout.hpp, Grant) is above
// what is outstanding of it. Any thread. All functions want begin() to have succeeded
// (process/process.hpp).
#pragma once

#include "guard/process/process.hpp"
#include "guard/region/clock.hpp"

namespace tessera::guard {

// Whether anybody shares out the card's time. If not, nothing here is to be called.
bool is_timed(int card);

// A stream's, for its turn.
struct Asking {
    WorkKind kind;
    std::int64_t ahead_ns;  // that the card is about to work for it anyway,
    std::int64_t about_ns;  // and with what it is about to get
    bool may_others_be;     // that have work of the process's on the card
};
// 0: the process has the turn; what it is for is outstanding from now on, if it is long. Else how
// long to sleep before asking again.
std::int64_t take_turn(int card, const Asking& asking);
void sleep_ns(std::int64_t ns);
// In which the largest debt is paid back, at the rate of now; kNever where there is none.
inline constexpr std::int64_t kNever = INT64_MAX;
std::int64_t debt_time_ns(int card);

}  // namespace tessera::guard

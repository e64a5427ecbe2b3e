// The agent's port for readers: /metrics and /shares.
#pragma once

#include <stop_token>
#include <thread>

#include "adapters/http/http.hpp"
#include "app/agent/cards.hpp"
#include "ports/clock.hpp"
#include "programs/common/small_server.hpp"
#include "programs/share_keeping.hpp"

namespace tessera {

// A request costs little: the numbers of the cards are those of the last reading. A node's
// containers matter more than its graphs, so a port that is taken ends nothing. Port 0: no thread.
// `held` is null where shares are not enforced. All outlive the thread.
std::jthread serve_metrics(const SmallServer& server, const Cards& cards, const ShareKeeping* held,
                           Clock& clock, const std::stop_token& stop);

}  // namespace tessera

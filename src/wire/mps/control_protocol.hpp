// The text protocol, version 2, of NVIDIA's nvidia-cuda-mps-control: one command per line on its
// standard input, and answers as text. Sources: NVIDIA's manual "Multi-Process Service", and what
// the programs did (docs/research/mps-580.md, docs/research/mps-debian.md).
//
// The program's exit status is 0 for refused commands, too, and an invalid value is ignored without
// a message. So each setting is read back, as far as the daemon shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/result.hpp"

namespace tessera::mps {

inline constexpr std::string_view kGetServers = "get_server_list";
inline constexpr std::string_view kGetDefaultThreads = "get_default_active_thread_percentage";
// A device is named by its index among those that the daemon sees: limits by UUID are ignored.
inline constexpr std::string_view kGetDefaultMemory = "get_default_device_pinned_mem_limit 0";
// Ends the servers, and with them the clients that are still connected after 5 seconds.
inline constexpr std::string_view kQuit = "quit -t 5";

// Starts a server of root, also without a client.
inline constexpr std::string_view kStartServer = "start_server -uid 0";

std::string set_default_threads(Percent threads);
// Of device 0. `memory` is rounded down to whole MiB, the smallest unit of the protocol.
std::string set_default_memory(Bytes memory);
std::string get_clients(std::int64_t server);
// Of a server: they count for its clients that connect later.
std::string get_status(std::int64_t server);
std::string get_threads(std::int64_t server);
std::string set_threads(std::int64_t server, Percent threads);
std::string get_memory(std::int64_t server);
std::string set_memory(std::int64_t server, Bytes memory);

// The readers of answers. Errors: not_found for a server that does not exist (any more);
// unsupported for a command that the driver does not know; permission_denied; otherwise conflict
// with the answer.

// "33.3" is 33,300.
Result<std::int64_t> read_milli_percent(std::string_view answer);
// Nothing if there is no limit. The drivers 535 and 550 show 1500M as "1G".
Result<std::optional<Bytes>> read_memory(std::string_view answer);
// Whether a daemon that shows this limit can have that one: also rounded down to whole GiB, if it
// is larger.
bool shows_memory(const std::optional<Bytes>& shown, Bytes limit);
// Process ids, at most 4,096.
Result<std::vector<std::int64_t>> read_pids(std::string_view answer);
// The known refusals of a command that answers nothing. Whether it was taken shows in what is read
// back.
Result<> check_taken(std::string_view answer);

// unknown: the driver does not say (535).
enum class ServerStatus { unknown, starting, active, fault };
Result<ServerStatus> read_status(std::string_view answer);

}  // namespace tessera::mps

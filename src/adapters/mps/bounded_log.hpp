// The logs of MPS's programs, which grow without a limit: each command to the control daemon adds
// some lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "domain/mps/mps_report.hpp"

namespace tessera {

// Of the control daemon: what it writes to its standard output.
inline constexpr const char* kDaemonLog = "daemon.log";
// Of its servers.
inline constexpr const char* kServerLog = "server.log";
inline constexpr std::uintmax_t kMostLogBytes = std::uintmax_t{4} << 20;

// Each larger `*.log` of the folder is copied to `*.log.1`, in place of an earlier copy, and
// emptied. Its writer goes on; what it writes between the two is lost. Errors are ignored.
void keep_logs_small(const std::filesystem::path& folder);

// The last whole lines of each `*.log` of the folder, at most 64 KiB of each, for people:
// characters that are not printable become '?'. Ascending by name.
std::vector<MpsLog> last_lines(const std::filesystem::path& folder);

// The whole lines that were appended since the last call, which keeps its place in `offset`: at
// most kMostLogBytes at once. At the first call, with no offset, none: those that are there are
// old.
std::string appended_lines(const std::filesystem::path& log, std::optional<std::uintmax_t>& offset);

// What was written after `offset` bytes, in one line and at most 400 bytes of it; "no output" if
// nothing was.
std::string written_since(const std::filesystem::path& log, std::uintmax_t offset);

}  // namespace tessera

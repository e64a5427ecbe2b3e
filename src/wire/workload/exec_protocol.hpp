// The protocol in which the API server runs a command in a container, and connects its input and
// output: messages of a WebSocket, each with a byte of its channel before it (Kubernetes'
// remotecommand, v4.channel.k8s.io and v5.channel.k8s.io).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace tessera {

// The protocols that Tessera speaks. Only the first one can tell the end of the input.
inline constexpr std::string_view kExecProtocols = "v5.channel.k8s.io, v4.channel.k8s.io";
inline constexpr std::string_view kExecWithClose = "v5.channel.k8s.io";
inline constexpr std::string_view kExecWithoutClose = "v4.channel.k8s.io";

enum class ExecChannel : std::uint8_t { input = 0, output = 1, error = 2, status = 3, size = 4 };

struct ExecMessage {
    ExecChannel channel;
    std::string_view text;  // of the message
};

// Nothing for an empty message, or a channel that this does not know.
std::optional<ExecMessage> read_exec_message(std::string_view message);
std::string write_exec_message(ExecChannel channel, std::string_view text);
// No more input comes.
std::string write_exec_input_end();
// The size of the user's terminal.
std::string write_exec_size(int columns, int rows);

// The exit status of the command, by a message of the channel `status`. An error: the command did
// not run, with the reason.
Result<int> read_exec_status(std::string_view text);

struct ExecRequest {
    PodName pod;
    std::string container;
    std::vector<std::string> command;
    bool has_terminal = false;  // the container's output and errors come together then
};

// The path with its query.
std::string exec_path(const ExecRequest& request);

}  // namespace tessera

#include "wire/workload/exec_protocol.hpp"

#include <fmt/format.h>

#include <charconv>

#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr char kClose = '\xff';

std::string query_text(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
        if (is_plain) {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
    }
    return out;
}

// The exit code among the causes of a failure.
std::optional<int> exit_code(JsonValue status) {
    for (const JsonValue cause : status["details"]["causes"].elements()) {
        if (cause["reason"].text_or("") != "ExitCode") continue;
        const std::string text = cause["message"].text_or("");
        int code = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code);
        if (error == std::errc() && end == text.data() + text.size()) return code & 0xff;
    }
    return std::nullopt;
}

}  // namespace

std::optional<ExecMessage> read_exec_message(std::string_view message) {
    if (message.empty()) return std::nullopt;
    const auto channel = static_cast<std::uint8_t>(message.front());
    if (channel > static_cast<std::uint8_t>(ExecChannel::size)) return std::nullopt;
    return ExecMessage{static_cast<ExecChannel>(channel), message.substr(1)};
}

std::string write_exec_message(ExecChannel channel, std::string_view text) {
    std::string out(1, static_cast<char>(channel));
    out += text;
    return out;
}

std::string write_exec_input_end() {
    return {kClose, static_cast<char>(ExecChannel::input)};
}

std::string write_exec_size(int columns, int rows) {
    return write_exec_message(ExecChannel::size,
                              fmt::format(R"({{"Width":{},"Height":{}}})", columns, rows));
}

Result<int> read_exec_status(std::string_view text) {
    const auto document = JsonDocument::parse(text);
    if (!document)
        return fail(Code::unavailable, "the API server does not say how the command ended");
    const JsonValue status = document->root();
    if (status["status"].text_or("") == "Success") return 0;
    if (const auto code = exit_code(status)) return *code;
    const std::string message = status["message"].text_or("");
    return fail(Code::unavailable,
                message.empty() ? "the API server does not say how the command ended" : message);
}

std::string exec_path(const ExecRequest& request) {
    std::string path =
        fmt::format("/api/v1/namespaces/{}/pods/{}/exec?container={}&stdin=true&stdout=true",
                    request.pod.ns, request.pod.name, query_text(request.container));
    path += request.has_terminal ? "&tty=true" : "&stderr=true";
    for (const std::string& word : request.command)
        path += "&command=" + query_text(word);
    return path;
}

}  // namespace tessera

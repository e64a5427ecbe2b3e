#include "wire/mps/control_protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/ascii.hpp"

namespace tessera::mps {
namespace {

constexpr std::size_t kMostPids = 4096;
constexpr std::size_t kMostQuoted = 200;  // bytes of an answer in an error

struct Refusal {
    std::string_view begins;
    std::string_view ends;
    Code code;
};

// How a refused command is answered, in the drivers 535 to 580.
constexpr auto kRefusals = std::to_array<Refusal>({
    {"Server ", "not found", Code::not_found},
    {"Unknown command ", "", Code::unsupported},
    {"Insufficient privileges ", "", Code::permission_denied},
    {"Not enough privilege ", "", Code::permission_denied},
});

std::string quoted(std::string_view answer) {
    std::string out;
    for (const char c : answer.substr(0, kMostQuoted)) {
        const bool is_plain = c >= 0x20 && c < 0x7F;
        out += is_plain ? c : ' ';
    }
    return out;
}

const Refusal* refusal_of(std::string_view first_line) {
    const auto found = std::ranges::find_if(kRefusals, [&](const Refusal& refusal) {
        return first_line.starts_with(refusal.begins) && first_line.ends_with(refusal.ends);
    });
    return found == kRefusals.end() ? nullptr : &*found;
}

std::string_view first_line_of(std::string_view answer) {
    return trimmed(answer.substr(0, answer.find('\n')));
}

tl::unexpected<Error> refused(std::string_view answer) {
    const std::string_view first = first_line_of(answer);
    if (const Refusal* refusal = refusal_of(first)) return fail(refusal->code, quoted(first));
    return fail(Code::conflict, fmt::format("MPS's control daemon answers \"{}\"", quoted(answer)));
}

std::string mebibytes_of(Bytes memory) {
    return fmt::format("{}M", memory.count / kMiB);
}

}  // namespace

std::string set_default_threads(Percent threads) {
    return fmt::format("set_default_active_thread_percentage {}", threads.value);
}

std::string set_default_memory(Bytes memory) {
    return "set_default_device_pinned_mem_limit 0 " + mebibytes_of(memory);
}

std::string get_status(std::int64_t server) {
    return fmt::format("get_server_status {}", server);
}

std::string get_clients(std::int64_t server) {
    return fmt::format("get_client_list {}", server);
}

std::string get_threads(std::int64_t server) {
    return fmt::format("get_active_thread_percentage {}", server);
}

std::string set_threads(std::int64_t server, Percent threads) {
    return fmt::format("set_active_thread_percentage {} {}", server, threads.value);
}

std::string get_memory(std::int64_t server) {
    return fmt::format("get_device_pinned_mem_limit {} 0", server);
}

std::string set_memory(std::int64_t server, Bytes memory) {
    return fmt::format("set_device_pinned_mem_limit {} 0 {}", server, mebibytes_of(memory));
}

Result<std::int64_t> read_milli_percent(std::string_view answer) {
    constexpr std::int64_t kMost = 100'000;
    const std::string_view text = trimmed(answer);
    // A quantity may have a suffix, a percentage has none.
    if (text.find_first_not_of("0123456789.") != std::string_view::npos) return refused(answer);
    const auto milli = parse_milli_quantity(text);
    if (!milli || *milli > kMost) return refused(answer);
    return *milli;
}

Result<std::optional<Bytes>> read_memory(std::string_view answer) {
    const std::string_view text = trimmed(answer);
    if (text.empty()) return std::optional<Bytes>();
    std::int64_t unit = 0;
    if (text.ends_with('G')) unit = kGiB;
    if (text.ends_with('M')) unit = kMiB;
    std::int64_t amount = 0;
    const std::string_view digits = text.substr(0, text.size() - 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), amount);
    const bool is_number = error == std::errc() && end == digits.data() + digits.size();
    if (unit == 0 || !is_number || amount < 0 ||
        amount > std::numeric_limits<std::int64_t>::max() / unit) {
        return refused(answer);
    }
    return std::optional(Bytes{amount * unit});
}

bool shows_memory(const std::optional<Bytes>& shown, Bytes limit) {
    if (!shown) return false;
    const Bytes whole{limit.count / kMiB * kMiB};
    return *shown == whole || (whole.count >= kGiB && *shown == Bytes{limit.count / kGiB * kGiB});
}

Result<std::vector<std::int64_t>> read_pids(std::string_view answer) {
    std::vector<std::int64_t> pids;
    std::string_view left = answer;
    while (!trimmed(left).empty()) {
        left = trimmed(left);
        const std::string_view word = left.substr(0, left.find_first_of(" \t\r\n"));
        left.remove_prefix(word.size());
        std::int32_t pid = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), pid);
        if (error != std::errc() || end != word.data() + word.size() || pid <= 0 ||
            pids.size() == kMostPids) {
            return refused(answer);
        }
        pids.push_back(pid);
    }
    return pids;
}

Result<> check_taken(std::string_view answer) {
    if (refusal_of(first_line_of(answer)) == nullptr) return {};
    return refused(answer);
}

Result<ServerStatus> read_status(std::string_view answer) {
    const std::string_view text = trimmed(answer);
    if (text == "ACTIVE") return ServerStatus::active;
    if (text == "INITIALIZING") return ServerStatus::starting;
    if (text == "FAULT") return ServerStatus::fault;
    const Refusal* refusal = refusal_of(first_line_of(answer));
    if (refusal != nullptr && refusal->code == Code::unsupported) return ServerStatus::unknown;
    return refused(answer);
}

}  // namespace tessera::mps

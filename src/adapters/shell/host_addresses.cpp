#include "adapters/shell/host_addresses.hpp"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <resolv.h>

#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

namespace tessera {
namespace {

constexpr int kMostAnswer = 64 << 10;  // bytes of a message of DNS
// Of each server, so that a deadline of the caller is kept: it asks again.
constexpr int kAnswerSeconds = 2;

std::optional<HostAddress> of_number(const std::string& text, int port) {
    HostAddress out;
    const auto number = htons(static_cast<std::uint16_t>(port));
    sockaddr_in four{};
    if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = number;
        std::memcpy(&out.address, &four, sizeof four);
        out.size = sizeof four;
        return out;
    }
    sockaddr_in6 six{};
    if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) != 1) return std::nullopt;
    six.sin6_family = AF_INET6;
    six.sin6_port = number;
    std::memcpy(&out.address, &six, sizeof six);
    out.size = sizeof six;
    return out;
}

std::vector<HostAddress> of_file(const std::string& host, int port) {
    std::vector<HostAddress> out;
    std::ifstream file("/etc/hosts");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string number;
        words >> number;
        for (std::string name; words >> name;) {
            if (name != host) continue;
            if (const auto address = of_number(number, port)) out.push_back(*address);
        }
    }
    return out;
}

void add_records(const std::string& host, int port, int type, std::vector<HostAddress>& out) {
    struct __res_state state = {};
    if (::res_ninit(&state) != 0) return;
    state.retrans = kAnswerSeconds;
    state.retry = 1;
    std::vector<unsigned char> answer(kMostAnswer);
    const int size = ::res_nsearch(&state, host.c_str(), ns_c_in, type, answer.data(), kMostAnswer);
    ::res_nclose(&state);
    ns_msg message{};
    if (size <= 0 || ::ns_initparse(answer.data(), std::min(size, kMostAnswer), &message) != 0)
        return;
    for (int i = 0; i < ns_msg_count(message, ns_s_an); ++i) {
        ns_rr record{};
        if (::ns_parserr(&message, ns_s_an, i, &record) != 0) return;
        const bool is_four = type == ns_t_a;
        if (ns_rr_type(record) != type || ns_rr_rdlen(record) != (is_four ? 4 : 16)) continue;
        std::array<char, INET6_ADDRSTRLEN> text{};
        ::inet_ntop(is_four ? AF_INET : AF_INET6, ns_rr_rdata(record), text.data(), text.size());
        if (const auto address = of_number(text.data(), port)) out.push_back(*address);
    }
}

}  // namespace

Result<std::vector<HostAddress>> addresses_of(const std::string& host, int port) {
    if (const auto number = of_number(host, port)) return std::vector{*number};
    std::vector<HostAddress> out = of_file(host, port);
    if (out.empty()) add_records(host, port, ns_t_a, out);
    if (out.empty()) add_records(host, port, ns_t_aaaa, out);
    if (out.empty()) return fail(Code::unavailable, "it has no address yet");
    return out;
}

}  // namespace tessera

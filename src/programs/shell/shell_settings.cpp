#include "programs/shell/shell_settings.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "domain/training/mpi_paths.hpp"

namespace tessera {
namespace {

constexpr std::size_t kShortestSecret = 32;

std::string variable(const char* name, std::string otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr || *value == 0 ? std::move(otherwise) : value;
}

Result<std::string> contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return fail(Code::unavailable, path + ": " + std::strerror(errno));
    return std::string{std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Result<int> shell_port() {
    const std::string text = variable("TESSERA_MPI_PORT", std::to_string(workload::kShellPort));
    int out = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, out);
    if (read.ec == std::errc{} && read.ptr == end && out >= 0 && out <= 65'535) return out;
    return fail(Code::invalid_argument, "TESSERA_MPI_PORT: \"" + text + "\" is no port");
}

Result<std::string> shell_secret() {
    const std::string path =
        variable("TESSERA_MPI_SECRET_FILE", std::string(workload::kShellSecretFolder) + "/" +
                                                std::string(workload::kShellSecretKey));
    TRY(std::string out, contents(path));
    while (out.ends_with('\n'))
        out.pop_back();
    if (out.size() >= kShortestSecret) return out;
    return fail(Code::invalid_argument, path + ": the secret has fewer than 32 characters");
}

// The first word of each line.
Result<std::vector<std::string>> worker_hosts() {
    TRY(const std::string text,
        contents(variable("TESSERA_MPI_HOSTS", std::string(workload::kOpenMpiHosts))));
    std::vector<std::string> out;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        std::string host = line.substr(0, line.find_first_of(" \t#"));
        if (!host.empty()) out.push_back(std::move(host));
        begin = end + 1;
    }
    return out;
}

}  // namespace tessera

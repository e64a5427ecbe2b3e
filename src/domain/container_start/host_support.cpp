#include "domain/container_start/host_support.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>

namespace tessera {
namespace {

using Version = std::array<int, 2>;

// MADV_WIPEONFORK, by which a process detects that it was forked: Linux 4.14.
constexpr Version kOldestKernel = {4, 14};
constexpr const char* kContainerType = ":container_file_t:";

}  // namespace

Result<> check_host(const HostFacts& host) {
    Version kernel{};
    // A kernel without a version number is accepted here; the guard itself fails closed.
    const bool is_known = std::sscanf(host.kernel.c_str(), "%d.%d", &kernel[0], &kernel[1]) == 2;
    if (is_known && kernel < kOldestKernel) {
        return fail(Code::unsupported,
                    fmt::format("the guard needs Linux 4.14 or later and this node runs {}; "
                                "upgrade the node's kernel, or run the agent without "
                                "--guard-library",
                                host.kernel));
    }
    if (host.enforces_selinux && host.selinux_label.find(kContainerType) == std::string::npos) {
        return fail(Code::unsupported,
                    fmt::format("SELinux is on and the guard's folder is labelled \"{}\", so "
                                "containers could not load the guard; label it (chcon -R {} "
                                "FOLDER), and give the agent's pod seLinuxOptions.type spc_t so "
                                "that it can label new files",
                                host.selinux_label, kContainerFileLabel));
    }
    return {};
}

}  // namespace tessera

#include "adapters/guard/host_facts.hpp"

#include <sys/utsname.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "adapters/os/text_file.hpp"

namespace tessera {
namespace {

constexpr const char* kLabel = "security.selinux";

void label(const std::filesystem::path& path) {
    [[maybe_unused]] const int done = lsetxattr(path.c_str(), kLabel, kContainerFileLabel,
                                                std::strlen(kContainerFileLabel) + 1, 0);
}

std::string label_of(const std::filesystem::path& path) {
    std::array<char, 256> label{};
    const ssize_t size = getxattr(path.c_str(), kLabel, label.data(), label.size() - 1);
    return size > 0 ? std::string(label.data()) : std::string();
}

}  // namespace

// A container does not see /sys/fs/selinux, but it sees the label of its process:
// USER:ROLE:TYPE:LEVEL. AppArmor's profiles, in the same file, have another form.
bool enforces_selinux() {
    const auto enforce = read_text_file("/sys/fs/selinux/enforce");
    if (enforce) return enforce->starts_with('1');
    const auto own = read_text_file("/proc/self/attr/current");
    return own && std::ranges::count(*own, ':') >= 3;
}

void label_for_containers(const std::filesystem::path& folder) {
    namespace fs = std::filesystem;
    label(folder);
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error))
        label(at->path());
}

// The label shows whether labelling worked.
HostFacts read_host_facts(const std::filesystem::path& guard_folder, bool has_selinux) {
    HostFacts facts;
    utsname system = {};
    if (uname(&system) == 0) facts.kernel = system.release;
    facts.enforces_selinux = has_selinux;
    if (!has_selinux) return facts;
    label_for_containers(guard_folder);
    facts.selinux_label = label_of(guard_folder);
    return facts;
}

}  // namespace tessera

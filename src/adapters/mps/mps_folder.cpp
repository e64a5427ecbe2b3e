#include "adapters/mps/mps_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "adapters/os/text_file.hpp"
#include "domain/mps/gpu_name.hpp"
#include "wire/mps/mps_folder_json.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(path, ignored));
}

// The agent takes the lock for an instant, to see whether another process has it.
bool take_lock(int lock) {
    constexpr int kTries = 20;
    constexpr useconds_t kPauseUs = 50'000;
    for (int i = 1; ::flock(lock, LOCK_EX | LOCK_NB) != 0; ++i) {
        if (errno != EWOULDBLOCK || i == kTries) return false;
        ::usleep(kPauseUs);
    }
    return true;
}

// Servers and clients of all users make files in it, and none removes those of another user.
Result<> make_shared_memory(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (!error) fs::permissions(path, fs::perms::all | fs::perms::sticky_bit, error);
    if (!error) return {};
    return fail(Code::unavailable, path.string() + ": " + error.message());
}

}  // namespace

Result<> MpsFolder::take() {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) return fail(Code::unavailable, folder_.string() + ": " + error.message());
    const fs::path path = lock();
    lock_.replace(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (lock_.get() >= 0 && take_lock(lock_.get())) return make_shared_memory(shared_memory());
    if (lock_.get() >= 0 && errno == EWOULDBLOCK) {
        return fail(Code::conflict, fmt::format("{}: another tessera-mps has it; end that one, or "
                                                "set mps_folder",
                                                path.string()));
    }
    return fail(Code::unavailable, path.string() + ": " + std::strerror(errno));
}

std::vector<GpuUuid> MpsFolder::gpus() const {
    std::vector<GpuUuid> found;
    for (const fs::path& path : paths_in(folder_)) {
        const std::string name = path.filename();
        const MpsPaths of(path);
        if (is_gpu_name(name) &&
            (is_there(of.wanted()) || is_there(of.state()) || is_there(of.pipes())))
            found.emplace_back(name);
    }
    return found;
}

Result<std::optional<MpsSettings>> MpsFolder::wanted(const GpuUuid& gpu) const {
    const std::string path = paths(gpu).wanted();
    const auto text = read_text_file_up_to(path, kMostMpsFileBytes);
    if (!text && text.error().code == Code::not_found) return std::optional<MpsSettings>();
    if (!text) return fail(text.error());
    const auto settings = read_mps_settings(*text);
    if (!settings) return fail(settings.error().in(path));
    return std::optional(*settings);
}

Result<> MpsFolder::write_state(const MpsState& state) const {
    return write_text_file(paths(state.gpu).state(), write_mps_state(state));
}

void MpsFolder::forget(const GpuUuid& gpu) const {
    const MpsPaths of = paths(gpu);
    std::error_code ignored;
    fs::remove_all(of.pipes(), ignored);
    fs::remove(of.state(), ignored);
}

}  // namespace tessera

#include "adapters/mps/agent_mps_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <system_error>

#include "adapters/mps/bounded_log.hpp"
#include "adapters/os/descriptor.hpp"
#include "adapters/os/text_file.hpp"
#include "domain/mps/gpu_name.hpp"
#include "wire/mps/mps_folder_json.hpp"

namespace tessera {

namespace fs = std::filesystem;

// tessera-mps holds the lock exclusively as long as it lives. A shared one for a moment can delay
// its start by one attempt, and nothing else.
bool AgentMpsFolder::is_supervised() const {
    const Descriptor lock(
        ::open(folder_.lock().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (lock.get() < 0) return false;
    if (::flock(lock.get(), LOCK_SH | LOCK_NB) == 0) return false;
    return errno == EWOULDBLOCK;
}

Result<> AgentMpsFolder::want(const GpuUuid& gpu, const std::optional<MpsSettings>& settings) {
    if (!is_gpu_name(gpu.str()))
        return fail(Code::invalid_argument, "\"" + gpu.str() + "\" is no name of a GPU");
    const MpsPaths paths = folder_.paths(gpu);
    std::error_code error;
    if (!settings) {
        fs::remove(paths.wanted(), error);
        if (!error) return {};
        return fail(Code::unavailable, paths.wanted().string() + ": " + error.message());
    }
    fs::create_directories(paths.folder, error);
    if (error) return fail(Code::unavailable, paths.folder.string() + ": " + error.message());
    return write_text_file(paths.wanted(), write_mps_settings(*settings));
}

Result<std::optional<MpsState>> AgentMpsFolder::state(const GpuUuid& gpu) const {
    const std::string path = folder_.paths(gpu).state();
    const auto text = read_text_file_up_to(path, kMostMpsFileBytes);
    if (!text && text.error().code == Code::not_found) return std::optional<MpsState>();
    if (!text) return fail(text.error());
    auto state = read_mps_state(*text);
    if (!state) return fail(state.error().in(path));
    return std::optional(*std::move(state));
}

std::optional<MpsReported> AgentMpsFolder::reported(const GpuUuid& gpu) const {
    const auto text = read_text_file_up_to(folder_.paths(gpu).reported(), kMostMpsFileBytes);
    if (!text) return std::nullopt;
    auto reported = read_mps_reported(*text);
    return reported ? std::optional(*std::move(reported)) : std::nullopt;
}

Result<> AgentMpsFolder::note_reported(const GpuUuid& gpu, const MpsReported& reported) {
    return write_text_file(folder_.paths(gpu).reported(), write_mps_reported(reported));
}

std::vector<MpsLog> AgentMpsFolder::logs(const GpuUuid& gpu) const {
    if (!is_gpu_name(gpu.str())) return {};
    return last_lines(folder_.paths(gpu).logs());
}

}  // namespace tessera
